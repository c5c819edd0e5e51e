#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The modules of the package gvm-dkms on this host: built for the drivers that are installed, given up where
# they do not fit any more, and the way back to the vendor's module.
set -eu

package_version=@VERSION@
source=${PREFIX:-}/usr/src/gvm-$package_version
driver_versions=$source/packaging/driver-versions

usage() {
	cat <<'END'
usage: gvm-dkms check [KERNEL]     can modules be built for this kernel? One line
       gvm-dkms refresh            build for each kernel whose driver has hooks; remove what does not fit
       gvm-dkms off                the vendor's nvidia-uvm from now on, and load it
       gvm-dkms on                 the hooked nvidia-uvm from now on, and load it
       gvm-dkms status             which nvidia-uvm a kernel loads, and which one is loaded
       gvm-dkms --version
Needs root, but for check and status.
END
}

case ${1:-} in
refresh | off | on)
	if [ -z "${PREFIX:-}" ] && [ "$(id -u)" != 0 ]; then
		echo "gvm-dkms: \"$1\" needs root" >&2
		exit 1
	fi
	;;
esac

. "$source/packaging/dkms/vendor.sh"

# Kernels with headers.
kernels() {
	find "$root/lib/modules" -mindepth 2 -maxdepth 2 -name build 2>/dev/null | sort -V | while read -r build; do
		[ ! -d "$build/" ] || basename "${build%/build}"
	done
}

# The hooked module of a kernel, as DKMS has installed it.
hooked_of() {
	find "$root/lib/modules/$1" -path '*/updates/gvm' -prune -o -name 'gvm-nvidia-uvm.ko*' -print 2>/dev/null |
		head -n 1
}

# Sets nvidia_ko, version and tree, or refuses in one line.
check() {
	find_driver "$1" || return 1
	if [ ! -f "$root/lib/modules/$1/build/include/generated/utsrelease.h" ]; then
		refuse "the headers of kernel $1 are missing; install linux-headers-$1"
		return 1
	fi
	if ! command -v spatch >/dev/null; then
		refuse "spatch is missing; install coccinelle"
		return 1
	fi
	if ! work=$(mktemp -d 2>/dev/null); then
		refuse "no temporary folder can be made in ${TMPDIR:-/tmp}"
		return 1
	fi
	status=0
	find_source "$version" "$work/unpacked" || status=1
	rm -rf "$work"
	return "$status"
}

# Where DKMS fails, or does not know the module, the vendor's one is preferred all the same.
give_up() {
	if [ -z "$(hooked_of "$1")" ] || dkms remove -m gvm -v "$package_version" -k "$1" >/dev/null; then
		return 0
	fi
	echo "gvm-dkms: DKMS could not remove the modules of kernel $1; the vendor's nvidia-uvm is loaded from now on" >&2
	"$source/packaging/dkms/links.sh" off "$1"
	depmod "$1"
}

# Modules of a kernel fit if they are of the version of its nvidia.ko.
refresh() {
	kernel=$1
	if ! check "$kernel"; then
		give_up "$kernel"
		return
	fi
	installed=$(hooked_of "$kernel")
	[ -z "$installed" ] || [ "$(field version "$installed")" != "$version" ] || return 0
	give_up "$kernel"
	# Where DKMS cannot add it, it says why, and the installation fails, too.
	[ -n "$(dkms status -m gvm -v "$package_version")" ] || dkms add -m gvm -v "$package_version" >/dev/null || true
	if ! dkms install -m gvm -v "$package_version" -k "$kernel" >/dev/null 2>&1; then
		log=/var/lib/dkms/gvm/$package_version/build/make.log
		line=$(grep -sh '^gvm-dkms: .*;' "$log" | tail -n 1)
		echo "${line:-gvm-dkms: modules for kernel $kernel could not be built; $log}" >&2
		return 0
	fi
	echo "gvm-dkms: kernel $kernel has a hooked nvidia-uvm for the driver $version"
}

# Load the nvidia-uvm that modprobe finds now.
exchange() {
	if [ -d "$root/sys/module/nvidia_uvm" ] && ! rmmod nvidia_uvm 2>/dev/null; then
		refuse "nvidia-uvm is in use, so the loaded one stays until its users end; gvm-preflight names them"
		return 1
	fi
	for module in gvm_nvidia gvm; do
		[ ! -d "$root/sys/module/$module" ] || rmmod $module 2>/dev/null ||
			echo "gvm-dkms: $module is in use and stays loaded" >&2
	done
	if ! modprobe nvidia-uvm; then
		refuse "nvidia-uvm could not be loaded; dmesg says why"
		return 1
	fi
}

status() {
	kernel=$(uname -r)
	found=$(modinfo -k "$kernel" -n nvidia-uvm 2>/dev/null || true)
	case $found in
	'') echo "kernel $kernel has no nvidia-uvm" ;;
	*/updates/gvm/*) echo "kernel $kernel loads the hooked nvidia-uvm: $found" ;;
	*) echo "kernel $kernel loads the vendor's nvidia-uvm: $found" ;;
	esac
	loaded=$(cat "$root/sys/module/nvidia_uvm/srcversion" 2>/dev/null || true)
	hooked=$(hooked_of "$kernel")
	if [ -z "$loaded" ]; then
		echo "nvidia-uvm is not loaded"
	elif [ -n "$hooked" ] && [ "$(field srcversion "$hooked")" = "$loaded" ]; then
		echo "the hooked nvidia-uvm is loaded"
	else
		echo "the vendor's nvidia-uvm is loaded"
	fi
}

case ${1:-} in
check) check "${2:-$(uname -r)}" && echo "gvm-dkms: hooks for the driver $version can be built from $tree" ;;
refresh)
	for kernel in $(kernels); do
		refresh "$kernel"
	done
	;;
on | off)
	kernel=$(uname -r)
	"$source/packaging/dkms/links.sh" "$1" "$kernel"
	depmod "$kernel"
	exchange
	status
	;;
status) status ;;
-h | --help | help) usage ;;
--version) echo "gvm-dkms $package_version" ;;
*)
	usage >&2
	exit 2
	;;
esac
