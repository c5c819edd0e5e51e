#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Unpack NVIDIA's open driver from Debian's package nvidia-open-kernel-source into OUT: OUT/kernel-open
# is the tree, OUT/version says which. The package is in Debian's component contrib. It is fetched by
# apt with lists of its own, from the mirrors that the machine has for the component main: the sources
# of the machine stay as they are, nothing is installed, root is not needed.
# Ends with 77, ctest's SKIP code, if the package cannot be had.
#
#   driver.sh OUT
set -eu

mkdir -p "$(dirname "$1")"
out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
package=nvidia-open-kernel-source
skip=77

if [ -f "$out/version" ] && [ -d "$out/kernel-open/nvidia-uvm" ]; then
	echo "$out/kernel-open: $(cat "$out/version"), unpacked before"
	exit 0
fi
for tool in apt-get dpkg-deb; do
	if ! command -v "$tool" >/dev/null; then
		echo "skipped: $tool is missing, and $package comes from Debian" >&2
		exit "$skip"
	fi
done

work=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial"
# shellcheck disable=SC2016 # $(SITE) and $(RELEASE) are apt's
apt-get indextargets --format 'deb $(SITE) $(RELEASE) contrib' \
	'Created-By: Packages' 'Component: main' 'Origin: Debian' | sort -u >"$work/sources.list"

# The sandbox user of apt could not write into $work.
own_apt() {
	apt-get -q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=- \
		-o Dir::State="$work/state" -o Dir::State::Status=/var/lib/dpkg/status \
		-o Dir::Cache="$work/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}

if ! { own_apt update && cd "$work" && own_apt download "$package"; } >"$work/log" 2>&1; then
	cat "$work/log" >&2
	echo "skipped: $package cannot be had from Debian's component contrib" >&2
	exit "$skip"
fi
dpkg-deb -x "$work/$package"_*.deb "$work/unpacked"
mkdir "$work/tree"
tar -C "$work/tree" -xJf "$work/unpacked/usr/src/nvidia-open-kernel.tar.xz"
rm -rf "$out"
mkdir -p "$out"
mv "$work/tree/modules/nvidia-open-kernel" "$out/kernel-open"
dpkg-deb -W --showformat '${Package} ${Version}\n' "$work/$package"_*.deb >"$out/version"
echo "$out/kernel-open: $(cat "$out/version")"
