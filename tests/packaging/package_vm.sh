#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The package gvm-dkms on a Debian that runs: a virtual machine with a disk, the vendor's modules loaded and an
# application on the GPU (package_vm_guest.sh). dpkg installs it there, and gvm-dkms exchanges the modules. The machine
# starts again, and the package is upgraded. It starts a third time, and the package is purged: all is the vendor's.
# The software GPU stands for nvidia.ko, beside the real source of an open driver: Debian's, or that of TREE.
# DKMS builds both versions before, in the folder that becomes the disk, and the machine's DKMS finds them built: its
# processor is emulated, and would take an hour for each.
# Ends with 77, ctest's SKIP code, where host.inc says so.
#
#   package_vm.sh SOURCE SOFTGPU OUT [TREE]
set -eu
. "$(dirname "$0")/host.inc"
host_make "package in a machine" "$1" "$2" "$3" "${4:-}"
. "$source/tests/kernel/vm.sh"
need_vm
need mke2fs e2fsprogs

driver_source "$root/usr/src/nvidia-$version"
vendor "$version"
"$source/packaging/build-deb.sh" "$out/deb" >>"$log"
newer_source 0.1.1
"$out/newer/packaging/build-deb.sh" "$out/deb" >>"$log"
cp "$out"/deb/*.deb "$source/tests/packaging/package_vm_guest.sh" "$root/tmp/"

# build VERSION: what DKMS makes of it is kept in the folder /tmp of the machine
build() {
	expect chroot "$root" dpkg -i "/tmp/gvm-dkms_$1_all.deb"
	is_hooked
	mkdir -p "$root/tmp/built/$1"
	cp -a "$root/var/lib/dkms/gvm/$1/source" "$root/var/lib/dkms/gvm/$1/$kernel" "$root/tmp/built/$1/"
}
build 0.1.0
build 0.1.1
expect chroot "$root" dpkg --purge gvm-dkms
is_stock

tenant_program "$source" "$softgpu/tree" "$root/tmp/tenant"
leave
cp "$root/boot/vmlinuz-$kernel" "$out/vmlinuz" # boot has another $kernel
cp "$root/boot/initrd.img-$kernel" "$out/initrd.img"
rm -f "$out/disk.img"
expect mke2fs -q -t ext4 -d "$root" "$out/disk.img" 6G

vm_devices="-device pci-testdev -drive file=$out/disk.img,format=raw,if=virtio,cache=unsafe"
GVM_BOOT_MEMORY=${GVM_BOOT_MEMORY:-2G}
for start in installed upgraded purged; do
	boot "${GVM_BOOT_SECONDS:-1200}" "$out/vmlinuz" "$out/initrd.img" oops=panic slub_debug=- \
		root=/dev/vda rw init=/tmp/package_vm_guest.sh "GVM_TEST_START=$start" >"$out/$start.log" 2>&1 || true
	guest_log "$out/$start.log" >"$out/$start.guest"
	if ! grep -qx "$start: all of it holds" "$out/$start.guest"; then
		tail -n 60 "$out/$start.guest" >&2
		fail "the machine was not $start; $out/$start.log"
	fi
done
rm -f "$out/disk.img"
echo "gvm-dkms: installed, upgraded and purged on a machine that runs, with the driver $version; a limit holds"
