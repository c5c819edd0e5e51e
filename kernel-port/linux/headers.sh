#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Print the folder of the kernel headers to build against, as an absolute path: KDIR if it is given, else the newest
# cloud headers that are installed. Fails when there are none.
#
#   headers.sh [KDIR]
set -eu

kdir=${1:-}
if [ -z "$kdir" ]; then
	kdir=$(find /usr/src -maxdepth 1 -name 'linux-headers-*-cloud-amd64' | sort -V | tail -n 1)
fi
if [ -z "$kdir" ]; then
	echo "no kernel headers in /usr/src: install the package linux-headers-cloud-amd64" >&2
	exit 1
fi
if [ ! -f "$kdir/include/generated/utsrelease.h" ]; then
	echo "$kdir holds no kernel headers (no include/generated/utsrelease.h)" >&2
	exit 1
fi
(cd "$kdir" && pwd)
