#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# SIGINT, SIGTERM, SIGHUP: exit code 130, a line with the time reached, and the results up to then.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"
. "$(dirname "$0")/collect.inc"

# interrupt SIGNAL TIMES INTERVAL: a day of sampling, stopped when it has begun
interrupt() {
	collect --root "$tree" --interval "$3" --duration 24h --out out
	if [ "$3" = 10ms ]; then wait_for appeared; fi
	until [ -d out ]; do sleep 0.05; done
	for _ in $(seq "$2"); do
		kill "-$1" "$collector" 2>/dev/null || true
	done
	finish 130
	grep -q "interrupted after [0-9.]* s; results up to there, marked incomplete, are in out" \
		.notes || fail "$(cat .notes)"
	grep -q '"complete": false' out/summary.json || fail "summary.json is not marked"
	grep -q "INCOMPLETE" .news || fail "the table is not marked"
	[ "$(ls -A out | tr '\n' ' ')" = \
		"config.json controls.csv requests.csv summary.json timeline.csv " ] ||
		fail "files: $(ls -A out)"
}

put_all
for signal in INT TERM HUP; do
	interrupt "$signal" 1 10ms
	[ "$(wc -l <out/timeline.csv)" -gt 1 ] || fail "no samples after $signal"
	rm -r out
done
interrupt TERM 3 10ms
rm -r out
# A signal ends a long wait at once.
interrupt INT 1 1h
