#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Functions that ptxas adds to a module and calls of instructions (docs/guardian.md, "Functions of the assembler") have
# names that the verifier refuses: all that are in its file begin with __cuda_. And a module that defines one is refused.
# ptxas 11.8 has these functions in a form that grep cannot read.
# Skipped without ptxas. Usage: NAME.sh GVMFENCE SOURCE
set -eu
command -v ptxas >/dev/null || { echo "no ptxas"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

LC_ALL=C grep -aoE '\.func \([^()]*\) [A-Za-z_$][A-Za-z0-9_$]*' "$(readlink -f "$(command -v ptxas)")" |
	sed 's/.* //' | sort -u >"$work/names"
echo "$(wc -l <"$work/names") functions"
[ ! -s "$work/names" ] || [ "$(wc -l <"$work/names")" -gt 100 ]
grep -v '^__cuda_' "$work/names" >"$work/others" || true
[ ! -s "$work/others" ] || { echo "other names: $(tr '\n' ' ' <"$work/others")"; exit 1; }

cat >"$work/in.ptx" <<'END'
.version 7.2
.target sm_80
.address_size 64
.func (.reg .u64 d) __cuda_sm20_div_u64 (.reg .u64 x, .reg .u64 y)
{
	mov.u64 d, 7;
	ret;
}
.visible .entry k(.param .u64 a)
{
	.reg .u64 %r<4>;
	ld.param.u64 %r1, [a];
	mov.u64 %r2, %clock64;
	div.u64 %r3, %r2, %r1;
	st.global.u64 [%r1], %r3;
	ret;
}
END
if "$1" patch "$work/in.ptx" --out "$work/out.ptx" 2>"$work/said"; then
	echo "a function of the assembler is patched"
	exit 1
fi
grep -q "a name of the assembler's own functions" "$work/said"
