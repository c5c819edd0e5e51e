#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The invariants that sim/core/policy/check.c lists in its essay are those that the checks of it and of
# check_*.c have the numbers of.
# Usage: invariants.sh SOURCE
set -eu
file=$1/sim/core/policy/check.c
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -n 's/^ \*      \([0-9]*\.[0-9]*\)  *[^ ].*/\1/p' "$file" | sort >"$work/listed"
sed -n 's,^\t*/\* \([0-9., ]*\) \*/$,\1,p' "${file%.c}"*.c | tr -s ', ' '\n' | sort -u >"$work/checked"
if [ "$(wc -l <"$work/listed")" -lt 50 ] || [ -n "$(uniq -d "$work/listed")" ]; then
	echo "FAIL: the list in $file is not read, or has a number twice" >&2
	exit 1
fi
# <: listed, and not checked; >: checked, and not listed
diff "$work/listed" "$work/checked"
