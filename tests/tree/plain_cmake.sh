#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Plain CMake configures on a host without the package check, and says that there are no tests. A wish for
# tests is still an error there. Usage: plain_cmake.sh SOURCE WORK
set -eu
source=$1
work=$2
rm -rf "$work"
mkdir -p "$work/pkgconfig"
for folder in $(pkg-config --variable pc_path pkg-config | tr : ' '); do
	for file in "$folder"/*.pc; do
		[ ! -e "$file" ] || [ -e "$work/pkgconfig/${file##*/}" ] || ln -s "$file" "$work/pkgconfig/"
	done
done
rm "$work/pkgconfig/check.pc"
export PKG_CONFIG_LIBDIR="$work/pkgconfig"

cmake -S "$source" -B "$work/plain" >"$work/plain.log" 2>&1 || { cat "$work/plain.log"; exit 1; }
grep -q "No package check: tests and kernel modules are not built" "$work/plain.log" || {
	echo "no word on the missing tests"
	cat "$work/plain.log"
	exit 1
}
if cmake -S "$source" -B "$work/tests" -DGVMSIM_TESTS=ON >"$work/tests.log" 2>&1; then
	echo "tests were wanted, the package check is missing, and CMake says nothing"
	exit 1
fi
