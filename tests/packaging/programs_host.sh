#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The packages gvmsim and gvm-tools, compiled from the source tree, on a fresh Debian in a folder: apt installs them with what
# they need, a user without rights runs them, and after the purge the list of all files is that of before.
# Ends with 77, ctest's SKIP code, without root, mmdebstrap, or a fresh Debian.
# Usage: programs_host.sh SOURCE OUT
set -eu

source=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
root=$out/root
log=$out/host.log

fail() {
	echo "programs on a host: $1; $log" >&2
	exit 1
}

in_host() {
	chroot "$root" "$@" >>"$log" 2>&1 || fail "$*"
}

leave() {
	umount "$root/proc" 2>/dev/null || true
}

# What is there; apt's and dpkg's own records are left out.
list() {
	(cd "$root" && find . -xdev \( -path ./var/lib/apt -o -path ./var/cache -o -path ./var/lib/dpkg \
		-o -path ./var/log -o -path ./tmp -o -path ./proc -o -path ./run \) -prune -o -print | sort)
}

if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null; then
	echo "skipped: root and mmdebstrap are needed" >&2
	exit 77
fi
"$source/packaging/build-programs.sh" "$out/deb" >/dev/null
trap leave EXIT
leave
rm -rf "$root"
if ! mmdebstrap --variant=apt bookworm "$root" >"$log" 2>&1; then
	echo "skipped: a fresh Debian cannot be had; $log" >&2
	exit 77
fi
[ ! -f /etc/resolv.conf ] || cp -L /etc/resolv.conf "$root/etc/"
cp "$out"/deb/gvmsim_*.deb "$out"/deb/gvm-tools_*.deb "$root/tmp/"
list >"$out/before"
mount -t proc proc "$root/proc"

in_host apt-get update
in_host env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends /tmp/gvmsim_0.1.0_amd64.deb \
	/tmp/gvm-tools_0.1.0_amd64.deb
user="setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/tmp/user"
install -d -o 65534 -g 65534 "$root/tmp/user"
# shellcheck disable=SC2086 # a list of words
in_host $user sh -c 'cd /tmp/user && gvmsim run vllm-diffusion-80g --set duration=60s && gvmsim figure ablation --set duration=5s &&
	gvmctl list && gvmd --help && gvmfence --help && gvmfenced --help && gvmcollect --help'
find "$root/tmp/user" -name '*.png' | grep -q . || fail "no picture"
# As "systemctl enable" does, and an upgrade.
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -s /usr/lib/systemd/system/gvm-metrics.service "$root/etc/systemd/system/multi-user.target.wants/"
ln -s /usr/lib/systemd/system/gvmd@.service "$root/etc/systemd/system/multi-user.target.wants/gvmd@dyn.service"
in_host dpkg -i /tmp/gvm-tools_0.1.0_amd64.deb
in_host env DEBIAN_FRONTEND=noninteractive apt-get purge -y --auto-remove gvmsim gvm-tools
list >"$out/after"
cmp "$out/before" "$out/after" >>"$log" || fail "files were left: $(comm -13 "$out/before" "$out/after" | head -n 3)"
echo "gvmsim and gvm-tools: compiled, installed by apt, run, and purged"
