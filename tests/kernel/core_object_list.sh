#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# gvm.ko is made of every file of the core, from where it lies: the Kbuild names each one once, by
# a plain object name, and kernel-port holds no copy of any. gvm_selftest.ko has the tests of the
# core in the same way.
#
#   core_object_list.sh SOURCE
set -eu

source=$1
port=$source/kernel-port/linux
tests=$source/tests/core
failures=0

# Tests of the core that no kernel can run.
# test_alloc_failure: starts workers that must never run, out of memory that it counts.
# test_policy_oracle: floating point; its trace is drawn by pow().
# test_reference_model: files, and processes that may crash.
user_only='test_alloc_failure test_policy_oracle test_reference_model'

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

# A test of the core includes its headers, or what is made for such tests, and no other part's.
core_tests() {
	grep -lE '^#include "(gvm/[a-z_]+|core_world|sched_world|toy_gpu)\.h"' "$tests"/test_*.c |
		while read -r file; do
			sed 's,"gvm/,,' "$file" | grep -q '^#include "[a-z_]*/' ||
				basename "$file" .c
		done
}

# Do the lines that come in hold this one?
has() {
	grep -qx -e "$1"
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
for name in $( (sources_of "$source/sim/core" "$port" &&
	sources_of "$tests" -maxdepth 1) | sort | uniq -d); do
	complain "$name.c exists twice: objects lie flat"
done
for name in $(sources_of "$source/sim/core" "$port"); do
	echo "$listed" | grep -qx "$name.o" || complain "Kbuild: $name.o is missing"
done
for object in $listed; do
	(sources_of "$source/sim/core" "$port" && sources_of "$tests" -maxdepth 1) |
		has "${object%.o}" || complain "Kbuild: there is no source for $object"
done
# Of the core, all of it and in gvm.ko itself, not in the test module.
for file in $core; do
	objects_of gvm-y | grep -qx "$(basename "$file" .c).o" ||
		complain "Kbuild: $file is not part of gvm.ko"
done

# Every test of the core is in the test module and runs there, or is left out above, and no other.
in_kernel=$(objects_of gvm_selftest-y | sed -n 's/^\(test_.*\)\.o$/\1/p')
core_tests=$(core_tests)
for name in $core_tests; do
	if echo "$user_only" | tr ' ' '\n' | has "$name"; then
		continue
	fi
	echo "$in_kernel" | has "$name" || complain "Kbuild: $name.o is not in gvm_selftest.ko"
done
for name in $in_kernel; do
	echo "$core_tests" | has "$name" || complain "Kbuild: $name.o is no test of the core"
	grep -q "X($name)" "$port/selftest_programs.h" ||
		complain "selftest_programs.h: $name is missing"
done
for name in $user_only; do
	echo "$core_tests" | has "$name" || complain "$0: $name is left out, but does not exist"
	echo "$in_kernel" | has "$name" && complain "$0: $name is left out, but in the Kbuild"
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
echo "gvm.ko is made of all $(echo "$core" | wc -l) sources of the core," \
	"gvm_selftest.ko has $(echo "$in_kernel" | wc -l) of its $(echo "$core_tests" | wc -l) test programs"
