#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# "figure all" makes the runs of several figures together and each once, and then nothing again; its files
# are those of each figure alone. "figure list" has every figure of the papers that is data, once, and every
# figure of ours; a map that names no figure is one line of mistake. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# Two figures that share their runs without less memory, and one of its own.
names="prefill gvtg-paging gvtg-native"
"$gvmsim" figure all $names --out together >.paths 2>.err || fail "$(cat .err)"
grep -q "^gvmsim: made \([0-9]*\) of \1 runs" .err || fail "from nothing: $(cat .err)"
[ "$(cat .paths | tr '\n' ' ')" = "together/prefill.png together/gvtg-paging.png together/gvtg-native.png " ] ||
	fail "paths: $(cat .paths)"
"$gvmsim" figure all $names --out again >.paths 2>.err || fail "$(cat .err)"
grep -q "^gvmsim: made no run" .err || fail "from the cache: $(cat .err)"
for name in $names; do
	"$gvmsim" figure "$name" --out alone >.table 2>.err || fail "$name: $(cat .err)"
	grep -q "^gvmsim: made no run" .err || fail "$name: $(cat .err)"
done
diff -r together again || fail "made again, files differ"
diff -r together alone || fail "made alone, files differ"
[ "$(ls together | wc -l)" = 9 ] || fail "files: $(ls together)"
# Runs that are the same as others do not come from the cache; those of an earlier figure do.
rm -rf results
"$gvmsim" figure all gvtg-paging gvtg-paging --out twice >.paths 2>.err || fail "$(cat .err)"
grep -q "^gvmsim: made 3 of 6 runs in [0-9.]* s, 3 are the same as others$" .err || fail "empty cache: $(cat .err)"
"$gvmsim" figure all gvtg-paging gvtg-native --out twice >.paths 2>.err || fail "$(cat .err)"
grep -q "^gvmsim: made 18 of 21 runs in [0-9.]* s, 3 come from results/cache$" .err || fail "some: $(cat .err)"
rm -rf together again alone twice results

expect 2 "figure alone-vs-shared: needs results folders" figure all alone-vs-shared
expect 2 "unknown figure 'prefil', did you mean 'prefill'" figure all prefil
expect 2 "'all' takes no --scenario" figure all --scenario "$scenario"
expect 2 "words after 'list'" figure list prefill
expect_nothing_written

"$gvmsim" figure list >.list
for number in 1 2 3 4 12a 12b 13a 13b 14 15 16 17; do
	[ "$(awk '/^$/ { exit } { print $1 }' .list | grep -cx $number)" = 1 ] || fail "GVM Figure $number: $(cat .list)"
done
for number in 1 2 3 11a 11b 11c 11d 12a 12b 13 14 15 16; do
	[ "$(awk '/^$/ { exit } { print $2 }' .list | grep -cx $number)" = 1 ] || fail "Ghost Figure $number: $(cat .list)"
done
"$gvmsim" reference --words figures | while read -r name; do
	grep -qE "(  |, )$name( |,|\$)" .list || fail "$name is not listed"
done

# An installation of its own, whose map is wrong.
mkdir -p .app/bin .app/share/gvmsim
cp -r "$source/plots" .app/share/gvmsim
cp "$gvmsim" .app/bin
program=.app/bin/gvmsim
# wrong PATTERN FROM TO: the map with FROM replaced is one line of mistake
wrong() {
	sed "s/$2/$3/" "$source/plots/papers.json" >.app/share/gvmsim/plots/papers.json
	expect 2 "papers.json:$1" figure list
}
wrong 'figures\[1\].ours\[0\]: .motivatio. is no figure' '"motivation"' '"motivatio"'
wrong 'figures\[3\].ours\[0\]: .stack. is no panel of figure fault-breakdown' 'breakdown stock' 'breakdown stack'
wrong 'figures\[1\].show' '"shows": "vLLM beside diffusion, with' '"show": "'
wrong 'figures\[0\].ours' '"why"' '"differs"'
