#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Failures of the machine (full disk, no permission): exit code 1, one line on stderr, nothing left behind.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# Before anything is simulated: no folder can be made there.
: >.file
expect 1 ".file/deep: cannot write results there: Not a directory" \
	run "$scenario" --out .file/deep
expect_nothing_written

# A limit of 64 KiB a file acts as a disk that is full when the results are written.
(
	ulimit -f 128
	expect 1 "cannot be written: File too large" \
		run "$scenario" --set duration=80s --quiet --out new/folder
)
expect_nothing_written

# Results that cannot be printed.
if [ -w /dev/full ]; then
	status=0
	"$gvmsim" run "$scenario" --set duration=1s --out printed >/dev/full 2>.err || status=$?
	[ "$status" -eq 1 ] || fail "table to a full disk: exit code $status"
	grep -q "standard output: cannot write: No space left on device" .err || fail "$(cat .err)"
fi

# Closed standard streams: nothing that is printed goes into a file that took their place. So many
# rounds are kept in a file until the end.
cat >.rounds.json <<'EOF2'
{ "name": "rounds", "description": "Short rounds.", "duration": "2s",
  "gpu": { "profile": "a100-40g" }, "system": { "name": "ghost" },
  "containers": { "player": { "start": "0s", "app": { "type": "pages", "bytes": "64M" } } } }
EOF2
run="$gvmsim run ./.rounds.json"
$run --out open >/dev/null
for closed in '>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
	status=0
	sh -c "$run --out closed $closed" 2>.err || status=$?
	[ "$status" -eq 1 ] || fail "with $closed: exit code $status"
	case $closed in
	'>&-') grep -qx "gvmsim: standard output: cannot write: Bad file descriptor" .err || fail "$(cat .err)" ;;
	esac
	for file in config.json requests.csv timeline.csv; do
		cmp "open/$file" "closed/$file" || fail "with $closed"
	done
done

# A full disk under a picture, on which gnuplot crashes or leaves a part of one: one line says so, and no part stays.
if unshare -rm true 2>/dev/null; then
	cat >.one.json <<'EOF2'
{ "title": "t", "scenario": "eviction-order", "runs": [ { "label": "stock", "system": "stock" } ],
  "panels": [ { "key": "a", "label": "a", "title": "A", "value": "first.faults" } ] }
EOF2
	mkdir -p .small
	unshare -rm sh -c "mount -t tmpfs -o size=16k none .small && { '$gvmsim' figure ./.one.json --out .small; ls -A .small; }" \
		>.out 2>.err || true
	grep -q "^gvmsim: .*: cannot be written: No space left on device$" .err || fail "full disk: $(cat .err .out)"
	! grep -F .tmp- .err || fail "a name that no user knows"
	cat >.page.json <<'EOF2'
{ "title": "t", "sections": [ { "title": "s", "figures": [ "./.one.json", "memory-contention" ] } ] }
EOF2
	unshare -rm sh -c "mount -t tmpfs -o size=16k none .small && '$gvmsim' report ./.page.json --out .small/page" \
		>.out.page 2>.err || true
	grep -q "report.html: cannot be written: No space left on device$" .err || fail "full disk under a report: $(cat .err)"
	if grep -qE "png|svg" .out; then fail "a part of a picture stays: $(cat .out)"; fi
	rm -rf results
fi
