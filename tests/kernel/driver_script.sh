#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# kernel-port/softgpu/driver.sh unpacks the driver in a folder with a relative name, too, as try.sh -o takes one. Two
# programs stand in for Debian's. apt runs in another folder, so each folder that it is told has to be absolute.
#
#   driver_script.sh SOURCE
set -eu

source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/here"

cat >"$work/bin/apt-get" <<'END'
#!/bin/sh
for word in "$@"; do
	case $word in
	Dir::State::Status=*) ;;
	Dir::Etc::SourceParts=*) ;;
	Dir::*=/*) ;;
	Dir::*)
		echo "apt has to guess where $word is" >&2
		exit 1
		;;
	download) : >nvidia-open-kernel-source_1.0_amd64.deb ;;
	esac
done
END
cat >"$work/bin/dpkg-deb" <<'END'
#!/bin/sh
set -e
[ "$1" = -W ] && echo "nvidia-open-kernel-source 1.0" && exit
mkdir -p "$3/usr/src" "$3/modules/nvidia-open-kernel/nvidia-uvm"
tar -C "$3" -cJf "$3/usr/src/nvidia-open-kernel.tar.xz" modules
END
chmod +x "$work"/bin/*

cd "$work/here"
PATH=$work/bin:$PATH "$source/kernel-port/softgpu/driver.sh" out/driver
[ -d out/driver/kernel-open/nvidia-uvm ]
[ "$(cat out/driver/version)" = "nvidia-open-kernel-source 1.0" ]
