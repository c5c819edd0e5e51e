#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# kernel-port/nvidia/hooks.sh finds a hook that does not land, or lands twice, and says which in one line.
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

# expect FILE SED HOOK TIMES: a driver whose FILE was edited so
expect() {
	rm -rf "$work/tree"
	mkdir -p "$work/tree/nvidia-uvm"
	cp "$tree/Kbuild" "$work/tree/"
	cp "$tree"/nvidia-uvm/*.c "$work/tree/nvidia-uvm/"
	sed "$2" "$tree/nvidia-uvm/$1" >"$work/tree/nvidia-uvm/$1"
	if "$source/kernel-port/nvidia/hooks.sh" "$work/tree" "$work/out" >"$work/said" 2>&1; then
		echo "hooks.sh accepts a driver where $3 should land $4 times" >&2
		exit 1
	fi
	if [ "$(wc -l <"$work/said")" != 1 ] ||
		! grep -q "^hook $3 landed $4 times in $1 of .*, not once$" "$work/said"; then
		cat "$work/said" >&2
		exit 1
	fi
}

"$source/kernel-port/nvidia/hooks.sh" "$tree" "$work/out"
expect uvm_pmm_gpu.c 's/if (try_chunk_free(/if (chunk_try_free(/' gvm_uvm_chunk_freed 0
expect uvm_va_space.c '/^void uvm_va_space_destroy(/,/^}/s/^    uvm_deferred_free_object_list.*/&\n&/' \
	gvm_uvm_space_detach_all 2
