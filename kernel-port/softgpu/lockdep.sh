#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# For a kernel with lockdep, give the locks of nvidia-uvm in TREE a class for each lock order of the driver's own
# (uvm_lock.h) and each of its files. The stock driver has one class for all mutexes that a file initializes,
# whatever they guard. So lockdep reports the first two mutexes of a VA space as one taken twice, and switches
# itself off: it would see no mistake in our code. No other kernel gets this change.
#
#   lockdep.sh TREE KDIR
set -eu

header=$1/nvidia-uvm/uvm_lock.h

grep -qx '#define CONFIG_LOCKDEP 1' "$2/include/generated/autoconf.h" || exit 0
sed -E 's/^    (mutex_init|init_rwsem|spin_lock_init|rwlock_init)\((&[a-z_]+->[a-z]+)\);$/&\
    {\
        static struct lock_class_key keys[UVM_LOCK_ORDER_COUNT];\
\
        lockdep_set_class_and_name(\2, \&keys[lock_order], uvm_lock_order_to_string(lock_order));\
    }/' "$header" >"$header.new"
changed=$(grep -c 'lockdep_set_class_and_name' "$header.new" || true)
if [ "$changed" != 5 ]; then
	rm "$header.new"
	echo "$header: $changed of 5 kinds of lock have a class for lockdep" >&2
	exit 1
fi
mv "$header.new" "$header"
