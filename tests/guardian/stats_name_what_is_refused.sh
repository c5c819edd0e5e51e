#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# gvmfence stats: accesses by space and kind, fences, and each construct that is refused, by kernel. A file that
# patch refuses at its first such construct is counted to its end. Usage: NAME.sh GVMFENCE SOURCE
set -eu
command -v jq >/dev/null || { echo "no jq"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*" >&2; exit 1; }

cat >"$work/in.ptx" <<'END'
.version 8.3
.target sm_90
.address_size 64
.global .align 8 .b64 two[2];
.visible .entry good(.param .u64 a)
{
.reg .b64 %rd<9>; .reg .b32 %r<9>;
ld.param.u64 %rd1, [a];
ld.global.u32 %r1, [%rd1];
ld.global.u32 %r2, [%rd1+4];
st.global.u32 [%rd1], %r1;
st.shared.u32 [%r3], %r1;
atom.add.u32 %r4, [%rd1], %r1;
prefetch.global.L2 [%rd1];
ld.global.u64 %rd2, [two+8];
ret;
}
.visible .entry bad(.param .u64 a)
{
.reg .b64 %rd<9>; .reg .b32 %r<9>;
ld.param.u64 %rd1, [a];
discard.global.L2 [%rd1], 128;
st.global.u32 [%rd1], %r1;
mov.u64 %rd2, two;
ret;
}
END

is() { # FILTER EXPECTED
	got=$(jq -c "$1" "$work/stats.json") || fail "no JSON: $(cat "$work/stats.json")"
	[ "$got" = "$2" ] || fail "$1: $got, expected $2"
}
"$1" stats "$work/in.ptx" >"$work/stats.json" || fail "a file with refused constructs is not counted"
is '[.functions[].name]' '["good","bad"]'
is '.functions[0] | [.kernel, .direct, .fenced, .inserted, .tables, .refused]' '[true,1,5,20,0,[]]'
is '.functions[0].global' '{"loads":3,"stores":1,"atomics":0,"hints":1}'
is '.functions[0] | [.shared.stores, .generic.atomics, .param.loads]' '[1,1,1]'
is '.functions[1].refused | map(.line)' '[22,24]'
is '.functions[1].refused[0].why' '"discard.global.L2: it can bring back what another tenant has left in memory"'
is '.functions[1].refused[1].why' '"two: the address of a variable of the module is taken"'
is '.functions[1] | [.fenced, .global.stores]' '[1,1]'
is '.refused' '[]'

# Of the module, and one that only the second pass finds.
sed -e 's/^\.visible \.entry bad/.alias other, good;\n&/' -e 's/^mov.*/brx.idx %r1, nowhere;/' "$work/in.ptx" >"$work/two.ptx"
"$1" stats "$work/two.ptx" >"$work/stats.json" || fail "an alias is not counted"
is '.refused | map([.line, .why])' '[[18,".alias: aliases are not followed"]]'
is '.functions[1].refused | map([.line, .why])[1]' '[25,"brx.idx: its table of labels was not found"]'

# What is listed is refused by patch, and a text that is no PTX by both.
if "$1" patch "$work/in.ptx" --out "$work/out.ptx" 2>"$work/said"; then fail "patched"; fi
[ ! -e "$work/out.ptx" ] || fail "a file was written"
grep -q 'in.ptx:22: discard.global.L2: ' "$work/said" || fail "$(cat "$work/said")"
echo 'no PTX' >"$work/no.ptx"
if "$1" stats "$work/no.ptx" >"$work/out" 2>"$work/said"; then fail "no PTX, and counted"; fi
[ ! -s "$work/out" ] && [ "$(wc -l <"$work/said")" = 1 ] || fail "not one line"

# A name that a message has no room for: its end is shown, and the reason behind it.
long=$work
for number in 1 2 3 4 5 6; do
	long=$long/$number$(printf 'a%.0s' $(seq 200))
done
mkdir -p "$long"
cp "$work/in.ptx" "$long/in.ptx"
"$1" stats "$long/in.ptx" >"$work/stats.json" || fail "a file with a long name is not counted"
is '.functions[1].refused | map(.line)' '[22,24]'
is '.functions[1].refused[1].why' '"two: the address of a variable of the module is taken"'
if "$1" patch "$long/in.ptx" --out "$work/out.ptx" 2>"$work/said"; then fail "patched"; fi
grep -q 'aaa/in.ptx:22: discard.global.L2: it can bring back' "$work/said" || fail "$(cat "$work/said")"

# The instructions of each mode, for three accesses of the corpus's shortest kernel: each mode has numbers of its own.
for mode in fence once 4g check modulo count; do
	"$1" stats "$2/tests/guardian/corpus/corners.ptx" --mode $mode >"$work/stats.json" || fail "$mode"
	is '[.functions[].fenced] | add > 0' true
	jq '[.functions[].inserted] | add' "$work/stats.json"
done >"$work/inserted"
[ "$(sort -u "$work/inserted" | wc -l)" -ge 5 ] || fail "modes insert equally much: $(tr '\n' ' ' <"$work/inserted")"
