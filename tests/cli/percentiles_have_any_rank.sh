#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A sweep and a figure take a percentile of any rank, CONTAINER.TIME.p95 or p99.9. Those that summary.json has, too,
# are the same, also where a run only bounds them.
. "$(dirname "$0")/common.inc"

# Under the stock driver many requests have no first token when the client stops, 200 s after the first.
cat >s.json <<'END'
{
	"scenario": "vllm-diffusion-40g",
	"set": {"duration": "330s", "containers.vllm.app.client.stop": "200s"},
	"grid": {"system.name": ["stock", "ghost"]},
	"metrics": ["vllm.ttft_ms.p50.0", "vllm.ttft_ms.p99.0", "vllm.queue_ms.p90.00", "vllm.e2e_s.p99.000", "vllm.client_ttft_ms.p50.0",
		"diffusion.latency_s.p99.0", "vllm.client_ttft_ms.p95", "vllm.client_ttft_ms.p99.9", "vllm.client_ttft_ms.p0",
		"vllm.client_ttft_ms.p100", "vllm.ttft_ms.p5"],
	"plots": [{"type": "line", "x": "system.name", "y": "vllm.client_ttft_ms.p95"}]
}
END
"$gvmsim" sweep s.json --out out --minimise vllm.client_ttft_ms.p95 --subject-to 'vllm.ttft_ms.p5<2s' >table 2>.err ||
	fail "sweep: $(cat .err)"
grep -q 'points keep the bound' table || fail "no search: $(cat table)"
[ -s out/s-1.png ] || fail "no picture"

# column NAME: of sweep.csv, a line for each point
column() {
	awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i } NR > 1 { print $column }' \
		out/sweep.csv
}
# The same to 12 digits, and a bound where that is one.
for pair in ttft_ms.p50.0:ttft_ms.p50 ttft_ms.p99.0:ttft_ms.p99 queue_ms.p90.00:queue_ms.p90 e2e_s.p99.000:e2e_s.p99 \
	client_ttft_ms.p50.0:client_ttft_ms.p50; do
	column "vllm.${pair%:*}" >asked
	column "vllm.${pair#*:}" >known
	cmp -s asked known || fail "$pair: $(paste asked known)"
	[ "$(wc -l <asked)" = 2 ] && ! grep -qx '' asked || fail "$pair: $(cat asked)"
done
column vllm.ttft_ms.p99.0 | grep -q '^>' || fail "no bound: the test says nothing: $(column vllm.ttft_ms.p99.0)"
column diffusion.latency_s.p99.0 >asked
column diffusion.latency_s.p99 | cmp -s - asked || fail "diffusion: $(cat asked)"

# Computed anew in the rows of completed requests, on a straight line between two ranks.
run=out/$(awk -F, '$1 == 1 { print $3 }' out/sweep.csv)
number() {
	head -n 1 "$run/requests.csv" | tr , '\n' | grep -nx "$1" | cut -d: -f1
}
awk -F, -v a="$(number arrival_ns)" -v f="$(number first_ns)" -v o="$(number outcome)" \
	'$1 == "vllm" && $o == "completed" { printf "%.0f\n", $f - $a }' "$run/requests.csv" | sort -n >waits
for rank in 0 95 99.9 100; do
	awk -v rank="$rank" '{ v[NR] = $1 } END { at = (NR - 1) * rank / 100; i = int(at)
		printf "%.9g\n", (v[i + 1] + (at - i) * (i + 2 <= NR ? v[i + 2] - v[i + 1] : 0)) / 1e6 }' waits >want
	column "vllm.client_ttft_ms.p$rank" | head -n 1 | awk '{ printf "%.9g\n", $1 }' | cmp -s - want ||
		fail "p$rank: $(column "vllm.client_ttft_ms.p$rank"), expected $(cat want)"
done

