#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Unpack the kernel that the installed headers belong to into OUT: OUT/vmlinuz. It comes from the
# package of Debian that holds it, fetched by apt and never installed.
#
#   image.sh SOURCE OUT [KDIR]
set -eu

source=$(cd "$1" && pwd)
mkdir -p "$(dirname "$2")"
out=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
kdir=$("$source/kernel-port/linux/headers.sh" "${3:-}")
release=$(sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' "$kdir/include/generated/utsrelease.h")
package=linux-image-$release

for tool in apt-get dpkg-deb dpkg-query; do
	if ! command -v "$tool" >/dev/null; then
		echo "$tool is missing: this test needs Debian, packages apt and dpkg" >&2
		exit 1
	fi
done

# The image must be of the very build that the headers are of.
version=$(dpkg-query -W -f '${Version}' "linux-headers-$release" 2>/dev/null) || {
	echo "$kdir does not belong to an installed package linux-headers-$release" >&2
	exit 1
}

if [ -f "$out/vmlinuz" ] && [ "$(cat "$out/version")" = "$package $version" ]; then
	echo "$out/vmlinuz: $package $version, unpacked before"
	exit 0
fi

# Fetch into the current folder. The sandbox user of apt could not write there.
download() {
	apt-get -q -o APT::Sandbox::User="$(id -un)" download "$package=$version"
}

work=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
if ! download; then
	echo "$package=$version is not in the lists of apt: updating them" >&2
	if [ "$(id -u)" = 0 ]; then
		apt-get -q update || true
	else
		sudo -n apt-get -q update || true
	fi
	if ! download; then
		echo "cannot fetch $package=$version: it is not in the sources of apt." >&2
		echo "If there is a newer one, install the package linux-headers-cloud-amd64 anew." >&2
		exit 1
	fi
fi
dpkg-deb -x "$package"_*.deb unpacked
mkdir -p "$out"
rm -f "$out/version"
mv "unpacked/boot/vmlinuz-$release" "$out/vmlinuz"
echo "$package $version" >"$out/version"
echo "$out/vmlinuz: $package $version"
