#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# A fence of a generic address trusts isspacep. ptxas could fold it where it knows, or is told by a tenant's text, in which space
# a pointer lies; then the fence would let a pointer pass that lies elsewhere. It does not: of 31 stores it keeps 62.
# Skipped without ptxas. Usage: NAME.sh GVMFENCE SOURCE
set -eu
command -v ptxas >/dev/null || { echo "no ptxas"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# store PARAMETER INSTRUCTION REGISTER: a kernel with 31 generic stores at REGISTER.
store() {
	printf '.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(%s)\n{\n' "$1"
	printf '.reg .b64 %%rd<9>;\nld.param.u64 %%rd1, [p];\n%s\n' "$2"
	for i in $(seq 0 30); do
		printf 'st.volatile.u32 [%s+%d], %d;\n' "$3" $((4 * i)) "$i"
	done
	printf 'ret;\n}\n'
}

# QSPC is the opcode 0x3aa or 0x9aa, in the low 12 bits of an instruction's 16 bytes.
count_qspc() {
	readelf -SW "$1" 2>/dev/null | sed 's/^ *\[ *[0-9]*\] *//' | awk '$1 == ".text.k" { print $4, $5 }' >"$work/where"
	read -r offset size <"$work/where"
	od -A n -v -t x2 -w16 -j $((0x$offset)) -N $((0x$size)) "$1" | awk '{ if ($1 ~ /aa$/) count++ } END { print count + 0 }'
}

count=0
for arch in 80 86 90 100 120; do
	while read -r kind; do
		parameter='.param .u64 p' instruction='' register=%rd1
		case $kind in
		ptr*) parameter=".param .u64 .ptr .${kind#ptr-} .align 4 p" ;;
		cvta*) instruction="cvta.${kind#cvta-}.u64 %rd2, %rd1;" register=%rd2 ;;
		esac
		store "$parameter" "$instruction" "$register" >"$work/plain.ptx"
		for mode in fence 4g check modulo; do
			"$1" patch "$work/plain.ptx" --mode $mode --out "$work/fenced.ptx"
			# An older ptxas does not know each architecture.
			ptxas -arch=sm_$arch "$work/fenced.ptx" -o "$work/cubin" 2>"$work/said" || continue
			found=$(count_qspc "$work/cubin")
			[ "$found" = 62 ] || { echo "sm_$arch, $mode, $kind: $found"; exit 1; }
			count=$((count + 1))
		done
	done <<END
plain
ptr-local
ptr-shared
ptr-global
cvta-local
cvta-shared
cvta-global
END
done
echo "$count kernels keep all of them"
[ $count -gt 0 ]
