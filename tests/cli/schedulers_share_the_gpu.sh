#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# system.scheduler shares the GPU by weight or by priority, under both systems that have it, and honours
# only the control files that it uses; the default is the hardware's runlist.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"
. "$(dirname "$0")/three.inc"

three ', "compute.weight": 100, "compute.priority": 9' ', "compute.weight": 200, "compute.priority": 9' \
	', "compute.weight": 400, "compute.priority": 8'

ignored() {
	[ "$(jq -r '.ignored_keys | join(" ")' out/summary.json)" = "$1" ] ||
		fail "ignored, but for '$1': $(jq -c .ignored_keys out/summary.json)"
}

weights="containers.a.compute.weight containers.b.compute.weight containers.c.compute.weight"
priorities="containers.a.compute.priority containers.b.compute.priority containers.c.compute.priority"
for system in gvm ghost; do
	# By timeslices of 1024, 1024 and 2048 us.
	run --system $system
	shares 'a > 24 and a < 26 and b > 24 and b < 26'
	ignored "$weights"
	cp out/timeline.csv default.csv
	run --system $system --set system.scheduler=timeslices --set system.tracking=busy_bits
	cmp default.csv out/timeline.csv || fail "$system: timeslices is not the default"

	for tracking in events busy_bits; do
		run --system $system --set system.scheduler=weighted --set system.tracking=$tracking
		shares '(a - 100 / 7 | fabs) < 0.28 and (b - 200 / 7 | fabs) < 0.57'
		ignored "$priorities"
		run --system $system --set system.scheduler=priority --set system.tracking=$tracking
		shares 'c > 99'
		ignored "$weights"
	done
done

# A system without a scheduler reports the key as ignored.
run --system stock --set system.scheduler=weighted
ignored "system.scheduler $(echo "$weights" "$priorities" | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/ $//')"
run --system gvm --set system.scheduler=weighted --set system.mechanisms.compute_isolation=false
shares 'a > 32 and c > 32'

expect 2 "three.json\|--set:system.tracking_interval" run three.json --set system.tracking_interval=0
