#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Mistakes in a sweep file or on its command line, a full disk and a broken folder: one line each.
. "$(dirname "$0")/common.inc"

# mistake PATTERN JSON: the rest of a sweep file
mistake() {
	printf '{"scenario": "vllm-diffusion-80g", %s}' "$2" >s.json
	expect 2 "$1" sweep s.json --out out
	[ ! -e out ] || fail "$1: wrote into out"
}

expect 2 "no file is named" sweep
expect 2 "none.json: no such sweep, allowed: a file, or one of diffusion-limit, root-tags, tensorrt-llm$" sweep none.json
expect 2 'difusion-limit: no such sweep, did you mean "diffusion-limit"?' sweep difusion-limit
mistake "s.json: has no points, allowed: one of grid, list and random" '"seeds": 2'
mistake "s.json: has several kinds of points" '"grid": {"seed": [1]}, "list": [{"duration": "1s"}]'
for text in 7 '["a"]' null; do
	mistake "s.json:description: is not a text, allowed: a text" "\"grid\": {\"duration\": [\"1s\"]}, \"description\": $text"
done
mistake "s.json:points: unknown key" '"points": 1'
mistake "s.json:grid.seed: is the seed" '"grid": {"seed": [1, 2]}'
mistake "s.json:grid.duration: is empty, allowed: an array" '"grid": {"duration": []}'
mistake "s.json:list\[1\]: is wrong" '"list": [{"duration": "1s"}, 7]'
mistake "s.json:random.keys.duration: \"1s\" and \"2M\" are no range" \
	'"random": {"keys": {"duration": {"from": "1s", "to": "2M"}}}'
mistake "s.json:random.keys.duration: 3s is above 2s" \
	'"random": {"keys": {"duration": {"from": "3s", "to": "2s"}}}'
mistake "s.json: has at least" "\"grid\": {$(for k in a b c d e f; do
	printf '"%s": [1,2,3,4,5,6,7,8],' $k; done)\"g\": [1]}"
mistake "s.json:random.keys.seedless: 0 to 18446744073709551615 is too wide" \
	'"random": {"keys": {"seedless": {"from": "0", "to": "18446744073709551615"}}}'

# A key of a plot that its kind does not read would change nothing.
plot() {
	mistake "s.json:plots\[0\]$1" "\"grid\": {\"duration\": [\"1s\"]}, \"plots\": [{$2}]"
}
plot ".more: is not an array, allowed" '"type": "pareto", "x": "duration", "y": "vllm.faults", "more": "vllm.faults"'
plot ".more\[0\]: is wrong, allowed: the name of x or of y" \
	'"type": "pareto", "x": "duration", "y": "vllm.faults", "more": ["vllm"]'
plot ".more: is of no use, allowed: type, title, x, y, log, series" \
	'"x": "duration", "y": "vllm.faults", "more": ["vllm.faults"]'
plot ".value: is of no use, allowed: type, title, x, y, log, series" \
	'"type": "line", "x": "duration", "y": "vllm.faults", "value": "vllm.faults"'
plot ".series: is of no use, allowed: type, title, x, y, log, value" \
	'"type": "heat", "x": "duration", "y": "duration", "value": "vllm.faults", "series": "duration"'
plot ".series: is of no use, allowed: type, title, x, y, log, more" \
	'"type": "pareto", "x": "duration", "y": "vllm.faults", "series": "duration"'
plot ".z: unknown key, allowed: type, title, x, y, value, series, more, log" '"z": 1'

mistake "s.json:interval: is over seeds, allowed" '"grid": {"duration": ["1s"]}, "interval": {"over": "seeds"}'
mistake "s.json:plots\[0\].x: \"nothing\" does not differ between points" \
	'"grid": {"duration": ["1s"]}, "plots": [{"type": "line", "x": "nothing", "y": "vllm.faults"}]'
mistake "s.json:plots\[0\]: points 1 and 2 are at the same place" \
	'"grid": {"duration": ["1s"], "gpu.memory": ["38G", "39G"]},
	 "plots": [{"type": "line", "x": "duration", "y": "vllm.faults"}]'
