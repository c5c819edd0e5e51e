#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# SIGINT, SIGTERM, SIGHUP: exit code 130, a line with the time reached, and the results up to then.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# interrupt WAIT TIMES [SIGNAL]: a day of thrashing, stopped WAIT seconds after its folder appeared
# by that many signals in a row (timeout(1) and terminals send more than one)
interrupt() {
	"$gvmsim" run vllm-diffusion-40g --system stock --set duration=86400s --out "$work/out" >.out 2>.err &
	pid=$!
	tries=0
	until [ -d "$work/out" ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 600 ] || fail "the run does not start: $(cat .err)"
		sleep 0.1
	done
	sleep "$1"
	for _ in $(seq "$2"); do
		kill "-${3:-INT}" "$pid" 2>/dev/null || true
	done
	status=0
	wait "$pid" || status=$?
	[ "$status" -eq 130 ] || fail "after $1 s: exit code $status, expected 130: $(cat .err)"
	grep -q "interrupted at [0-9.]* s of 86400.000 s simulated" .err || fail "$(cat .err)"
	grep -q '"complete": false' out/summary.json || fail "summary.json is not marked"
	grep -q "INCOMPLETE" .out || fail "the table is not marked"
	[ "$(ls out | tr '\n' ' ')" = "config.json requests.csv summary.json timeline.csv " ] ||
		fail "files: $(ls out)"
	rm -r out
}

# At the very beginning of the simulation, and in the middle of it.
interrupt 0 1
interrupt 1 1
interrupt 0.5 3

# The signals of timeout(1) and of a terminal that closes.
interrupt 0 1 TERM
interrupt 1 1 TERM
interrupt 0.5 2 HUP
