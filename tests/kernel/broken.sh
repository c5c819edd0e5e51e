#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Break an invariant of the core in a kernel (guest_broken.c): the thread that finds out goes no
# further, and everybody but its GPU does. INITRAMFS is that of boot.sh.
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
bugs=$(grep -a '^kernel BUG at ' "$out/guest.log" || true)
case $bugs in
"kernel BUG at "*/charge.c:*) ;;
*) fail "expected a BUG in charge.c, and there is: ${bugs:-none}" ;;
esac
echo "$bugs $passed test points passed"
