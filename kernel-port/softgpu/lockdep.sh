#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# For a kernel with lockdep, give the locks of nvidia-uvm in TREE a class for each lock order of the driver's own
# (uvm_lock.h) and each of its files. The stock driver has one class for all mutexes that a file initializes,
# whatever they guard. So lockdep reports the first two mutexes of a VA space as one taken twice, and switches
# itself off: it would see no mistake in our code. A VA block that is split takes the new block's lock under its own.
# No other thread knows the new block yet, so this lock is taken with uvm_mutex_lock_no_tracking(), which exists for this
# case. Only a kernel with lockdep gets these changes.
#
#   lockdep.sh TREE KDIR
set -eu

header=$1/nvidia-uvm/uvm_lock.h

grep -qx '#define CONFIG_LOCKDEP 1' "$2/include/generated/autoconf.h" || exit 0
# 575 and later say both themselves: their macros give each place that initializes a lock a class.
! grep -q 'mutex_lock_nested(&' "$header" || exit 0
sed -E 's/^    (mutex_init|init_rwsem|spin_lock_init|rwlock_init)\((&[a-z_]+->[a-z]+)\);$/&\
    {\
        static struct lock_class_key keys[UVM_LOCK_ORDER_COUNT];\
\
        lockdep_set_class_and_name(\2, \&keys[lock_order], uvm_lock_order_to_string(lock_order));\
    }/
	s/^( *)mutex_lock\((&\(mutex\)->m)\);/\1mutex_lock_nested(\2, SINGLE_DEPTH_NESTING);/' "$header" >"$header.new"

# check COUNT PATTERN WHAT
check() {
	changed=$(grep -c "$2" "$header.new" || true)
	if [ "$changed" != "$1" ]; then
		rm "$header.new"
		echo "$header: $changed of $1 $3" >&2
		exit 1
	fi
}

check 5 lockdep_set_class_and_name "kinds of lock have a class for lockdep"
check 1 mutex_lock_nested "macros for nested locks say so to lockdep"
mv "$header.new" "$header"
