#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# gvmcollect, gvmd, gvmctl, gvmfence, gvmfenced, the shim and systemd's units build on a host with a compiler, CMake and jansson, and without SimGrid or Boost.
# Usage: collector_only.sh SOURCE WORK
set -eu
source=$1
work=$2
rm -rf "$work"
mkdir -p "$work/pkgconfig"
ln -s "$(pkg-config --variable=pcfiledir jansson)/jansson.pc" "$work/pkgconfig/"
export PKG_CONFIG_LIBDIR="$work/pkgconfig"

{
	cmake -S "$source" -B "$work/build" -DCMAKE_BUILD_TYPE=None -DGVMSIM_COLLECTOR_ONLY=ON
	cmake --build "$work/build" --parallel 2
	DESTDIR=$work/installed cmake --install "$work/build" --prefix /usr
} >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
"$work/installed/usr/bin/gvmcollect" --version
"$work/installed/usr/bin/gvmd" --version
if ldd "$work/build/gvmcollect" | grep -i simgrid; then exit 1; fi
"$work/installed/usr/bin/gvmctl" --version
"$work/installed/usr/bin/gvmfence" --version
[ "$(cd "$work/installed" && find . -type f | sort | tr '\n' ' ')" = "./usr/bin/gvmcollect \
./usr/bin/gvmctl ./usr/bin/gvmd ./usr/bin/gvmfence ./usr/bin/gvmfenced ./usr/include/gvmsim/engine/types.h ./usr/include/gvmsim/gvmd/policy.h \
./usr/lib/gvmsim/fenced/libgvmfence_client.so ./usr/lib/gvmsim/libgvm_shim.so \
./usr/lib/systemd/system/gvm-metrics.service ./usr/lib/systemd/system/gvmd-pressure.service ./usr/lib/systemd/system/gvmd@.service \
./usr/share/bash-completion/completions/gvmcollect \
./usr/share/bash-completion/completions/gvmctl ./usr/share/bash-completion/completions/gvmd \
./usr/share/bash-completion/completions/gvmfence ./usr/share/bash-completion/completions/gvmfenced \
./usr/share/gvmsim/oci/gvm-hook.json ./usr/share/gvmsim/oci/gvm-runtime \
./usr/share/man/man1/gvmcollect.1 ./usr/share/man/man1/gvmctl.1 ./usr/share/man/man1/gvmd.1 \
./usr/share/man/man1/gvmfence.1 ./usr/share/man/man1/gvmfenced.1 " ]
