#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A page player goes round in half as much again as it may have. CLOCK misses at every touch. With
# system.mechanisms.lirs the player goes round more than half as often again in the same time, and two
# runs have the same results. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# rounds DIR [ARGUMENT...]: rounds of the player.
rounds() {
	out=$1
	shift
	"$gvmsim" run "$source/scenarios/saturation.json" --set duration=3s "$@" --quiet --out "$out" ||
		fail "$out: run failed"
	jq .containers.pages.rounds "$out/summary.json"
}

without=$(rounds without)
with=$(rounds with --set system.mechanisms.lirs=true)
again=$(rounds again --set system.mechanisms.lirs=true)
[ $((2 * with)) -gt $((3 * without)) ] || fail "$with rounds with LIRS, $without without"
[ "$with" = "$again" ] || fail "$with rounds, then $again"
cmp with/timeline.csv again/timeline.csv || fail "two runs with LIRS differ"
