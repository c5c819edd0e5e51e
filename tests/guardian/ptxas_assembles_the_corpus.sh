#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# ptxas assembles each patched file of the corpus, in each mode, for the architectures that its target allows,
# wherever it assembles the file as it was: an older ptxas does not know each architecture and each version of PTX.
# Skipped without ptxas. Usage: NAME.sh GVMFENCE SOURCE
set -eu
command -v ptxas >/dev/null || { echo "no ptxas"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0 unknown=0
for file in "$2"/tests/guardian/corpus/*.ptx; do
	target=$(sed -n 's/^\.target sm_\([0-9a-z]*\).*/\1/p' "$file")
	case $target in
	80) targets="80 86 90" ;;
	86) targets="86 90" ;;
	*) targets=$target ;;
	esac
	known=
	for target in $targets; do
		if ptxas -arch="sm_$target" "$file" -o "$work/cubin" 2>"$work/said"; then
			known="$known $target"
		elif grep -qE 'Unsupported .version|is not defined for option' "$work/said"; then
			unknown=$((unknown + 1))
		else
			cat "$work/said" && exit 1
		fi
	done
	for mode in ${known:+fence once 4g check modulo count}; do
		"$1" patch "$file" --mode $mode --out "$work/patched.ptx"
		"$1" verify "$work/patched.ptx" >/dev/null
		for target in $known; do
			ptxas -arch="sm_$target" "$work/patched.ptx" -o "$work/cubin" || { echo "$file $mode $target"; exit 1; }
			count=$((count + 1))
		done
	done
done
echo "$count files assembled; of $unknown the version or the architecture is not known to this ptxas"
[ $count -gt 0 ]
