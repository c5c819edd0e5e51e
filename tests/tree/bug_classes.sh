#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The table of bug classes in tests/README.md is whole and true: each class has its row, each test
# that a row names exists, here or in tests/kernel, and its comment carries the class.
# Usage: bug_classes.sh SOURCE
set -eu
cd "$1"
table=tests/README.md
status=0

complain() {
	echo "$table: $1"
	status=1
}

# carries TEST CLASS: the comment right above the test names the class
carries() {
	awk -v test="START_TEST($1)" -v part="static void $1(" '
	/^\/\*/ { comment = "" }
	/^(\/\*| \*)/ { comment = comment " " $0; next }
	index($0, test) == 1 || index($0, part) == 1 { print comment }
	{ comment = "" }' tests/*/*.c | grep -qw "$2"
}

check_row() {
	row=$(grep "^| $1 |" "$table") || { complain "no row for $1"; return; }
	names=$(echo "$row" | grep -o '`[a-z][a-z_]*`' | tr -d '`')
	for name in $names; do
		grep -q "NAME $name\$\|NAME $name " tests/CMakeLists.txt kernel-port/CMakeLists.txt &&
			continue
		grep -q -e "^START_TEST($name)" tests/*/*.c ||
			grep -q "^static void $name(" tests/kernel/*.c || { complain "$1: no test $name"; continue; }
		carries "$name" "$1" || complain "$1: the comment of $name does not say so"
	done
}

for class in $(seq -f 'F%g' 17) $(seq -f 'D%g' 25); do
	check_row "$class"
done
exit $status
