# SPDX-License-Identifier: MIT OR GPL-2.0
# shellcheck shell=sh disable=SC2154
# A scenario, simulated, and the script of it that a virtual machine plays. To be sourced, with $source, $here,
# $out and $gvmsim set.

if ! command -v jq >/dev/null; then
	echo "jq is missing: install the package jq" >&2
	exit 1
fi

# simulate NAME SCENARIO ARGUMENTS...: a run, and the script that is made of it. What the system
# ignores, the kernel would do.
simulate() {
	name=$1
	scenario=$2
	shift 2
	"$gvmsim" run "$source/scenarios/$scenario.json" --quiet --out "$out/$name" "$@" \
		>"$out/$name.log" 2>&1 || {
		cat "$out/$name.log" >&2
		exit 1
	}
	jq -e '.ignored_keys == []' "$out/$name/summary.json" >/dev/null || {
		echo "$name: the simulator ignores something" >&2
		exit 1
	}
	jq -r -f "$here/replay.jq" "$out/$name/config.json" >"$out/scripts/$name"
}

# What the simulator recorded, in the words of replay_init.c. A step takes less than a second, and
# ends with a sample.
simulated() {
	tail -n +2 "$out/$1/evictions.csv" |
		awk -F, -v name="$1" \
			'{ print name, int($1 / 1e9) + 1, "evicted", $2, $3, $4, $5 }'
	tail -n +2 "$out/$1/controls.csv" |
		awk -F, -v name="$1" '{ print name, $1 / 1e9, $2, $3, $4 }'
}
