#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Break nvidia-uvm.ko in one place at a time, and see the tests on the software GPU find it. DRIVER is the
# folder that build.sh of softgpu unpacked or was given (kernel-open). MODEL is the program judged_model.
# Ends with 77, ctest's SKIP code, if there is no driver.
#
#   softgpu_mutants.sh SOURCE DRIVER VMLINUZ MODEL OUT [KDIR]
set -eu

source=$1
driver=$2
vmlinuz=$3
model=$4
out=$5
kdir=${6:-}
here=$source/tests/kernel

if [ ! -d "$driver/nvidia-uvm" ]; then
	echo "skipped: there is no driver in $driver" >&2
	exit 77
fi
mkdir -p "$out"
rm -rf "$out/mutant"
cp -a "$driver" "$out/mutant"

# found PART: whether a test point of the part fails, or the judge finds a difference in a pattern of it.
found() {
	status=0
	GVM_TEST=$1 "$here/boot.sh" "$source" "$out/build" "$vmlinuz" "$out/boot" softgpu \
		>"$out/boot.log" 2>&1 || status=$?
	if [ "$1" = judge ] && [ "$status" = 0 ]; then
		"$here/judge.sh" "$out/boot/guest.log" "$model" "$here/judge_expected.txt" "$out/judge" \
			>"$out/judge.log" 2>&1 || status=$?
		grep -q '^DIFFERS: cyclic' "$out/judge/judgement"
		return
	fi
	grep -aq '^tap: not ok' "$out/boot/guest.log"
}

# mutant NAME PART FILE FROM TO: in nvidia-uvm/FILE, the line FROM becomes TO.
mutant() {
	file=$out/mutant/nvidia-uvm/$3
	awk -v from="$4" -v to="$5" 'index($0, from) && !done { $0 = to; done = 1 } { print }
		END { exit !done }' "$driver/nvidia-uvm/$3" >"$file" || {
		echo "$1: $3 has no line with: $4" >&2
		exit 1
	}
	"$source/kernel-port/softgpu/build.sh" "$source" "$out/build" "$kdir" "$out/mutant" \
		>"$out/build.log" 2>&1 || {
		cat "$out/build.log" >&2
		exit 1
	}
	found "$2" || {
		echo "$1: the part $2 does not find it; $out/boot.log" >&2
		exit 1
	}
	echo "found: $1"
	cp "$driver/nvidia-uvm/$3" "$file"
}

mutant "the first TLB invalidate of a batch is lost" tlb uvm_tlb_batch.c \
	'for (i = 0; i < batch->count; ++i)' 'for (i = 1; i < batch->count; ++i) {'
mutant "regions are prefetched at 75 % and not at 51 %" reference uvm_perf_prefetch.c \
	'#define UVM_PREFETCH_THRESHOLD_DEFAULT' '#define UVM_PREFETCH_THRESHOLD_DEFAULT 75'
mutant "the last block that was used is the first victim" judge uvm_pmm_gpu.c \
	'list_move_tail(&chunk->list, list);' 'list_move(&chunk->list, list);'
