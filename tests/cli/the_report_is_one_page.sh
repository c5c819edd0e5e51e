#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# "gvmsim report" writes one page that needs nothing else and that all can read; its numbers are those of its
# figures; the same runs give the same page; mistakes in its file and its template are one line.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

cat >.small.json <<'END'
{
	"title": "Small & <simple>",
	"lead": "A page of four figures",
	"headline": [
		{"label": "ms a token", "figure": "prefill", "panel": "slope", "run": "40g", "claim": "\"little\""},
		{"label": "times as long", "figure": "gvtg-paging", "panel": "start", "run": "4 KB", "over": "2 MB"}
	],
	"sections": [
		{"title": "Bars & lines", "text": "Two kinds", "figures": ["prefill", "gvtg-paging", "gvtg-scale"]},
		{"title": "Time", "figures": ["memory-contention"]}
	]
}
END
"$gvmsim" report .small.json --out page >.out 2>.err || fail "$(cat .err)"
[ "$(cat .out)" = page/report.html ] || fail "$(cat .out)"
[ "$(ls page)" = report.html ] || fail "files: $(ls page)"
python3 "$source/tests/cli/page.py" page/report.html || fail "the page has faults"
grep -q '<h1>Small &amp; &lt;simple&gt;</h1>' page/report.html || fail "title"
grep -q '<li><a href="#section-1">Time</a></li>' page/report.html || fail "contents"
grep -q "median error [0-9.]* %, worst" page/report.html || fail "no score of hardware"
grep -q "the papers' text: &quot;little&quot;" page/report.html || fail "claim"

# Beside ticks in seconds others have their unit, too.
grep -qE '>500 ms</text>' page/report.html || fail "a tick of less than a second has no unit"

# The numbers of the figures: each bar of the CSV file is a bar of the page.
"$gvmsim" figure gvtg-paging >/dev/null 2>.err || fail "$(cat .err)"
grep -q "^gvmsim: made no run" .err || fail "runs are not shared: $(cat .err)"
awk -F, 'NR > 1 { printf("%s, ours: %s\n", $2, ($6 >= 999.5) ? sprintf("%.2f s", $6 / 1000) : sprintf("%.0f ms", $6)) }' \
	results/figures/gvtg-paging.csv >.bars
[ "$(wc -l <.bars)" = 3 ] || fail "bars: $(cat results/figures/gvtg-paging.csv)"
while read -r bar; do
	grep -qF "<title>$bar</title>" page/report.html || fail "no bar '$bar'"
done <.bars
ratio=$(awk -F, '$2 == "4 KB" { a = $6 } $2 == "2 MB" { b = $6 } END { printf "%.1f", a / b }' results/figures/gvtg-paging.csv)
grep -qF "<strong>$ratio</strong>" page/report.html || fail "headline: $ratio"

"$gvmsim" report .small.json --out again >/dev/null 2>.err || fail "$(cat .err)"
grep -q "^gvmsim: made no run" .err || fail "from the cache: $(cat .err)"
cmp page/report.html again/report.html || fail "the same runs give another page"
grep -q '<th scope="col">pairs in the published order</th></tr>' page/report.html || fail "no order in the scores"

# With seeds: the spread of each published value, and the order, are those of "validate published".
jq '.headline[1:1] = [] | .headline |= .[1:] | .sections = [{title: "S", figures: ["isolation", "gvtg-paging"]}]' \
	.small.json >.seeds.json
for seeds in x -1 1001; do
	expect 2 "report: option '--seeds': '$seeds' is wrong, allowed: 0 to 1000" report .seeds.json --seeds $seeds
done
"$gvmsim" report .seeds.json --out page --seeds 2 --set duration=100s >/dev/null 2>.err || fail "$(cat .err)"
python3 "$source/tests/cli/page.py" page/report.html || fail "the page with seeds has faults"
"$gvmsim" validate published isolation --seeds 2 --set duration=100s >.out 2>.err || fail "$(cat .err)"
grep -q "^gvmsim: made no run" .err || fail "the seeds are not those of validate: $(cat .err)"
order=$(sed -n 's/^order: \(.* of [0-9]*\) pairs.*/\1/p' .out)
within=$(sed -n 's/^seeds 1 to 2: \([0-9]* of [0-9]*\) published.*/\1/p' .out)
grep -q "^<tr class=\"all\">.*<td>$order</td><td>$within</td></tr>" page/report.html || fail "order $order, within $within"
[ "$(grep -c '<th scope="row">isolation</th>.*outside</td></tr>$' page/report.html)" = "$(grep -c outside .out)" ] ||
	fail "another number of values lies outside of the spread"
rm -rf page again results

# wrong PATTERN JQ_FILTER: the file with this change is one line of mistake, and nothing is run
wrong() {
	jq "$2" .small.json >.wrong.json
	expect 2 "$1" report .wrong.json --out none
	expect_nothing_written
}
wrong '^gvmsim: .wrong.json:titel: unknown key, did you mean "title"?' '.titel = "x"'
wrong '^gvmsim: .wrong.json:sections: is missing' 'del(.sections)'
wrong '^gvmsim: .wrong.json:sections\[1\].figures\[0\]: is not a text' '.sections[1].figures[0] = 1'
wrong "unknown figure 'prefil', did you mean 'prefill'" '.sections[0].figures[0] = "prefil"'
wrong "headline\[0\].figure: 'isolation' is in no section, allowed: a figure as a section names it" '.headline[0].figure = "isolation"'
wrong "headline\[0\]: figure prefill has no panel 'slope' with a run '80g'" '.headline[0].run = "80g"'
wrong "headline\[1\].over: figure gvtg-paging has no run '1 GB' in panel 'start'" '.headline[1].over = "1 GB"'
wrong "figure alone-vs-shared: needs results folders" '.sections[0].figures[0] = "alone-vs-shared"'
expect 2 "2 files, expected 1 at most" report .small.json .small.json
expect 2 "No such file" report none.json

# A page of figures that compare with nothing says so, not that nothing deviates.
jq '.sections = [{title: "S", figures: ["gvtg-paging"]}] | .headline = .headline[1:]' .small.json >.one.json
"$gvmsim" report .one.json --out page --set duration=1s >.out 2>.err || fail "$(cat .err)"
grep -q '<p>The figures of this page have no published values.</p>' page/report.html || fail "scores of nothing"
grep -q '<p>None.</p>' page/report.html && fail "nothing is compared, and nothing deviates"
rm -rf page results

# An installation of its own, whose template is wrong. Its traces and scenarios are the source tree's.
mkdir -p .app/bin .app/share/gvmsim
cp -r "$source/plots" .app/share/gvmsim
cp "$gvmsim" .app/bin
program=.app/bin/gvmsim
sed 's/{{scores}}/{{marks}}/' "$source/plots/report.html" >.app/share/gvmsim/plots/report.html
jq '.sections = [{title: "S", figures: ["gvtg-paging"]}] | .headline = .headline[1:]' .small.json >.one.json
status=0
"$program" report .one.json --out none >.out 2>.err || status=$?
[ "$status" = 2 ] || fail "template: exit code $status"
grep -q "report.html: unknown part '{{marks}}', allowed are title" .err || fail "template: $(cat .err)"
[ ! -e none ] || fail "template: half a page is left"
