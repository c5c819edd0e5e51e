#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A figure with "seeds" makes each run once for each seed. Its table, CSV file and picture have the mean and the
# interval that a sweep over the same seeds gives, or the median and percentiles of the runs. "--seeds" does that to
# any figure.
. "$(dirname "$0")/common.inc"

cat >mine.json <<'END'
{
	"title": "Two systems under three seeds",
	"scenario": "vllm-diffusion-80g",
	"defaults": {"duration": "100s", "jitter.arrivals": "gaps"},
	"seeds": [3, 1, 4],
	"runs": [{"label": "gvm", "system": "gvm"}, {"label": "stock", "system": "stock"}],
	"panels": [
		{"key": "ttft", "title": "P99 TTFT (ms)", "unit": "ms", "digits": 2, "value": "vllm.ttft_ms.p99"},
		{"key": "ratio", "value": {"divide": ["vllm.ttft_ms.p99", {"of": "vllm.ttft_ms.p99", "run": "gvm"}]}},
		{"key": "image", "unit": "s", "value": "diffusion.latency_s.mean"},
		{"key": "memory", "layout": "time", "unit": "GB", "title": "Memory",
			"curves": [{"container": "vllm", "y": "resident_bytes", "scale": 1e-9, "label": "memory"}]},
		{"key": "most", "unit": "GB", "layout": "table", "value": {"curve": {"panels": ["memory"], "take": "most"}}}
	]
}
END
"$gvmsim" figure ./mine.json --out out >table 2>.err || fail "figure: $(cat .err)"
grep -q "made 6 of 6 runs" .err || fail "6 runs: $(cat .err)"
grep -q "note" .err && fail "seeds make a difference: $(cat .err)"

# field ROW COLUMN: of mine.csv, ROW is PANEL,RUN
field() {
	awk -F, -v row="$1" -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i }
		$1 "," $2 == row { print $column }' out/mine.csv
}

