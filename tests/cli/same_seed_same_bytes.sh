#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Two runs of one scenario and seed give the same files but for wall time and speed-up, in any
# folder, also one that has older results. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

without_wall_time() {
	sed -e '/"wall_seconds":/d' -e '/"speedup":/d' -e '/"requests_per_wall_second":/d' "$1"
}

for system in exclusive stock; do
	"$gvmsim" run "$scenario" --set duration=120s --system "$system" --quiet >.out 2>.err
	[ ! -s .out ] && [ ! -s .err ] || fail "--quiet printed $(cat .out .err)"
	first=results/vllm-diffusion-80g-$system
	[ -d "$first" ] || fail "no folder $first"
	mkdir "again-$system"
	echo mine >"again-$system/notes.txt"
	echo old >"again-$system/timeline.csv"
	echo '{ "config_hash": "old", "version": "0" }' >"again-$system/summary.json"
	# --system and --set system.name set the same key, and the last one wins.
	"$gvmsim" run --quiet --system exclusive "$scenario" --out "again-$system" \
		--set duration=120s --set system.name="$system"
	[ "$(cat "again-$system/notes.txt")" = mine ] || fail "another file was touched"
	for file in config.json requests.csv timeline.csv; do
		cmp "$first/$file" "again-$system/$file" || fail "$system: $file differs"
	done
	without_wall_time "$first/summary.json" >.first
	without_wall_time "again-$system/summary.json" >.again
	cmp .first .again || fail "$system: summary.json differs"
	[ "$(ls "again-$system" | wc -l)" -eq 5 ] || fail "left over: $(ls "again-$system")"
done
