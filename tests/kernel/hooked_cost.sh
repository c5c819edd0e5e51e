#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# What the hooks cost where gvm.ko does not manage the GPU: the eleven patterns of the part stock, on the hooked
# driver and on the stock one, in instructions of all tasks (GVM_BOOT_ICOUNT, vm.sh). These are counts, not times,
# and repeat within 0.1 %. Fails if the hooked driver takes 1 % more. SOFTGPU and HOOKED are what softgpu/build.sh
# and nvidia/build.sh have made. Ends with 77, ctest's SKIP code, if there is no driver.
#
#   hooked_cost.sh SOURCE SOFTGPU HOOKED VMLINUZ OUT
set -eu

source=$1
softgpu=$2
hooked=$3
vmlinuz=$4
out=$5

if [ ! -f "$hooked/nvidia-uvm.ko" ]; then
	echo "skipped: there is no $hooked/nvidia-uvm.ko" >&2
	exit 77
fi
# The same folder of modules, but for the driver.
mkdir -p "$out/modules"
ln -sfn "$(cd "$hooked/tree" && pwd -P)" "$out/modules/tree"
cp -f "$hooked/softgpu.ko" "$hooked/gvm.ko" "$hooked/gvm_nvidia.ko" "$softgpu/nvidia-uvm.ko" "$out/modules/"

# count NAME MODULES: thousands of instructions
count() {
	GVM_BOOT_ICOUNT=1 GVM_TEST=stock "$source/tests/kernel/boot.sh" "$source" "$2" "$vmlinuz" \
		"$out/boot-$1" hooked >"$out/$1.log" 2>&1 || {
		cat "$out/$1.log" >&2
		exit 1
	}
	sed -n 's/^tap: # stock ran for \([0-9]*\) us of tasks$/\1/p' "$out/boot-$1/guest.log"
}

with=$(count hooked "$hooked")
without=$(count stock "$out/modules")
if [ "${without:-0}" -lt 1000 ] || [ "${with:-0}" -lt 1000 ]; then
	echo "no count of instructions: hooked '$with', stock '$without'; $out" >&2
	exit 1
fi
echo "hooked $with, stock $without thousand instructions: $(awk "BEGIN { printf \"%+.3f\", 100 * ($with - $without) / $without }") %"
[ $((with * 100)) -lt $((without * 101)) ] || {
	echo "the hooks cost 1 % or more" >&2
	exit 1
}