# The same mean, low and high as a sweep's.
cat >same.json <<'END'
{
	"scenario": "vllm-diffusion-80g",
	"set": {"duration": "100s", "jitter.arrivals": "gaps"},
	"grid": {"system.name": ["gvm", "stock"]},
	"seeds": [3, 1, 4]
}
END
"$gvmsim" sweep same.json --out sweep >/dev/null 2>.err || fail "sweep: $(cat .err)"
for system in gvm stock; do
	[ "$(field ttft,$system ours),$(field ttft,$system ours_low),$(field ttft,$system ours_high)" = \
		"$(grep ",$system,vllm.ttft_ms.p99," sweep/intervals.csv | cut -d, -f4-6)" ] ||
		fail "$system: $(grep "ttft,$system" out/mine.csv), a sweep: $(grep ttft_ms.p99 sweep/intervals.csv)"
	[ "$(printf '%.2f [%.2f, %.2f] ms' "$(field ttft,$system ours)" "$(field ttft,$system ours_low)" \
		"$(field ttft,$system ours_high)")" = "$(sed -n "/^ttft/,/^$/s/^  $system *//p" table)" ] || fail "table: $(cat table)"
done
awk "BEGIN { exit !($(field ttft,stock ours_low) < $(field ttft,stock ours) && $(field ttft,stock ours) < $(field ttft,stock ours_high)) }" ||
	fail "the mean is not within its interval: $(cat out/mine.csv)"
grep -qx 'mean \[low, high\]: 95 % bootstrap over 3 seeds' table || fail "the table does not say what intervals are: $(cat table)"

# A ratio is one of runs under the same seed: that of gvm to itself is 1 under each.
[ "$(field ratio,gvm ours),$(field ratio,gvm ours_low),$(field ratio,gvm ours_high)" = 1,1,1 ] || fail "$(grep ratio out/mine.csv)"
[ "$(field ratio,stock ours)" = "$(sed 1d sweep/sweep.csv | awk -F, -v column="$(head -n 1 sweep/sweep.csv | tr , '\n' |
	grep -nx vllm.ttft_ms.p99 | cut -d: -f1)" '{ value[NR] = $column } END { printf "%.12g", \
	(value[4] / value[1] + value[5] / value[2] + value[6] / value[3]) / 3 }')" ] || fail "a mean of ratios: $(grep ratio out/mine.csv)"
# A value that a run only bounds has no interval, and the figure shows the bound.
[ -z "$(field image,gvm ours)$(field image,gvm ours_low)" ] && [ -n "$(field image,gvm ours_at_least)" ] ||
	fail "a bound: $(grep image out/mine.csv)"
[ -n "$(field most,gvm ours_low)" ] || fail "off a curve: $(grep most out/mine.csv)"
# Curves are those of the first seed.
[ "$(grep -c '^[0-9]*,memory,gvm,' out/mine-curves.csv)" = 1000 ] || fail "curves: $(wc -l <out/mine-curves.csv)"
gunzip -c out/mine.svg >svg 2>/dev/null || cp out/mine.svg svg
grep -q 'mean with 95 % bootstrap over 3 seeds, curves of seed 3' svg || fail "the picture does not say what it shows"
[ -s out/mine.png ] || fail "no picture"

# Of the runs: their median, and the 10th and 90th percentile, in a figure and in a sweep. Of 3 runs a tenth lies a
# fifth of the way from one run to the next.
jq '.interval.of = "runs"' mine.json >runs.json
jq '.interval.of = "runs" | .metrics = ["vllm.ttft_ms.p99"]' same.json >same-runs.json
"$gvmsim" figure ./runs.json --out runs >table 2>.err || fail "runs: $(cat .err)"
"$gvmsim" sweep same-runs.json --out sweep >table.sweep 2>.err || fail "sweep of runs: $(cat .err)"
metric=$(head -n 1 sweep/sweep.csv | tr , '\n' | grep -nx vllm.ttft_ms.p99 | cut -d: -f1)
for system in gvm stock; do
	grep ",$system," sweep/sweep.csv | cut -d, -f"$metric" | sort -g >values
	[ "$(wc -l <values)" = 3 ] || fail "3 runs: $(cat values)"
	awk '{ v[NR] = $1 } END { printf "%.9g,%.9g,%.9g\n", v[2], v[1] + (v[2] - v[1]) / 5, v[3] - (v[3] - v[2]) / 5 }' values >want
	for have in "$(grep "^ttft,$system," runs/runs.csv | cut -d, -f6,13,14)" \
		"$(grep ",$system,vllm.ttft_ms.p99," sweep/intervals.csv | cut -d, -f4-6)"; do
		echo "$have" | awk -F, '{ printf "%.9g,%.9g,%.9g\n", $1, $2, $3 }' | cmp -s - want ||
			fail "$system: $have, expected $(cat want)"
	done
done
for file in table table.sweep; do
	grep -qx 'median \[low, high\]: 10th to 90th percentile of 3 seeds' $file || fail "what intervals are: $(cat $file)"
done
grep -q ',10th to 90th percentile of 3 seeds$' sweep/intervals.csv || fail "intervals.csv: $(tail -n 1 sweep/intervals.csv)"
gunzip -c runs/runs.svg >svg 2>/dev/null || cp runs/runs.svg svg
grep -q 'median with 10th to 90th percentile of 3 seeds' svg || fail "the picture does not say what it shows"

# --seeds changes the number of a file's seeds, and nothing else of it.
"$gvmsim" figure ./mine.json --seeds 2 --out two >table 2>.err || fail "--seeds: $(cat .err)"
jq '.seeds = [1, 2]' mine.json >two.json
"$gvmsim" figure ./two.json --out two >table.two 2>.err || fail "two: $(cat .err)"
grep -q 'made no run' .err || fail "--seeds makes the runs of the seeds 1 and 2: $(cat .err)"
cmp two/mine.csv two/two.csv || fail "--seeds 2 is .seeds = [1, 2]"
grep -qx 'mean \[low, high\]: 95 % bootstrap over 2 seeds' table || fail "--seeds changes the number only: $(cat table)"
# A figure without seeds gets jitter and the percentiles. The file's own jitter stays, and so does its interval.
jq 'del(.seeds) | .defaults = {"duration": "100s", "jitter.start": "2s"} | .panels = [.panels[0]]' mine.json >plain.json
"$gvmsim" figure ./plain.json --seeds 2 --out two >table 2>.err || fail "plain: $(cat .err)"
jq '.seeds = 2 | .interval.of = "runs" | .defaults["jitter.arrivals"] = "gaps"' plain.json >same.json
"$gvmsim" figure ./same.json --out two >table.same 2>.err || fail "same: $(cat .err)"
grep -q 'made no run' .err || fail "--seeds sets jitter.arrivals and leaves jitter.start: $(cat .err)"
cmp two/plain.csv two/same.csv || fail "--seeds of a figure without seeds: $(cat two/plain.csv two/same.csv)"
grep -qx 'median \[low, high\]: 10th to 90th percentile of 2 seeds' table || fail "--seeds: $(cat table)"
jq '.interval.of = "mean"' plain.json >mean.json
"$gvmsim" figure all ./mean.json ./mine.json --seeds 2 --set jitter.start=0s --out all >paths 2>.err || fail "all: $(cat .err)"
[ "$(cut -d, -f13 all/mean.csv | grep -c .)" = 3 ] || fail "all: $(cat all/mean.csv)"
cmp -s two/mine.csv all/mine.csv || fail "jitter.start is not set in mine.json: $(cat all/mine.csv)"
for seeds in 0 101 x -1 2x 1e1 ''; do
	expect 2 "option '--seeds': '$seeds' is wrong, allowed: 1 to 100" figure ./mine.json --seeds "$seeds" --out early
done
jq 'del(.seeds) | .runs[0].set = {"seed": 7}' mine.json >wrong.json
expect 2 'wrong.json:seeds: run "gvm" sets the seed, too, allowed: one of them' figure ./wrong.json --seeds 2 --out early
expect 2 "--set:seed: is set by figure plain for each of its runs" figure ./plain.json --seeds 2 --set seed=9 --out early
[ ! -e early ] || fail "wrote into early"

# Series, of one seed: no interval. Of several that draw nothing: the user is told.
jq '.seeds = 1 | .runs = [{"label": "gvm", "points": [{"x": 1, "set": {"gpu.sched.timeslice": "1ms"}}]}]
	| .panels = [.panels[0] | .layout = "lines"]' mine.json >one.json
"$gvmsim" figure ./one.json --out out >table 2>.err || fail "one: $(cat .err)"
grep -q 'low' table && fail "one seed has no interval: $(cat table)"
tail -n 1 out/one.csv | grep -q ',,$' || fail "one seed: $(cat out/one.csv)"
jq '.seeds = 2 | .defaults = {"duration": "100s"} | .panels = [.panels[0]]' mine.json >equal.json
"$gvmsim" figure ./equal.json --out out >table 2>.err || fail "equal: $(cat .err)"
grep -q "note: ./equal.json: all seeds give the same numbers; seeds draw what jitter.arrivals" .err || fail "equal: $(cat .err)"

# A report has all runs of such a figure.
printf '{"title": "t", "sections": [{"title": "s", "figures": ["./equal.json"]}]}' >report.json
"$gvmsim" report ./report.json --out page >/dev/null 2>.err || fail "report: $(cat .err)"
[ "$(grep -o '<code>seed=[12]</code>' page/*.html | wc -l)" = 4 ] || fail "a report has 4 runs"

# It draws and tells the intervals.
printf '{"title": "t", "sections": [{"title": "s", "figures": ["./mine.json"]}]}' >report.json
"$gvmsim" report ./report.json --out page >/dev/null 2>.err || fail "report: $(cat .err)"
cat page/*.html >html
grep -q 'Values are the mean with 95 % bootstrap over 3 seeds' html || fail "a report does not say what its values are"
[ "$(grep -c '<path class="i"' html)" -ge 2 ] || fail "a report draws no interval"
grep -q '<title>stock, ours: [0-9.]* ms \[[0-9.]* ms, [0-9.]* ms\]</title>' html || fail "no interval at the bar: $(grep '<title>stock' html)"

# mistake PATTERN FILTER: one line, and nothing runs
mistake() {
	jq "$2" mine.json >wrong.json
	expect 2 "$1" figure ./wrong.json --out early
	[ ! -e early ] || fail "$1: wrote into early"
}
mistake 'wrong.json:interval.of: is not known, allowed: mean, runs' '.interval.of = "seeds"'
mistake 'wrong.json:interval: is not an object' '.interval = "runs"'
mistake 'wrong.json:seeds: is wrong, allowed: an integer from 1 to 100' '.seeds = 0'
mistake 'wrong.json:seeds: has 101 seeds, allowed: up to 100' '.seeds = [range(101)]'
mistake 'wrong.json:seeds\[1\]: is there twice, allowed: each seed once' '.seeds = [2, 2]'
mistake 'wrong.json:seeds\[0\]: is not a seed, allowed: an integer from 0' '.seeds = ["a"]'
mistake 'wrong.json:seeds: run "gvm" sets the seed, too, allowed: one of them' '.runs[0].set = {"seed": 7}'
mistake 'wrong.json:seeds: is of no use, allowed: in a figure that makes its runs' \
	'.runs = [{"label": "a", "folder": "A"}]
	| .panels = [.panels[0]]'
expect 2 "--set:seed: is set by figure mine for each of its runs, allowed: any other key" \
	figure ./mine.json --set seed=9 --out early
