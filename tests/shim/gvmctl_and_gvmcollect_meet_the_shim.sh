#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# gvmctl lists and changes a running program that has the shim, and gvmcollect samples it. Then gvmctl over
# plain files, which take every value at once. Usage: NAME.sh GVMCTL GVMCOLLECT SHIM DRIVER PROGRAM
set -eu
gvmctl=$1
gvmcollect=$2
shim=$3
driver=$4
program=$5
work=$(mktemp -d)
pid=
trap 'exec 3>&-; [ -z "$pid" ] || kill "$pid" 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

# expect CODE PATTERN ARGUMENTS...: gvmctl fails with one line
expect() {
	code=$1
	pattern=$2
	shift 2
	status=0
	"$gvmctl" "$@" >out 2>err || status=$?
	[ "$status" -eq "$code" ] || fail "gvmctl $*: exit code $status: $(cat err)"
	grep -q -e "$pattern" err || fail "gvmctl $*: $(cat err)"
	[ "$(wc -l <err)" -eq 1 ] || fail "gvmctl $*: more than one line: $(cat err)"
}

# await FILE PATTERN: until it has such a line
await() {
	for _ in $(seq 1500); do
		grep -q -e "$2" "$1" 2>/dev/null && return
		sleep 0.02
	done
	fail "$1 has no '$2': $(cat "$1")"
}

# collect NAME: gvmcollect watches the program from here on, until it has gone
collect() {
	"$gvmcollect" sample --root root --container "$1=$pid" --interval 20ms --out collected >news 2>notes &
	collector=$!
	await news "$1: appeared"
}

# Stop the program. kill returns before: until one of its threads has the CPU and takes the signal, the others run on.
stop_threads() {
	kill -STOP "$pid"
	for _ in $(seq 1500); do
		[ -n "$(grep -L '^State:.*T' "/proc/$pid/task"/*/status)" ] || return 0
		sleep 0.02
	done
	fail "a thread of $pid does not stop"
}

# Until gvmcollect has taken a sample that began after now.
sampled_again() {
	"$gvmctl" set "$pid" gmem.limit.high 64M --root root >set.out
	await news "gmem.limit.high is 67108864"
}

# A program that has filled its limit, and waits for a line.
mkfifo lines
LD_LIBRARY_PATH=$driver LD_PRELOAD=$shim GVM_SHIM_DIR=$work/root GVM_LIMIT=10M GVM_SHIM_LOG=$work/log \
	"$program" ask fill 100 <lines >out.program &
pid=$!
exec 3>lines
# The shim writes its files one after the other, so the list waits for the last ones of the round with the refusal.
await "root/$pid/0/gmem.events" '^high 1$'
await "root/$pid/0/gmem.limit.high" '^10485760$'
"$gvmctl" list --root root | tr -s ' ' >list.out
grep -q "^ *$pid shim_program_lo 0 10.0M 10.0M 10.0M - - 0 0 *$" list.out || fail "$(cat list.out)"
"$gvmctl" set "$pid" gmem.limit.high 12M --root root >set.out
[ "$(cat set.out)" = "$pid:0 gmem.limit.high 12582912" ] || fail "$(cat set.out)"
"$gvmctl" set "$pid:0" compute.priority 3 --root root >set.out
[ "$(cat set.out)" = "$pid:0 compute.priority 3" ] || fail "$(cat set.out)"
"$gvmctl" set "$pid" compute.timeslice 2 --root root >set.out
[ "$(cat set.out)" = "$pid:0 compute.timeslice 2000us" ] || fail "$(cat set.out)"
# Without a channel of NVIDIA's driver there is nothing to take off a GPU.
expect 1 "compute.freeze holds '0' and not 1" set "$pid" compute.freeze 1 --root root
# gvm.ko has more files than the shim.
expect 2 "process $pid has the shim, which has no compute.weight" set "$pid" compute.weight 3 --root root
[ ! -e "root/$pid/0/compute.weight" ] || fail "a file is made that nobody reads"

# A write that the program does not take does not count as done, also in the usual form.
stop_threads
expect 1 "process $pid has not read its gmem.limit.high for 5 s" set "$pid" gmem.limit.high 12582912 --root root
kill -CONT "$pid"
"$gvmctl" set "$pid" gmem.limit.high 12582912 --root root >set.out