mistake "s.json:interval: is over blocks of one run for each point, allowed: no \"seeds\", or one" \
	'"grid": {"duration": ["1s"]}, "seeds": 2, "interval": {"over": "blocks"}'
mistake "s.json:interval.of: is not known, allowed: mean, runs" \
	'"grid": {"duration": ["1s"]}, "seeds": 2, "interval": {"of": "seeds"}'
mistake "s.json:interval.of: is of no use, allowed: in an interval over seeds" \
	'"grid": {"duration": ["1s"]}, "interval": {"over": "blocks", "of": "runs"}'
mistake "s.json:interval.block: \"1us\" is wrong, allowed: a duration from 100ms, such as 30s" \
	'"grid": {"duration": ["1s"]}, "interval": {"over": "blocks", "block": "1us"}'
mistake "s.json:seeds\[2\]: is there twice" '"grid": {"duration": ["1s"]}, "seeds": [7, 8, 7]'
mistake "s.json:seeds: has 1001 seeds, allowed: up to 1000" \
	"\"grid\": {\"duration\": [\"1s\"]}, \"seeds\": [$(seq -s, 1001)]"
mistake "s.json: 1000 points with 1000 seeds are 1000000 runs, allowed: up to 100000" \
	"\"grid\": {\"gpu.memory\": [$(seq -s, 1000)]}, \"seeds\": 1000"
# The scenario's own checks, before anything runs.
mistake "s.json: no point can be run: point 1 (duration=no): --set:duration: \"no\"" '"grid": {"duration": ["no", "none"]}'
mistake "s.json: point 1 (nothing=1): --set:nothing: unknown key" '"grid": {"nothing": [1]}'

printf '{"scenario": "vllm-diffusion-80g", "grid": {"duration": ["1s", "2s"]}}' >s.json
expect 2 "--set:duration: is set by s.json for each point" sweep s.json --set duration=2s --out out
limit=containers.diffusion
printf '{"scenario": "vllm-diffusion-80g", "list": [{}, {"%s.gmem.limit.high": "9G"}]}' $limit >s.json
expect 2 "--set:$limit.memory.limit: is set by s.json for each point" sweep s.json --set $limit.memory.limit=8G --out out
expect 2 "--set:containers: is set by s.json for each point" \
	sweep s.json --set 'containers={"diffusion": {"gmem": {"limit.high": "8G"}}}' --out out
expect 2 "'3/3' is wrong, allowed: 0/N to N-1/N" sweep s.json --part 3/3
expect 2 "\"vllm.ttft\" is no bound" sweep s.json --subject-to vllm.ttft
expect 2 "is a second objective" sweep s.json --minimise vllm.faults --maximise vllm.faults

# Contradictions.
mistake "s.json:set.duration: is set for each point, too, allowed: one of them" \
	'"set": {"duration": "1s"}, "grid": {"duration": ["2s"]}'
mistake "s.json:set.system: is set for each point, too, allowed: one of them" \
	'"set": {"system": {"name": "gvm"}}, "grid": {"system.name": ["stock", "ghost"]}'
mistake "s.json:set.seed: is set for each point, too, allowed: one of them" \
	'"set": {"seed": 7}, "grid": {"duration": ["2s"]}, "seeds": 2'
printf '{"scenario": "vllm-diffusion-80g", "grid": {"duration": ["1s", "2s"]}}' >s.json
expect 2 "sweep: --part and --slurm are given, allowed: one of them" sweep s.json --part 0/2 --slurm 2 --out out
for search in "--minimise vllm.faults" "--maximise vllm.faults" "--subject-to vllm.faults<1"; do
	# shellcheck disable=SC2086
	expect 2 "sweep: --part makes runs and searches nothing, allowed: no ${search%% *}" sweep s.json --part 0/2 $search --out out
done
expect 2 'subject-to: "x" is no value, allowed: a number' sweep s.json --subject-to 'vllm.faults<x' --out out
[ ! -e out ] || fail "contradictions wrote $(find out)"

