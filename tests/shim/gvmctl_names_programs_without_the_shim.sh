#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A container whose shell has the shim starts programs that have it, and programs that have not: with an empty environment,
# with LD_PRELOAD taken away, without a dynamic loader. gvmctl names the latter, a line each, and no other.
# Usage: NAME.sh GVMCTL SHIM DRIVER PROGRAM STATIC UNIT
set -eu
gvmctl=$1
shim=$2
driver=$3
program=$4
static=$5
unit=$6
work=$(mktemp -d)
cgroups=
cd "$work"

leave() {
	exec 3>&-
	wait
	for cgroup in $cgroups; do
		for _ in $(seq 50); do
			rmdir "$cgroup" 2>/dev/null && break
			sleep 0.1
		done
	done
	rm -rf "$work"
}
trap leave EXIT

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

# All programs wait for lines of one FIFO, and end with it.
mkfifo lines
exec 3<>lines
: >nvidia-uvm
: >nvidiactl
unset LD_PRELOAD GVM_LIMIT GVM_RESIDENT GVM_TIMESLICE GVM_PRIORITY GVM_CONTAINER GVM_FENCE
export GVM_SHIM_DIR="$work/root" LD_LIBRARY_PATH="$driver" FAKE_DEVICE="$work/nvidia-uvm"

# start.sh NAME COMMAND...: the command, with its number in NAME.pid and its output in NAME.out
cat >start.sh <<'END'
name=$1
shift
echo $$ >"$name.pid"
exec "$@" <lines 3<&- >"$name.out"
END
cat >container.sh <<'END'
bare="LD_LIBRARY_PATH=$LD_LIBRARY_PATH FAKE_DEVICE=$FAKE_DEVICE"
sh start.sh shim "$program" ask fill 3 &
env -i $bare sh start.sh empty "$program" ask fill 3 &
env -u LD_PRELOAD sh start.sh taken "$program" ask fill 3 &
env -u LD_PRELOAD GVM_LIMIT=8G sh start.sh asks "$program" ask fill 3 &
sh start.sh static "$static" &
env -u LD_PRELOAD FAKE_DEVICE="$FAKE_CONTROL" sh start.sh smi "$static" &
echo $$ >container.pid
wait
END
# ready NAMES...
ready() {
	for name; do
		for _ in $(seq 500); do
			grep -q ready "$name.out" 2>/dev/null && break
			sleep 0.02
		done
		grep -q ready "$name.out" || fail "$name does not start: $(cat "$name.out")"
	done
}

export program static FAKE_CONTROL="$work/nvidiactl"
LD_PRELOAD=$shim sh container.sh 3<&- &
ready shim empty taken asks static smi
container=$(cat container.pid)
# The shim writes its files a moment later.
for _ in $(seq 500); do
	[ ! -f "root/$(cat shim.pid)/0/gmem.current" ] || break
	sleep 0.02
done
"$gvmctl" list >list.out
# named NAME REASON: in one line
named() {
	pid=$(cat "$1.pid")
	grep -q "^process $pid ([a-z_.]*) uses a GPU without the shim, $2: its memory is not limited, and its launches are not counted$" \
		list.out || fail "$1 ($pid) is not named: $(cat list.out)"
	[ "$(grep -c "^process $pid " list.out)" = 1 ] || fail "$1 ($pid) is named twice: $(cat list.out)"
}
not_named() {
	! grep "^process $(cat "$1.pid") " list.out || fail "$1 is named"
}
named empty "which its ancestor $container (sh) has"
named taken "which its ancestor $container (sh) has"
named asks 'for which its environment asks'
named static 'for which its environment asks'
not_named shim
not_named smi
grep -q "^ *$(cat shim.pid) " list.out || fail "the program with the shim is not listed: $(cat list.out)"
! "$gvmctl" list --root root | grep '^process' || fail "of other control files it is not known who has no shim"

"$gvmctl" metrics >metrics.out
grep -qx '# TYPE gvm_without_shim gauge' metrics.out || fail "$(cat metrics.out)"
grep -qx "gvm_without_shim{pid=\"$(cat empty.pid)\",command=\"shim_program_lo\"} 1" metrics.out || fail "$(cat metrics.out)"
! grep "gvm_without_shim{pid=\"$(cat shim.pid)\"" metrics.out || fail "the program with the shim is counted"

# The service has no more rights than its unit leaves it.
if [ "$(id -u)" = 0 ] && setpriv --bounding-set -all true 2>/dev/null; then
	rights=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | sed 's/CAP_/+/g; s/ /,/g')
	setpriv --bounding-set "-all,$rights" "$gvmctl" metrics >metrics.out
	grep -q "gvm_without_shim{pid=\"$(cat empty.pid)\"" metrics.out || fail "not with the rights $rights: $(cat metrics.out)"
fi

# Without an ancestor that is left, a process is found by its cgroup; in another one it is a stranger.
for folder in /sys/fs/cgroup /sys/fs/cgroup/pids; do
	if mkdir "$folder/gvm-test-$$-a" "$folder/gvm-test-$$-b" 2>/dev/null; then
		cgroups="$folder/gvm-test-$$-a $folder/gvm-test-$$-b"
		[ ! -f "$folder/gvm-test-$$-a/cgroup.procs" ] || break
		rmdir "$folder/gvm-test-$$-a" "$folder/gvm-test-$$-b"
		cgroups=
	fi
done
if [ -z "$cgroups" ]; then
	echo "cgroups cannot be made here: a process without an ancestor is not tested" >&2
	exit 0
fi
cat >enter.sh <<'END'
echo $$ >"$1/cgroup.procs"
shift
exec sh start.sh "$@"
END
a=${cgroups% *}
b=${cgroups#* }
LD_PRELOAD=$shim sh enter.sh "$a" beside "$program" ask fill 3 3<&- &
sh enter.sh "$a" orphan "$program" ask fill 3 3<&- &
sh enter.sh "$b" stranger "$program" ask fill 3 3<&- &
ready beside orphan stranger
"$gvmctl" list >list.out
named orphan "which process $(cat beside.pid) (shim_program_lo) of its cgroup has"
not_named stranger
not_named beside

# Within a container that has a cgroup namespace every cgroup is "/".
if unshare --cgroup true 2>/dev/null; then
	sh -c 'echo $$ >"$1/cgroup.procs"; exec unshare --cgroup "$2" list' sh "$a" "$gvmctl" >list.out
	named orphan "which process $(cat beside.pid) (shim_program_lo) of its cgroup has"
fi
