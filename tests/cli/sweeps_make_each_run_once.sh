#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A sweep makes each run once: a killed one loses no finished run and repeats none, and its results are those
# of a sweep that was not killed. Usage: sweeps_make_each_run_once.sh GVMSIM SOURCE [KILLS]
. "$(dirname "$0")/common.inc"
kills=${3:-12}

cat >many.json <<'EOF2'
{
	"scenario": "vllm-diffusion-80g",
	"set": {"duration": "40s", "output.timeline_interval": "1s"},
	"grid": {
		"gpu.sched.timeslice": ["1ms", "2ms"],
		"system.name": ["gvm", "ghost", "stock"],
		"gpu.memory": ["70G", "72G", "74G"]
	},
	"seeds": [1, 2],
	"metrics": ["vllm.gpu_seconds"],
	"plots": [{"type": "pareto", "x": "vllm.gpu_seconds", "y": "diffusion.gpu_seconds"}]
}
EOF2

# A whole one, and again: no run is made twice.
"$gvmsim" sweep many.json --out whole >table 2>.err || fail "sweep: $(cat .err)"
grep -q "made 36 of 36 runs" .err || fail "36 runs: $(cat .err)"
[ "$(wc -l <whole/sweep.csv)" = 37 ] || fail "rows: $(wc -l <whole/sweep.csv)"
[ "$(find whole/runs -mindepth 1 -maxdepth 1 | wc -l)" = 36 ] || fail "runs"
[ "$(cut -d, -f2 whole/sweep.csv | sort -u | tr '\n' ' ')" = "1 2 seed " ] || fail "seeds"
head -n 1 whole/intervals.csv | grep -q "metric,estimate,low,high,interval" || fail "intervals"
grep -q "95 % bootstrap over 2 seeds" whole/intervals.csv || fail "an interval says what it is over"
grep -q "95 % bootstrap over 2 seeds" table || fail "so does the table"
[ -s whole/many-1.png ] && [ -s whole/many-1.svg ] || fail "no picture"
"$gvmsim" sweep many.json --out whole >/dev/null 2>.err || fail "again: $(cat .err)"
grep -q "made no run" .err || fail "runs were made again: $(cat .err)"

# finished: the runs of the killed sweep that are whole, as PATH INODE TIME.
finished() {
	find cut/runs -mindepth 2 -maxdepth 2 -name summary.json -not -path '*.tmp-*' \
		-printf '%p %i %T@\n' 2>/dev/null | sort
}

# wait_for_more COUNT: until more than COUNT runs are finished. A minute is a hundred times what a run takes.
wait_for_more() {
	for _ in $(seq 6000); do
		[ "$(finished | wc -l)" -le "$1" ] || return 0
		sleep 0.01
	done
	fail "kill $kill: no run has finished in a minute"
}

# Kill it at moments all over the time of a whole one, and go on. Each third kill waits for one more finished
# run, since a machine can be so busy that no run ends in the time of the others. An entry that is there
# stays the same file.
: >before
random=7
for kill in $(seq "$kills"); do
	random=$(((random * 1103515245 + 12345) % 2147483648))
	"$gvmsim" sweep many.json --out cut >/dev/null 2>&1 &
	pid=$!
	done=$(wc -l <before)
	[ $((kill % 3)) -ne 0 ] || [ "$done" -eq 36 ] || wait_for_more "$done"
	sleep "$(awk -v r="$random" 'BEGIN { printf "%.3f", 0.02 + 0.6 * r / 2147483648 }')"
	kill -9 "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
	finished >now
	[ -z "$(comm -23 before now)" ] ||
		fail "kill $kill: a finished run was lost or made again: $(comm -23 before now)"
	cp now before
