#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# ptxas assembles each patched file of the corpus, in each mode, for the architectures that its target allows.
# Skipped without ptxas. Usage: NAME.sh GVMFENCE SOURCE
set -eu
command -v ptxas >/dev/null || { echo "no ptxas"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0
for file in "$2"/tests/guardian/corpus/*.ptx; do
	target=$(sed -n 's/^\.target sm_\([0-9a-z]*\).*/\1/p' "$file")
	case $target in
	80) targets="80 86 90" ;;
	86) targets="86 90" ;;
	*) targets=$target ;;
	esac
	for mode in fence once 4g check modulo; do
		"$1" patch "$file" --mode $mode --out "$work/patched.ptx"
		"$1" verify "$work/patched.ptx" >/dev/null
		for target in $targets; do
			ptxas -arch="sm_$target" "$work/patched.ptx" -o "$work/cubin" || { echo "$file $mode $target"; exit 1; }
			count=$((count + 1))
		done
	done
done
echo "$count files assembled"
