#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# What ran in gvm_coretest.ko is, test by test, what the programs of the same names run in user
# space. What the module reports as skipped counts: only a test that got lost is missing. Cases whose
# names begin with "user space only" need what a kernel does not have, and say so in the source.
#
# TAP is the folder in which ctest has each program write what it ran. A program that ctest has not
# run since it was built is run here.
#
#   same_tests.sh GUEST_LOG PROGRAMS TAP
set -eu

log=$1
programs=$2
taps=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# PROGRAM:CASE:TEST, a line for each time that it ran.
sed -n 's/^tap: ok [0-9]* - \(test_[a-z_]*:[^:]*:[A-Za-z0-9_]*\).*/\1/p' "$log" |
	sort >"$work/kernel"
if ! [ -s "$work/kernel" ]; then
	echo "$log has no test of the core" >&2
	exit 1
fi

for name in $(cut -d: -f1 "$work/kernel" | uniq); do
	tap=$taps/$name.tap
	if [ -z "$(find "$taps" -path "$tap" -newer "$programs/$name")" ]; then
		tap=$work/tap
		CK_TAP_LOG_FILE_NAME=$tap "$programs/$name" >"$work/out" 2>&1 || {
			cat "$work/out" >&2
			exit 1
		}
	fi
	sed -n "s/^ok [0-9]* - [^:]*:\([^:]*:[A-Za-z0-9_]*\): .*/$name:\1/p" "$tap"
done | { grep -v ':user space only' || true; } | sort >"$work/user"

if ! diff "$work/user" "$work/kernel" >&2; then
	echo "the kernel (>) does not run the tests that user space (<) runs" >&2
	exit 1
fi
echo "$(wc -l <"$work/kernel") tests in the kernel and in user space"