# A comment of the batch script cannot become a command.
mkdir "$(printf 'a\nb')"
expect 2 "has a line end" sweep s.json --out "$(printf 'a\nb')" --slurm 2

# A full disk: 32 KiB a file. The line names the point, and nothing that is half stays.
if (
	ulimit -f 1
	trap '' XFSZ
	"$gvmsim" sweep s.json --out full >/dev/null 2>.err
); then
	fail "a full disk is no success"
fi
[ "$(wc -l <.err)" = 1 ] || fail "full disk: $(cat .err)"
[ -z "$(find full -name '*.tmp-*' 2>/dev/null)" ] || fail "full disk left $(find full)"
rm -rf full

# A folder that is a file.
: >file
expect 1 "file" sweep s.json --out file
expect 1 "file/deep" sweep s.json --out file/deep
mkdir broken && : >broken/runs
expect 1 "broken/runs" sweep s.json --out broken

# A damaged entry is made again.
"$gvmsim" sweep s.json --out fine >/dev/null 2>&1
for entry in fine/runs/*; do echo '{' >"$entry/summary.json"; done
"$gvmsim" sweep s.json --out fine >/dev/null 2>.err || fail "damaged: $(cat .err)"
grep -q "made 2 of 2 runs" .err || fail "damaged entries: $(cat .err)"

# A name that no run has is named before anything runs.
for option in --minimise --maximise; do
	expect 2 "$option: no run has the metric \"vllm.fault\", did you mean \"vllm.faults\"" \
		sweep s.json --out early $option vllm.fault
done
expect 2 "to: no run has the metric \"vllm.tft_ms.p99\"" sweep s.json --out early --subject-to 'vllm.tft_ms.p99<2s'
# So is a value in a wrong unit.
for bound in 'vllm.faults<2s' 'vllm.ttft_ms.p99<2G' 'vllm.bytes_h2d<1ms' 'duration<2G'; do
	expect 2 "to: \"${bound#*<}\" is no value of ${bound%<*}, allowed" sweep s.json --out early --subject-to "$bound"
done
mistake "s.json: no run has the metric \"vllm.fault\"" '"grid": {"duration": ["1s"]}, "metrics": ["vllm.fault"]'
[ ! -e early ] || fail "a wrong name was found after the runs"

# A range of numbers with a point is drawn between its ends, one of whole numbers is not.
cat >range.json <<'END'
{"scenario": "vllm-diffusion-80g", "set": {"duration": "1ms"}, "random": {"points": 6, "keys": {
	"containers.vllm.app.gpu_memory_utilization": {"from": 0.5, "to": 1.0},
	"gpu.memory": {"from": 60e9, "to": 70e9}, "containers.vllm.app.max_sequences": {"from": 1, "to": 64},
	"containers.diffusion.app.efficiency": {"from": 0.1, "to": 0.3}}}}
END
"$gvmsim" sweep range.json --out range >/dev/null 2>.err || fail "range: $(cat .err)"
sed 1d range/sweep.csv | cut -d, -f5 >drawn
[ "$(grep -c '^0\.[5-9]' drawn)" = 6 ] && [ "$(sort -u drawn | wc -l)" = 6 ] || fail "0.5 to 1.0: $(cat drawn)"
sed 1d range/sweep.csv | cut -d, -f6 | grep -qv '^6[0-9]*$' && fail "a size is not whole: $(cat range/sweep.csv)"
sed 1d range/sweep.csv | cut -d, -f7 | grep -q '[.]' && fail "a count is not whole: $(cat range/sweep.csv)"
[ "$(sed 1d range/sweep.csv | cut -d, -f8 | grep -cE '^0[.][1-3][0-9]{0,5}$')" = 6 ] ||
	fail "0.1 to 0.3: $(cat range/sweep.csv)"

# Values are as they were written, and a key is not lost in one that it is a part of.
cat >within.json <<'END'
{"scenario": "vllm-diffusion-80g", "set": {"duration": "1ms"}, "grid": {
	"containers.vllm.app.gpu_memory_utilization": [0.7], "jitter.start": ["1s", "2s"], "jitter": [{"block": "9s"}]}}
END
"$gvmsim" sweep within.json --out within >/dev/null 2>.err || fail "within: $(cat .err)"
grep -q "made 2 of 2 runs" .err || fail "jitter took the place of jitter.start: $(cat .err)"
sed 1d within/sweep.csv | cut -d, -f5 | grep -qvx 0.7 && fail "0.7 is $(sed 1d within/sweep.csv | cut -d, -f5)"

# What a killed sweep left of its files goes away with the next one, whoever has its PID now.
: >"range/range-1.png.tmp-$$-01234567"
"$gvmsim" sweep range.json --out range >/dev/null 2>.err || fail "range again: $(cat .err)"
[ ! -e "range/range-1.png.tmp-$$-01234567" ] || fail "a part of a picture stays"
# That of a writer that still works stays: it has locked the folder.
: >"range/range-1.png.tmp-4999999-01234567"
flock -s range "$gvmsim" sweep range.json --out range >/dev/null 2>.err || fail "range, locked: $(cat .err)"
[ -e "range/range-1.png.tmp-4999999-01234567" ] || fail "a file of a writer at work is removed"

# Points that are all the same, and zeros on a logarithmic axis, are drawn without a warning of gnuplot's.
cat >same.json <<END
{"scenario": "vllm-diffusion-80g", "set": {"duration": "1s", "containers.diffusion.start": "0s"}, "list": [{"jitter.block": "1s"}, {"jitter.block": "2s"}], "plots": [
	{"type": "pareto", "x": "diffusion.gpu_seconds", "y": "diffusion.gpu_seconds"},
	{"type": "pareto", "x": "diffusion.evictions", "y": "diffusion.evictions", "log": true},
	{"type": "line", "x": "jitter.block", "y": "diffusion.evictions", "log": true},
	{"type": "heat", "x": "jitter.block", "y": "jitter.block", "value": "diffusion.gpu_seconds"},
	{"type": "heat", "x": "jitter.block", "y": "jitter.block", "value": "diffusion.evictions", "log": true},
	{"type": "line", "x": "jitter.block", "y": "diffusion.gpu_seconds", "log": true},
	{"type": "pareto", "x": "diffusion.gmem.peak", "y": "diffusion.gmem.peak", "log": true}]}
END
"$gvmsim" sweep same.json --out same >/dev/null 2>.err || fail "same: $(cat .err)"
grep -v '^gvmsim: ' .err && fail "same: $(cat .err)"
[ -s same/same-1.png ] && [ -s same/same-7.png ] || fail "same: no pictures"
# Nor are lines of one point, as where the others could not be run.
jq '.list = [{"jitter.block": "1s"}, {"jitter.block": "none"}] | .plots |= [.[] | select(.type == "line")]' same.json >single.json
status=0
"$gvmsim" sweep single.json --out single >/dev/null 2>.err || status=$?
[ "$status" = 2 ] && ! grep -v '^gvmsim: ' .err || fail "single: $status, $(cat .err)"
[ -s single/single-2.png ] || fail "single: no pictures"

# A run that fails is named with its whole seed and with what it sets.
printf '%s\n%s\n' "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type" \
	"oops,ChatGPT,1,1,2,Conversation log" >bad.csv
cat >fails.json <<END
{"scenario": "vllm-diffusion-80g", "seeds": [9223372036854775807, 9223372036854775806],
	"grid": {"duration": ["80s"], "containers.vllm.app.trace.file": ["$work/bad.csv"]}}
END
status=0
"$gvmsim" sweep fails.json --out fails >/dev/null 2>.err || status=$?
[ "$status" = 2 ] && grep -q '^gvmsim: fails.json: point 1, seed 9223372036854775807 (duration=80s, containers.vllm.app.trace.file=.*bad.csv): ' .err ||
	fail "a run that fails: $status, $(cat .err)"
