#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Kernels with stores that may reach all of local memory: what the verifier counts of each, beside what
# ptxas 13.0.88 said of its stack frame and its spills (local_memory.txt). With a ptxas that is asked
# again, too. A kernel that ptxas spills has more than its own variables there. Usage: NAME.sh GVMFENCE SOURCE
set -eu
tests=$2/tests/guardian
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for file in "$tests"/corpus/*.ptx "$tests"/spilled.ptx; do
	name=$(basename "$file")
	"$1" patch "$file" --mode once --out "$work/patched.ptx"
	"$1" verify "$work/patched.ptx" | sed -n \
		"s/^.*: kernel \(.*\): \([0-9]*\) stores .* have \([0-9]*\) bytes$/$name \1 \2 \3/p" >"$work/rows"
	cat "$work/rows" >>"$work/counted"
	command -v ptxas >/dev/null || continue
	target=$(sed -n 's/^\.target \(sm_[0-9a]*\).*/\1/p' "$work/patched.ptx")
	ptxas -v -arch="$target" "$work/patched.ptx" -o "$work/cubin" 2>"$work/said"
	while read -r row_file kernel stores own; do
		said=$(sed -n "/Function properties for $kernel\$/{n;s/^ *\([0-9]*\) bytes stack frame, \([0-9]*\) bytes spill stores.*/\1 \2/p;}" "$work/said")
		echo "$row_file $kernel $stores $own $said"
	done <"$work/rows" >>"$work/asked"
done

grep -v '^#' "$tests/local_memory.txt" >"$work/recorded"
cut -d' ' -f1-4 "$work/recorded" | diff - "$work/counted"
if [ -f "$work/asked" ] && ptxas --version | grep -q 'V13\.0\.88'; then
	diff "$work/recorded" "$work/asked"
	echo "ptxas says so, too"
fi
# No frame: nothing was spilled. A spill: the frame has more than the kernel's own variables.
awk '{ if ($6 && $5 <= $4) { print "a spill is hidden: " $0; bad = 1 } } END { exit bad }' \
	"$work/recorded"
echo "$(wc -l <"$work/recorded") kernels"
