#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# The nightly test of one version of NVIDIA's driver: with its asserts, on the kernel that watches,
# first the softgpu and the hooked suite, then an hour of the part stress. MAJOR is the version: 535,
# 580 or 595. The driver is the first TREE of that version, the kernel-open folder of its sources.
# Without one, 535 is Debian's package. OUT is that of debug_kernel.sh, which builds the kernel there
# once. GVM_TEST_STRESS_SECONDS: another time than an hour. GVM_TEST_SUITES: as in nvidia_suites.sh.
# Ends with 77, ctest's SKIP code, if there is no driver of that version.
#
#   nvidia_nightly.sh SOURCE OUT MAJOR [TREE...]
set -eu

source=$1
out=$2
major=$3
shift 3
here=$source/tests/kernel

# version TREE: the driver's
version() {
	sed -n 's/.*NV_VERSION_STRING=\\"\(.*\)\\".*/\1/p' "$1/Kbuild"
}

driver=
for tree in "$@"; do
	if [ ! -f "$tree/nvidia-uvm/nvidia-uvm.Kbuild" ]; then
		echo "$tree is not the kernel-open folder of NVIDIA's driver: no nvidia-uvm/nvidia-uvm.Kbuild" >&2
		exit 1
	fi
	case $(version "$tree") in
	"$major".*) driver=${driver:-$tree} ;;
	esac
done
if [ -z "$driver" ] && [ "$major" != 535 ]; then
	echo "skipped: no driver $major is given. Name the kernel-open folder of its sources in NVIDIA_TREES" >&2
	exit 77
fi

# suites NAME=VALUE...: with these variables
suites() {
	env UVM_BUILD_TYPE=debug "$@" "$here/debug_kernel.sh" "$source" "$out" --nvidia ${driver:+"$driver"}
}

# Their HMM stops a kernel that watches, and a build with asserts (docs/softgpu.md).
[ "$major" = 535 ] || export GVM_TEST_NO_HMM=1

# The judge's 68 patterns take hours on that kernel. They are compared on Debian's.
left_out=judge
seconds=${GVM_TEST_STRESS_SECONDS:-3600}
echo "nightly $major: ${driver:-Debian\'s package}"
suites GVM_TEST_STRESS_SECONDS=3 GVM_TEST_LEAVE_OUT=$left_out
# The processor is emulated and KASAN is slow: a round of the part stress may end late. The end of a
# process waits for the faults that are being serviced, of all processes. With the driver's 20
# batches at a time that takes more than the 40 seconds after which the kernel reports a wait.
suites GVM_TEST_SUITES=hooked GVM_TEST=stress GVM_TEST_STRESS_SECONDS="$seconds" \
	GVM_TEST_FAULT_BATCHES=1 GVM_BOOT_SECONDS=$((seconds + 1800))
echo "nightly $major: no report of the kernel, no assert, no wrong word; $seconds seconds of stress"
