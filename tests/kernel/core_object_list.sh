#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# gvm.ko is made of every file of the core, from where it lies: the Kbuild names each one once, by
# a plain object name, and kernel-port holds no copy of any.
#
#   core_object_list.sh SOURCE
set -eu

source=$1
port=$source/kernel-port/linux
failures=0

complain() {
	echo "$1" >&2
	failures=$((failures + 1))
}

# The values of all assignments to $1 in the Kbuild, comments and continuations removed.
objects_of() {
	sed 's/#.*//' "$port/Kbuild" | sed -e ':more' -e '/\\$/{N;s/\\\n/ /;b more' -e '}' |
		sed -n "s/^$1[[:space:]]*[:+]\{0,1\}=//p" | tr -s '[:blank:]' '\n' | sed '/^$/d'
}

sources_of() {
	find "$@" -name '*.c' -exec basename {} .c \; | sort
}

listed=$( (objects_of gvm-y && objects_of gvm_selftest-y) | sort)
core=$(find "$source"/sim/core/policy "$source"/sim/core/service "$source"/sim/core/block \
	-name '*.c' | sort)
all=$(find "$source/sim/core" -name '*.c' | sort)

[ -n "$core" ] || complain "sim/core has no sources"
[ "$core" = "$all" ] || complain "sim/core has sources outside of its three layers"

for object in $listed; do
	if ! echo "$object" | grep -Eq '^[a-z0-9_]+\.o$'; then
		complain "Kbuild: $object is no plain object name"
	fi
done
if sed 's/#.*//' "$port/Kbuild" | grep -Eq 'wildcard|foreach|shell|patsubst|notdir'; then
	complain "Kbuild: objects are listed by name, not computed"
fi

for name in $(echo "$listed" | uniq -d); do
	complain "Kbuild: $name is listed more than once"
done
for name in $(sources_of "$source/sim/core" "$port" | uniq -d); do
	complain "$name.c exists twice: objects lie flat"
done
for name in $(sources_of "$source/sim/core" "$port"); do
	echo "$listed" | grep -qx "$name.o" || complain "Kbuild: $name.o is missing"
done
for object in $listed; do
	sources_of "$source/sim/core" "$port" | grep -qx "${object%.o}" ||
		complain "Kbuild: there is no source for $object"
done
# Of the core, all of it and in gvm.ko itself, not in the test module.
for file in $core; do
	objects_of gvm-y | grep -qx "$(basename "$file" .c).o" ||
		complain "Kbuild: $file is not part of gvm.ko"
done

# A copy under another name has the same text.
sums=$(find "$source/sim/core" -type f -exec sha256sum {} + | cut -d' ' -f1)
copies=$(find "$source/kernel-port" -type f -exec sha256sum {} + | grep -F "$sums" || true)
[ -z "$copies" ] || complain "kernel-port holds copies of files of the core: $copies"
links=$(find "$source/kernel-port" -type l)
[ -z "$links" ] || complain "kernel-port holds links, which the build makes elsewhere: $links"

if [ "$failures" != 0 ]; then
	exit 1
fi
echo "gvm.ko is made of all $(echo "$core" | wc -l) sources of the core"
