#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# nvcc compiles each CUDA program of the repository, so that a measurement can be repeated. Skipped without nvcc.
# Not compiled: flash_paged.cu, which includes files of vLLM's FlashAttention; plain.cu, which is for clang.
# Usage: cuda.sh SOURCE
set -eu
command -v nvcc >/dev/null || { echo "no nvcc"; exit 77; }
[ "$(nvcc --version | sed -n 's/.*release \([0-9]*\)\..*/\1/p')" -ge 12 ] || { echo "no nvcc 12 or later"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$1"
git ls-files '*.cu' | grep -v -e /flash_paged.cu -e /plain.cu >"$work/programs"
failed=0 count=0
while read -r program; do
	count=$((count + 1))
	nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a -c -o "$work/object" "$program" >"$work/said" 2>&1 && continue
	echo "$program:" && cat "$work/said"
	failed=1
done <"$work/programs"
[ "$count" -ge 28 ] || { echo "only $count programs were found"; exit 1; }
exit $failed
