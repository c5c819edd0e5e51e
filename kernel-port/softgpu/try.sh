#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Try a change to nvidia-uvm on the software GPU: build both modules, boot them in a virtual machine, and run
# the parts of the test that are named, or all of them. TREE is the kernel-open folder of a driver. Without it
# Debian's is unpacked in build/softgpu/driver/kernel-open, once: a change there is what is tried.
# KDIR is a kernel that was built in its sources; without it, Debian's is taken. Neither cmake nor the
# simulator is needed. OUT is build/softgpu unless it is given.
#
#   try.sh [-t TREE] [-k KDIR] [-o OUT] [PART...]
set -eu

source=$(cd "$(dirname "$0")/../.." && pwd)
out=$source/build/softgpu
tree=
kdir=

usage() {
	echo "usage: try.sh [-t TREE] [-k KDIR] [-o OUT] [PART...]" >&2
	exit 2
}

while getopts t:k:o: option; do
	case $option in
	t) tree=$OPTARG ;;
	k) kdir=$OPTARG ;;
	o) out=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
table=$source/tests/kernel/softgpu_init.c
for part in "$@"; do
	grep -q "{ \"$part\"," "$table" || {
		echo "there is no part $part; the parts are:" \
			"$(sed -n 's/^\t{ "\([a-z]*\)",.*/\1/p' "$table" | tr '\n' ' ')" >&2
		exit 2
	}
done

mkdir -p "$out"
if [ -z "$tree" ]; then
	"$source/kernel-port/softgpu/driver.sh" "$out/driver"
	tree=$out/driver/kernel-open
fi
image=$kdir/arch/x86/boot/bzImage
if [ -z "$kdir" ]; then
	"$source/tests/kernel/image.sh" "$source" "$out/image"
	image=$out/image/vmlinuz
fi
"$source/kernel-port/softgpu/build.sh" "$source" "$out/modules" "$kdir" "$tree"

parts=$(echo "$*" | tr ' ' ,)
echo "the console is in $out/boot/console.log"
GVM_TEST=$parts GVM_BOOT_SECONDS=${GVM_BOOT_SECONDS:-700} "$source/tests/kernel/boot.sh" "$source" \
	"$out/modules" "$image" "$out/boot" softgpu
