#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# The softgpu and hooked suites with one driver on one kernel: build both modules of TREE, the kernel-open
# folder of a driver, in OUT, put our hooks in, and boot both suites on VMLINUZ. LINUX is what linux/build.sh
# has made for KDIR. Without TREE the driver is Debian's, and without KDIR the kernel.
# UVM_BUILD_TYPE=debug builds nvidia-uvm with its asserts. GVM_TEST_SUITES: "softgpu hooked", or one of them.
# Ends with 77, ctest's SKIP code, if there is no driver to be had.
#
#   nvidia_suites.sh SOURCE OUT LINUX VMLINUZ [KDIR [TREE]]
set -eu

source=$1
out=$2
linux=$3
vmlinuz=$4
kdir=${5:-}
tree=${6:-}

mkdir -p "$out"
"$source/kernel-port/softgpu/build.sh" "$source" "$out/softgpu" "$kdir" "$tree"
"$source/kernel-port/nvidia/build.sh" "$source" "$out/softgpu" "$linux" "$out/hooked" "$kdir"
for suite in ${GVM_TEST_SUITES:-softgpu hooked}; do
	"$source/tests/kernel/boot.sh" "$source" "$out/$suite" "$vmlinuz" "$out/boot-$suite" "$suite"
done
