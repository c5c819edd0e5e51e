#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Every source and script carries the licence on its first line (scripts: the second).
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

{
	find sim tests kernel-port packaging bench tools plots -type f \
		\( -name '*.[ch]' -o -name '*.sh' -o -name '*.cmake' -o -name '*.gp' -o -name CMakeLists.txt \
		-o -name Kbuild \)
	printf '%s\n' CMakeLists.txt run test .ci/run .clang-format
} | sort >"$work/files"
[ "$(wc -l <"$work/files")" -gt 500 ] || { echo "too few files were found"; exit 1; }
xargs awk 'FNR <= 2 && /SPDX-License-Identifier: MIT OR GPL-2.0/ { print FILENAME }' <"$work/files" |
	sort -u | comm -23 "$work/files" - | sed 's/$/: no SPDX line/' >"$work/missing"
cat "$work/missing"
[ ! -s "$work/missing" ]
