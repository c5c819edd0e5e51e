#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# gvmd hook: what a container asks for, in words of ours, of KAI and of HAMi, goes to gvm.ko before it starts.
# A file takes the place of the module's, and a process of ours that of the container. Usage: NAME.sh GVMSIM SOURCE
# shellcheck source=tests/cli/common.inc
. "$(dirname "$0")/common.inc"
gvmd=$(dirname "$gvmsim")/gvmd
program=$gvmd

# The root cgroup cannot be a container: there this script moves into one below, where it may.
cgroup=$(sed -n 's/^0:://p' /proc/self/cgroup)
mount=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup2 .*/\1/p' /proc/mounts | head -n 1)
if [ "$cgroup" = / ] && mkdir -p "$mount/gvm-test-$$/sub" 2>/dev/null && echo $$ 2>/dev/null >"$mount/gvm-test-$$/sub/cgroup.procs"; then
	trap 'echo $$ >"$mount/cgroup.procs"; rmdir "$mount/gvm-test-$$/sub" "$mount/gvm-test-$$"; rm -rf "$work"' EXIT
	cgroup=/gvm-test-$$/sub
fi
[ "$cgroup" != / ] || cgroup=
mkdir -p bundle root

# container ANNOTATIONS ENVIRONMENT: as JSON without the outer brackets
container() {
	: >root/cgroups
	echo "{\"annotations\": {$1}, \"process\": {\"env\": [\"PATH=/bin\"$2]}}" >bundle/config.json
	echo "{\"ociVersion\": \"1.0.2\", \"id\": \"c\", \"pid\": $$, \"bundle\": \"$work/bundle\"}" >state
}

# gives ANNOTATIONS ENVIRONMENT FILE VALUE: this line goes to the module
gives() {
	container "$1" "$2"
	"$gvmd" hook --root root --gpus gpus --memory 80G <state || fail "$1 $2"
	[ "$(cat root/cgroups)" = "+$cgroup $3=$4" ] || fail "$1 $2: not $3=$4, but $(cat root/cgroups)"
}

# refuses PATTERN ANNOTATIONS ENVIRONMENT [OPTION...]
refuses() {
	pattern=$1
	container "$2" "$3"
	shift 3
	status=0
	"$gvmd" hook --root root "$@" <state 2>err || status=$?
	[ "$status" != 0 ] || fail "not refused: $pattern"
	grep -q -e "$pattern" err || fail "$pattern: $(cat err)"
	[ "$(wc -l <err)" = 1 ] || fail "more than a line: $(cat err)"
	[ ! -s root/cgroups ] || fail "$pattern: it was written all the same"
}

