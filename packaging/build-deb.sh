#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Build gvm-dkms_VERSION_all.deb in OUT. Needs debhelper and dh-dkms.
#
#   build-deb.sh OUT
set -eu

case ${1:--} in
-*)
	echo "usage: build-deb.sh OUT" >&2
	exit 2
	;;
esac

top=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$top/packaging/debian/changelog")
tree=$out/gvm-dkms-$version

rm -rf "$tree"
mkdir -p "$tree/sim" "$tree/kernel-port" "$tree/docs/man"
cp -r "$top/packaging" "$tree/"
mv "$tree/packaging/debian" "$tree/debian"
"$top/packaging/copyright.sh" "$top" "$top/packaging/debian/copyright" >"$tree/debian/copyright"
cp -r "$top/sim/core" "$tree/sim/"
cp -r "$top/kernel-port/linux" "$top/kernel-port/nvidia" "$tree/kernel-port/"
cp "$top"/docs/man/gvm-*.8 "$tree/docs/man/"
cp "$top/LICENSE" "$tree/"
if ! (cd "$tree" && dpkg-buildpackage -us -uc -b) >"$out/build.log" 2>&1; then
	tail -n 20 "$out/build.log" >&2
	echo "gvm-dkms: dpkg-buildpackage failed; $out/build.log" >&2
	exit 1
fi
echo "$out/gvm-dkms_${version}_all.deb"
