#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Build gvm.ko, gvm_selftest.ko, coretest/gvm_coretest.ko, fakegpu/gvm_fakegpu.ko and
# nvidia/gvm_nvidia.ko in OUT, a folder of links to the sources: nothing is copied and nothing is written
# into the source tree. Any warning of the compiler or of modpost is an error.
#
#   build.sh SOURCE OUT [KDIR]
set -eu

source=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
kdir=$("$source/kernel-port/linux/headers.sh" "${3:-}")
log=$out/build.log

for tool in make gcc; do
	if ! command -v "$tool" >/dev/null; then
		echo "$tool is missing: install the package $tool" >&2
		exit 1
	fi
done

# Links of files that have gone must go as well, so all are made anew; make looks through them.
link_sources() {
	mkdir -p "$out/fakegpu" "$out/coretest" "$out/nvidia"
	find "$out" -maxdepth 2 -type l -delete
	names=$(for file in "$source"/sim/core/*/*.c "$source"/kernel-port/linux/*.c \
		"$source"/kernel-port/coretest/*.c "$source"/tests/core/*.c; do
		basename "$file"
	done | sort | uniq -d)
	if [ -n "$names" ]; then
		echo "kernel objects lie flat, so these names must be unique: $names" >&2
		exit 1
	fi
	ln -s "$source"/sim/core/*/*.c "$source"/kernel-port/linux/*.[ch] \
		"$source/kernel-port/linux/Kbuild" "$source/kernel-port/linux/Kbuild.core" \
		"$source/sim/core/include" "$out/"
	ln -s "$source"/sim/core/*/*.c "$source"/kernel-port/linux/gvm_world.[ch] \
		"$source"/kernel-port/linux/gvm_trace.[ch] "$source"/tests/core/*.[ch] \
		"$source"/kernel-port/coretest/*.[ch] "$source/kernel-port/coretest/Kbuild" \
		"$source/kernel-port/linux/Kbuild.core" "$source/kernel-port/coretest/libc" \
		"$source/sim/core/include" "$out/coretest/"
	ln -s "$source"/kernel-port/fakegpu/*.[ch] "$source/kernel-port/fakegpu/Kbuild" \
		"$out/fakegpu/"
	ln -s "$source"/kernel-port/nvidia/gvm_nvidia*.[ch] "$source/kernel-port/nvidia/gvm_uvm.h" \
		"$source/kernel-port/nvidia/Kbuild" "$out/nvidia/"
}

# Variables of an outer make would change this one, and ccache's base folder the names of sources in the
# command files (built_from_core.sh reads them). Output goes to the log, which is searched below.
run_make() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u CCACHE_BASEDIR LC_ALL=C \
		make -C "$kdir" M="$out" W=1 -j"$(nproc)" "$@"
}

# A warning comes only when its file is compiled: without clean, the next build would pass.
fail() {
	cat "$log" >&2
	echo "kernel module: $1" >&2
	run_make clean >/dev/null 2>&1 || true
	exit 1
}

link_sources
run_make modules >"$log" 2>&1 || fail "make failed"
if grep -qi 'warning' "$log"; then
	fail "there are warnings"
fi
for module in gvm gvm_selftest coretest/gvm_coretest fakegpu/gvm_fakegpu nvidia/gvm_nvidia; do
	[ -f "$out/$module.ko" ] || fail "$module.ko was not made"
done
echo "$out: gvm.ko, gvm_selftest.ko, coretest/gvm_coretest.ko, fakegpu/gvm_fakegpu.ko and nvidia/gvm_nvidia.ko for $kdir"