if [ -n "$cgroup" ]; then
	high=gmem.limit.high
	gives '"gvm.gmem.limit.high": "20G"' '' $high 20G
	gives '"gvm.compute.priority": "2"' '' compute.priority 2
	gives '' ', "GVM_LIMIT=20G"' $high 21474836480
	gives '' ', "GVM_LIMIT=25%"' $high 21474836480
	gives '' ', "GVM_LIMIT=max"' $high max
	gives '"gpu-memory": "2000"' '' $high 2097152000
	gives '"gpu-fraction": "0.5"' '' $high 42949672960
	gives '' ', "CUDA_DEVICE_MEMORY_LIMIT_0=3000m", "CUDA_DEVICE_MEMORY_LIMIT_1=3000m"' $high 3145728000
	gives '' ', "CUDA_DEVICE_MEMORY_LIMIT=1g"' $high 1073741824
	gives '' ', "GPU_PORTION=0.25"' $high 21474836480
	gives '' ', "CUDA_DEVICE_SM_LIMIT=30"' compute.weight 30
	# The strongest word counts.
	gives '"gpu-fraction": "0.5", "gpu-memory": "2000"' ', "GVM_LIMIT=1G", "GPU_PORTION=0.25"' $high 1073741824
	gives '"gvm.gmem.limit.high": "3G", "gpu-fraction": "0.5"' ', "GVM_LIMIT=1G"' $high 3G
	gives '"gvm.compute.weight": "70"' ', "CUDA_DEVICE_SM_LIMIT=30"' compute.weight 70

	# The numbered one is stronger, and holds for all GPUs where all say the same. The shim's shares have a point, too.
	gives '' ', "CUDA_DEVICE_MEMORY_LIMIT_0=3000m"' $high 3145728000
	gives '' ', "CUDA_DEVICE_SM_LIMIT_0=30", "CUDA_DEVICE_SM_LIMIT_1=30"' compute.weight 30
	gives '' ', "GVM_LIMIT=0.25"' $high 21474836480
	gives '' ', "GVM_LIMIT=1.0"' $high 85899345920
	gives '"gpu-fraction": "0.25"' ', "GVM_LIMIT=0.25"' $high 21474836480

	# Single GPUs: the container's are numbered by PCI address, and named by their UUIDs. This host has three.
	for gpu in 0000:07:00.0=1=a 0000:0f:00.0=0=b 0000:47:00.0=2=c; do
		mkdir -p "gpus/${gpu%%=*}"
		number=${gpu#*=}
		printf 'Model: \t\t H200\nGPU UUID: \t GPU-%s\nDevice Minor: \t %s\n' "${gpu##*=}" "${number%=*}" \
			>"gpus/${gpu%%=*}/information"
	done
	one=', "GVM_LIMIT=0:8G,1:4G"'
	gives '' "$one" "GPU-a/$high=8589934592 GPU-b/$high" 4294967296
	gives '' "$one, \"NVIDIA_VISIBLE_DEVICES=all\"" "GPU-a/$high=8589934592 GPU-b/$high" 4294967296
	gives '' "$one, \"NVIDIA_VISIBLE_DEVICES=GPU-c,GPU-b\"" "GPU-b/$high=8589934592 GPU-c/$high" 4294967296
	gives '' "$one, \"NVIDIA_VISIBLE_DEVICES=2\"" "GPU-c/$high" 8589934592
	gives '' "$one], \"x\": [\"NVIDIA_VISIBLE_DEVICES=0\"" "GPU-a/$high=8589934592 GPU-b/$high" 4294967296
	gives '' ', "GVM_LIMIT=20G,2:50%"' "$high=21474836480 GPU-c/$high" 42949672960
	gives '' ', "CUDA_DEVICE_MEMORY_LIMIT=1g", "CUDA_DEVICE_MEMORY_LIMIT_0=2g", "CUDA_DEVICE_MEMORY_LIMIT_1=3g"' \
		"$high=1073741824 GPU-a/$high=2147483648 GPU-b/$high" 3221225472
	# By device nodes, as CDI puts them there.
	container '' ', "GVM_LIMIT=0:8G", "NVIDIA_VISIBLE_DEVICES=void"]}, "linux": {"devices": [{"path": "/dev/nvidiactl"},
		{"path": "/dev/nvidia0"}, {"path": "/dev/nvidia2"}'
	"$gvmd" hook --root root --gpus gpus <state && [ "$(cat root/cgroups)" = "+$cgroup GPU-b/$high=8589934592" ] ||
		fail "by nodes: $(cat root/cgroups)"
	# No GPU with that number: nothing.
	container '' ', "GVM_LIMIT=1:8G", "NVIDIA_VISIBLE_DEVICES=GPU-a"'
	"$gvmd" hook --root root --gpus gpus <state && [ ! -s root/cgroups ] || fail "no such GPU: $(cat root/cgroups)"
	# GPUs that cannot be told, as instances of MIG and the list of volumes of NVIDIA's plug-in.
	for visible in MIG-1 GPU-a,GPU-x 3 /var/run/nvidia-container-devices; do
		refuses "NVIDIA_VISIBLE_DEVICES=$visible: limits of single GPUs need numbers or UUIDs of GPUs" '' \
			"$one, \"NVIDIA_VISIBLE_DEVICES=$visible\"" --gpus gpus
	done
	refuses 'none: No such file or directory: limits of single GPUs need it' '' "$one" --gpus none

	# Several, in the order of annotations and then words.
	container '"gvm.compute.priority": "2", "gpu-memory": "2000"' ', "CUDA_DEVICE_SM_LIMIT=30"'
	"$gvmd" hook --root root <state
	[ "$(cat root/cgroups)" = "+$cgroup compute.priority=2 gmem.limit.high=2097152000 compute.weight=30" ] ||
		fail "several: $(cat root/cgroups)"
	# --ulimit memlock=-1, which NVIDIA's own pages ask for, is a number above those of json_int_t.
	container '"gpu-memory": "2000"' '], "rlimits": [{"type": "RLIMIT_MEMLOCK", "hard": 18446744073709551615, "soft": 18446744073709551615}'
	"$gvmd" hook --root root <state || fail "no limit of locked memory: $(cat bundle/config.json)"
	[ "$(cat root/cgroups)" = "+$cgroup $high=2097152000" ] || fail "no limit of locked memory: $(cat root/cgroups)"
	rm root/cgroups
	status=0
	"$gvmd" hook --root root <state 2>err || status=$?
	[ "$status" = 1 ] && grep -q 'gvm.ko is not loaded' err || fail "without the module: $(cat err)"
fi

# Nothing is asked for, or by a container that only holds a pod's namespaces, or all of a GPU, as HAMi writes it.
for annotations in '' '"other": "1"' '"io.kubernetes.cri.container-type": "sandbox", "gpu-memory": "2000"'; do
	container "$annotations" ', "CUDA_DEVICE_SM_LIMIT=0", "GVM_LIMIT="'
	"$gvmd" hook --root root <state || fail "$annotations"
	[ ! -s root/cgroups ] || fail "$annotations: it was written all the same"
done

refuses 'gpu-fraction=0.5 is a share of a GPU; the hook needs --memory' '"gpu-fraction": "0.5"' ''
refuses 'GVM_LIMIT=50% is a share' '' ', "GVM_LIMIT=50%"'
refuses 'gpu-fraction=1.5 is no limit' '"gpu-fraction": "1.5"' '' --memory 80G
refuses 'gpu-memory=much is no limit' '"gpu-memory": "much"' ''
refuses 'GVM_LIMIT=-1 is no limit' '' ', "GVM_LIMIT=-1"'
refuses 'GVM_LIMIT=16:1G is no limit' '' ', "GVM_LIMIT=0:8G,16:1G"'
refuses 'GVM_LIMIT=1: is no limit' '' ', "GVM_LIMIT=0:8G,1:"'
refuses 'CUDA_DEVICE_MEMORY_LIMIT_1=much is no limit' '' ', "CUDA_DEVICE_MEMORY_LIMIT_0=1g", "CUDA_DEVICE_MEMORY_LIMIT_1=much"'
refuses 'CUDA_DEVICE_SM_LIMIT=130 is no limit' '' ', "CUDA_DEVICE_SM_LIMIT=130"'
refuses 'gvm.gmem.limit.hihg: no control file' '"gvm.gmem.limit.hihg": "1G"' ''
refuses 'gvm.gmem.limit.high=1 G is no value' '"gvm.gmem.limit.high": "1 G"' ''
refuses 'gvm.gmem.current: no control file that can be written' '"gvm.gmem.current": "1G"' ''
expect 2 'the state of the container cannot be read' hook --root root </dev/null
# The last one is process 1 in 32 bits.
for pid in 0 -1 '"1"' 2147483648 4294967297; do
	echo "{\"pid\": $pid, \"bundle\": \"$work/none\"}" >state
	expect 2 'no pid or no bundle' hook --root root <state
done
echo "{\"pid\": 1, \"bundle\": \"$work/none\"}" >state
expect 1 'none/config.json' hook --root root <state
expect 2 "'much' is no size" hook --memory much </dev/null

# The hook for podman and CRI-O starts this program with words that it knows.
hook=$source/packaging/oci/gvm-hook.json
grep -q '"path": "/usr/bin/gvmd"' "$hook" || fail "$hook"
grep -q '"args": \["gvmd", "hook"\]' "$hook" || fail "$hook"
