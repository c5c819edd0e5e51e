# SPDX-License-Identifier: MIT OR GPL-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # variables of the script that sources this
# The driver of a kernel, and its source. To be sourced. PREFIX is put before every path, for tests.
# A refusal is one line on standard error. driver_versions names the table of drivers with hooks.

root=${PREFIX:-}

refuse() {
	echo "gvm-dkms: $*" >&2
	return 1
}

# The file FIELD of a module's information
field() {
	modinfo -F "$1" "$2" 2>/dev/null | head -n 1
}

# find_driver KERNEL: sets nvidia_ko and version. Refuses a proprietary driver, and one without hooks.
# Debian puts other words into the name of nvidia.ko: nvidia-current-open.ko.
find_driver() {
	nvidia_ko=
	closed=
	for file in $(find "$root/lib/modules/$1/" -name 'nvidia*.ko*' 2>/dev/null | sort); do
		case ${file##*/} in
		*uvm* | *drm* | *modeset* | *peermem* | nvidiafb* | nvidia-vgpu*) continue ;;
		esac
		case $(field license "$file") in
		NVIDIA) closed=$(field version "$file") ;;
		*GPL*) [ -z "$(field version "$file")" ] || nvidia_ko=$file ;;
		esac
	done
	if [ -z "$nvidia_ko" ] && [ -n "$closed" ]; then
		refuse "the driver $closed of kernel $1 is the proprietary flavour; install the open kernel modules of this version"
		return 1
	fi
	if [ -z "$nvidia_ko" ]; then
		refuse "kernel $1 has no nvidia.ko; install NVIDIA's open kernel modules for it, then run gvm-dkms refresh"
		return 1
	fi
	version=$(field version "$nvidia_ko")
	branches=$(sed -n 's/^\([0-9]*\)[.].*/\1/p' "$driver_versions" | sort -un | paste -sd ' ')
	case " $branches " in
	*" ${version%%.*} "*) ;;
	*) refuse "there are no hooks for the driver $version; install one of the branches $branches" ;;
	esac
}

# The version of a kernel-open folder. Empty: it is none, or it is of the proprietary flavour.
tree_version() {
	[ -f "$1/nvidia-uvm/nvidia-uvm.Kbuild" ] || return 0
	grep -qsE 'MODULE_LICENSE\("Dual MIT/GPL"\)' "$1/nvidia/nv.c" "$1/nvidia/nv-frontend.c" || return 0
	sed -n 's/.*NV_VERSION_STRING=\\"\(.*\)\\".*/\1/p' "$1/Kbuild"
}

# find_source VERSION WORK: sets tree. A tarball as Debian's nvidia-open-kernel-source has it is unpacked in WORK.
find_source() {
	for kbuild in "$root"/usr/src/*/Kbuild "$root"/usr/src/*/kernel-open/Kbuild; do
		tree=${kbuild%/Kbuild}
		[ "$(tree_version "$tree")" != "$1" ] || return 0
	done
	tree=$2/modules/nvidia-open-kernel
	rm -rf "$2"
	if [ -f "$root/usr/src/nvidia-open-kernel.tar.xz" ]; then
		mkdir -p "$2"
		tar -C "$2" -xJf "$root/usr/src/nvidia-open-kernel.tar.xz"
		[ "$(tree_version "$tree")" != "$1" ] || return 0
		rm -rf "$2"
	fi
	refuse "the source of the open driver $1 is not in /usr/src; install it (Debian: nvidia-open-kernel-source)"
}
