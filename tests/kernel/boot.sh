#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Boot a kernel in QEMU, without KVM, with guest_init.c as its only program, and judge what it and
# the kernel say on the console. Fails on a failed test point, on a plan that was not completed,
# and on anything that the kernel complains about.
#
#   boot.sh SOURCE MODULES VMLINUZ OUT [CC]
set -eu

source=$1
modules=$2
vmlinuz=$3
out=$4
cc=${5:-cc}
log=$out/console.log
seconds=${GVM_BOOT_SECONDS:-180}

. "$source/tests/kernel/vm.sh"

need cpio cpio
need "$cc" gcc
need_vm

# The first process, static: the machine has no other file than it and the modules.
make_initramfs() {
	rm -rf "$out"
	mkdir -p "$out/root"
	"$cc" -std=gnu11 -O2 -Wall -Wextra -Werror -static -I "$source/kernel-port/linux" \
		-o "$out/root/init" "$source"/tests/kernel/guest*.c
	cp -r "$source/tests/fuzz/corpus/control" "$out/root/corpus"
	cp "$modules/gvm.ko" "$modules/gvm_selftest.ko" "$out/root/"
	(cd "$out/root" && find . | cpio --quiet -o -H newc -R 0:0) >"$out/initramfs.cpio"
}


fail() {
	echo "---- the end of $log:" >&2
	tail -n 60 "$log" >&2
	echo "---- failed test points:" >&2
	grep -a 'tap: not ok' "$log" >&2 || true
	echo "kernel test: $1" >&2
	exit 1
}

make_initramfs
status=0
boot "$seconds" "$vmlinuz" "$out/initramfs.cpio" oops=panic >"$log" 2>&1 || status=$?
if [ "$status" = 124 ] || [ "$status" = 137 ]; then
	fail "no end within $seconds seconds"
fi
[ "$status" = 0 ] || fail "QEMU ended with status $status"

guest_log "$log" >"$out/guest.log"
passed=$(grep -ac '^tap: ok ' "$out/guest.log" || true)
plan=$(sed -n 's/^tap: 1\.\.\([0-9]*\)$/\1/p' "$out/guest.log")
if grep -aq '^tap: not ok' "$out/guest.log"; then
	fail "test points failed"
fi
if [ -z "$plan" ] || [ "$plan" != "$passed" ] || [ "$plan" = 0 ]; then
	fail "passed $passed test points of a plan of ${plan:-none}"
fi
complaint='WARNING|BUG|Oops|Call Trace|Kernel panic|general protection|INFO: |lockdep|[Ll]eak'
complaint="$complaint|refcount_t|list_(add|del) corruption|cut here|UBSAN|KASAN|segfault"
complaint="$complaint|debugfs: |books are broken|Poison|Redzone|disagrees about|Unknown symbol"
# The device "test" is one whose books a test breaks to see gvm_check() say so (core_world.c).
expected='^tap: |^gvm_selftest: Unknown symbol|^gvm: test: books are broken: '
if grep -aE "$complaint" "$out/guest.log" | grep -avE "$expected"; then
	fail "the kernel complained"
fi
skipped=$(grep -ac '^tap: ok [0-9]* - test_.* # SKIP ' "$out/guest.log" || true)
echo "kernel test: $passed test points passed, $skipped of them by being skipped; $log"
