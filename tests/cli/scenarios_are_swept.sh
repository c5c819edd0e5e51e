#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A sweep over scenarios: "scenario" is a key of the points as any other one, in the table, the CSV files, the
# pictures and the search. Each run is that of its scenario with the point's keys.
. "$(dirname "$0")/common.inc"

# A scenario of the user beside the sweep's file, and one that comes with gvmsim.
mkdir sweeps
jq '.name = "mine" | .containers |= del(.vllm)' "$scenario" >sweeps/mine.json
cat >sweeps/both.json <<'END'
{
	"set": {"duration": "100s", "jitter.arrivals": "gaps"},
	"grid": {"scenario": ["vllm-diffusion-80g", "mine.json"], "system.name": ["gvm", "stock"]},
	"seeds": 2,
	"metrics": ["diffusion.gpu_seconds", "vllm.requests.arrived"],
	"plots": [{"type": "line", "x": "system.name", "y": "diffusion.gpu_seconds", "series": "scenario"}]
}
END
"$gvmsim" sweep sweeps/both.json --out out --maximise diffusion.gpu_seconds >table 2>.err || fail "sweep: $(cat .err)"
grep -q "made 8 of 8 runs" .err || fail "8 runs: $(cat .err)"
grep -Eq '^point +scenario +system.name +diffusion.gpu_seconds' table || fail "no column scenario: $(cat table)"
grep -Eq '^3 +mine.json +gvm +.*\[.*\] +-$' table || fail "the point of mine.json: $(cat table)"
head -n 1 out/sweep.csv | grep -q '^point,seed,run,failed,scenario,system.name,' || fail "$(head -n 1 out/sweep.csv)"
[ "$(sed 1d out/sweep.csv | cut -d, -f5 | uniq -c | tr -s ' ' | tr '\n' ';')" = " 4 vllm-diffusion-80g; 4 mine.json;" ] ||
	fail "rows: $(cut -d, -f1-6 out/sweep.csv)"
grep -q '^3,mine.json,gvm,diffusion.gpu_seconds,' out/intervals.csv || fail "intervals: $(grep -m 3 mine out/intervals.csv)"
grep -q '^3,mine.json,gvm,vllm' out/intervals.csv && fail "mine.json has no vllm"
[ -s out/both-1.png ] || fail "no picture"
[ "$(gunzip -c out/both-1.svg 2>/dev/null | cat - out/both-1.svg | grep -c 'of 2 scenarios')" -ge 1 ] ||
	fail "the picture does not say that there are 2 scenarios"
# The best point: alone, diffusion has more of the GPU. The scenario is no key of --set.
grep -q '^ *scenario mine.json$' table && ! grep -q 'set scenario' table || fail "best: $(cat table)"

# A run of a point is the run of its scenario.
run=$(sed 1d out/sweep.csv | awk -F, '$1 == 3 && $2 == 2 { print $3 }')
"$gvmsim" run sweeps/mine.json --set duration=100s --set jitter.arrivals=gaps --set system.name=gvm --set seed=2 \
	--out alone >/dev/null 2>.err || fail "run: $(cat .err)"
for key in name config_hash seed; do
	[ "$(jq ".$key" alone/summary.json)" = "$(jq ".$key" "out/$run/summary.json")" ] || fail "$key of point 3"
done

# A list: a point without a scenario has that of the whole sweep.
printf '{"scenario": "vllm-diffusion-80g", "set": {"duration": "1s"}, "list": [{}, {"scenario": "mine.json"}]}' >sweeps/l.json
"$gvmsim" sweep sweeps/l.json --out list >/dev/null 2>.err || fail "list: $(cat .err)"
[ "$(for run in $(sed 1d list/sweep.csv | cut -d, -f3); do jq -r .name "list/$run/summary.json"; done | tr '\n' ' ')" = \
	"vllm-diffusion-80g mine " ] || fail "list: $(cut -d, -f1-5 list/sweep.csv)"

# Drawn at random from a list.
printf '{"set": {"duration": "1s"}, "random": {"points": 8, "keys": {"scenario": ["vllm-diffusion-80g", "mine.json"]}}}' \
	>sweeps/r.json
"$gvmsim" sweep sweeps/r.json --out random >/dev/null 2>.err || fail "random: $(cat .err)"
[ "$(sed 1d random/sweep.csv | cut -d, -f5 | sort -u | wc -l)" = 2 ] || fail "random: $(cut -d, -f1-5 random/sweep.csv)"

# mistake PATTERN JSON: one line, and nothing is written
mistake() {
	printf '%s' "$2" >s.json
	expect 2 "$1" sweep s.json --out early
	[ ! -e early ] || fail "$1: wrote into early"
}
mistake "s.json:scenario: is missing" '{"grid": {"duration": ["1s"]}}'
mistake "s.json:scenario: is set for each point, too, allowed: one of them" \
	'{"scenario": "vllm-diffusion-80g", "grid": {"scenario": ["vllm-diffusion-40g"]}}'
mistake "s.json:list\[1\]: has no scenario, allowed: one here, or one for the whole sweep" \
	'{"list": [{"scenario": "vllm-diffusion-80g"}, {"duration": "1s"}]}'
mistake "s.json:grid.scenario\[1\]: is no scenario, allowed: a name, or a path relative to this file" \
	'{"grid": {"scenario": ["vllm-diffusion-80g", 7]}}'
mistake "s.json:list\[0\].scenario: is no scenario, allowed: a name" '{"list": [{"scenario": {"name": "x"}}]}'
mistake "s.json:random.keys.scenario: is not an array" '{"random": {"keys": {"scenario": {"from": "a", "to": "b"}}}}'
mistake "s.json: point 1 (scenario=none.json): none.json: no such scenario" '{"grid": {"scenario": ["none.json"]}}'
printf '{"grid": {"scenario": ["vllm-diffusion-80g"]}}' >s.json
expect 2 "--set:scenario: is set by s.json for each point" sweep s.json --set scenario=x --out early

# Texts have no order: that is said before anything runs.
printf '{"set": {"duration": "1s"}, "grid": {"scenario": ["vllm-diffusion-80g", "sweeps/mine.json"]}}' >s.json
expect 2 "^gvmsim: --minimise: no value of scenario is a number, allowed: a metric, or a key with numbers$" \
	sweep s.json --out early --minimise scenario
expect 2 "^gvmsim: --subject-to: no value of scenario is a number" sweep s.json --out early --subject-to 'scenario<5'
[ ! -e early ] || fail "texts: wrote into early"
