#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Figures make the runs that they need: complete rows, one entry of the cache for each run, the same
# bytes from the cache; damaged entries, failed runs and interrupts are handled.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# The header of all CSV files.
columns=panel,run,x,part,unit,ours,published,ours_over_published,ours_below,published_below,failed_containers,ours_at_least,ours_low,ours_high

# short NAME ARGUMENTS...: figure NAME of twenty seconds, with requests, images and room for both
short() {
	name=$1
	shift
	# The user may not set what the other figures vary.
	case $name in
	ablation | isolation | memory-contention)
		set -- --set containers.diffusion.gmem.limit.high=max "$@"
		;;
	esac
	if [ "$name" = interference ]; then
		"$gvmsim" figure interference --set duration=1s "$@" >.out 2>.err
		return
	fi
	"$gvmsim" figure "$name" --set duration=36s --set containers.vllm.start=16s \
		--set containers.vllm.app.gpu_memory_utilization=0.4 \
		"$@" >.out 2>.err
}

# draw NAME OUT SAYS ARGUMENTS...: the figure is drawn, and the one line on stderr is SAYS
draw() {
	name=$1
	out=$2
	says=$3
	shift 3
	short "$name" --out "$out" "$@" || fail "$name: $(cat .err)"
	[ "$(wc -l <.err)" -eq 1 ] || fail "$name: $(cat .err)"
	grep -q "^gvmsim: made $says" .err || fail "$name: expected '$says': $(cat .err)"
	[ "$(tail -n 1 .out)" = "$out/$name.png" ] || fail "$name: $(tail -n 1 .out)"
	[ "$(dd if="$out/$name.png" bs=1 skip=1 count=3 2>/dev/null)" = PNG ] ||
		fail "$name: no picture"
	grep -q "</svg>" "$out/$name.svg" || fail "$name: no SVG"
	[ "$(find "$out" -type f ! -name '*-curves.csv' | sort)" = \
		"$(printf "$out/%s\n" "$name.csv" "$name.png" "$name.svg")" ] ||
		fail "$name: files: $(ls "$out")"
	[ "$(head -n 1 "$out/$name.csv")" = "$columns" ] || fail "$name: $(head -n 1 "$out/$name.csv")"
	[ -z "$(find results/cache -mindepth 1 -name '*[!0-9a-f]*' ! -name '*.json' ! -name '*.csv' ! -name sum)" ] ||
		fail "$name: $(find results/cache)"
}

