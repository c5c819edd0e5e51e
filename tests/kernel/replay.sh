#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# The simulator and gvm.ko on a GPU made of RAM play the same scenario, and evict the same blocks in
# the same order, with the same in all control files after each step. The scenario is the one source:
# what the kernel plays is made of the config.json of the simulated run (replay.jq).
#
#   replay.sh SOURCE MODULES VMLINUZ OUT GVMSIM
set -eu

source=$1
modules=$2
vmlinuz=$3
out=$4
gvmsim=$5
here=$source/tests/kernel
export LC_ALL=C # the order of names

if ! command -v jq >/dev/null; then
	echo "jq is missing: install the package jq" >&2
	exit 1
fi
rm -rf "$out"
mkdir -p "$out/scripts"

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

ideas="--set system.mechanisms.clean_drop=true --set system.mechanisms.hint_faults=true"
ideas="$ideas --set system.mechanisms.priority_batches=true"

simulate order eviction-order
simulate order-priority eviction-order --set system.scheduler=priority
simulate ahead eviction-ahead
# shellcheck disable=SC2086 # they are several words
simulate ahead-ideas eviction-ahead $ideas
for script in "$out"/scripts/*; do
	simulated "$(basename "$script")"
done | sort -s -k1,1 -k2,2n >"$out/simulated"

"$here/boot.sh" "$source" "$modules" "$vmlinuz" "$out/boot" replay cc "$out/scripts"
sed -n 's/^tap: trace: //p' "$out/boot/guest.log" >"$out/played"

# Launches are counted alike only where a scheduler wants to know of them: else the simulator's
# processes have no shim that would report any.
for log in simulated played; do
	sed '/^order [0-9]* [a-z]* gcgroup.stat /d' "$out/$log" >"$out/$log.compared"
done

if ! diff -u "$out/simulated.compared" "$out/played.compared"; then
	echo "the kernel (+) does not do what the simulator (-) does: NAME STEP, and what happened" >&2
	exit 1
fi
grep -q ' evicted ' "$out/played" || {
	echo "nothing was evicted" >&2
	exit 1
}
echo "$(grep -c ' evicted ' "$out/played") evictions and $(grep -vc ' evicted ' "$out/played")" \
	"changes of control files are the same"
