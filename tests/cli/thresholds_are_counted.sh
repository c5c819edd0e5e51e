#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Counts with a threshold, CONTAINER.TIME.above_2s and share_above_2s, in sweeps and figures. A share is what an
# SLO of that time leaves; a count is that of the rows of requests.csv.
. "$(dirname "$0")/common.inc"

# Under the stock driver many requests have no first token when the client stops, and drops them, 200 s after the first.
cat >s.json <<'END'
{
	"scenario": "vllm-diffusion-40g",
	"set": {"duration": "330s", "containers.vllm.app.client.stop": "200s"},
	"grid": {"system.name": ["stock", "ghost"], "containers.vllm.app.slo_ttft": ["2s"]},
	"metrics": ["vllm.ttft_ms.above_2s", "vllm.ttft_ms.share_above_2s", "vllm.client_ttft_ms.share_above_2000ms",
		"vllm.queue_ms.above_1.5s", "vllm.e2e_s.above_10s", "diffusion.latency_s.above_10s",
		"diffusion.latency_s.share_above_10s", "vllm.slo_attainment"],
	"plots": [{"type": "line", "x": "system.name", "y": "vllm.ttft_ms.share_above_2s"}]
}
END
"$gvmsim" sweep s.json --out out --maximise diffusion.images --subject-to 'vllm.ttft_ms.share_above_2s<0.9' \
	--subject-to 'vllm.ttft_ms.above_2s<=100000' >table 2>.err || fail "sweep: $(cat .err)"
grep -q 'points keep all bounds' table || fail "no search: $(cat table)"
[ -s out/s-1.png ] || fail "no picture"

# column NAME: of sweep.csv, a line for each point
column() {
	awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i } NR > 1 { print $column }' \
		out/sweep.csv
}

# The share above a promised time and the share that kept it are all, of all and by the client's view.
for view in ttft_ms.share_above_2s:slo_attainment client_ttft_ms.share_above_2000ms:client_slo_attainment; do
	column "vllm.${view%:*}" >above
	column "vllm.${view#*:}" >kept
	[ "$(paste -d' ' above kept | awk '{ d = $1 + $2 - 1; print (d < 1e-9 && d > -1e-9) }' | sort -u)" = 1 ] ||
		fail "$view: $(paste -d' ' above kept)"
done
[ "$(column vllm.ttft_ms.share_above_2s | awk '$1 > 0.05 && $1 < 1' | wc -l)" -ge 1 ] || fail "none is late: the test says nothing"
[ "$(awk -F, 'NR > 1 && $1 == 1' out/sweep.csv | wc -l)" = 1 ] || fail "one run a point"

# Counted anew in the rows. $9 is preemptions; a wait counts up to the client's stop, of an image to the end.
run=out/$(awk -F, '$1 == 1 { print $3 }' out/sweep.csv)
head -n 1 "$run/requests.csv" >header
number() {
	tr , '\n' <header | grep -nx "$1" | cut -d: -f1
}
count() {
	awk -F, -v name="$1" -v answer="$(number "$2")" -v limit="$3" -v stop="$4" -v arrival="$(number arrival_ns)" \
		-v outcome="$(number outcome)" '$1 == name {
			if (!first) first = $arrival
			end = stop == "run" ? 330e9 : first + stop * 1e9
			answered = $answer != "" && (answer != '"$(number finish_ns)"' || $outcome == "completed")
			if (answered) n += $answer - $arrival > limit
			else n += $outcome == "failed" || end - $arrival > limit
		} END { print n + 0 }' "$run/requests.csv"
}
grep -q ',dropped$' "$run/requests.csv" || fail "no request is dropped: the test says nothing"
for row in ttft_ms.above_2s:vllm:first_ns:2e9:200 queue_ms.above_1.5s:vllm:start_ns:1.5e9:200 \
	e2e_s.above_10s:vllm:finish_ns:10e9:200 latency_s.above_10s:diffusion:finish_ns:10e9:run; do
	IFS=: read -r key name answer limit end <<-LINE
		$row
	LINE
	[ "$(column "$name.$key" | head -n 1)" = "$(count "$name" "$answer" "$limit" "$end")" ] ||
		fail "$key: $(column "$name.$key" | head -n 1), in the rows $(count "$name" "$answer" "$limit" "$end")"
	[ "$(column "$name.$key" | head -n 1)" -gt 0 ] || fail "$key is 0: the test says nothing"
done

