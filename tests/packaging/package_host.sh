#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The package gvm-dkms on a fresh Debian, in a folder: refused, installed, upgraded and purged, with the real
# source of an open driver: Debian's, or that of TREE, its folder kernel-open. The package's modules boot in a virtual
# machine: a limit holds, and gvm-first-boot passes. After the purge the list of all files is equal to that from before.
# Ends with 77, ctest's SKIP code, where host.inc says so.
#
#   package_host.sh SOURCE SOFTGPU OUT [TREE]
set -eu
. "$(dirname "$0")/host.inc"
host_make "package on a host" "$1" "$2" "$3" "${4:-}"
driver_source "$root/usr/src/nvidia-$version"

# Two versions of the package.
"$source/packaging/build-deb.sh" "$out/deb" >>"$log"
newer_source 0.1.1
"$out/newer/packaging/build-deb.sh" "$out/deb" >>"$log"
cp "$out"/deb/*.deb "$root/tmp/"
list >"$out/before"

# A driver without hooks: the package is there, and says why it does nothing.
expect chroot "$root" dpkg -i /tmp/gvm-dkms_0.1.0_all.deb
grep -q '^gvm-dkms: there are no hooks for the driver 550.54.15; install one of the branches ' "$log" ||
	fail "the driver 550 was not refused"
is_stock

# A driver with hooks comes, and its package has files in /usr/src.
vendor "$version"
expect chroot "$root" dpkg-trigger --by-package=gvm-dkms /usr/src
expect chroot "$root" dpkg --triggers-only gvm-dkms
is_hooked
mkdir -p "$out/modules"
cp "$modules/updates/dkms/gvm.ko" "$modules/updates/dkms/gvm_nvidia.ko" "$softgpu/softgpu.ko" "$out/modules/"
cp -L "$modules/updates/gvm/nvidia-uvm.ko" "$out/modules/"
ln -sfn "$softgpu/tree" "$out/modules/tree"
"$source/tests/packaging/first_boot_guest.sh" "$source" "$root" "$softgpu/tree" "$out/first-boot"

expect chroot "$root" dpkg -i /tmp/gvm-dkms_0.1.1_all.deb
is_hooked
if [ -e "$root/usr/src/gvm-0.1.0" ] || [ -e "$root/var/lib/dkms/gvm/0.1.0" ]; then
	fail "the older version was left behind"
fi

# The driver goes back to one without hooks: modules that do not fit go.
vendor 550.54.15
expect chroot "$root" gvm-dkms refresh
is_stock

expect chroot "$root" dpkg --purge gvm-dkms
is_stock
is_as "$out/before"

vmlinuz=$(find "$root/boot" -name "vmlinuz-$kernel")
GVM_TEST=limits GVM_BOOT_SECONDS=${GVM_BOOT_SECONDS:-500} "$source/tests/kernel/boot.sh" "$source" "$out/modules" \
	"$vmlinuz" "$out/boot" hooked
echo "gvm-dkms: refused, installed, upgraded, given up and purged with the driver $version; a limit holds"