# gvmcollect while it runs, and until it has gone.
collect fill
sampled_again
echo >&3
echo >&3
wait $pid || fail "the program: $(cat out.program log)"
pid=
wait $collector || fail "gvmcollect failed"
grep -q '^[0-9]*,fill,10485760,' collected/timeline.csv || fail "$(head -3 collected/timeline.csv)"
grep -q ',compute.timeslice,2000us$' collected/controls.csv || fail "$(cat collected/controls.csv)"
grep -q ',gmem.limit.high,12582912$' collected/controls.csv || fail "$(cat collected/controls.csv)"
grep -q ',gcgroup.stat,nr_submitted_kernels: ' collected/controls.csv || fail "$(cat collected/controls.csv)"
# Pressure: one allocation found no room.
jq -e '.containers.fill.gmem_events == { "high": 1, "hmem": 0, "oom": 0 }' collected/summary.json >/dev/null ||
	fail "$(cat collected/summary.json)"
[ ! -e root ] || fail "files are left: $(find root)"

# Launches: a program of seven kernels, of which the collector sees the first count and the last one.
LD_LIBRARY_PATH=$driver LD_PRELOAD=$shim GVM_SHIM_DIR=$work/root "$program" ask pending 7 <lines >out.program &
pid=$!
exec 3>lines
await "root/$pid/0/gcgroup.stat" '^nr_submitted_kernels: 7$'
collect pending
echo >&3
await "root/$pid/0/gcgroup.stat" '^nr_ended_kernels: 7$'
sampled_again
echo >&3
wait $pid || fail "the program: $(cat out.program)"
pid=
wait $collector || fail "gvmcollect failed"
jq -e '.containers.pending.kernels == { "submitted": 7, "ended": 7 }' collected/summary.json >/dev/null ||
	fail "$(cat collected/summary.json collected/controls.csv)"

# A program that has UVM's device open, and made no call that the shim saw, is named at its end: also without a log.
: >nvidia-uvm
: >nvidiactl
LD_PRELOAD=$shim sh -c 'exec 5<nvidia-uvm; (:)' 2>err # the child has the descriptor, too
grep -q 'this program used the GPU by a way that the shim does not see' err || fail "a program that is not seen: $(cat err)"
[ "$(wc -l <err)" = 1 ] || fail "it is named more than once: $(cat err)"
LD_PRELOAD=$shim sh -c 'exec 5<nvidiactl' 2>err
[ ! -s err ] || fail "a program that only asks the driver is named: $(cat err)"

