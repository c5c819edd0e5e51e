#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The table of core files and worlds in docs/kernel-modules.md is true: every layer that runs in the
# simulator is in CMakeLists.txt, every layer that runs in gvm.ko is in Kbuild.core, and every file of
# sim/core belongs to a row. Usage: worlds_table.sh SOURCE
set -eu
cd "$1"
status=0
rows=0

complain() {
	echo "docs/kernel-modules.md: $1"
	status=1
}

# row PATTERN SIMULATOR MODULE: yes or no in each world
row() {
	for file in $1; do
		[ -f "$file" ] || { complain "the row '$1' matches no file"; return; }
		object=$(basename "$file" .c).o
		if grep -q "^	$file\$" CMakeLists.txt; then simulator=yes; else simulator=no; fi
		if grep -q "^gvm_core-y .*= $object\$" kernel-port/linux/Kbuild.core; then module=yes; else module=no; fi
		[ "$simulator" = "$2" ] || complain "$file: in the simulator: $simulator, table: $2"
		[ "$module" = "$3" ] || complain "$file: in gvm.ko: $module, table: $3"
		echo "$file" >>"$covered"
	done
	rows=$((rows + 1))
}

covered=$(mktemp)
trap 'rm -f "$covered"' EXIT
table=$(sed -n 's/^| `\(sim\/core\/[^`]*\)` | \([a-z]*\) | \([a-z]*\) .*/\1 \2 \3/p' docs/kernel-modules.md)
while read -r pattern simulator module; do
	row "$pattern" "$simulator" "$module"
done <<EOF
$table
EOF
[ "$rows" -eq 4 ] || complain "expected a row for each of the three layers and the fence, found $rows"
for file in sim/core/*/*.c; do
	grep -qx "$file" "$covered" || complain "$file is in no row of the table"
done
exit $status
