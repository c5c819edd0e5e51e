#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# kernel-port/shim/cuda_api.h and NVIDIA's cuda.h in one file: a prototype that differs does not compile. And
# the comparison finds a wrong one. Usage: abi.sh CC SOURCE FOLDER-OF-CUDA.H
set -eu
cc=$1
source=$2
headers=$3
case $headers in
*NOTFOUND | "") echo "this host has no cuda.h: not compared"; exit 77 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compare() {
	"$cc" -std=gnu11 -w -fsyntax-only -D__CUDA_API_VERSION_INTERNAL -I"$headers" -I"$1" \
		"$source/tests/shim/abi.c" 2>"$work/log"
}
compare "$source/kernel-port/shim" || { cat "$work/log"; exit 1; }
grep -m 1 'define CUDA_VERSION' "$headers/cuda.h"

# One declaration with a size_t too few.
sed 's/cuMemAlloc_v2(cu_ptr \*ptr, size_t bytes)/cuMemAlloc_v2(cu_ptr *ptr, unsigned int bytes)/' \
	"$source/kernel-port/shim/cuda_api.h" >"$work/cuda_api.h"
cmp -s "$work/cuda_api.h" "$source/kernel-port/shim/cuda_api.h" && { echo "nothing was broken"; exit 1; }
if compare "$work"; then
	echo "a wrong prototype passed"
	exit 1
fi
