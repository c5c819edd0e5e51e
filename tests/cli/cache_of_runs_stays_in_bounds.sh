#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The children of a killed figure die with it, and the next start removes their unfinished folders.
# The entries that were used last stay. Files of others stay.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# ended PID: the process has ended, or is a zombie
ended() {
	[ ! -e "/proc/$1/stat" ] || grep -q ') Z ' "/proc/$1/stat" 2>/dev/null
}

# wait_until WHAT COMMAND...: wait for COMMAND to succeed, a minute at most
wait_until() {
	what=$1
	shift
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ "$tries" -lt 600 ] || fail "never: $what"
		sleep 0.1
	done
}

# figure DURATION: one run, of a second or less
figure() {
	"$gvmsim" figure memory-contention --set "duration=$1" >.out 2>.err
}

# Set children to the processes of $pid.
has_children() {
	children=$(cat /proc/[0-9]*/stat 2>/dev/null | awk -v parent="$pid" '$4 == parent { print $1 }')
	[ -n "$children" ]
}

has_half_done() {
	[ -n "$(find results/cache -name '*.tmp-*' 2>/dev/null)" ]
}

are_on_their_way() {
	has_children && has_half_done
}

# Runs of a day, which take minutes.
"$gvmsim" figure ablation --set duration=86400s --set output.timeline_interval=1ms >.long 2>&1 &
pid=$!
wait_until "runs on their way" are_on_their_way
# Another figure leaves them alone.
figure 5s || fail "beside another: $(cat .err)"
are_on_their_way || fail "the work of another has gone: $(find results)"
kill -KILL "$pid"
wait "$pid" 2>/dev/null || true
for child in $children; do
	wait_until "the end of child $child" ended "$child"
done
figure 6s || fail "after a kill: $(cat .err)"
! has_half_done || fail "left behind: $(find results/cache)"
[ "$(ls results/cache | wc -l)" -eq 2 ] || fail "entries: $(ls results/cache)"

# The 500 entries that were used last stay, the one used just now among them.
mkdir results/cache/notes results/cache/00000000000000000000000000000001.mine
figure 5s || fail "from the cache: $(cat .err)"
grep -q 'made no run' .err || fail "from the cache: $(cat .err)"
for i in $(seq 600); do
	entry=results/cache/$(printf '%032x' "$i")
	mkdir "$entry"
	: >"$entry/summary.json"
	touch -d "2020-01-01 00:00:00 UTC + $i minutes" "$entry"
done
figure 7s || fail "with many entries: $(cat .err)"
[ "$(find results/cache -mindepth 1 -maxdepth 1 -name '????????????????????????????????' | wc -l)" -eq 500 ] ||
	fail "not 500 entries: $(ls results/cache | wc -l)"
for i in 1 103; do
	[ ! -e "results/cache/$(printf '%032x' "$i")" ] || fail "entry $i is still there"
done
for i in 104 600; do
	[ -e "results/cache/$(printf '%032x' "$i")" ] || fail "entry $i has gone"
done
for name in notes 00000000000000000000000000000001.mine; do
	[ -d "results/cache/$name" ] || fail "$name has gone"
done
for duration in 5s 6s 7s; do
	figure "$duration" || fail "again: $(cat .err)"
	grep -q 'made no run' .err || fail "$duration: $(cat .err)"
done
