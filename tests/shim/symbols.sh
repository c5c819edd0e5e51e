#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Each call that the shim hooks or makes is a symbol of a driver library, if it came with the library's version of
# CUDA or before. The library is not loaded, so no GPU is needed. Usage: symbols.sh SOURCE LIBCUDA VERSION,
# as symbols.sh . libcuda.so.550.163.01 12040
set -eu
source=$1
library=$2
version=$3
[ -n "$library" ] || { echo "LIBCUDA is not set: no driver library is looked at"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nm -D --defined-only "$library" | sed 's/.* //; s/@.*//' | sort -u >"$work/has"
grep -q '^cuInit$' "$work/has" || { echo "$library is no driver library"; exit 1; }
# Rows of SHIM_HOOKED have a version, rows of SHIM_MADE do not. Two of these came with 12.4; the shim does without.
tr -d '\n\\' <"$source/kernel-port/shim/cuda_api.h" | grep -oE 'X\(cu[A-Za-z0-9_]+(, *"[A-Za-z]+", *[0-9]+)?' |
	sed 's/X(//; s/"//g; s/, */ /g' >"$work/rows"
[ "$(wc -l <"$work/rows")" -gt 80 ] || { echo "too few calls were found"; exit 1; }
while read -r symbol _ since; do
	case $symbol in
	cuFuncGetParamInfo | cuKernelGetParamInfo) since=12040 ;;
	esac
	[ "${since:-0}" -gt "$version" ] || echo "$symbol"
done <"$work/rows" | sort -u >"$work/wanted"
comm -23 "$work/wanted" "$work/has" >"$work/missing"
echo "$(wc -l <"$work/wanted") calls up to version $version"
[ ! -s "$work/missing" ] || { echo "missing in $library:"; cat "$work/missing"; exit 1; }
