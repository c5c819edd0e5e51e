#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Build softgpu.ko and an unmodified nvidia-uvm.ko in OUT, for the same kernel as gvm.ko. TREE is the
# kernel-open folder of a driver; without it, the one of Debian's package is taken: driver.sh.
# Nothing is done if sources, driver, kernel and compiler are those of the last build.
# A warning about our sources, or a symbol that nvidia-uvm.ko needs and does not find, is an error.
# For a kernel with lockdep nvidia-uvm's locks get classes: lockdep.sh.
# UVM_BUILD_TYPE=debug, a variable of the driver's own, builds nvidia-uvm with its asserts. The driver sets it to release:
# only make's command line overrides that, the environment does not.
# Ends with 77, ctest's SKIP code, if there is no driver to be had.
#
#   build.sh SOURCE OUT [KDIR [TREE]]
set -eu

source=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
kdir=$("$source/kernel-port/linux/headers.sh" "${3:-}")
tree=${4:-}
ours=$source/kernel-port/softgpu
copy=$out/tree
log=$out/build.log

for tool in make gcc awk; do
	if ! command -v "$tool" >/dev/null; then
		echo "$tool is missing: install the package $tool" >&2
		exit 1
	fi
done
if [ -z "$tree" ]; then
	"$ours/driver.sh" "$out/driver"
	tree=$out/driver/kernel-open
fi
if [ ! -f "$tree/nvidia-uvm/nvidia-uvm.Kbuild" ]; then
	echo "$tree is not the kernel-open folder of NVIDIA's driver: no nvidia-uvm/nvidia-uvm.Kbuild" >&2
	exit 1
fi
tree=$(cd "$tree" && pwd)

# The parts of the tree that a build of nvidia-uvm.ko needs. In TREE.
parts() {
	# 580 and later have lists of headers beside their Kbuild: *.mk.
	{
		find . -maxdepth 1 -name '*.mk' | cut -c 3-
		find Kbuild Makefile conftest.sh common nvidia-uvm nvidia/nvidia.Kbuild -type f \
			! -name '*.o' ! -name '*.cmd' ! -name '*.ko' ! -name '*.mod*'
	} | sort
}

key() {
	{
		(cd "$tree" && parts | xargs sha256sum)
		(cd "$ours" && sha256sum ./* ../linux/gvm_fakegpu_word.h ../linux/gvm_rmapi.h)
		cat "$kdir/include/generated/utsrelease.h"
		gcc --version
		echo "${UVM_BUILD_TYPE:-}"
	} | sha256sum
}

key >"$out/key.new"
if [ -f "$out/softgpu.ko" ] && [ -f "$out/nvidia-uvm.ko" ] && cmp -s "$out/key.new" "$out/key"; then
	echo "$out: softgpu.ko and nvidia-uvm.ko are up to date"
	exit 0
fi
rm -f "$out/key" "$out/softgpu.ko" "$out/nvidia-uvm.ko"

# Only files that differ are copied, so that a change to one file of the driver compiles one file.
version=$(sed -n 's/.*NV_VERSION_STRING=\\"\(.*\)\\".*/\1/p' "$tree/Kbuild")
[ "$(cat "$out/version" 2>/dev/null)" = "$version" ] || rm -rf "$copy"
echo "$version" >"$out/version"
(cd "$tree" && parts) | while read -r file; do
	cmp -s "$tree/$file" "$copy/$file" && continue
	mkdir -p "$copy/$(dirname "$file")"
	cp "$tree/$file" "$copy/$file"
done
"$ours/lockdep.sh" "$copy" "$kdir"
mkdir -p "$copy/softgpu"
find "$copy/softgpu" -type l -delete
ln -s "$ours"/*.[ch] "$ours/softgpu.Kbuild" "$ours/../linux/gvm_fakegpu_word.h" "$ours/../linux/gvm_rmapi.h" \
	"$copy/softgpu/"

# generate FILE COMMAND...: what has not changed keeps its time
generate() {
	file=$copy/softgpu/$1
	shift
	"$@" >"$file.new"
	if cmp -s "$file.new" "$file"; then
		rm "$file.new"
	else
		mv "$file.new" "$file"
	fi
}

# nvidia-uvm's headers need the tests of the kernel that nvidia.ko lists.
generate conftests.Kbuild grep '^NV_CONFTEST_[A-Z_]*COMPILE_TESTS +=' "$copy/nvidia/nvidia.Kbuild"
generate softgpu_version.h "$ours/version.sh" "$tree"
generate softgpu_stubs.c "$ours/stubs.sh" "$tree" "$ours"/*.c

fail() {
	grep -E 'error|warning|undefined' "$log" | grep -v '^[A-Z_]*CFLAGS' | head -n 40 >&2 || true
	echo "software GPU: $1; $log" >&2
	exit 1
}

# Variables of an outer make would change this one. Debian has the sources of the headers in a second
# folder; KDIR of a kernel that was built in its sources has both.
common=$(echo "$kdir" | sed 's/-[^-]*-[^-]*$/-common/')
[ -d "$common" ] || common=$kdir
release=$(sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' "$kdir/include/generated/utsrelease.h")
if ! env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL LC_ALL=C make -C "$copy" \
	-j"${GVM_BUILD_JOBS:-$(nproc)}" SYSSRC="$common" SYSOUT="$kdir" KERNEL_UNAME="$release" \
	${UVM_BUILD_TYPE:+UVM_BUILD_TYPE="$UVM_BUILD_TYPE"} \
	CONFIG_DEBUG_INFO= NV_KERNEL_MODULES="softgpu nvidia-uvm" modules >"$log" 2>&1; then
	fail "make failed"
fi
if [ "${UVM_BUILD_TYPE:-}" = debug ] && ! grep -q -e ' -DDEBUG ' "$copy/nvidia-uvm/.uvm.o.cmd"; then
	fail "UVM_BUILD_TYPE=debug has built no asserts"
fi
for module in softgpu nvidia-uvm; do
	[ -f "$copy/$module.ko" ] || fail "$module.ko was not made"
	objcopy --strip-debug "$copy/$module.ko" "$out/$module.ko"
done
mv "$out/key.new" "$out/key"
echo "$out: softgpu.ko and nvidia-uvm.ko of $version for $kdir"