# A figure has the same values, with their bounds, and of rows.
cat >f.json <<'END'
{
	"title": "Tails", "scenario": "vllm-diffusion-40g",
	"set": {"duration": "330s", "containers.vllm.app.client.stop": "200s"},
	"runs": [{"label": "stock", "system": "stock"}, {"label": "ghost", "system": "ghost"}],
	"panels": [
		{"key": "p95", "unit": "ms", "log": true, "value": "llm-server.client_ttft_ms.p95"},
		{"key": "p99", "unit": "ms", "log": true, "value": "vllm.ttft_ms.p99.0"},
		{"key": "rows", "unit": "ms", "value": {"multiply": [1e-6,
			{"rows": {"container": "vllm", "outcome": "completed", "value": "first_ns", "minus": "arrival_ns", "take": "p95"}}]}}
	]
}
END
"$gvmsim" figure ./f.json --out out >table 2>.err || fail "figure: $(cat .err)"
[ "$(grep '^p95,' out/f.csv | cut -d, -f6)" = "$(column vllm.client_ttft_ms.p95)" ] || fail "p95: $(cat out/f.csv)"
[ "$(grep '^p99,' out/f.csv | awk -F, '{ print $6 == "" ? ">" $12 : $6 }')" = "$(column vllm.ttft_ms.p99)" ] ||
	fail "p99: $(cat out/f.csv)"
[ "$(grep '^rows,' out/f.csv | awk -F, '{ printf "%.6g ", $6 }')" = \
	"$(column vllm.client_ttft_ms.p95 | awk '{ printf "%.6g ", $1 }')" ] || fail "rows: $(cat out/f.csv)"
[ -s out/f.png ] || fail "no picture"

# Intervals over blocks.
jq '.interval = {"over": "blocks", "block": "10s", "resamples": 50} | .grid["system.name"] = ["ghost"] |
	.metrics = ["vllm.ttft_ms.p99.0", "vllm.client_ttft_ms.p95"]' s.json >b.json
"$gvmsim" sweep b.json --out blocks >table 2>.err || fail "blocks: $(cat .err)"
[ "$(grep ',vllm.ttft_ms.p99.0,' blocks/intervals.csv | cut -d, -f4-)" = \
	"$(grep ',vllm.ttft_ms.p99,' blocks/intervals.csv | cut -d, -f4-)" ] || fail "blocks: $(grep ttft_ms.p99 blocks/intervals.csv)"
grep ',vllm.client_ttft_ms.p95,' blocks/intervals.csv | awk -F, '{ exit !($(NF - 2) != "" && $(NF - 2) <= $(NF - 3) && $(NF - 3) <= $(NF - 1)) }' ||
	fail "blocks: $(grep p95 blocks/intervals.csv)"

# Mistakes, before anything runs where the runs are known, and of one line.
wrong() {
	jq --arg name "$2" '.metrics = [$name]' s.json >w.json
	expect 2 "$1" sweep w.json --out early
	[ ! -e early ] || fail "$2: wrote into early"
}
for rank in 101 100.1 9999 95. 95.1234 95x 9.5.5; do
	wrong "w.json: \"ttft_ms.p$rank\": \"p$rank\" is no percentile, allowed: p0 to p100, such as p95 or p99.9" "vllm.ttft_ms.p$rank"
done
wrong '"itl_ms.p95": requests.csv has no gaps, allowed: ttft_ms, queue_ms, e2e_s, client_ttft_ms' vllm.itl_ms.p95
wrong 'no run has the metric "vllm.tft_ms.p95", did you mean "vllm.ttft_ms.p95"?' vllm.tft_ms.p95
wrong 'no run has the metric "vllm.ttft_ms.pp95"' vllm.ttft_ms.pp95
for value in vllm.tft_ms.p95:'did you mean "vllm.ttft_ms.p95"?' vllm.ttft_ms.p101:'"p101" is no percentile'; do
	jq --arg value "${value%%:*}" '.panels = [.panels[0] | .value = $value]' f.json >g.json
	status=0
	"$gvmsim" figure ./g.json --out early >/dev/null 2>.err || status=$?
	[ "$status" = 2 ] && grep -v 'made no run' .err | grep -q "g.json:panels\[0\].value: .*${value#*:}" || fail "${value%%:*}: $(cat .err)"
done
jq '.panels[2].value.multiply[1].rows.take = "p101"' f.json >g.json
expect 2 'g.json:panels\[2\].value.multiply\[1\].rows.take: is not known, allowed: mean, median, p99' figure ./g.json --out early
