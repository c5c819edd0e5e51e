#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Write the hooked files of NVIDIA's driver into OUT: those that hooks/NAME.cocci patches, the sources of ours
# that they call, and the driver's list of sources with ours. TREE is the kernel-open folder of a driver; nothing is written there. Fails with one
# line for each hook that does not land exactly once, and one for each that the driver can pass by.
#
#   hooks.sh TREE OUT
set -eu

tree=$1
out=$2
ours=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n 's/.*NV_VERSION_STRING=\\"\(.*\)\\".*/\1/p' "$tree/Kbuild")
failures=0

if ! command -v spatch >/dev/null; then
	echo "spatch is missing: install the package coccinelle" >&2
	exit 1
fi

# The hooks' functions that need static functions of FILE. FILE includes them at its end.
tail_of() {
	case $1 in
	uvm_gpu_replayable_faults.c) echo gvm_uvm_faults_tail.c ;;
	uvm_pmm_gpu.c) echo gvm_uvm_pmm_tail.c ;;
	uvm_va_block.c) echo gvm_uvm_block_tail.c ;;
	esac
}

# The driver's list of nvidia-uvm's sources, with ours.
sources_of() {
	list=$tree/nvidia-uvm/nvidia-uvm-sources.Kbuild
	if [ ! -f "$list" ]; then
		echo "$version has no list of nvidia-uvm's sources: nvidia-uvm/nvidia-uvm-sources.Kbuild" >&2
		return 1
	fi
	cat "$list"
	for file in "$ours"/gvm_uvm_*.c; do
		case $file in
		*_tail.c) ;;
		*) echo "NVIDIA_UVM_SOURCES += nvidia-uvm/$(basename "$file")" ;;
		esac
	done
}

# complain HOOK FILE COUNT
complain() {
	echo "hook $1 landed $3 times in $2 of $version, not once" >&2
	failures=$((failures + 1))
}

# Each function that a patch adds a call of, once. "discarded" is there since 580.
check() {
	file=$1
	patch=$2
	hooks=$(sed -n 's/^+.*\<\(gvm_uvm_[a-z_]*\)\>.*/\1/p' "$patch" | sort -u)
	for hook in $hooks; do
		count=$(grep -c "\<$hook\>" "$out/$file" || true)
		if [ "$hook" = gvm_uvm_chunk_discarded ] &&
			! grep -q uvm_pmm_gpu_mark_root_chunk_discarded "$out/$file"; then
			continue
		fi
		[ "$count" = 1 ] || complain "$hook" "$file" "$count"
	done
}

# A hook that stands in place of a call: FUNCTION, defined in FILE, has no other caller there.
check_callers() {
	file=$1
	function=$2
	hook=$3
	count=$(grep -v '^static' "$out/$file" | grep -c "\<$function(" || true)
	[ "$count" = 0 ] && return
	echo "$file of $version calls $function past the hook $hook" >&2
	failures=$((failures + 1))
}

# gvm_uvm_version.h: what this driver has. GVM_UVM_FAULTS_SUPPORTED: a GPU says whether it has replayable faults.
# Since 595 the driver knows only GPUs that have them, and the field is gone. Pascal's are the first that have
# them: a driver without the field that knows Maxwell keeps this elsewhere.
version_of() {
	echo "/* SPDX-License-Identifier: MIT OR GPL-2.0 */"
	if grep -qw 'bool replayable_faults_supported;' "$tree/nvidia-uvm/uvm_gpu.h"; then
		echo "#define GVM_UVM_FAULTS_SUPPORTED"
	elif [ -f "$tree/nvidia-uvm/uvm_maxwell.c" ]; then
		echo "$version does not tell in uvm_gpu.h whether a GPU has replayable faults" >&2
		return 1
	fi
}

rm -rf "$out"
mkdir -p "$out"
version_of >"$out/gvm_uvm_version.h"
sources_of >"$out/nvidia-uvm-sources.Kbuild"
cp "$ours"/gvm_uvm*.[ch] "$ours/../linux/gvm_rmapi.h" "$out/"
for patch in "$ours"/hooks/*.cocci; do
	file=$(basename "$patch" .cocci)
	if ! spatch --very-quiet --no-includes --sp-file "$patch" -o "$out/$file" \
		"$tree/nvidia-uvm/$file" >"$out/$file.log" 2>&1; then
		cat "$out/$file.log" >&2
		echo "$patch cannot be applied to $version" >&2
		exit 1
	fi
	# Without a change spatch writes nothing.
	[ -f "$out/$file" ] || cp "$tree/nvidia-uvm/$file" "$out/$file"
	check "$file" "$patch"
	[ "$file" != uvm_va_block.c ] || check_callers "$file" block_alloc_gpu_chunk gvm_uvm_alloc_chunk
	{
		echo '#include "gvm_uvm_hooks.h"'
		cat "$out/$file"
		tail=$(tail_of "$file")
		[ -z "$tail" ] || echo "#include \"$tail\""
	} >"$out/$file.new"
	mv "$out/$file.new" "$out/$file"
	rm "$out/$file.log"
done
[ "$failures" = 0 ] || exit 1
echo "$out: all hooks are in $version"
