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

rm -rf "$out"
mkdir -p "$out/scripts"

. "$here/replay_simulated.sh"

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
