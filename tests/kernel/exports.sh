#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# gvm.ko exports what the driver of a GPU needs and nothing for tests. exports.c has two groups: all of
# the first is used by gvm_fakegpu.ko, all of the second by gvm_nvidia.ko, the glue to NVIDIA's driver, or
# gvm_selftest.ko, which stands in for it, and not by gvm_fakegpu.ko. gvm_coretest.ko uses no export.
#
#   exports.sh SOURCE MODULES
set -eu

source=$1
modules=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

complain() {
	echo "$1" >&2
	failures=$((failures + 1))
}

# group N: the symbols of a group in exports.c
group() {
	awk -v wanted="$1" '
		/Group [0-9]\./ { match($0, /Group [0-9]/); now = substr($0, RSTART + 6, 1) }
		now == wanted' "$source/kernel-port/linux/exports.c" |
		sed -n 's/^EXPORT_SYMBOL_GPL(\(.*\));$/\1/p' | sort
}

# used MODULE: what it takes from gvm.ko
used() {
	nm "$modules/$1.ko" | awk '$1 == "U" { print $2 }' | sort >"$work/undefined"
	comm -12 "$work/undefined" "$work/exported"
}

# must_be_empty FILE TEXT
must_be_empty() {
	[ ! -s "$1" ] || complain "$2: $(tr '\n' ' ' <"$1")"
}

nm "$modules/gvm.ko" | sed -n 's/.* __ksymtab_//p' | sort >"$work/exported"
group 1 >"$work/driver"
group 2 >"$work/glue"
[ -s "$work/driver" ] && [ -s "$work/glue" ] || complain "exports.c: a group is empty"
sort "$work/driver" "$work/glue" >"$work/listed"
cmp -s "$work/listed" "$work/exported" || complain "exports.c does not list what gvm.ko exports"

used fakegpu/gvm_fakegpu >"$work/by_driver"
for module in gvm_selftest nvidia/gvm_nvidia; do
	used "$module"
done | sort -u >"$work/by_glue"
used coretest/gvm_coretest >"$work/by_tests"

comm -23 "$work/driver" "$work/by_driver" >"$work/found"
must_be_empty "$work/found" "group 1: gvm_fakegpu.ko does not use"
comm -12 "$work/glue" "$work/by_driver" >"$work/found"
must_be_empty "$work/found" "group 2: gvm_fakegpu.ko uses, so it belongs to group 1"
comm -23 "$work/glue" "$work/by_glue" >"$work/found"
must_be_empty "$work/found" "group 2: neither gvm_nvidia.ko nor gvm_selftest.ko uses"
must_be_empty "$work/by_tests" "gvm_coretest.ko uses exports of gvm.ko"

[ "$failures" = 0 ] || exit 1
echo "gvm.ko exports $(wc -l <"$work/driver") symbols to the driver of a GPU," \
	"$(wc -l <"$work/glue") to the glue to NVIDIA's driver, 0 to tests"
