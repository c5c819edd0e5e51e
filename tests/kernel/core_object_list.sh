#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# gvm.ko is made of every file of the core, from where it lies: Kbuild.core names each one once, by a
# plain object name, and kernel-port holds no copy of any. gvm_coretest.ko has the same files and the
# tests of the core in the same way.
#
#   core_object_list.sh SOURCE
set -eu

source=$1
port=$source/kernel-port/linux
coretest=$source/kernel-port/coretest
tests=$source/tests/core
failures=0

# Tests of the core that no kernel can run.
# test_alloc_failure: starts workers that must never run, out of memory that it counts.
# test_child_evictor: calls the body of a worker that must not run by itself.
# test_lirs: its page streams are megabytes of static memory.
# test_policy_oracle: floating point; its trace is drawn by pow().
# test_reference_model: files, and processes that may crash.
user_only='test_alloc_failure test_child_evictor test_lirs test_policy_oracle test_reference_model'

complain() {
	echo "$1" >&2
	failures=$((failures + 1))
}

# objects_of VARIABLE FILE: the values of all assignments, comments and continuations removed.
objects_of() {
	sed 's/#.*//' "$2" | sed -e ':more' -e '/\\$/{N;s/\\\n/ /;b more' -e '}' |
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

in_core=$(objects_of gvm_core-y "$port/Kbuild.core" | sort)
in_port=$( (objects_of gvm-y "$port/Kbuild" && objects_of gvm_selftest-y "$port/Kbuild") |
	grep -vF '$(gvm_core-y)' | sort)
in_coretest=$(objects_of gvm_coretest-y "$coretest/Kbuild" | grep -vF '$(gvm_core-y)' | sort)
core=$(find "$source"/sim/core/policy "$source"/sim/core/service "$source"/sim/core/block \
	"$source"/sim/core/fence -name '*.c' | sort)
all=$(find "$source/sim/core" -name '*.c' | sort)

[ -n "$core" ] || complain "sim/core has no sources"
[ "$core" = "$all" ] || complain "sim/core has sources outside of its three layers and the fence"

for object in $in_core $in_port $in_coretest; do
	if ! echo "$object" | grep -Eq '^[a-z0-9_]+\.o$'; then
		complain "Kbuild: $object is no plain object name"
	fi
done
for kbuild in "$port/Kbuild" "$port/Kbuild.core" "$coretest/Kbuild"; do
	if sed 's/#.*//' "$kbuild" | grep -Eq 'wildcard|foreach|shell|patsubst|notdir'; then
		complain "$kbuild: objects are listed by name, not computed"
	fi
done
for module in gvm:"$port" gvm_coretest:"$coretest"; do
	grep -qxF "${module%%:*}-y := \$(gvm_core-y)" "${module#*:}/Kbuild" ||
		complain "${module%%:*}.ko does not begin with the core"
done

for name in $( (echo "$in_core" && echo "$in_port" && echo "$in_coretest") |
	grep -v '^gvm_\(trace\|world\)\.o$' | sort | uniq -d); do
	complain "Kbuild: $name is listed more than once"
done
for name in $( (sources_of "$source/sim/core" "$port" "$coretest" &&
	sources_of "$tests" -maxdepth 1) | sort | uniq -d); do
	complain "$name.c exists twice: objects lie flat"
done

# all_listed OBJECTS SOURCES: each source has its object
all_listed() {
	for name in $2; do
		echo "$1" | has "$name.o" || complain "Kbuild: $name.o is missing"
	done
}

# all_exist OBJECTS SOURCES: each object has its source
all_exist() {
	for object in $1; do
		echo "$2" | has "${object%.o}" || complain "Kbuild: there is no source for $object"
	done
}

core_sources=$(sources_of "$source/sim/core")
port_sources=$(sources_of "$port")
coretest_sources=$(sources_of "$coretest")
all_listed "$in_core" "$core_sources"
all_exist "$in_core" "$core_sources"
all_listed "$in_port" "$port_sources"
all_exist "$in_port" "$port_sources"
all_listed "$in_coretest" "$coretest_sources"
all_exist "$in_coretest" "$coretest_sources
$port_sources
$(sources_of "$tests" -maxdepth 1)"

# Every test of the core is in the test module and runs there, or is left out above, and no other.
in_kernel=$(echo "$in_coretest" | sed -n 's/^\(test_.*\)\.o$/\1/p')
core_tests=$(core_tests)
for name in $core_tests; do
	if echo "$user_only" | tr ' ' '\n' | has "$name"; then
		continue
	fi
	echo "$in_kernel" | has "$name" || complain "Kbuild: $name.o is not in gvm_coretest.ko"
done
for name in $in_kernel; do
	echo "$core_tests" | has "$name" || complain "Kbuild: $name.o is no test of the core"
	grep -q "X($name)" "$coretest/coretest_programs.h" ||
		complain "coretest_programs.h: $name is missing"
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
	"gvm_coretest.ko has $(echo "$in_kernel" | wc -l) of its $(echo "$core_tests" | wc -l) test programs"
