#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# The hooked module stands in for the vendor's in updates/gvm, by links of the vendor's names. depmod prefers
# that folder for these names: depmod.conf. Without the links the vendor's module is the one that is loaded.
# PREFIX is put before every path, for tests.
#
#   links.sh on|off KERNEL
set -eu

modules=${PREFIX:-}/lib/modules/$2
links=$modules/updates/gvm

rm -rf "$links"
[ "$1" = on ] || exit 0
hooked=$(find "$modules" -name 'gvm-nvidia-uvm.ko*' | head -n 1)
if [ -z "$hooked" ]; then
	echo "gvm-dkms: $modules has no gvm-nvidia-uvm.ko" >&2
	exit 1
fi
mkdir -p "$links"
for file in nvidia-uvm.ko $(find "$modules" -name 'nvidia*uvm.ko*' ! -path '*/updates/gvm/*'); do
	name=${file##*/}
	ln -sf "../../${hooked#"$modules/"}" "$links/${name%%.ko*}.ko${hooked##*.ko}"
done
