#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Install the Debian packages that are still missing: tools/setup.sh build | test | nightly | softgpu
# Uses whatever apt sources the machine has, as root or with sudo. Says nothing if all is there.
set -eu

packages="ca-certificates cmake gcc libc6-dev make pkg-config libsimgrid-dev libjansson-dev \
libzstd-dev libxxhash-dev zlib1g-dev libprotobuf-c-dev protobuf-c-compiler gnuplot-nox fonts-dejavu-core"
wanted=${1:-build}
case $wanted in
build | test | nightly | softgpu) ;;
*)
	echo "setup: unknown argument '$wanted', allowed: build, test, nightly, softgpu" >&2
	exit 2
	;;
esac
if [ "$wanted" = softgpu ]; then # kernel-port/softgpu/try.sh alone, without the simulator
	packages="ca-certificates gcc libc6-dev make xz-utils cpio linux-headers-cloud-amd64 qemu-system-x86"
fi
if [ "$wanted" = test ] || [ "$wanted" = nightly ]; then
	packages="$packages check protobuf-compiler zstd clang clang-format jq mandoc mypy python3 python3-jsonschema shellcheck \
linux-headers-cloud-amd64 qemu-system-x86 cpio xz-utils coccinelle debhelper dh-dkms lintian rpm rpmlint kmod procps"
fi
if [ "$wanted" = nightly ]; then
	packages="$packages libclang-rt-dev bc bison flex libelf-dev libssl-dev xz-utils \
slurmctld slurmd slurm-client munge chromium mmdebstrap"
	# ptxas, for the tests of kernel-port/guardian: non-free, so only where the machine has such sources
	if ! command -v ptxas >/dev/null && apt-cache show nvidia-cuda-toolkit >/dev/null 2>&1; then
		packages="$packages nvidia-cuda-toolkit"
	fi
fi

# One line says what is needed, and how to go on where it comes from elsewhere.
give_up() {
	otherwise=
	[ "$wanted" != build ] ||
		otherwise="; once they are there: cmake --preset release && cmake --build --preset release"
	echo "setup: $1; needed:$missing$otherwise" >&2
	exit 1
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	missing=" $packages (Debian's names)"
	give_up "this machine has no apt, which Debian and Ubuntu have"
fi
missing=
for package in $packages; do
	status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
	[ "$status" = "install ok installed" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
	as_root=
elif command -v sudo >/dev/null; then
	as_root=sudo
else
	give_up "there is neither root nor sudo to install packages"
fi

echo "Installing:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# One source of packages that cannot be read may have none of these: only the installation counts.
# shellcheck disable=SC2086 # lists of words
if ! { $as_root apt-get update; $as_root apt-get install -y --no-install-recommends $missing; } \
	>"$log" 2>&1; then
	grep '^E: ' "$log" >&2 || cat "$log" >&2
	give_up "apt could not install the packages (a network and the sources of Debian 12 are needed)"
fi
