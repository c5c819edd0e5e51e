#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Break an invariant of the core in a kernel (guest_broken.c): the kernel warns once, the device is dead,
# and all but its GPU goes on. INITRAMFS is that of boot.sh.
#
#   broken.sh SOURCE VMLINUZ INITRAMFS OUT
set -eu

source=$1
vmlinuz=$2
initramfs=$3
out=$4

. "$source/tests/kernel/vm.sh"

fail() {
	tail -n 60 "$out/console.log" >&2
	echo "broken invariant: $1; $out/console.log" >&2
	exit 1
}

need_vm
mkdir -p "$out"
boot 90 "$vmlinuz" "$initramfs" GVM_TEST=broken >"$out/console.log" 2>&1 || fail "QEMU failed"
guest_log "$out/console.log" >"$out/guest.log"
passed=$(grep -ac '^tap: ok ' "$out/guest.log" || true)
grep -aqx "tap: 1..$passed" "$out/guest.log" || fail "not all test points passed"
warnings=$(grep -aE '^(WARNING: |kernel BUG)' "$out/guest.log" || true)
case $warnings in
*"
"*) fail "expected one warning, and there are: $warnings" ;;
"WARNING: "*" at "*/charge.c:*) ;;
*) fail "expected a warning of charge.c, and there is: ${warnings:-none}" ;;
esac
echo "$warnings; $passed test points passed"
