#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A picture is drawn once. It is drawn again when anything that it depends on has changed: a number, a
# text, a script, the program that draws; and when the user asks, or an entry is damaged. Where no runs
# are kept, no pictures are. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# A gnuplot that tells of each start, and a tree whose scripts can be changed.
mkdir -p fake tree/bin
printf '#!/bin/sh\necho drawn >>%s/.drawn\nexec %s "$@"\n' "$work" "$(command -v gnuplot)" >fake/gnuplot
chmod +x fake/gnuplot
PATH=$work/fake:$PATH
ln -s "$source/scenarios" "$source/traces" tree/
cp -r "$source/plots" tree/
cp "$gvmsim" tree/bin/gvmsim

# draw STARTS WHY ARGUMENTS...: gnuplot is started so often for the figure
draw() {
	starts=$1
	why=$2
	shift 2
	: >.drawn
	tree/bin/gvmsim figure memory-contention --set duration=15s --out out "$@" >.out 2>.err ||
		fail "$why: $(cat .err)"
	[ "$(wc -l <.drawn)" -eq "$starts" ] || fail "$why: gnuplot was started $(wc -l <.drawn) times"
	[ "$(dd if=out/memory-contention.png bs=1 skip=1 count=3 2>/dev/null)" = PNG ] || fail "$why: no PNG"
	grep -q "</svg>" out/memory-contention.svg || fail "$why: no SVG"
}

draw 2 "from nothing"
mv out first
draw 0 "the same"
diff -r first out || fail "the pictures differ"
draw 2 "with --fresh" --fresh
diff -r first out || fail "the pictures that were drawn again differ"

draw 2 "other numbers" --set duration=16s
cmp -s first/memory-contention.svg out/memory-contention.svg && fail "other numbers: the same picture"
draw 0 "the first numbers again"
diff -r first out || fail "the first numbers again: another picture"

sed -i 's/#0072B2/#0072B3/' tree/plots/style.gp
draw 2 "another script"
cmp -s first/memory-contention.svg out/memory-contention.svg && fail "another script: the same picture"
sed -i 's/"title": "\(.\)/"title": "Another \1/' tree/plots/figures/memory-contention.json
draw 2 "another title"
grep -q Another out/memory-contention.svg || fail "another title: the same picture"
draw 0 "the same title"

touch -d "1 hour ago" fake/gnuplot
draw 2 "another gnuplot"
find results/pictures -name picture.svg -exec rm {} +
draw 2 "an entry with one picture"
draw 0 "the mended entry"
# The mended entry is the only one with both pictures.
kept=$(find results/pictures -name picture.svg)
kept=${kept%/*}/picture.png
truncate -s 1000 "$kept"
draw 2 "an entry with a part of a picture"
cmp "$kept" out/memory-contention.png || fail "a part of a picture was shown"
draw 0 "the picture that was mended"
rm -r results/pictures
draw 2 "without entries"

# Two folders are compared where nothing is kept.
mv results/cache .cache
rm -r results out
set -- .cache/*
tree/bin/gvmsim figure alone-vs-shared "$1" "$1" --out out >.out 2>.err || fail "compared: $(cat .err)"
[ ! -e results ] || fail "compared: $(find results)"