# cycle NAME RUNS ARGUMENTS...: make all runs, take them from the cache, make them afresh, and mend
# damaged entries
cycle() {
	name=$1
	runs=$2
	shift 2
	rm -rf results first second
	draw "$name" first "$runs of $runs runs" "$@"
	[ "$(ls results/cache | wc -l)" -eq "$runs" ] || fail "$name: entries: $(ls results/cache)"
	cp .out .first
	draw "$name" second "no run, all $runs come from results/cache" "$@"
	sed 's|second/|first/|' .out | cmp - .first || fail "$name: the table differs"
	draw "$name" second "$runs of $runs runs" --fresh "$@"
	damaged=$(ls -d results/cache/* | head -n 1)
	echo '{ "name": ' >"$damaged/summary.json"
	draw "$name" second "1 of $runs runs" "$@"
	sed -i 's/"images": [0-9]/"images": 9/; s/"rounds": [0-9]/"rounds": 9/; s/"ttft_ms": {/"ttft_ms": { /' "$damaged/summary.json"
	draw "$name" second "1 of $runs runs" "$@"
	rm "$damaged/timeline.csv"
	draw "$name" second "1 of $runs runs" "$@"
	rm -r "$damaged"
	: >"$damaged"
	draw "$name" second "1 of $runs runs" "$@"
	diff -r first second || fail "$name: other bytes"
	draw "$name" second "$runs of $runs runs" --set seed=7 "$@"
}

cycle ablation 5
for panel in client_ttft_ms.p50 client_ttft_ms.p99 client_itl_ms.p50 client_itl_ms.p99 throughput; do
	for bar in UVM +MemIso +ComIso +SwapOpt Ghost; do
		[ "$(grep -c "^$panel,$bar,,,[a-z]*,[0-9.]*,[0-9.]*,[0-9.]*,,,0,,,$" first/ablation.csv)" -eq 1 ] ||
			fail "ablation: no row $panel, $bar: $(cat first/ablation.csv)"
	done
done
grep -q "^throughput,UVM,,,x,1,1,1,,,0,,,$" first/ablation.csv || fail "UVM is not 1"
grep -q "^client_itl_ms.p99,+SwapOpt,,,ms,[0-9.]*,117.7521," first/ablation.csv || fail "117.7521"

# Every system, in the same order.
for figure in isolation compute; do
	cycle "$figure" 7
	for panel in client_ttft_ms.p50 client_ttft_ms.p99 client_itl_ms.p50 client_itl_ms.p99 throughput; do
		[ "$(cut -d, -f1,2 first/$figure.csv | grep "^$panel," | tr '\n' ' ')" = \
			"$panel,exclusive $panel,stock $panel,gpreempt $panel,tgs $panel,xsched $panel,gvm $panel,ghost " ] ||
			fail "$figure: $panel: $(cat first/$figure.csv)"
	done
	grep -q "^throughput,exclusive,,,x,1,1,1,,,0,,,$" first/$figure.csv || fail "$figure: exclusive is not 1"
done
# The run is too short for a speed of its first 70 s.
grep -q "^light_progress,gvm,,,x,,0.29[0-9]*,,,,0,,,$" first/compute.csv || fail "compute: $(cat first/compute.csv)"

# Three systems of five points, and three cases that were measured.
cycle interference 18
for system in stock gvm ghost; do
	[ "$(grep -c "^sweep.[a-z0-9]*,$system,[0-9]*,,ms,[0-9.]*,,,,,0,,,$" first/interference.csv)" -eq 20 ] ||
		fail "interference: $system: $(cat first/interference.csv)"
done
for case in nothing compute fault; do
	[ "$(grep -c "^$case,$case,,[pm][a-z0-9]*,ms,[0-9.]*,[0-9.][0-9.]*,[0-9.]*,,,0,,,$" first/interference.csv)" -eq 3 ] ||
		fail "interference: $case: $(cat first/interference.csv)"
done

cycle memory-contention 1
curves=first/memory-contention-curves.csv
[ "$(head -n 1 $curves)" = "curve,panel,run,container,label,unit,time_s,value,below" ] ||
	fail "memory: $(head -n 1 $curves)"
for curve in vLLM,memory-contention,vllm "vLLM,published," Diffusion,memory-contention,diffusion \
	"Diffusion,published,"; do
	[ "$(grep -c "^[1-4],$curve,,GiB,[0-9.]*,[0-9.]*,0$" $curves)" -gt 100 ] ||
		fail "memory: $curve: $(grep -c ",$curve," $curves) rows"
done
[ "$(grep -vc ",vLLM,\|,Diffusion," $curves)" -eq 1 ] || fail "memory: rows"
# The published values come from the log, not from a copy.
for value in 19.451 19.004 3.842 38.662 18.383; do
	grep -q "  $value GiB" .first || fail "memory: no $value: $(cat .first)"
done
grep -q "diffusion, at 185 s  *-  *18.383 GiB  *-$" .first || fail "memory: $(cat .first)"

# Diffusion alone; its images have two steps, so that each run completes some.
cycle throughput-vs-memory 30 --set containers.diffusion.app.steps=2
for system in stock gvm; do
	[ "$(grep -c "^throughput,$system,[1-9]*0,,x,[0-9.]*,0.[0-9]*,[0-9.]*,,,0,,,$" first/throughput-vs-memory.csv)" -eq 5 ] ||
		fail "throughput: $system: $(cat first/throughput-vs-memory.csv)"
	[ "$(grep -c "^throughput,$system,[1-9]0,,x,[01][0-9.]*,,,,,0,,,$" first/throughput-vs-memory.csv)" -eq 4 ] ||
		fail "throughput: $system: $(cat first/throughput-vs-memory.csv)"
	grep -q "^throughput,$system,100,,x,1,1,1,,,0,,,$" first/throughput-vs-memory.csv || fail "throughput: 100 %"
done
for panel in throughput image_s.p50; do
	[ "$(grep -c "^$panel,ghost,[0-9]*,,[xs],[0-9.]*,,,,,0,,,$" first/throughput-vs-memory.csv)" -eq 10 ] ||
		fail "throughput: ghost: $(cat first/throughput-vs-memory.csv)"
done
grep -q "^throughput,gvm,40,,x,[0-9.]*,0.507452," first/throughput-vs-memory.csv || fail "0.507452"
# The error is the median over ten pairs; 100 % does not count.
awk -F, 'NR > 1 && $7 != "" && $3 != 100 { print ($8 > 1 ? $8 : 1 / $8) - 1 }' first/throughput-vs-memory.csv |
	sort -g | awk '{ e[NR] = $1 } END { printf "%.1f %%\n", 50 * (e[5] + e[6]) }' >.error
grep -q "^of all  *$(cat .error)$" .first || fail "throughput: no $(cat .error): $(cat .first)"

cycle fault-breakdown 2 --set containers.diffusion.app.steps=2
for system in stock gvm; do
	grep -q "^$system,$system,,compute,x,1,1,1,0,0,0,,,$" first/fault-breakdown.csv ||
		fail "breakdown: $system: $(cat first/fault-breakdown.csv)"
	for part in cpu d2h h2d; do
		grep -q "^$system,$system,,$part,x,[0-9.]*,[0-9.]*,[0-9.]*,[0-9.]*,[0-9.]*,0,,,$" \
			first/fault-breakdown.csv ||
			fail "breakdown: $system: $(cat first/fault-breakdown.csv)"
	done
done
grep -q "^  all together  *[0-9.]*  *15.196  *[0-9.]*$" .first || fail "breakdown: $(cat .first)"
grep -q "^  all together  *[0-9.]*  *2.097  *[0-9.]*$" .first || fail "breakdown: $(cat .first)"
grep -q "^swap_bandwidth,stock,,h2d,GB/s,[0-9.]*,3.4," first/fault-breakdown.csv || fail "breakdown: 3.4"

# Too little memory for both, so that one of them always waits for eviction.
cycle ideas 5 --set gpu.memory=24e9 --set containers.diffusion.app.steps=2
for panel in image_s.mean ttft_ms.p50 ttft_ms.p99 itl_ms.p99 in_gib out_gib; do
	[ "$(grep -c "^$panel,[^,]*,,,[A-Za-z]*,[0-9.]*,,,,,0,,,$" first/ideas.csv)" -eq 5 ] ||
		fail "ideas: $panel: $(cat first/ideas.csv)"
done
# One context at a time: batches are of one address space, and their order is the only one.
sed -n 's/^\(.*\),Ghost,/\1,/p' first/ideas.csv >.ghost
sed -n 's/^\(.*\),+priority_batches,/\1,/p' first/ideas.csv | cmp - .ghost ||
	fail "ideas: priority_batches: $(cat first/ideas.csv)"
for bar in +clean_drop +hint_faults; do
	awk -F, -v bar="$bar" '$1 == "out_gib" { out[$2] = $6 } END { exit !(out[bar] < out["Ghost"]) }' \
		first/ideas.csv || fail "ideas: $bar: $(cat first/ideas.csv)"
done

# A disabled container has no values: empty cells, and no failure.
rm -r first
draw ablation first "5 of 5 runs" --set containers.diffusion.enabled=false
[ "$(grep -c "^throughput,[^,]*,,,x,,[0-9.]*,,,,0,,,$" first/ablation.csv)" -eq 5 ] ||
	fail "no diffusion: $(cat first/ablation.csv)"

rm -r first
draw memory-contention first "1 of 1 runs" --set containers.vllm.enabled=false
grep -q ",vLLM,memory-contention," $curves && fail "memory: of a disabled server"

# Neither has a container that only loads its memory.
rm -r first
draw fault-breakdown first "2 of 2 runs" --set duration=1s
[ "$(grep -c "^[a-z]*,[a-z]*,,[a-z0-9]*,x,,[0-9.]*,,[0-9.]*,[0-9.]*,0,,,$" first/fault-breakdown.csv)" -eq 8 ] ||
	fail "breakdown: only loads: $(cat first/fault-breakdown.csv)"
rm -r first
draw throughput-vs-memory first "30 of 30 runs" --set duration=1s
[ "$(grep -c "^throughput,[a-z]*,[0-9]*,,x,,[0-9.]*,,,,0,,,$" first/throughput-vs-memory.csv)" -eq 30 ] ||
	fail "throughput: only loads: $(cat first/throughput-vs-memory.csv)"
grep -q "^of all  *-$" .out || fail "throughput: only loads: $(cat .out)"

# A context that dies is a result: it has no values, and the other containers of its run carry a star.
rm -r first results
draw ablation first "5 of 5 runs"
summary=$(grep -l '"system": "stock"' results/cache/*/summary.json)
jq '.containers.vllm.status = "context died at 1.000 s: the test" | .containers.vllm.client_ttft_ms.p50 = null' \
	"$summary" >.dead
mv .dead "$summary"
sed -i '/ summary.json$/d' "${summary%/*}/sum" # this change is ours, not the disk's
draw ablation first "no run, all 5 come"
grep -q "^client_ttft_ms.p50,UVM,,,ms,,26238.69,,,,1,,,$" first/ablation.csv || fail "$(cat first/ablation.csv)"
grep -q "^  UVM \* *- *26238.7 ms  *-$" .out || fail "no star: $(cat .out)"
grep -q "^\* UVM, vllm: context died at 1.000 s: the test$" .out || fail "no reason: $(cat .out)"

# A folder that cannot be written: one line, and nothing was run.
rm -rf results first second
: >.file
status=0
short ablation --out .file/deep || status=$?
[ "$status" -eq 1 ] || fail "unwritable: exit code $status"
[ "$(cat .err)" = "gvmsim: .file/deep: cannot write results there: Not a directory" ] ||
	fail "unwritable: $(cat .err)"
expect_nothing_written

# A run that fails: its own line, no entry, no file.
printf '%s\n%s\n' "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type" \
	"oops,ChatGPT,1,1,2,Conversation log" >.bad.csv
status=0
short ablation --set containers.vllm.app.trace.file="$PWD/.bad.csv" || status=$?
[ "$status" -eq 2 ] || fail "bad trace: exit code $status: $(cat .err)"
[ "$(wc -l <.err)" -eq 1 ] || fail "bad trace: $(cat .err)"
grep -q "^gvmsim: .*: its run failed: .*bad.csv:2:" .err || fail "bad trace: $(cat .err)"
[ -z "$(find results -type f 2>/dev/null)" ] || fail "bad trace: $(find results)"
rm -rf results

# Without gnuplot: one more line; numbers and runs are kept.
mkdir empty
status=0
(
	# shellcheck disable=SC2123 # it is meant
	PATH=$work/empty
	short ablation --out bare
) || status=$?
[ "$status" -eq 1 ] || fail "without gnuplot: exit code $status"
tail -n 1 .err | grep -q "gnuplot: cannot be started: .*gnuplot-nox" || fail "$(cat .err)"
[ "$(ls bare)" = ablation.csv ] || fail "without gnuplot: $(ls bare)"
draw ablation first "no run, all 5 come from results/cache"
rm -rf results first bare

# Several processes at once replace the same entry: it exists at any time.
pids=
for i in $(seq 12); do
	"$gvmsim" figure memory-contention --set duration=15s --fresh --out "at-once-$i" \
		>/dev/null 2>".err-$i" &
	pids="$pids $!"
done
for pid in $pids; do
	wait "$pid" || fail "at once: $(cat .err-*)"
done
[ "$(ls results/cache | wc -l)" -eq 1 ] || fail "at once: $(ls results/cache)"

# A FIFO in place of an entry blocks nothing.
entry=$(ls -d results/cache/*)
rm "$entry/timeline.csv"
mkfifo "$entry/timeline.csv"
timeout 60 "$gvmsim" figure memory-contention --set duration=15s --out first >.out 2>.err ||
	fail "FIFO: exit code $?: $(cat .err)"
grep -q "^gvmsim: made 1 of 1 runs" .err || fail "FIFO: $(cat .err)"
rm -rf results first at-once-*

# The last line of a run that fails is the reason. Notes may come before it.
(
	ulimit -f 128
	status=0
	"$gvmsim" figure memory-contention --set system.name=ghost --set duration=60s --set \
		'events=[{"at": "0s", "container": "diffusion", "file": "compute.priority", "value": 1}]' \
		>.out 2>.err || status=$?
	[ "$status" -eq 1 ] || fail "full: exit code $status: $(cat .err)"
	grep -q "its run failed: .*timeline.csv: cannot be written: File too large$" .err ||
		fail "full: $(cat .err)"
)
[ -z "$(find results 2>/dev/null)" ] || fail "full: $(find results)"

# An interrupt while a picture is drawn ends gnuplot; no half file is left.
mkdir slow
printf '#!/bin/sh\necho $$ >%s/.gnuplot\nexec sleep 60\n' "$work" >slow/gnuplot
chmod +x slow/gnuplot
for signal in INT TERM HUP; do
	rm -f .gnuplot
	PATH=$work/slow:$PATH "$gvmsim" figure memory-contention --set duration=15s --out cut \
		>.out 2>.err &
	pid=$!
	tries=0
	until [ -s .gnuplot ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 600 ] || fail "gnuplot does not start: $(cat .err)"
		sleep 0.1
	done
	kill "-$signal" "$pid"
	status=0
	wait "$pid" || status=$?
	kill -0 "$(cat .gnuplot)" 2>/dev/null && fail "SIG$signal: gnuplot is left"
	[ "$status" -eq 130 ] || fail "SIG$signal, drawing: exit code $status: $(cat .err)"
	grep -q "^gvmsim: interrupted while gnuplot drew" .err || fail "SIG$signal: $(cat .err)"
	[ "$(ls cut | tr '\n' " ")" = "memory-contention-curves.csv memory-contention.csv " ] || fail "SIG$signal, drawing: $(ls cut)"
	rm -r cut
done
rm -r results slow

# An interrupt between the runs and the picture: here while the table waits for its reader.
sh -c 'echo $$ >.pid; head -c 65536 /dev/zero; exec "$@" 2>.err; ' - \
	"$gvmsim" figure memory-contention --set duration=15s --out cut | {
	tries=0
	until ls -d results/cache/*/summary.json >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ "$tries" -lt 600 ] || break
		sleep 0.1
	done
	kill -TERM "$(cat .pid)"
	cat >/dev/null
}
tail -n 1 .err | grep -q "^gvmsim: interrupted" || fail "SIGTERM, table: $(cat .err)"
[ -z "$(find cut -name '*.tmp-*' 2>/dev/null)" ] || fail "SIGTERM, table: $(find cut)"
rm -rf results cut

# An interrupt ends the children; no half entry, no half figure.
"$gvmsim" figure ablation --set duration=86400s --set output.timeline_interval=1ms --out cut \
	>.out 2>.err &
pid=$!
tries=0
until ls -d results/cache/*.tmp-* >/dev/null 2>&1; do
	tries=$((tries + 1))
	[ "$tries" -lt 600 ] || fail "the runs do not start: $(cat .err)"
	sleep 0.1
done
kill -INT "$pid"
status=0
wait "$pid" || status=$?
[ "$status" -eq 130 ] || fail "interrupted: exit code $status: $(cat .err)"
[ "$(cat .err)" = "gvmsim: interrupted; 0 of 5 runs were made and are in results/cache" ] ||
	fail "interrupted: $(cat .err)"
[ -z "$(find results cut 2>/dev/null)" ] || fail "interrupted: $(find results cut)"
[ "$(ps -o pid= --ppid "$pid" 2>/dev/null | wc -l)" -eq 0 ] || fail "children are left"
