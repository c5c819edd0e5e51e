#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Every function of the core that allocates, itself or through others, and that other code calls, is an
# entry of tests/core/test_alloc_failure.c, and every entry allocates. Calls through pointers are not followed.
# Usage: alloc_entries.sh SOURCE
set -eu
cd "$1"
table=tests/core/test_alloc_failure.c
status=0

# "caller callee" for all that looks like a call. Kernel style: a function begins with its name
# and ends with a brace, both at the left margin.
calls() {
	awk '
	FNR == 1 { caller = "" }
	/^[a-z].*[a-z0-9_]+\(/ && !/;$/ {
		match($0, /[a-z0-9_]+\(/)
		caller = substr($0, RSTART, RLENGTH - 1)
		next
	}
	/^}/ { caller = "" }
	caller {
		while (match($0, /[a-z0-9_]+\(/)) {
			print caller, substr($0, RSTART, RLENGTH - 1)
			$0 = substr($0, RSTART + RLENGTH)
		}
	}' sim/core/*/*.c
}

# Who reaches an allocator of the port, in any number of steps.
allocators() {
	calls | awk '
	{ caller[NR] = $1; callee[NR] = $2 }
	END {
		reaches["gvm_alloc"] = reaches["gvm_worker_start"] = 1
		do {
			found = 0
			for (i = 1; i <= NR; i++) {
				if (callee[i] in reaches && !(caller[i] in reaches)) {
					reaches[caller[i]] = found = 1
					print caller[i]
				}
			}
		} while (found)
	}'
}

wanted=$(allocators | grep '^gvm_' | sort)
listed=$(sed -n 's/^	{ "\(gvm_[a-z0-9_]*\)", .*/\1/p' "$table" | sort)
# A scan that finds nothing has not understood the sources.
[ "$(echo "$wanted" | wc -l)" -ge 4 ] || { echo "found too few: $wanted"; exit 1; }

# Calls between files of the core are failed through their callers.
called_from_outside() {
	find sim kernel-port tests -name '*.c' ! -path 'sim/core/*' -exec grep -l "\<$1(" {} + | grep -q .
}

for name in $wanted; do
	echo "$listed" | grep -qx "$name" && continue
	called_from_outside "$name" || continue
	echo "$table: $name() allocates and is no entry"
	status=1
done
for name in $listed; do
	echo "$wanted" | grep -qx "$name" && continue
	echo "$table: $name() is an entry and does not allocate"
	status=1
done
exit $status