done
[ -s before ] || fail "no kill came after a finished run"
# The kill that comes while a folder is tried.
: >cut/runs/gvmsim-probe.tmp-1-01234567
"$gvmsim" sweep many.json --out cut >/dev/null 2>.err || fail "after kills: $(cat .err)"
finished >now
[ -z "$(comm -23 before now)" ] || fail "a finished run was made again: $(comm -23 before now)"
cmp whole/sweep.csv cut/sweep.csv || fail "results differ from those without kills"
cmp whole/intervals.csv cut/intervals.csv || fail "intervals differ from those without kills"
[ -z "$(find cut -name '*.tmp-*')" ] || fail "unfinished files stay: $(find cut -name '*.tmp-*')"

# Three parts are a whole one.
for part in 0 1 2; do
	"$gvmsim" sweep many.json --out parts --part $part/3 2>.err || fail "part $part: $(cat .err)"
	grep -q "made 12 of 36 runs" .err || fail "part $part: $(cat .err)"
done
"$gvmsim" sweep many.json --out parts >/dev/null 2>.err
grep -q "made no run" .err || fail "parts left runs: $(cat .err)"
cmp whole/sweep.csv parts/sweep.csv || fail "parts give other results"

# The best point, and none.
"$gvmsim" sweep many.json --out whole --maximise gpu.memory --subject-to 'diffusion.gpu_seconds<1000s' \
	>best 2>/dev/null || fail "search"
grep -q "^18 of 18 points keep the bound" best || fail "all points keep 1000 s: $(cat best)"
grep -q "gpu.memory is 74G" best || fail "74G is the most: $(cat best)"
status=0
"$gvmsim" sweep many.json --out whole --subject-to 'diffusion.gpu_seconds<1ns' >/dev/null 2>.err || status=$?
[ "$status" -eq 1 ] || fail "no point keeps 1 ns: exit code $status"
grep -q "^gvmsim: many.json: no point keeps the bound" .err || fail "no point: $(cat .err)"
# Of several bounds the one to blame is named, with the value that is nearest.
"$gvmsim" sweep many.json --out whole --subject-to 'diffusion.gpu_seconds<1000s' --subject-to 'diffusion.gpu_seconds>900s' \
	>best 2>/dev/null && fail "a point keeps 900 s: $(cat best)"
grep -q "^ *diffusion.gpu_seconds<1000s: 18 of 18$" best || fail "a bound that all keep: $(cat best)"
grep -qE "^ *diffusion.gpu_seconds>900s: 0 of 18, the nearest is [0-9. ]+.* of point [0-9]+$" best || fail "the bound to blame: $(cat best)"

# The scenario as it is: {} in a list, and null for a control file that it writes.
cat >plain.json <<'END'
{ "scenario": "vllm-diffusion-40g", "set": {"duration": "20s", "system.name": "gvm"},
  "list": [{}, {"containers.diffusion.gmem.limit.high": null}, {"containers.diffusion.gmem.limit.high": "6e9"}] }
END
"$gvmsim" sweep plain.json --out plain >/dev/null 2>.err || fail "plain: $(cat .err)"
limits=$(for run in $(tail -n +2 plain/sweep.csv | cut -d, -f3); do
	jq -r '.containers.diffusion."gmem.limit.high" // "none"' "plain/runs/$(basename "$run")/config.json"
done | tr '\n' ' ')
[ "$limits" = "6000000000 none 6000000000 " ] || fail "limits of plain points: $limits $(cat plain/sweep.csv)"

# A container that an event stops has not died; one that finds no memory has.
cat >stopped.json <<'END'
{ "scenario": "vllm-diffusion-40g", "grid": {"system.name": ["stock", "vgpu"]},
  "set": {"duration": "15s", "events": [{"at": "10s", "container": "vllm", "stop": true}]} }
END
"$gvmsim" sweep stopped.json --out stopped >/dev/null 2>.err || fail "stopped: $(cat .err)"
[ "$(tail -n +2 stopped/sweep.csv | cut -d, -f4 | tr '\n' ';')" = ";diffusion;" ] || fail "who has died: $(cut -d, -f1-5 stopped/sweep.csv)"
