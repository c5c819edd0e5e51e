#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Build what fence_gpu needs on a machine with a GPU: cubins for sm_90, native and fenced.
# Usage: GVMFENCE=path build.sh FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
gvmfence=${GVMFENCE:-gvmfence}
mkdir -p "$1"
cd "$1"
for name in world attack bench; do
	nvcc -arch=compute_90 -ptx -O3 "$here/$name.cu" -o "$name.ptx"
	ptxas -arch=sm_90 "$name.ptx" -o "$name.native.cubin"
	sed -n 's/^\.visible \.entry \([a-z0-9_]*\)(.*/\1/p' "$name.ptx" >"$name.names"
	[ "$name" != world ] || continue
	for mode in fence once 4g modulo count check; do
		"$gvmfence" patch "$name.ptx" --mode "$mode" --out "$name.$mode.ptx"
		ptxas -arch=sm_90 "$name.$mode.ptx" -o "$name.$mode.cubin"
	done
done
"$gvmfence" patch attack.ptx --pass params --out attack.params-fence.ptx
ptxas -arch=sm_90 attack.params-fence.ptx -o attack.params-fence.cubin
grep -vE '^(chain|chain_offset|nothing)$' attack.names >names && mv names attack.names
cc -O2 -Wall -o fence_gpu "$here/fence_gpu.c" -ldl
