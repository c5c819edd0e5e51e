#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# "gvmctl metrics" over files that stand in for control files: its text, by value and by Prometheus' own check where a host
# has promtool; a file is replaced at once, and is gone at the end. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"
gvmctl=$(dirname "$gvmsim")/gvmctl
program=$gvmctl

mkdir -p root/$$/0 root/$$/1
echo 1048576 >root/$$/0/gmem.current
echo max >root/$$/0/gmem.limit.high
echo 512us >root/$$/0/compute.timeslice
echo 3 >root/$$/0/compute.priority
printf 'nr_submitted_kernels: 100\nnr_ended_kernels: 90\nnr_pending_kernels: 10\n' >root/$$/0/gcgroup.stat
printf 'high 7\nhmem 0\noom 1\n' >root/$$/0/gmem.events
echo 5 >root/$$/1/gmem.current
echo rubbish >root/$$/1/gmem.limit.high
printf 'nr_submitted_kernels: many\n' >root/$$/1/gcgroup.stat
sh -c 'exit 0' &
wait $!
mkdir -p root/$!/0 # of a process that has ended
echo 9 >root/$!/0/gmem.current

me=$(cat /proc/$$/comm)
labels="{pid=\"$$\",gpu=\"0\",command=\"$me\"}"
cat >.wanted <<END
# HELP gvm_memory_bytes GPU memory of the container.
# TYPE gvm_memory_bytes gauge
gvm_memory_bytes$labels 1048576
gvm_memory_bytes{pid="$$",gpu="1",command="$me"} 5
# HELP gvm_memory_limit_bytes Limit of the GPU memory.
# TYPE gvm_memory_limit_bytes gauge
gvm_memory_limit_bytes$labels +Inf
# HELP gvm_timeslice_seconds Timeslice on the GPU.
# TYPE gvm_timeslice_seconds gauge
gvm_timeslice_seconds$labels 0.000512
# HELP gvm_priority Priority; 0 is the most important.
# TYPE gvm_priority gauge
gvm_priority$labels 3
# HELP gvm_kernels_submitted_total Kernels that were launched.
# TYPE gvm_kernels_submitted_total counter
gvm_kernels_submitted_total$labels 100
# HELP gvm_kernels_ended_total Kernels that have ended.
# TYPE gvm_kernels_ended_total counter
gvm_kernels_ended_total$labels 90
# HELP gvm_kernels_pending Kernels that are queued or run.
# TYPE gvm_kernels_pending gauge
gvm_kernels_pending$labels 10
# HELP gvm_limit_events_total Pages that found no room under the limit.
# TYPE gvm_limit_events_total counter
gvm_limit_events_total$labels 7
# HELP gvm_hmem_events_total Evictions that the limit of host memory forbade.
# TYPE gvm_hmem_events_total counter
gvm_hmem_events_total$labels 0
# HELP gvm_oom_events_total Contexts that died for lack of memory.
# TYPE gvm_oom_events_total counter
gvm_oom_events_total$labels 1
END
"$gvmctl" metrics --root root >.out || fail "gvmctl metrics"
diff .wanted .out >&2 || fail "another text"
if command -v promtool >/dev/null; then
	promtool check metrics <.out >&2 || fail "promtool finds mistakes"
fi

# A file for the collector: readable by all, and no other file beside it.
mkdir collector
"$gvmctl" metrics --root root --out collector/gvm.prom
cmp .wanted collector/gvm.prom || fail "--out has another text"
[ "$(stat -c %a collector/gvm.prom)" = 644 ] || fail "the file's mode"
[ "$(ls collector)" = gvm.prom ] || fail "left behind: $(ls collector)"

# Again and again: a new value is there, and at the end the file is gone.
"$gvmctl" metrics --root root --out collector/gvm.prom --interval 20ms &
writer=$!
echo 77 >root/$$/0/compute.priority
for _ in $(seq 500); do
	grep -q 'gvm_priority.* 77$' collector/gvm.prom 2>/dev/null && break
	sleep 0.02
done
grep -q 'gvm_priority.* 77$' collector/gvm.prom || { kill $writer; fail "no new value"; }
kill -TERM $writer
wait $writer || fail "exit code $? after SIGTERM"
[ -z "$(ls collector)" ] || fail "left behind: $(ls collector)"

# The next writer removes what a killed one left behind.
: >collector/gvm.prom.tmp-1-01234567
"$gvmctl" metrics --root root --out collector/gvm.prom || fail "a file that was left behind"
[ "$(ls collector)" = gvm.prom ] || fail "left behind: $(ls collector)"

# A file takes no place of a device or a FIFO, not even when the writer ends.
mkfifo pipe
"$gvmctl" metrics --root root --out pipe --interval 20ms 2>.err && fail "a FIFO is taken for a file"
grep -q '^gvmctl: pipe: cannot write: is not a regular file$' .err || fail "a FIFO: $(cat .err)"
[ -p pipe ] || fail "the FIFO is gone"

# gvm.ko and the shim may both have a process. Prometheus takes a value once, so the first one is printed.
mkdir -p twice/$$/0 twice/0$$/0
echo 4 >twice/$$/0/gmem.current
echo 5 >twice/0$$/0/gmem.current
echo 6 >twice/0$$/0/gmem.peak
"$gvmctl" metrics --root twice | grep -v '^#' >.out
[ "$(wc -l <.out)" = 2 ] || fail "a value is there twice: $(cat .out)"

# A name of a process need not be UTF-8, but all of the file has to be.
name=$(printf 'a\303')
cp "$(command -v sleep)" "$name"
"./$name" 60 &
sleeper=$!
mkdir -p named/$sleeper/0
echo 4 >named/$sleeper/0/gmem.current
for _ in $(seq 500); do
	[ "$(cat /proc/$sleeper/comm)" = "$name" ] && break
	sleep 0.02
done
"$gvmctl" metrics --root named >.out
kill $sleeper
grep -q 'command="a?"' .out || fail "$(cat .out)"

# Mistakes.
"$gvmctl" metrics --root root --out nowhere/gvm.prom 2>.err && fail "a folder that is missing"
grep -q 'nowhere/gvm.prom.*No such file' .err || fail "$(cat .err)"
"$gvmctl" metrics --interval 1s 2>.err && fail "an interval without a file"
grep -q -e '--interval needs --out' .err || fail "$(cat .err)"
"$gvmctl" metrics --out x --interval 0s 2>.err && fail "no interval"
grep -q "'0s' is no time" .err || fail "$(cat .err)"
[ -z "$("$gvmctl" metrics --root nothing)" ] || fail "metrics of nothing"
