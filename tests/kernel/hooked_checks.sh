#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# kernel-port/nvidia/hooks.sh finds a hook that does not land, or lands twice, and says which in one line; a driver
# that allocates chunks past a hook; and one that does not say whether a GPU has replayable faults.
# TREE is the kernel-open folder of a driver. Ends with 77, ctest's SKIP code, if it is not there.
#
#   hooked_checks.sh SOURCE TREE
set -eu

source=$1
tree=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ ! -d "$tree/nvidia-uvm" ]; then
	echo "skipped: there is no $tree/nvidia-uvm" >&2
	exit 77
fi

# expect FILE SED LINE WHAT: a driver whose FILE was edited so is refused with LINE
expect() {
	rm -rf "$work/tree"
	mkdir -p "$work/tree/nvidia-uvm"
	cp "$tree/Kbuild" "$work/tree/"
	cp "$tree"/nvidia-uvm/*.[ch] "$tree/nvidia-uvm/nvidia-uvm-sources.Kbuild" "$work/tree/nvidia-uvm/"
	sed "$2" "$tree/nvidia-uvm/$1" >"$work/tree/nvidia-uvm/$1"
	if "$source/kernel-port/nvidia/hooks.sh" "$work/tree" "$work/out" >"$work/said" 2>&1; then
		echo "hooks.sh accepts a driver where $4" >&2
		exit 1
	fi
	if [ "$(wc -l <"$work/said")" != 1 ] || ! grep -q "^$3$" "$work/said"; then
		cat "$work/said" >&2
		exit 1
	fi
}

# expect_landings FILE SED HOOK TIMES
expect_landings() {
	expect "$1" "$2" "hook $3 landed $4 times in $1 of .*, not once" "$3 should land $4 times"
}

"$source/kernel-port/nvidia/hooks.sh" "$tree" "$work/out"
expect_landings uvm_pmm_gpu.c 's/if (try_chunk_free(/if (chunk_try_free(/' gvm_uvm_chunk_freed 0
expect_landings uvm_va_space.c '/^void uvm_va_space_destroy(/,/^}/s/^    uvm_deferred_free_object_list.*/&\n&/' \
	gvm_uvm_space_detach_all 2
expect uvm_va_block.c '$a static NV_STATUS more(uvm_va_block_t *b, uvm_va_block_retry_t *r, uvm_gpu_t *g, uvm_gpu_chunk_t **c) \
{ return block_alloc_gpu_chunk(b, r, g, 4096, c); }' \
	'uvm_va_block.c of .* calls block_alloc_gpu_chunk past the hook gvm_uvm_alloc_chunk' \
	'a second function of uvm_va_block.c allocates chunks'
if [ -f "$tree/nvidia-uvm/uvm_maxwell.c" ]; then
	expect uvm_gpu.h 's/\<replayable_faults_supported;/has_replayable_faults;/' \
		'.* does not tell in uvm_gpu.h whether a GPU has replayable faults' 'that is told elsewhere'
fi
