#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Called by DKMS in a copy of /usr/src/gvm-VERSION: builds modules/gvm.ko, modules/nvidia/gvm_nvidia.ko and
# hooked/gvm-nvidia-uvm.ko for KERNEL. The driver is the one that is installed for that kernel.
#
#   build.sh KERNEL KDIR
#   build.sh clean
set -eu

cd "$(dirname "$0")/../.."
top=$(pwd)
rm -rf modules hooked driver
[ "$1" != clean ] || exit 0
kernel=$1
kdir=$2
driver_versions=packaging/driver-versions

. packaging/dkms/vendor.sh

find_driver "$kernel"
find_source "$version" driver/unpacked
echo "gvm-dkms: driver $version, $nvidia_ko, source $tree"

# gvm.ko and gvm_nvidia.ko: their objects lie flat.
mkdir -p modules/nvidia
ln -s "$top"/sim/core/*/*.c "$top"/kernel-port/linux/*.[ch] "$top/kernel-port/linux/Kbuild" \
	"$top/kernel-port/linux/Kbuild.core" "$top/sim/core/include" modules/
ln -s "$top"/kernel-port/nvidia/gvm_nvidia*.[ch] "$top/kernel-port/nvidia/gvm_uvm.h" \
	"$top/kernel-port/nvidia/Kbuild" modules/nvidia/
make -C "$kdir" M="$top/modules" GVM_DRIVER_ONLY=1 -j"$(nproc)" modules

# The parts of the driver that a build of nvidia-uvm.ko needs, with hooks. Its headers need the tests of the
# kernel that nvidia.ko lists; nvidia.ko itself is not built.
mkdir -p driver/tree hooked
(cd "$tree" && find . -maxdepth 1 -name '*.mk' &&
	find Kbuild Makefile conftest.sh common nvidia-uvm nvidia/nvidia.Kbuild -type f ! -name '*.o' \
		! -name '*.cmd' ! -name '*.ko' ! -name '*.mod*') | while read -r file; do
	mkdir -p "driver/tree/$(dirname "$file")"
	cp "$tree/$file" "driver/tree/$file"
done
if ! kernel-port/nvidia/hooks.sh driver/tree driver/hooked; then
	refuse "the hooks do not land in the driver $version; the vendor's nvidia-uvm stays in use"
	exit 1
fi
cp driver/hooked/* driver/tree/nvidia-uvm/
mkdir driver/tree/gvm_conftests driver/symvers
grep '^NV_CONFTEST_[A-Z_]*COMPILE_TESTS +=' driver/tree/nvidia/nvidia.Kbuild \
	>driver/tree/gvm_conftests/gvm_conftests.Kbuild
echo 'MODULE_SOFTDEP("pre: gvm_nvidia");' >>driver/tree/nvidia-uvm/uvm.c
packaging/dkms/symvers.sh "$nvidia_ko" driver/symvers >driver/Module.symvers
make -C driver/tree KERNEL_UNAME="$kernel" NV_KERNEL_MODULES="gvm_conftests nvidia-uvm" \
	KBUILD_EXTRA_SYMBOLS="$top/driver/Module.symvers" -j"$(nproc)" modules
cp driver/tree/nvidia-uvm.ko hooked/gvm-nvidia-uvm.ko
