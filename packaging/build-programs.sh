#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Build the packages gvmsim and gvm-tools in OUT. Needs debhelper and what tools/setup.sh build
# installs. With BUILD, a folder in which cmake has built the programs, nothing is compiled.
#
#   build-programs.sh OUT [BUILD]
set -eu

case ${1:--} in
-*)
	echo "usage: build-programs.sh OUT [BUILD]" >&2
	exit 2
	;;
esac

if ! command -v dh >/dev/null || ! command -v dpkg-buildpackage >/dev/null; then
	echo "dh or dpkg-buildpackage is missing: install the packages debhelper and dpkg-dev" >&2
	exit 1
fi
top=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
build=${2:+$(cd "$2" && pwd)}
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$top/packaging/programs/changelog")
tree=$out/gvmsim-$version

rm -rf "$tree"
mkdir -p "$tree"
if [ -z "$build" ]; then
	(cd "$top" && tar -c --exclude=./.git --exclude=./build --exclude=./results .) | tar -x -C "$tree"
fi
cp -r "$top/packaging/programs" "$tree/debian"
"$top/packaging/copyright.sh" "$top" "$top/packaging/programs/copyright" >"$tree/debian/copyright"
if ! (cd "$tree" && GVM_BUILD=$build DEB_BUILD_OPTIONS="${build:+noautodbgsym}" dpkg-buildpackage -us -uc -b) >"$out/build.log" 2>&1; then
	tail -n 20 "$out/build.log" >&2
	echo "gvmsim: dpkg-buildpackage failed; $out/build.log" >&2
	exit 1
fi
ls "$out"/*_"$version"_*.deb
