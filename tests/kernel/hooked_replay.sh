#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# The simulator's system ghost-uvm, and gvm.ko in NVIDIA's driver on the software GPU, play the same scenario. After
# each step each control file says the same, and the same blocks have left in the same order. In two steps, with
# the boot of the hooked driver between them: boot.sh SOURCE MODULES VMLINUZ FOLDER hooked cc OUT/scripts.
# A driver that cannot be had ends the second step with 77, ctest's SKIP code.
#
#   hooked_replay.sh simulate SOURCE OUT GVMSIM
#   hooked_replay.sh compare OUT GUEST_LOG
set -eu

export LC_ALL=C # the order of names

if [ "$1" = simulate ]; then
	source=$2
	out=$3
	gvmsim=$4
	here=$source/tests/kernel
	. "$here/replay_simulated.sh"
	rm -rf "$out"
	mkdir -p "$out/scripts"
	# The model takes a chunk for a context's page tables. The driver has those of all in one.
	simulate order eviction-order --set system.name=ghost-uvm --set gpu.context=0
	simulate ahead eviction-ahead --set system.name=ghost-uvm --set gpu.context=0
	{
		simulated order
		simulated ahead
	} >"$out/simulated"
	exit 0
fi

out=$2
log=$3
if [ ! -f "$log" ]; then
	echo "skipped: there is no $log" >&2
	exit 77
fi
sed -n 's/^tap: trace: //p' "$log" >"$out/played"

# What is compared: which blocks leave, in order, and the control files. Here a block is known by what is in it,
# so the simulator's addresses become numbers of blocks. No shim reports launches to gcgroup.stat. A lost
# access is served again and again by the driver, and each time counts.
comparable() {
	sed -e '/ gcgroup.stat /d' \
		-e 's/gmem.events .* oom [1-9][0-9]*$/gmem.events an access is lost/' "$1" |
		while read -r name step what rest; do
			if [ "$what" = evicted ]; then
				address=${rest#* }
				address=${address%% *}
				rest="${rest%% *} $(((address - 0x700000000000) / 2097152))"
				what=left
			fi
			echo "$name $step $what $rest"
		done | sort -s -k1,1 -k2,2n >"$1.compared"
}
comparable "$out/simulated"
comparable "$out/played"

if ! diff -u "$out/simulated.compared" "$out/played.compared"; then
	echo "the hooked driver (+) does not do what the simulator (-) does: NAME STEP, and what happened" >&2
	exit 1
fi
if ! grep -q ' left ' "$out/played"; then
	echo "$log has no eviction" >&2
	exit 1
fi
echo "$(grep -c ' left ' "$out/played") evictions and $(grep -vc ' left ' "$out/played.compared") changes of" \
	"control files are the same"
