#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Build a hooked nvidia-uvm.ko in OUT. SOFTGPU is what softgpu/build.sh has made: the driver's tree,
# built, and softgpu.ko. LINUX is what linux/build.sh has made: gvm.ko and gvm_nvidia.ko. OUT has links
# to both, so that boot.sh finds all there. Only the files with hooks and ours are compiled: they are put into that tree
# for the time of the build, and the stock files come back afterwards.
# Nothing is done if hooks and driver are those of the last build. A warning is an error.
# Ends with 77, ctest's SKIP code, if SOFTGPU has no driver.
#
#   build.sh SOURCE SOFTGPU LINUX OUT [KDIR]
set -eu

source=$(cd "$1" && pwd)
mkdir -p "$4"
linux=$(cd "$3" && pwd)
out=$(cd "$4" && pwd)
if [ ! -f "$2/nvidia-uvm.ko" ]; then
	echo "skipped: $2 has no nvidia-uvm.ko" >&2
	exit 77
fi
softgpu=$(cd "$2" && pwd)
kdir=$("$source/kernel-port/linux/headers.sh" "${5:-}")
ours=$source/kernel-port/nvidia
tree=$softgpu/tree
uvm=$tree/nvidia-uvm
log=$out/build.log

ln -sfn "$tree" "$out/tree"
ln -sf "$softgpu/softgpu.ko" "$linux/gvm.ko" "$linux/nvidia/gvm_nvidia.ko" "$out/"

# Put the stock files back. A build that was killed has left them in stock/. If softgpu/build.sh has run
# since then, it has put them back itself.
restore() {
	[ -d "$out/stock" ] || return 0
	if cmp -s "$softgpu/key" "$out/stock/key"; then
		find "$out/stock" -type f ! -name key -exec cp {} "$uvm/" \;
	fi
	# Remove the hooked objects: make would take them for up to date.
	for file in "$out"/stock/*.c; do
		file=$(basename "$file" .c)
		rm -f "$uvm/$file.o"
	done
	rm -f "$uvm"/gvm_uvm*.[cho] "$uvm"/.gvm_uvm*.cmd "$uvm/gvm_rmapi.h"
	rm -rf "$out/stock"
}
restore

{
	cat "$softgpu/key"
	(cd "$ours" && sha256sum ./*.sh ./gvm_uvm*.[ch] ../linux/gvm_rmapi.h hooks/*)
} >"$out/key.new"
if [ -f "$out/nvidia-uvm.ko" ] && cmp -s "$out/key.new" "$out/key"; then
	echo "$out: the hooked nvidia-uvm.ko is up to date"
	exit 0
fi
rm -f "$out/key" "$out/nvidia-uvm.ko"

"$ours/hooks.sh" "$tree" "$out/hooked"

# Files that the driver has as well.
hooked=$(cd "$uvm" && for file in "$out"/hooked/*; do
	file=$(basename "$file")
	[ ! -f "$file" ] || echo "$file"
done)
rm -rf "$out/stock.new"
mkdir "$out/stock.new"
for file in $hooked; do
	cp "$uvm/$file" "$out/stock.new/"
done
cp "$softgpu/key" "$out/stock.new/"
trap restore EXIT
trap 'exit 1' HUP INT TERM
mv "$out/stock.new" "$out/stock"
cp "$out"/hooked/* "$uvm/"

common=$(echo "$kdir" | sed 's/-[^-]*-[^-]*$/-common/')
[ -d "$common" ] || common=$kdir
release=$(sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' "$kdir/include/generated/utsrelease.h")
if ! env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL LC_ALL=C make -C "$tree" \
	-j"${GVM_BUILD_JOBS:-$(nproc)}" SYSSRC="$common" SYSOUT="$kdir" KERNEL_UNAME="$release" \
	${UVM_BUILD_TYPE:+UVM_BUILD_TYPE="$UVM_BUILD_TYPE"} \
	CONFIG_DEBUG_INFO= NV_KERNEL_MODULES="softgpu nvidia-uvm" modules >"$log" 2>&1; then
	grep -E 'error|undefined' "$log" | grep -v '^[A-Z_]*CFLAGS' | head -n 40 >&2 || true
	echo "hooked nvidia-uvm: make failed; $log" >&2
	exit 1
fi
names=$(echo gvm_uvm "$hooked" | tr ' ' '\n' | paste -sd '|')
if grep -E "($names).*warning|warning:.*($names)" "$log" >&2; then
	echo "hooked nvidia-uvm: there are warnings; $log" >&2
	exit 1
fi
objcopy --strip-debug "$tree/nvidia-uvm.ko" "$out/nvidia-uvm.ko"
mv "$out/key.new" "$out/key"
echo "$out: hooked nvidia-uvm.ko of $(cat "$softgpu/version") for $kdir"
