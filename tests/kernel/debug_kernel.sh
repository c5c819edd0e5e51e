#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Build a kernel of Debian's sources that watches for what the distribution's does not (debug.config, and
# debug_softgpu.config for what NVIDIA's driver needs:
# use after free, order of locks, sleeping in atomic context, leaks, undefined behaviour), the modules
# for it, and boot both programs of boot.sh on it: with a thousand loads and unloads and an hour of
# stress in all, and with allocations that fail (inject.c). Before, mistakes are made on purpose, and
# each watcher has to see its own. The kernel is kept in OUT until its sources or its configuration
# change; building it takes many minutes, and 3 GB.
#
#   debug_kernel.sh SOURCE OUT GVMSIM         replay.sh's scenarios on it, too
#   debug_kernel.sh SOURCE OUT --configure    only fetch and configure it
#   debug_kernel.sh SOURCE OUT --nvidia [TREE]
#                                             NVIDIA's driver instead: nvidia_suites.sh
#
# GVM_TEST_RELOADS and GVM_TEST_STRESS_SECONDS are for each of the two programs, and GVM_TEST_SEED.
set -eu

source=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
package=linux-source-6.1
here=$source/tests/kernel
tree=$out/$package
fragments="$here/debug.config $here/debug_softgpu.config"

for tool in apt-get dpkg-deb flex bison bc make gcc sha256sum; do
	if ! command -v "$tool" >/dev/null; then
		echo "$tool is missing: tools/setup.sh nightly installs it" >&2
		exit 1
	fi
done

run_make() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL LC_ALL=C make -C "$tree" -j"$(nproc)" "$@"
}

# The sandbox user of apt could not write into OUT.
fetch() {
	rm -rf "$tree" "$out/$package"_*.deb
	(cd "$out" && apt-get -q -o APT::Sandbox::User="$(id -un)" download "$package=$version")
	dpkg-deb --fsys-tarfile "$out/$package"_*.deb |
		tar -xO "./usr/src/$package.tar.xz" | tar -xJ -C "$out"
}

# What Kconfig dropped, for want of something else, would be missed in silence.
configure() {
	run_make tinyconfig
	# shellcheck disable=SC2086 # a list of names without blanks
	(cd "$tree" && scripts/kconfig/merge_config.sh -m .config $fragments)
	run_make olddefconfig
	# shellcheck disable=SC2086
	cat $fragments | grep '^CONFIG_.*=[ym]' | while read -r option; do
		grep -qx "$option" "$tree/.config" || echo "debug.config: no $option"
	done >"$out/dropped"
	if [ -s "$out/dropped" ]; then
		cat "$out/dropped" >&2
		exit 1
	fi
}

version=$(apt-cache show "$package" | sed -n 's/^Version: //p' | head -n 1)
# shellcheck disable=SC2086
wanted="$version $(cat $fragments | sha256sum)"
if [ "$(cat "$out/built" 2>/dev/null)" != "$wanted" ]; then
	[ "$(cat "$out/fetched" 2>/dev/null)" = "$version" ] || fetch
	echo "$version" >"$out/fetched"
	configure
	[ "$3" != --configure ] || exit 0
	run_make bzImage modules
	echo "$wanted" >"$out/built"
fi
"$source/kernel-port/linux/build.sh" "$source" "$out/linux" "$tree"

if [ "$3" = --nvidia ]; then
	# KASAN and lockdep make all of it several times slower. The part vidmem, of 128 MB, needs more than
	# 1 GB with KASAN's shadow and kmemleak's records.
	GVM_BOOT_SECONDS=${GVM_BOOT_SECONDS:-7200}
	GVM_BOOT_MEMORY=${GVM_BOOT_MEMORY:-3G}
	export GVM_BOOT_SECONDS GVM_BOOT_MEMORY
	# Each driver has a folder, so that none is compiled again for another one's sake.
	number=
	[ ! -f "${4:-}/Kbuild" ] || number=$(sed -n 's/.*NV_VERSION_STRING=\\"\(.*\)\\".*/\1/p' "$4/Kbuild")
	exec "$here/nvidia_suites.sh" "$source" \
		"$out/nvidia${number:+-$number}${UVM_BUILD_TYPE:+-$UVM_BUILD_TYPE}" \
		"$out/linux" "$tree/arch/x86/boot/bzImage" "$tree" "${4:-}"
fi

fail() {
	echo "debug kernel: $1" >&2
	exit 1
}

# boot NAME PROGRAM: on the debug kernel.
boot() {
	"$here/boot.sh" "$source" "$out/linux" "$tree/arch/x86/boot/bzImage" "$out/boot-$1" "$2"
}

# selftest_wrong.c makes mistakes on purpose. A kernel that does not report them would report none.
watchers_watch() {
	if GVM_TEST=wrong boot wrong guest >"$out/complaints" 2>"$out/wrong.log"; then
		fail "boot.sh found nothing wrong with mistakes that were made on purpose"
	fi
	for complaint in 'possible circular locking dependency' 'sleeping function called from invalid' \
		'KASAN: use-after-free' 'UBSAN: shift-out-of-bounds'; do
		grep -aq "$complaint" "$out/complaints" ||
			fail "$out/complaints has no '$complaint'"
	done
	grep -aq 'not ok .* kmemleak has found nothing' "$out/wrong.log" ||
		fail "$out/wrong.log has no lost memory"
}

# count PATTERN FILE...: the sum of the numbers that PATTERN, a basic regular expression, has in \(\).
count() {
	pattern=$1
	shift
	cat "$@" | sed -n "s/$pattern/\\1/p" | awk '{ sum += $1 } END { print sum + 0 }'
}

export GVM_TEST_RELOADS="${GVM_TEST_RELOADS:-500}"
export GVM_TEST_STRESS_SECONDS="${GVM_TEST_STRESS_SECONDS:-1800}"
export GVM_BOOT_SECONDS="${GVM_BOOT_SECONDS:-$((4500 + GVM_TEST_STRESS_SECONDS))}"

watchers_watch
for program in guest fakegpu; do
	boot $program $program
	if grep -a 'injection # SKIP' "$out/boot-$program/guest.log"; then
		fail "allocations have to fail in this kernel"
	fi
done
"$here/replay.sh" "$source" "$out/linux" "$tree/arch/x86/boot/bzImage" "$out/replay" "$3"
set -- "$out/boot-guest/guest.log" "$out/boot-fakegpu/guest.log"
points=$(cat "$@" | grep -ac '^tap: ok ')
injected=$(count '^tap: ok .* injection: .*: \([0-9]*\) allocations failed, .*' "$@")
echo "debug kernel: $points points; $injected allocations failed in" \
	"$(cat "$@" | grep -ac '^tap: ok .* injection: ') entries;" \
	"$(count '^tap: # \([0-9]*\) loads and unloads$' "$@") loads and unloads;" \
	"$(count '^tap: # \([0-9]*\) seconds of stress$' "$@") seconds of stress; 0 splats"