# A figure has the same values, by the name and by the type; and sums of all containers.
cat >f.json <<'END'
{
	"title": "Late requests", "scenario": "vllm-diffusion-40g",
	"set": {"duration": "330s", "containers.vllm.app.client.stop": "200s", "containers.vllm.app.slo_ttft": "2s"},
	"runs": [{"label": "stock", "system": "stock"}, {"label": "ghost", "system": "ghost"}],
	"panels": [
		{"key": "late", "unit": "requests", "value": "llm-server.ttft_ms.above_2s"},
		{"key": "share", "unit": "%", "value": {"multiply": [100, "vllm.ttft_ms.share_above_2s"]}},
		{"key": "images", "unit": "images", "value": "diffusion.latency_s.above_10s"},
		{"key": "all", "unit": "images", "value": "*.latency_s.above_10s"}
	]
}
END
"$gvmsim" figure ./f.json --out out >table 2>.err || fail "figure: $(cat .err)"
[ "$(grep '^late,' out/f.csv | cut -d, -f6)" = "$(column vllm.ttft_ms.above_2s)" ] || fail "late: $(cat out/f.csv)"
[ "$(grep '^images,' out/f.csv | cut -d, -f6)" = "$(column diffusion.latency_s.above_10s)" ] || fail "images: $(cat out/f.csv)"
[ "$(grep '^all,' out/f.csv | cut -d, -f6)" = "$(column diffusion.latency_s.above_10s)" ] || fail "all: $(cat out/f.csv)"
[ "$(grep '^share,' out/f.csv | awk -F, '{ printf "%.6f ", $6 / 100 }')" = \
	"$(column vllm.ttft_ms.share_above_2s | awk '{ printf "%.6f ", $1 }')" ] || fail "share: $(cat out/f.csv)"

# Intervals over blocks.
jq '.interval = {"over": "blocks", "block": "10s", "resamples": 50} | .grid["system.name"] = ["stock"]' s.json >b.json
"$gvmsim" sweep b.json --out blocks >table 2>.err || fail "blocks: $(cat .err)"
for key in vllm.ttft_ms.above_2s vllm.ttft_ms.share_above_2s diffusion.latency_s.above_10s; do
	grep ",$key," blocks/intervals.csv | awk -F, '{ exit !($(NF - 2) != "" && $(NF - 2) <= $(NF - 3) && $(NF - 3) <= $(NF - 1)) }' ||
		fail "blocks: $key: $(grep ",$key," blocks/intervals.csv)"
done

# Mistakes, before anything runs where the runs are known, and of one line.
wrong() {
	jq --arg name "$2" '.metrics = [$name]' s.json >w.json
	expect 2 "$1" sweep w.json --out early
	[ ! -e early ] || fail "$2: wrote into early"
}
wrong 'w.json: "ttft_ms.above_2x": "2x" is no duration, allowed: a number with a unit, such as 2s or 500ms' vllm.ttft_ms.above_2x
wrong '"ttft_ms.share_above_": "" is no duration' vllm.ttft_ms.share_above_
wrong '"0000000000000000000000000000000000000000" is no duration' "vllm.ttft_ms.above_$(printf '%0150d' 2)s"
wrong '"itl_ms.above_2s": requests.csv has no gaps, allowed: ttft_ms, queue_ms, e2e_s, client_ttft_ms' vllm.itl_ms.above_2s
wrong 'no run has the metric "vllm.tft_ms.above_2s", did you mean "vllm.ttft_ms.above_2s"?' vllm.tft_ms.above_2s
wrong 'no run has the metric "diffusion.ttft_ms.above_2s"' diffusion.ttft_ms.above_2s
wrong 'no run has the metric "vlm.ttft_ms.above_2s", did you mean "vllm.ttft_ms.above_2s"?' vlm.ttft_ms.above_2s
for value in vllm.tft_ms.above_2s:'did you mean "vllm.ttft_ms.above_2s"?' vllm.itl_ms.above_2s:'has no gaps' \
	vllm.ttft_ms.above_2:'"2" is no duration'; do
	jq --arg value "${value%%:*}" '.panels = [.panels[0] | .value = $value]' f.json >g.json
	status=0
	"$gvmsim" figure ./g.json --out early >/dev/null 2>.err || status=$?
	[ "$status" = 2 ] && grep -v 'made no run' .err | grep -q "g.json:panels\[0\].value: .*${value#*:}" || fail "${value%%:*}: $(cat .err)"
done
