#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Registers that fences cost: ptxas -v of PTX files as they are, and patched in each mode. A row has kernels by
# how many registers they need more, the mean, and kernels that spill though they did not before.
# Usage: registers.sh GVMFENCE ARCH LEVEL FILE.ptx..., LEVEL 0 to 3
set -eu
gvmfence=$1 arch=$2 level=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# "file kernel registers spilled-bytes" of a text, sorted; $2 is the name of the file.
ask() {
	ptxas -v -O"$level" -arch="$arch" "$1" -o "$work/cubin" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
	awk -v file="$2" '
		/Compiling entry function/ { split($0, part, "\047"); kernel = part[2] }
		/Function properties for/ { counts = $NF == kernel }
		/bytes spill stores/ && counts { spilled = $5 }
		/Used [0-9]+ registers/ { for (i = 1; i < NF; i++) if ($i == "Used") print file, kernel, $(i + 1), spilled }' "$work/said" | sort
}

for file; do ask "$file" "$(basename "$file")"; done >"$work/native"
for mode in fence once 4g check modulo; do
	for file; do
		"$gvmfence" patch "$file" --mode $mode --out "$work/patched.ptx"
		"$gvmfence" verify "$work/patched.ptx" >/dev/null
		ask "$work/patched.ptx" "$(basename "$file")"
	done >"$work/fenced"
	paste -d' ' "$work/native" "$work/fenced" | awk -v what="$arch -O$level $mode" '
		$1 != $5 || $2 != $6 { print "kernels differ: " $0; exit 1 }
		{ more = $7 - $3; kernels++; sum += more; before += $3
		  if (more < 0) fewer++; else if (!more) same++; else if (more < 3) by[more]++
		  else if (more < 5) by[3]++; else if (more < 9) by[5]++; else by[9]++
		  spills += $8 > 0 && $4 == 0 }
		END { printf "%-20s %3d kernels: fewer %d, same %d, +1 %d, +2 %d, +3..4 %d, +5..8 %d, more %d; mean %.1f of %.1f; spill %d\n",
			what, kernels, fewer, same, by[1], by[2], by[3], by[5], by[9], sum / kernels, before / kernels, spills }'
done
