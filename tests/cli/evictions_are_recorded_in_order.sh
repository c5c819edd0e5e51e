#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# With output.evictions and output.controls a run records when each block left, and each change of a
# control file; recording changes nothing, under any memory manager.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

run() {
	"$gvmsim" run eviction-order --quiet --out "$@" >.out 2>&1 || fail "$*: $(cat .out)"
}

# By hand: 24 chunks. Page tables take two, and the first container's 12 blocks take 12. The second
# container may have 8 beside its tables: it gives up its oldest blocks for the next ones.
run ghost
sed -n '2,7s/^\([0-9]*\)[0-9]\{9\},\(.*\),[0-9]*,32$/\1 \2/p' ghost/evictions.csv >.first
cat >.wanted <<-END
	4 second,0x700000000000
	4 second,0x700000200000
	4 second,0x700000400000
	4 second,0x700000600000
	7 first,0x700000000000
	8 first,0x700000200000
END
diff .wanted .first >&2 || fail "the first evictions"
[ "$(tail -n +2 ghost/evictions.csv | wc -l)" -eq \
	"$(jq '[.containers[].evictions] | add' ghost/summary.json)" ] || fail "not all of them"

# A row for each change, found by the next sample; no rows of a container that has gone.
grep -q "^5000000000,second,gmem.events,high 4 hmem 0 oom 0$" ghost/controls.csv || fail "events"
[ "$(grep -c ",second,compute.freeze," ghost/controls.csv)" -eq 3 ] || fail "freeze"
jq -e '.containers.third.status | startswith("context died")' ghost/summary.json >.out ||
	fail "third: $(cat ghost/summary.json)"
tail -n +2 ghost/controls.csv | awk -F, '$2 == "first" && $1 > 32e9 { exit 1 }' ||
	fail "the first one has gone"

# The config.json of a results folder can be run again, with its events.
"$gvmsim" run ghost/config.json --quiet --out again >.out 2>&1 || fail "again: $(cat .out)"
for file in config.json requests.csv timeline.csv controls.csv evictions.csv; do
	cmp "ghost/$file" "again/$file" >&2 || fail "again: $file"
done

# An event of a container that does not run is named, whichever it is; the other events have their effect.
"$gvmsim" run eviction-order --quiet --out missed --set duration=10s --set 'events=[
	{"at": "1s", "container": "first", "touch": "0"}, {"at": "2s", "container": "third", "touch": "3-4"},
	{"at": "3s", "container": "third", "file": "gmem.limit.high", "value": "8M"},
	{"at": "4s", "container": "third", "exit": true}]' >.out 2>.err || fail "missed: $(cat .err)"
diff - .err >&2 <<-END || fail "missed events"
	gvmsim: note: events.1: container third is not running at 2.000 s, 3-4 is not touched
	gvmsim: note: events.2: container third is not running at 3.000 s, gmem.limit.high is not written
	gvmsim: note: events.3: container third is not running at 4.000 s, it does not exit
END

# Without the two keys there are no such files, old ones are removed, and the other files are the same.
for system in ghost stock gvm; do
	run "$system" --system "$system"
	cp -r "$system" plain
	run plain --system "$system" --set output.evictions=false --set output.controls=false
	[ "$(tail -n +2 "$system/evictions.csv" | wc -l)" -gt 0 ] || fail "$system: no evictions"
	[ ! -e plain/evictions.csv ] && [ ! -e plain/controls.csv ] || fail "$system: unasked"
	cmp "$system/requests.csv" plain/requests.csv >&2 || fail "$system: requests"
	cmp "$system/timeline.csv" plain/timeline.csv >&2 || fail "$system: timeline"
	rm -r plain
done
