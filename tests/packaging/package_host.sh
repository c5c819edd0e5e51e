#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The package gvm-dkms on a fresh Debian, in a folder: refused, installed, upgraded and purged, with the real
# source of Debian's open driver. The software GPU stands for nvidia.ko. The package's modules boot in a virtual
# machine: a limit holds, and gvm-first-boot passes. After the purge the list of all files is equal to that from before.
# Ends with 77, ctest's SKIP code, without root, mmdebstrap, or the software GPU of Debian's driver.
#
#   package_host.sh SOURCE SOFTGPU OUT
set -eu

source=$1
softgpu=$2

if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null || [ ! -f "$softgpu/softgpu.ko" ] ||
	[ ! -d "$softgpu/driver/kernel-open" ]; then
	echo "skipped: root, mmdebstrap and the software GPU are needed" >&2
	exit 77
fi
mkdir -p "$3"
out=$(cd "$3" && pwd)
softgpu=$(cd "$softgpu" && pwd)
version=$(cat "$softgpu/version")
root=$out/root
log=$out/host.log

fail() {
	echo "package on a host: $1; $log" >&2
	exit 1
}

expect() {
	"$@" >>"$log" 2>&1 || fail "$*"
}

leave() {
	umount "$root/proc" 2>/dev/null || true
}
trap leave EXIT
leave

if [ ! -f "$out/base.tar" ]; then
	mmdebstrap --variant=minbase --include=dkms,coccinelle,linux-headers-cloud-amd64,linux-image-cloud-amd64,kmod,xz-utils,gcc,make,binutils,openssl \
		bookworm "$out/base.new.tar" >"$out/base.log" 2>&1 || {
		echo "skipped: a fresh Debian cannot be had; $out/base.log" >&2
		exit 77
	}
	mv "$out/base.new.tar" "$out/base.tar"
fi
rm -rf "$root"
mkdir "$root"
tar -C "$root" -xf "$out/base.tar"
kernel=$(basename "$root"/lib/modules/*)
modules=$root/lib/modules/$kernel
mount -t proc proc "$root/proc"
: >"$log"

# The vendor: the open driver's source, nvidia.ko, and the stock nvidia-uvm.ko.
mkdir -p "$modules/updates/dkms" "$root/usr/src/nvidia-$version"
(cd "$softgpu/driver/kernel-open" && tar -c --exclude='*.o_binary' .) | tar -C "$root/usr/src/nvidia-$version" -x
objcopy -O binary --only-section=.modinfo "$softgpu/softgpu.ko" "$out/modinfo"
# vendor VERSION: its nvidia.ko
vendor() {
	{
		cat "$out/modinfo"
		printf 'version=%s\0' "$1"
	} >"$out/modinfo.new"
	objcopy --update-section .modinfo="$out/modinfo.new" "$softgpu/softgpu.ko" "$modules/updates/dkms/nvidia.ko"
	chroot "$root" depmod "$kernel"
}
cp "$softgpu/nvidia-uvm.ko" "$modules/updates/dkms/"
vendor 550.54.15
stock=$(sha256sum <"$softgpu/nvidia-uvm.ko")

# DKMS makes its signing key for its first module, whichever that is.
expect openssl req -new -x509 -nodes -days 36500 -subj "/CN=DKMS module signing key" -newkey rsa:2048 \
	-keyout "$root/var/lib/dkms/mok.key" -outform DER -out "$root/var/lib/dkms/mok.pub"

list() {
	(cd "$root" && find . \( -path ./proc -o -path ./tmp -o -path ./var/log -o -path ./var/lib/dpkg -o -path ./var/cache \) \
		-prune -o \( -type d -printf '%p/\n' -o -type l -printf '%p -> %l\n' -o -printf '%p %s\n' \) |
		LC_ALL=C sort)
}

is_stock() {
	[ "$(sha256sum <"$modules/updates/dkms/nvidia-uvm.ko")" = "$stock" ] || fail "the vendor's file was changed"
	[ "$(chroot "$root" modinfo -k "$kernel" -n nvidia-uvm)" = "/lib/modules/$kernel/updates/dkms/nvidia-uvm.ko" ] ||
		fail "the vendor's module is not what is loaded"
}

is_hooked() {
	[ "$(sha256sum <"$modules/updates/dkms/nvidia-uvm.ko")" = "$stock" ] || fail "the vendor's file was changed"
	[ "$(chroot "$root" modinfo -k "$kernel" -n nvidia-uvm)" = "/lib/modules/$kernel/updates/gvm/nvidia-uvm.ko" ] ||
		fail "the hooked module is not what is loaded"
	chroot "$root" modprobe -S "$kernel" --show-depends nvidia-uvm | awk '{ print $2 }' | sed 's,.*/,,' | paste -sd ' ' \
		>"$out/loaded"
	[ "$(cat "$out/loaded")" = "nvidia.ko gvm.ko gvm_nvidia.ko nvidia-uvm.ko" ] ||
		fail "modprobe nvidia-uvm loads $(cat "$out/loaded")"
	for module in gvm gvm_nvidia gvm-nvidia-uvm; do
		[ "$(modinfo -F signer "$modules/updates/dkms/$module.ko")" = "DKMS module signing key" ] ||
			fail "$module.ko is not signed"
	done
}

# Two versions of the package.
"$source/packaging/build-deb.sh" "$out/deb" >>"$log"
rm -rf "$out/newer"
mkdir "$out/newer"
tar -C "$source" -c packaging sim/core kernel-port docs/man LICENSE LICENSES | tar -C "$out/newer" -x
sed -i '1s/(.*)/(0.1.1)/' "$out/newer/packaging/debian/changelog"
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
[ ! -e "$root/usr/src/gvm-0.1.0" ] && [ ! -e "$root/var/lib/dkms/gvm/0.1.0" ] || fail "the older version was left behind"

# The driver goes back to one without hooks: modules that do not fit go.
vendor 550.54.15
expect chroot "$root" gvm-dkms refresh
is_stock

expect chroot "$root" dpkg --purge gvm-dkms
is_stock
list | cmp - "$out/before" >>"$log" 2>&1 || {
	list | diff "$out/before" - >&2 || true
	fail "the purge leaves something"
}

vmlinuz=$(find "$root/boot" -name "vmlinuz-$kernel")
GVM_TEST=limits GVM_BOOT_SECONDS=${GVM_BOOT_SECONDS:-500} "$source/tests/kernel/boot.sh" "$source" "$out/modules" \
	"$vmlinuz" "$out/boot" hooked
echo "gvm-dkms: refused, installed, upgraded, given up and purged with the driver $version; a limit holds"
