#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# "gvmsim validate published": every row of a reference file stands beside its prediction, scores are those
# of the rows, and the text and the JSON file agree. Runs are cut short, so most predictions are far off.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

"$gvmsim" validate published compute isolation --set duration=90s --json score.json >text 2>.err ||
	fail "$(cat .err)"

# All rows of the files are there, each once and in its figure.
for figure in compute isolation; do
	jq -r --arg figure "$figure" '.figures[] | select(.figure == $figure) | .rows[] | "\(.id),\(.published)"' \
		score.json | sort >have
	awk -F, '/^#/ { next } !header { for (i = 1; i <= NF; i++) column[$i] = i; header = 1; next }
		{ printf "%s,%.9g\n", $column["id"], $column["value"] }' \
		"$source/plots/reference/$figure.csv" | sort >want
	cut -d, -f1 have >have.ids
	cut -d, -f1 want >want.ids
	cmp have.ids want.ids || fail "$figure: rows are missing"
done

# Scores are those of the rows. Two rows of one id count once in all.
jq -e '
	def near(a; b): (a - b) | fabs < 1e-6;
	def of(rows): {
		rows: (rows | length),
		near: ((rows | map(select(.error != null and .error <= (1.25 | log))) | length) / (rows | length)),
		factor: ((rows | map(select(.error != null and .error <= (2 | log))) | length) / (rows | length))};
	def same(score; rows): of(rows) as $own |
		score.rows == $own.rows and near(score.within_25_percent; $own.near) and
		near(score.within_2_times; $own.factor);
	all(.figures[]; same(.score; [.rows[] | select(.scored)])) and
	same(.score; [.figures[].rows[] | select(.scored)] | group_by(.id) | map(.[0])) and
	all(.figures[].rows[] | select(.scored and .predicted != null and .predicted > 0);
		near(.error; (.predicted / .published | log | fabs))) and
	all(.figures[].rows[] | select(.unscored); .scored | not)' score.json >/dev/null ||
	fail "score.json: a score is not that of its rows"
grep -q "^all: $(jq .score.rows score.json) rows, " text || fail "text: $(tail -1 text)"
grep -q 'not scored: 1 by definition$' text || fail "no row says why it does not count"

# A second time, all comes from the cache and is the same.
"$gvmsim" validate published compute isolation --set duration=90s >again 2>.err
cmp text again || fail "another text from the cache"
grep -q 'made no run' .err || fail "runs were made again: $(cat .err)"

# With seeds, a prediction has a spread, the same each time. The seeds of a run alone change nothing.
"$gvmsim" validate published compute --set duration=90s --seeds 3 --json seeds.json >text 2>.err ||
	fail "$(cat .err)"
jq -e '
	def near(a; b): a as $a | b as $b | ($a - $b | fabs) <= 1e-6 * (($a | fabs) + 1e-9);
	.seeds == 3 and all(.figures[].rows[]; (.spread.seeds | length) == 3) and
	all(.figures[].rows[] | select(all(.spread.seeds[]; . != null)); .published as $published |
		(.spread.seeds | sort) as $sorted | near(.spread.p50; $sorted[1]) and
		near(.spread.p10; $sorted[0] * 0.8 + $sorted[1] * 0.2) and
		near(.spread.p90; $sorted[2] * 0.8 + $sorted[1] * 0.2) and
		.spread.within == (.spread.p10 <= $published and $published <= .spread.p90)) and
	any(.figures[].rows[]; .spread.p10 != .spread.p90)' seeds.json >/dev/null ||
	fail "seeds.json: a spread is not that of its seeds"
grep -q '^seeds 1 to 3: [0-9]* of [0-9]* published values lie within' text || fail "text: $(tail -1 text)"
"$gvmsim" validate published guardian-launch --seeds 2 >none 2>.err || fail "no row counts: $(cat .err)"
tail -n 1 none | grep -qx 'seeds 1 to 2: no row counts' || fail "no row counts: $(tail -1 none)"
"$gvmsim" validate published compute --set duration=90s --seeds 3 --fresh >again 2>.err
cmp text again || fail "the same seeds are another spread"
jq -c '[.figures[].rows[] | [.predicted, .error]]' seeds.json >with
"$gvmsim" validate published compute --set duration=90s --json plain.json >text 2>.err
jq -c '[.figures[].rows[] | [.predicted, .error]]' plain.json >without
cmp with without || fail "seeds change the prediction itself"

expect 2 "option '--seeds': '-1' is wrong, allowed: 0 to 1000" validate published --seeds -1
expect 2 "figure alone-vs-shared: has no published values" validate published alone-vs-shared
expect 2 "unknown figure 'nothing'" validate published nothing
expect 2 "is set by figure compute for each of its runs" validate published compute --set system.name=gvm
if "$gvmsim" validate published compute --set duration=90s --json none/score.json >text 2>.err; then
	fail "a file in no folder was written"
fi
grep -q 'none/score.json: cannot write' .err || fail "$(cat .err)"

# Each file of published values with ids is compared by a figure.
for file in "$source"/plots/reference/*.csv; do
	grep -v '^#' "$file" | head -1 | grep -q '\(^\|,\)id\(,\|$\)' || continue
	name=$(basename "$file")
	grep -lq "\"file\": \"$name\"" "$source"/plots/figures/*.json || fail "$name: no figure compares it"
done
