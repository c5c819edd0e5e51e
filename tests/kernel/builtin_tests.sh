#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Each test that is built into nvidia-uvm.ko is run by tests/kernel/softgpu_*.c, or docs/softgpu.md says why not:
# one of the two. The document's numbers of both are right. TREE is the kernel-open folder of a driver; the
# document is about 535, so any other ends with 77, ctest's SKIP code.
#
#   builtin_tests.sh SOURCE TREE
set -eu

source=$1
tree=$2
page=$source/docs/softgpu.md
version=$(sed -n 's/.*NV_VERSION_STRING=\\"\(.*\)\\".*/\1/p' "$tree/Kbuild" 2>/dev/null || true)
case $version in
535.*) ;;
*)
	echo "skipped: docs/softgpu.md lists the tests of 535, and the driver is ${version:-missing}" >&2
	exit 77
	;;
esac

names=$(sed -n 's/^#define UVM_TEST_\([A-Z0-9_]*\) *UVM_TEST_IOCTL_BASE.*/\1/p' "$tree/nvidia-uvm/uvm_test_ioctl.h")
# The table of the section, without what it says of those that run.
reasons=$(sed -n '/^## Built-in tests that do not run/,/^## /p' "$page" | grep '^|')
run=0
missing=0
bad=0
for name in $names; do
	runs=0
	grep -qE "BUILTIN(_ALONE)?\($name,|UVM_TEST_${name}(_PARAMS)?\>" "$source"/tests/kernel/softgpu_*.c && runs=1
	listed=0
	echo "$reasons" | grep -q "\`$name\`" && listed=1
	if [ $((runs + listed)) != 1 ]; then
		echo "$name: $([ "$runs" = 1 ] && echo "runs, but docs/softgpu.md says why it does not" ||
			echo "does not run, and docs/softgpu.md does not say why")" >&2
		bad=1
	fi
	run=$((run + runs))
	missing=$((missing + listed))
done
[ "$bad" = 0 ] || exit 1
if ! tr '\n' ' ' <"$page" | grep -q "has $((run + missing)) ioctls for tests (\`uvm_enable_builtin_tests=1\`). $run of them run"; then
	echo "docs/softgpu.md: of $((run + missing)) built-in tests of $version $run run, which is not what it says" >&2
	exit 1
fi
if [ "$run" -lt 60 ]; then
	echo "only $run built-in tests run, and not 60" >&2
	exit 1
fi
echo "$run of $((run + missing)) built-in tests of $version run; docs/softgpu.md has the reason for each other one"
