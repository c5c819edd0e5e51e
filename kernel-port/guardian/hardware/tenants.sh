#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0
# What fences cost real programs, and several tenants side by side, on a machine with a GPU.
# Usage: tenants.sh PART... > RESULTS. The parts, and what has to lie beside this file: README.md.
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

# COUNT tenants that begin after WAIT seconds: NAME COUNT WAIT COMMAND..., with the start as last argument
tenants() {
	name=$1 count=$2 start=$(($(date +%s) + $3)) started=
	shift 3
	for i in $(seq "$count"); do
		timeout 150 "$@" "$start" 2>&1 | grep -v 'module loaded' | tail -n 2 | sed "s/^/$name $count $i: /" &
		started="$started $!"
	done
	# shellcheck disable=SC2086 # a list; the manager runs on
	wait $started
}

sharing() {
	for count in 1 2 4; do
		tenants "$1-lenet" "$count" 3 ./lenet lenet.ptx train 8000
		tenants "$1-model" "$count" $((2 + 2 * count)) python3 triton_model.py run "$model" 1000
	done
}

# Start gvmfenced: MODE LIMIT. Its log is /tmp/gvm-fenced.log; clients find it by client().
manager() {
	./gvmfenced serve --socket /tmp/gvm-fenced.sock --mode "$1" --memory 64G --limit "$2" \
		${GVM_FENCED_MORE:-} 2>/tmp/gvm-fenced.log &
	manager=$!
	for _ in $(seq 100); do
		grep -q serving /tmp/gvm-fenced.log && break
		sleep 0.2
	done
	head -n 1 /tmp/gvm-fenced.log
}

stop_manager() {
	kill $manager
	wait $manager
	grep -vE 'bytes at|has left' /tmp/gvm-fenced.log | tail -n +2 | grep -E "${GVM_FENCED_LOG:-}"
}

# Kernel, hit rate of L1 and of L2 in percent, sectors of L1 and ns: PROGRAM ARGUMENT... -- OPTION OF NCU...
hits() {
	program=
	while [ "$1" != -- ]; do
		program="$program $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # words of a command
	timeout 150 ncu --clock-control none --csv --page raw "$@" \
		--metrics l1tex__t_sector_hit_rate.pct,lts__t_sector_hit_rate.pct,l1tex__t_sectors.sum,gpu__time_duration.sum \
		$program >/tmp/gvm-hits.csv 2>&1
	python3 "$here/hits.py" </tmp/gvm-hits.csv || head -n 20 /tmp/gvm-hits.csv
}

# A kernel that never ends, behind COUNT short ones, and who is served after it: [COUNT]
endless() {
	manager once 3s
	tail -f -n 0 /tmp/gvm-fenced.log | times manager &
	follow=$!
	client ./lenet lenet.ptx victim 60 2>&1 | times victim &
	sleep 2
	# shellcheck disable=SC2086 # no word without a count
	client ./lenet lenet.ptx spin ${1:-} 2>&1 | times spin
	for _ in $(seq 100); do
		[ "$(grep -c serving /tmp/gvm-fenced.log)" = 2 ] && break
		sleep 0.2
	done
	client ./lenet lenet.ptx train 2000 2>&1 | times next
	kill $follow
	stop_manager
}

client() {
	GVM_FENCED_SOCKET=/tmp/gvm-fenced.sock GVM_FENCED_MEMORY=2G LD_LIBRARY_PATH=$here/client:${LD_LIBRARY_PATH:-} "$@"
}

# A part of the log with the time of each line
times() {
	while read -r line; do printf '%s %s: %s\n' "$(date +%s.%N | cut -c1-14)" "$1" "$line"; done
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
	shim-lenet) modes lenet ./lenet lenet.ptx train 8000 ;;
	shim-model) modes model python3 triton_model.py run "$model" 2000 ;;
	shim-launch) modes launch ./lenet lenet.ptx launch 20000 ;;
	manager)
		for mode in once noprot fence; do
			manager $mode 60s
			export GVM_FENCED_SOCKET=/tmp/gvm-fenced.sock GVM_FENCED_MEMORY=2G
			LD_LIBRARY_PATH=$here/client:${LD_LIBRARY_PATH:-} sharing "manager-$mode"
			client ./lenet lenet.ptx launch 20000 2>&1 | grep -v 'module loaded'
			stop_manager
		done ;;
	hostile)
		for mode in once noprot; do
			manager $mode 60s
			client ./lenet lenet.ptx victim 10 2>&1 | sed "s/^/$mode: /" &
			victim=$!
			sleep 2
			client ./lenet lenet.ptx attack 5 2>&1 | sed "s/^/$mode: /" &
			attack=$!
			wait $victim $attack
			stop_manager
		done ;;
	copies)
		# Copies at all edges of a partition, by the manager.
		manager fence 60s
		client ./lenet lenet.ptx copies 2>&1 | grep -v 'module loaded'
		stop_manager ;;
	sample)
		# What detection on demand costs and finds: LeNet, which has no wild access, and one that has.
		for every in 0 1000 100 10 1 0; do
			GVM_FENCED_MORE="--sample $every" manager once 60s
			client ./lenet lenet.ptx train 24000 2>&1 | grep -v 'module loaded' | sed "s/^/sample 1 of $every: /"
			sleep 1 # the manager's last line
			GVM_FENCED_LOG='were counted|cannot be sampled' stop_manager
		done
		for every in 1000 10; do
			GVM_FENCED_MORE="--sample $every" manager once 60s
			client ./lenet lenet.ptx attack 3 2>&1 | sed "s/^/sample 1 of $every: /"
			sleep 1
			GVM_FENCED_LOG='were counted|cannot be sampled' stop_manager
		done ;;
	hits)
		# Hit rates of L1 and L2 by ncu: two steps of LeNet after ten, and each kernel of bench.cu once.
		hits ./lenet lenet.ptx train 40 -- --launch-skip 400 --launch-count 60
		(cd "$here/fence" && hits ./fence_gpu profile -- --launch-count 60) ;;
	lowered)
		torch=$(python3 -c 'import torch, os; print(os.path.dirname(torch.__file__))')
		timeout 300 python3 ptx_lowered.py ./gvmfence 90 "${COUNT:-400}" "${SECONDS_MAX:-150}" \
			"$torch/lib" "$torch/../nvidia" /usr/local/cuda/lib64 ;;
	endless) endless ;;
	behind) endless 100 ;;
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
