#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0
# What fences cost real programs, and several tenants side by side, on a machine with a GPU.
# Usage: tenants.sh PART... > RESULTS, in a folder that build.sh has filled. Parts: shim, modules, share, slices, mps, manager,
# hostile, endless. The programs, parts and predictions: README.md beside this file.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "$here" || exit 1
model=$here/model
export CUDA_CACHE_DISABLE=1 GVM_SHIM_DIR=/tmp/gvm-tenants

say() { printf '\n== %s\n' "$*"; }

# Each of the modes, by the shim: NAME COMMAND...
modes() {
	name=$1
	shift
	for mode in native counted fence once 4g check modulo native; do
		printf '%s %s: ' "$name" "$mode"
		case $mode in
		native) timeout 120 "$@" ;;
		counted) GVM_SHIM_MANAGED=0 LD_PRELOAD=$here/libgvm_shim.so timeout 120 "$@" ;;
		*) GVM_FENCE=$mode GVM_FENCE_SIZE=8G LD_PRELOAD=$here/libgvm_shim.so timeout 120 "$@" ;;
		esac 2>&1 | grep -v 'module loaded' | tail -n 3
	done
}

# COUNT tenants at the same time: NAME COUNT COMMAND..., with the start as last argument
tenants() {
	name=$1 count=$2
	shift 2
	start=$(($(date +%s) + 7))
	for i in $(seq "$count"); do
		timeout 150 "$@" "$start" 2>&1 | grep -v 'module loaded' | tail -n 2 | sed "s/^/$name $count $i: /" &
	done
	wait
}

sharing() {
	for count in 1 2 4; do
		tenants "$1-lenet" "$count" ./lenet lenet.ptx train 8000
		tenants "$1-model" "$count" python3 triton_model.py run "$model" 100
	done
}

for part in "$@"; do
	say "$part"
	case $part in
	model) [ -f "$model/kernels.json" ] || python3 triton_model.py compile "$model" 2>&1 | tail -n 5
		for file in "$model"/*.ptx; do
			for mode in fence once 4g check modulo; do
				./gvmfence patch "$file" --mode $mode | ./gvmfence verify - | sed "s/^/$(basename "$file") /" || echo "$file $mode refused"
			done
		done 2>&1 | grep -v verified: ; echo "all others verify" ;;
	shim)
		modes lenet ./lenet lenet.ptx train 8000
		modes model python3 triton_model.py run "$model" 100
		modes launch ./lenet lenet.ptx launch 20000 ;;
	modules)
		# What a PyTorch program loads, and how much of it has PTX.
		GVM_FENCE=fence GVM_FENCE_SIZE=8G GVM_FENCE_ALLOW=all GVM_SHIM_LOG=/tmp/gvm-modules.log \
			LD_PRELOAD=$here/libgvm_shim.so timeout 120 python3 -c '
import torch
torch.manual_seed(1)
x = torch.randn(512, 512, device="cuda", requires_grad=True)
m = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.GELU(), torch.nn.LayerNorm(512), torch.nn.Linear(512, 10)).cuda()
for i in range(3):
    m(x).softmax(1).log().mean().backward()
c = torch.nn.Conv2d(3, 8, 3).cuda()
print("sum", float(c(torch.randn(4, 3, 32, 32, device="cuda")).sum()), float(m[0].weight.grad.sum()))' 2>&1 | tail -n 3
		sed 's/.*module of/module of/' /tmp/gvm-modules.log | grep -E '^module of' | sort | uniq -c | sort -rn | head -n 20
		grep -E 'modules: |partition|not with' /tmp/gvm-modules.log | tail -n 4 ;;
	share)
		torch=$(python3 -c 'import torch, os; print(os.path.dirname(torch.__file__))')
		timeout 150 python3 ptx_share.py 90 "$torch/lib" "$torch/../nvidia" /usr/local/cuda/lib64 ;;
	slices) sharing slices ;;
	mps)
		export CUDA_MPS_PIPE_DIRECTORY=/tmp/gvm-mps CUDA_MPS_LOG_DIRECTORY=/tmp/gvm-mps
		mkdir -p /tmp/gvm-mps
		nvidia-cuda-mps-control -d && sleep 2 && sharing mps
		echo quit | nvidia-cuda-mps-control
		unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY ;;
	*) echo "no such part" ;;
	esac
done
