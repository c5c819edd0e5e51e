#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# gvm-first-boot in a virtual machine with the package's own files: gvm-dkms exchanges the modules by rmmod, depmod
# and modprobe, and an application on the software GPU meets the real control files. Only the first check, the host's
# parts, has a stand-in: the machine has no card. ROOT is a Debian in which the package is installed, UVM the
# folder kernel-open of its driver. Then the way back where a host does not come up: it boots with
# module_blacklist=gvm,gvm_nvidia, the hooked module loads by itself, and the application runs.
#
#   first_boot_guest.sh SOURCE ROOT UVM OUT
set -eu

source=$1
root=$2
uvm=$3
rm -rf "$4"
mkdir -p "$4/root"
out=$(cd "$4" && pwd)
guest=$out/root
release=$(basename "$root"/lib/modules/*)
log=$out/console.log

. "$source/tests/kernel/vm.sh"
. "$source/tests/packaging/host.inc"

need cpio cpio
need_vm

mkdir -p "$guest/bin" "$guest/dev" "$guest/proc" "$guest/sys" "$guest/tmp" "$guest/var/lib/dkms" \
	"$guest/lib/modules/$release" "$guest/usr/src" "$guest/etc"
ln -s bin "$guest/sbin"
ln -s ../bin "$guest/usr/bin"
ln -s ../bin "$guest/usr/sbin"
# Programs and the libraries that ldd names.
for name in sh cat ls mkdir rm ln mount sleep grep sed awk tail head wc tee tr cut sort paste find tar gzip dmesg \
	modprobe rmmod depmod modinfo uname basename dirname readlink stty id; do
	program=$(chroot "$root" sh -c "command -v $name")
	cp -L "$root$program" "$guest/bin/$name"
	chroot "$root" ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
		mkdir -p "$guest${library%/*}"
		cp -Ln "$root$library" "$guest$library"
	done
done
cp -a "$root/lib/modules/$release/updates" "$root"/lib/modules/"$release"/modules.builtin* \
	"$root/lib/modules/$release/modules.order" "$guest/lib/modules/$release/"
for file in usr/sbin/gvm-dkms usr/sbin/gvm-first-boot; do
	cp "$root/$file" "$guest/bin/"
done
cp -r "$root"/usr/src/gvm-* "$guest/usr/src/"
cp -r "$root/lib/depmod.d" "$root/lib/modprobe.d" "$guest/lib/"
tenant_program "$source" "$uvm" "$guest/bin/tenant"
cat >"$guest/bin/gvm-preflight" <<'END'
#!/bin/sh
echo "Nothing is missing; warnings: 0"
END
cat >"$guest/init" <<'END'
#!/bin/sh
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t debugfs debugfs /sys/kernel/debug
echo "tap: begin"
cd /tmp
if grep -q module_blacklist /proc/cmdline; then
	depmod
	modprobe nvidia-uvm
	echo "loads $(modinfo -n nvidia-uvm)"
	tenant &
	sleep 5
	kill -0 $! && echo "the application runs"
	ls /sys/module | grep -E '^(gvm|gvm_nvidia)$' || echo "no module of ours is there"
	stty -echo </dev/console
	echo b >/proc/sysrq-trigger
fi
status=0
gvm-first-boot --seconds 5 -- tenant || status=$?
[ "$status" = 0 ] || cat gvm-first-boot/steps.log gvm-first-boot/application.log
echo "first boot ended with $status"
ls /sys/module | grep -E '^(gvm|gvm_nvidia)$' || echo "no module of ours is left"
stty -echo </dev/console # returns when the console has sent all: a reset drops the rest
echo b >/proc/sysrq-trigger
END
chmod +x "$guest/init" "$guest/bin/gvm-preflight"
(cd "$guest" && find . | cpio --quiet -o -H newc -R 0:0) >"$out/initramfs.cpio"

vm_devices="-device pci-testdev"
boot "${GVM_BOOT_SECONDS:-300}" "$root/boot/vmlinuz-$release" "$out/initramfs.cpio" oops=panic slub_debug=- \
	>"$log" 2>&1 || true
guest_log "$log" >"$out/guest.log"
if ! grep -q '^first boot ended with 0$' "$out/guest.log" ||
	! grep -q '^All 12 checks passed' "$out/guest.log" ||
	! grep -q '^no module of ours is left$' "$out/guest.log"; then
	tail -n 60 "$out/guest.log" >&2
	echo "first boot in a virtual machine: failed; $log" >&2
	exit 1
fi
echo "gvm-first-boot: all 12 checks on the software GPU; $log"

log=$out/recovery.log
boot "${GVM_BOOT_SECONDS:-300}" "$root/boot/vmlinuz-$release" "$out/initramfs.cpio" oops=panic slub_debug=- \
	module_blacklist=gvm,gvm_nvidia >"$log" 2>&1 || true
guest_log "$log" >"$out/recovery.guest"
if ! grep -q '^loads .*/updates/gvm/nvidia-uvm.ko' "$out/recovery.guest" ||
	! grep -q '^the application runs$' "$out/recovery.guest" ||
	! grep -q '^no module of ours is there$' "$out/recovery.guest"; then
	tail -n 60 "$out/recovery.guest" >&2
	echo "a boot with module_blacklist=gvm,gvm_nvidia: failed; $log" >&2
	exit 1
fi
echo "with module_blacklist=gvm,gvm_nvidia the application runs without gvm.ko; $log"
