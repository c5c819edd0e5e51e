#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# A measured H100 and a measured H200 are predicted within the bounds, and the verdict can be "not good
# enough".
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

rows=$source/plots/reference/hardware/h100-580.txt
for gpu in h100-80g h200-141g; do
	"$gvmsim" validate hardware --gpu $gpu >$gpu || fail "$gpu is not good enough: $(tail -n 1 $gpu)"
	for which in measured predicted; do
		grep -q "^walk, accesses that fault, $which: *0 1 2 4 8 16 32 33 34 36\$" $gpu ||
			fail "$gpu, the walk: $(grep '^walk, acc' $gpu)"
	done
done
tail -n 1 h100-80g | grep -q '^median error .* of 84 measurements$' || fail "last line: $(tail -n 1 h100-80g)"
tail -n 1 h200-141g | grep -q '^median error .* of 91 measurements$' || fail "last line: $(tail -n 1 h200-141g)"

# Without a word, both, one after the other; a mistake in either is one line.
"$gvmsim" validate hardware >out || fail "not good enough: $(tail -n 1 out)"
{ cat h100-80g; echo; cat h200-141g; } | cmp - out || fail "both are not one and the other"
# A reader that leaves early, as head does, is no failure of a simulation.
"$gvmsim" validate hardware 2>left | true
[ ! -s left ] || fail "a reader that leaves: $(cat left)"
expect 1 'not good enough' validate hardware --set gpu.fault.block=60us
expect 2 "no measurements of 'a100-40g' are here, allowed: h100-80g, h200-141g" validate hardware --gpu a100-40g

# Constants matter: with a block three times as dear, or a link half as fast, it is not good enough.
for key in gpu.fault.block=42us gpu.link.bandwidth=27e9; do
	expect 1 'not good enough' validate hardware "$rows" --set "$key"
done

# Measurements matter: a loop that is twice as slow is found, and so is one page more or less in the walk.
sed 's/^width spread 16 510.8/width spread 16 1400/' "$rows" >slow.txt
expect 1 'not good enough' validate hardware slow.txt
sed 's/^fault_walk 273632 31392 34720 160/fault_walk 273632 31392 34720 30160/' "$rows" >walk.txt
expect 1 'the same accesses that fault' validate hardware walk.txt

# Mistakes are one line.
sed 's/^pcie 4096 .*/pcie 4096 fast/' "$rows" >bad.txt
expect 2 'bad.txt:[0-9]*: allowed is a number above 0, not "fast"' validate hardware bad.txt
expect 2 'none.txt: cannot be read: No such file' validate hardware none.txt
expect 2 'no profile "nope"' validate hardware "$rows" --gpu nope
expect 2 "validate: unknown command 'software', allowed are hardware" validate software
expect 2 'validate: no command is given, allowed are hardware' validate
expect 2 '2 files, expected 1 at most, usage' validate hardware "$rows" twice
expect 2 '/: is a folder' validate hardware /
expect 2 "unknown command '--set', allowed are hardware, published, results" validate --set seed=1 results a b
expect 2 "option '--set' is not valid here, usage" validate results a b --set seed=1
