#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A run that a signal ends, of the kernel that has no memory left or of anybody, costs a sweep that point
# alone, as a mistake does. The next sweep makes that run and no other. A signal to the sweep itself ends it
# and its runs, and nothing that was finished is lost.
. "$(dirname "$0")/common.inc"

# Memory that is read round after round and does not fit. Point 2 takes a quarter of an hour; the others no time.
cat >pages.json <<'END'
{ "name": "pages", "description": "More memory than the GPU has.", "gpu": {"profile": "a100-40g"},
  "system": {"name": "stock"}, "containers": {"player": {"app": {"type": "pages", "bytes": "60G"}}} }
END
cat >s.json <<'END'
{ "scenario": "pages.json", "grid": {"duration": ["2s", "100000s", "3s", "4s"]}, "metrics": ["player.faults"] }
END

# The long run of the sweep: its child with that key.
long_run() {
	for child in $(cat /proc/[0-9]*/stat 2>/dev/null | awk -v parent="$sweep" '$4 == parent { print $1 }'); do
		! tr '\0' ' ' 2>/dev/null <"/proc/$child/cmdline" | grep -q duration=100000s || echo "$child"
	done
}

# start ARGUMENTS...: a sweep in the background, and wait until its long run is the only one.
start() {
	"$gvmsim" sweep "$@" >table 2>.err &
	sweep=$!
	for _ in $(seq 600); do
		long=$(long_run)
		made=$(find out/runs -mindepth 2 -maxdepth 2 -name sum -not -path '*.tmp-*' 2>/dev/null | wc -l)
		[ -z "$long" ] || [ "$made" != 3 ] || return 0
		kill -0 "$sweep" 2>/dev/null || break
		sleep 0.1
	done
	fail "the runs do not start: $(cat .err) $(ls out/runs)"
}

finished() {
	find out/runs -mindepth 2 -maxdepth 2 -name summary.json -not -path '*.tmp-*' -printf '%p %i %T@\n' | sort
}

# killed SIGNAL WORDS: the long run ends by it. The others are made, the row and the line say so, the status is 1.
killed() {
	start s.json --out out
	kill "-$1" "$long"
	status=0
	wait "$sweep" || status=$?
	[ "$status" = 1 ] || fail "$1: the status is $status: $(cat .err)"
	[ "$(grep -c "^gvmsim: s.json: point 2 (duration=100000s): $2" .err)" = 1 ] || fail "$1: $(cat .err)"
	[ "$(grep -c "point [1-4]" .err)" = 1 ] || fail "$1, one line: $(cat .err)"
	[ "$(tail -n 1 .err)" = "gvmsim: s.json: 1 of 4 points could not be run, see above; run the command again to make the missing runs" ] || fail "$1, the end: $(cat .err)"
	grep -qE '^2 +100000s +not run$' table || fail "$1: $(cat table)"
	[ "$(grep -cE '^[134],,runs/[0-9a-f]+,.*,$' out/sweep.csv)" = 3 ] || fail "$1, rows that ran: $(cut -c 1-99 out/sweep.csv)"
	grep -qE "^2,,,.*$2" out/sweep.csv || fail "$1, the row: $(cat out/sweep.csv)"
	[ -z "$(find out -name '*.tmp-*')" ] || fail "$1: unfinished files stay: $(find out -name '*.tmp-*')"
}

killed KILL "its run was killed by SIGKILL"
grep -q "^gvmsim: made 3 of 4 runs in" .err || fail "$(cat .err)"
finished >before

# Again: the others are not made again. The run also ends by signals that it catches.
killed ABRT "its run was killed by SIGABRT"
grep -q "^gvmsim: made 0 of 4 runs in" .err || fail "again: $(cat .err)"
killed TERM "its run was interrupted by a signal"
finished >now
cmp before now || fail "finished runs were made again"

# A part says it, too.
start s.json --out out --part 1/4
kill -KILL "$long"
status=0
wait "$sweep" || status=$?
[ "$status" = 1 ] && grep -q "point 2 .*SIGKILL" .err || fail "a part: $status, $(cat .err)"

# A signal to the sweep: its run ends, too, and nothing else changes.
cp out/sweep.csv sweep.csv
for signal in INT TERM HUP; do
	start s.json --out out
	kill "-$signal" "$sweep"
	status=0
	wait "$sweep" || status=$?
	[ "$status" = 130 ] || fail "$signal: the status is $status: $(cat .err)"
	[ "$(cat .err)" = "gvmsim: interrupted; 0 of 1 runs were made and are in out/runs" ] || fail "$signal: $(cat .err)"
	! kill -0 "$long" 2>/dev/null || fail "$signal: its run goes on"
	[ -z "$(find out -name '*.tmp-*')" ] || fail "$signal: unfinished files stay: $(find out -name '*.tmp-*')"
	finished >now
	cmp before now || fail "$signal: finished runs were lost"
	cmp sweep.csv out/sweep.csv || fail "$signal: sweep.csv has changed"
done

# All are killed: that is one line, and nothing is written.
jq '.grid.duration = ["100000s"]' s.json >one.json
"$gvmsim" sweep one.json --out one >table 2>.err &
sweep=$!
for _ in $(seq 600); do
	long=$(long_run)
	[ -z "$long" ] || break
	sleep 0.1
done
kill -KILL "$long"
status=0
wait "$sweep" || status=$?
[ "$status" = 1 ] && [ "$(wc -l <.err)" = 1 ] || fail "one: $status, $(cat .err)"
grep -q "^gvmsim: one.json: point 1 (duration=100000s): its run was killed by SIGKILL" .err || fail "one: $(cat .err)"
[ ! -e one ] || fail "one: wrote $(find one)"

# Advice without one of its candidates could be wrong: there is none, and a line names a run that is missing.
jq '.duration = "100000s" | .containers.vllm.app.slo_ttft = "1s"' "$source/scenarios/vllm-diffusion-80g.json" >promise.json
"$gvmsim" advise promise.json --out advice >table 2>.err &
sweep=$!
while kill -0 "$sweep" 2>/dev/null; do
	for child in $(cat /proc/[0-9]*/stat 2>/dev/null | awk -v parent="$sweep" '$4 == parent { print $1 }'); do
		kill -KILL "$child" 2>/dev/null || true
	done
done
status=0
wait "$sweep" || status=$?
[ "$status" = 1 ] && [ ! -s table ] || fail "advice: $status, $(cat .err table)"
grep -q "^gvmsim: .*point 1 .*: its run was killed by SIGKILL.*; run the command again to make the missing runs$" .err ||
	fail "advice: $(cat .err)"