# Mistakes.
mkdir -p files/$$/0 files/$$/1 # of a process that lives
echo 5 >files/$$/0/memory.limit
echo 7 >files/$$/1/gmem.limit.high
expect 2 "'x' is no process" set x gmem.limit.high 5 --root files
expect 2 "'gmem.current' is no control file to be written" set $$ gmem.current 5 --root files
expect 2 "compute.priority: '17' is no value of it" set $$ compute.priority 17 --root files
expect 2 "process 99 has no control files" set 99 compute.priority 3 --root files
expect 2 "process $$ has no control files of GPU 7" set $$:7 compute.priority 3 --root files
expect 2 "'$$:-1' is no process" set $$:-1 compute.priority 3 --root files
expect 2 "three words are wanted" set 99 --root files
expect 2 "'now' is no time" watch --interval now --root files
# A date beyond 64 bits would be in the past: looks without a pause.
expect 2 "'18446744073s' is no time up to 24h" watch --interval 18446744073s --root files --count 2
expect 2 "'25h' is no time up to 24h" metrics --interval 25h --root files --out never.prom
"$gvmctl" set $$ gmem.limit.high 6M --root files >set.out
printf "$$:0 gmem.limit.high 6M\n$$:1 gmem.limit.high 6M\n" | cmp - set.out || fail "$(cat set.out)"
[ "$(cat files/$$/0/memory.limit files/$$/1/gmem.limit.high)" = "6M
6M" ] || fail "an alias is not written"
[ ! -e files/$$/0/gmem.limit.high ] || fail "a file is there twice"

# Rates between two lists.
printf 'nr_submitted_kernels: 100\nnr_ended_kernels: 90\nnr_pending_kernels: 10\n' >files/$$/1/gcgroup.stat
"$gvmctl" watch --root files --count 2 --interval 100ms | tr -s ' ' >list.out
grep -q "^ *$$ [^ ]* 1 - - 6.0M - - 10 100 *$" list.out || fail "$(cat list.out)"
grep -q "^ *$$ [^ ]* 1 - - 6.0M - - 10 100 0 *$" list.out || fail "$(cat list.out)"
[ "$("$gvmctl" list --root nowhere)" = "no process and no cgroup has control files: nowhere is no folder yet" ] || fail "nowhere"

# The cgroups that are containers of gvm.ko: listed by path, set and measured.
mkdir -p groups/$$/0 groups/cgroup/tenant-a/0 groups/cgroup/pods.slice/pod:b.scope/0 groups/cgroup/pods.slice/pod:b.scope/1
echo 5 >groups/$$/0/gmem.limit.high
for gpu in groups/cgroup/*/0 groups/cgroup/*/*/?; do
	echo 7 >"$gpu/gmem.limit.high"
	echo 3 >"$gpu/gmem.current"
	printf 'nr_submitted_kernels: 100\nnr_pending_kernels: 10\n' >"$gpu/gcgroup.stat"
done
"$gvmctl" watch --count 2 --interval 50ms --root groups | tr -s ' ' | tail -n 4 >list.out
grep -q "^ *$$ [^ ]* 0 - - 5.0B - - - - *$" list.out || fail "$(cat list.out)"
grep -q '^ *- /tenant-a 0 3.0B - 7.0B - - 10 100 0 *$' list.out || fail "$(cat list.out)"
[ "$(grep -c '^ *- /pods.slice/pod:b.scope [01] ' list.out)" = 2 ] || fail "$(cat list.out)"
[ "$("$gvmctl" set /tenant-a gmem.limit.high 6M --root groups)" = "/tenant-a:0 gmem.limit.high 6M" ] || fail "a cgroup"
"$gvmctl" set /pods.slice/pod:b.scope gmem.limit.high 8M --root groups >set.out
"$gvmctl" set /pods.slice/pod:b.scope:1 gmem.limit.high 9M --root groups >>set.out
printf '/pods.slice/pod:b.scope:%s gmem.limit.high %s\n' 0 8M 1 8M 1 9M | cmp - set.out || fail "$(cat set.out)"
expect 2 'cgroup /tenant-b has no control files; see' set /tenant-b gmem.limit.high 6M --root groups
expect 2 'cgroup /tenant-a has no control files of GPU 1' set /tenant-a:1 gmem.limit.high 6M --root groups
expect 2 "'/' is no process and no cgroup" set / gmem.limit.high 6M --root groups
"$gvmctl" metrics --root groups >metrics.out
grep -qx 'gvm_memory_limit_bytes{gpu="0",cgroup="/tenant-a"} 6291456' metrics.out || fail "$(cat metrics.out)"
grep -qx 'gvm_memory_bytes{gpu="1",cgroup="/pods.slice/pod:b.scope"} 3' metrics.out || fail "$(cat metrics.out)"

# A process that was killed leaves its files: they are listed as such, and not written.
sh -c 'exit 0' &
dead=$!
wait $dead
mkdir -p left/$dead/0
echo 5 >left/$dead/0/gmem.limit.high
"$gvmctl" list --root left | tr -s ' ' >list.out
grep -q "^ *$dead (ended) 0 - - 5.0B - - - - *$" list.out || fail "$(cat list.out)"
expect 1 "process $dead has ended" set $dead gmem.limit.high 6M --root left
[ "$(cat left/$dead/0/gmem.limit.high)" = 5 ] || fail "files of a dead process are written"

# What a file holds cannot steer the terminal.
printf 'a\033[2J\nb\n' >files/$$/1/compute.timeslice
"$gvmctl" list --root files >list.out
grep -q 'a?\[2J?b' list.out || fail "$(cat -v list.out)"

# The folder of a shim, as the shim finds it.
GVM_SHIM_DIR=$work/files "$gvmctl" list | grep -q "^ *$$ " || fail "GVM_SHIM_DIR is not looked into"

# Ctrl-C ends it, however short the interval.
"$gvmctl" watch --root files --interval 50ms >watch.out &
watcher=$!
await watch.out . # it has its handler by then
kill -INT $watcher
for _ in $(seq 1500); do
	kill -0 $watcher 2>/dev/null || break
	sleep 0.02
done
! kill -0 $watcher 2>/dev/null || { kill -KILL $watcher; fail "SIGINT does not end gvmctl watch"; }
