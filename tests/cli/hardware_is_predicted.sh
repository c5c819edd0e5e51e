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

# Fences: measurements are what the recorded runs say, and predictions those of a program that shares nothing
# with the simulator. Each row is "GROUP NAME" and a pair for each mode that was measured.
hardware=$source/plots/reference/hardware
results=$source/kernel-port/guardian/hardware/results
set -- "$hardware/fence/h200-580-fence-clamped.txt" "$results/h200-580.159-run6.txt" "$results/h200-580.159-run9.txt"
python3 "$hardware/fence/formula.py" "$@" >formula.txt
cmp formula.txt "$hardware/fence/h200-580-formula.txt" || fail "fence/h200-580-formula.txt is not what formula.py says"
python3 "$hardware/fence/formula.py" --rows "$@" >fences.txt
grep '^fence ' "$hardware/h200-580.txt" | cmp - fences.txt || fail "h200-580.txt has other fences than formula.py"
awk '$1 ~ /^(chain|kernel|program)$/ { line = $1 " " $2; for (i = 4; i <= NF; i += 3) line = line " " $i " " $(i + 1); print line }' \
	formula.txt >expected
awk '$1 ~ /^(chain|kernel|program)$/ && / \/ / { line = $1 " " $2; for (i = 3; i <= NF; i += 3) line = line " " $i " " $(i + 2); print line }' \
	h200-141g >printed
diff expected printed || fail "predictions of fences differ"
[ "$(wc -l <printed)" = 52 ] || fail "rows of fences: $(wc -l <printed)"
grep -q '^mean of all kernels *11.1 / 3.6 *5.6 / 3.6 *4.4 / 3.5 *61.9 / 22.1 *38.3 / 24.2 *138.8 / 46.0$' h200-141g ||
	fail "mean of fences: $(grep '^mean of' h200-141g)"
grep -q '^fences: median error of times .* of 287 measurements, without a bound$' h200-141g || fail "$(grep fences h200-141g)"
! grep -q fence h100-80g || fail "fences of an H100, where none were measured"
# The table of DEVIATIONS.md. To mend it: put "table" in its place.
{
	echo '| | fence | once | 4g | check | count | modulo |'
	echo '|---|---|---|---|---|---|---|'
	grep -E '^(chain|mean of all|program) .* / ' h200-141g |
		sed -E 's/^(chain [^ ]*|mean of all kernels|program lenet) +/| \1 | /; s/  +/ | /g; s/$/ |/; s/^(\| program [^|]*(\|[^|]*){4})\|/\1| |/'
} >table
sed -n '/^<!-- gvmsim validate hardware: fences/,/^<!-- end/p' "$source/DEVIATIONS.md" | grep '^|' | diff - table ||
	fail "DEVIATIONS.md has other fences"
# A file with fences alone has no verdict, and the cycles are the profile's.
"$gvmsim" validate hardware fences.txt --gpu rtx-a4000-16g >out || fail "fences alone"
grep -q '^chain L2+offset *5.4 / 8.9 ' out || fail "an A4000's fence in L2, 16 of 180 cycles: $(grep L2 out)"
! grep -q '^median error' out || fail "a verdict on fences"
"$gvmsim" validate hardware fences.txt --gpu h200-141g --set gpu.cycles.fence_offset=28.137 >out || fail "fences alone"
grep -q '^chain L2+offset *5.4 / 10.0 ' out || fail "a tenth more: $(grep L2 out)"

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
