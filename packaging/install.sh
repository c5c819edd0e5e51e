#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Put what the package gvm-dkms consists of below DESTDIR. Used by debian/rules and by the RPM spec.
# LIB is the folder that depmod and modprobe read: /lib before the merge of /usr, else /usr/lib.
#
#   install.sh VERSION DESTDIR [LIB]
set -eu

if [ $# -lt 2 ]; then
	echo "usage: install.sh VERSION DESTDIR [LIB]" >&2
	exit 2
fi

version=$1
out=$2
lib=$out${3:-/lib}
cd "$(dirname "$0")/.."
source=$out/usr/src/gvm-$version

mkdir -p "$source/kernel-port" "$source/sim" "$source/packaging"
cp -r sim/core "$source/sim/"
cp -r kernel-port/linux kernel-port/nvidia "$source/kernel-port/"
rm -f "$source"/kernel-port/linux/selftest*
cp -r packaging/dkms packaging/driver-versions "$source/packaging/"
rm "$source/packaging/dkms/dkms.conf" "$source/packaging/dkms/depmod.conf" \
	"$source/packaging/dkms/modprobe.conf" "$source/packaging/dkms/gvm-dkms.sh"
sed "s/#MODULE_VERSION#/$version/" packaging/dkms/dkms.conf >"$source/dkms.conf"

mkdir -p "$out/usr/sbin" "$out/usr/share/gvm-dkms" "$out/usr/share/man/man8" "$lib/depmod.d" "$lib/modprobe.d"
for program in gvm-preflight gvm-first-boot dkms/gvm-dkms; do
	sed "s/@VERSION@/$version/" "packaging/$program.sh" >"$out/usr/sbin/${program#dkms/}"
	chmod 755 "$out/usr/sbin/${program#dkms/}"
done
install -m 644 packaging/driver-versions "$out/usr/share/gvm-dkms/driver-versions"
install -m 644 docs/man/gvm-dkms.8 docs/man/gvm-preflight.8 docs/man/gvm-first-boot.8 "$out/usr/share/man/man8/"
install -m 644 packaging/dkms/depmod.conf "$lib/depmod.d/gvm-dkms.conf"
install -m 644 packaging/dkms/modprobe.conf "$lib/modprobe.d/gvm-dkms.conf"
