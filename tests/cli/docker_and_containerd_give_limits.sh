#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Docker's daemon and containerd start containers with gvmd runtime around runc: gvm.ko knows the limit when the
# container's program starts. A file takes the place of the module's. The image is made here, and no network is used.
# Needs root, dockerd, docker, containerd, ctr and runc. Usage: NAME.sh GVMSIM SOURCE
needs="dockerd docker containerd ctr runc"
# shellcheck source=tests/cli/daemons.inc
. "$(dirname "$0")/daemons.inc"
gvmd=$(dirname "$gvmsim")/gvmd

own=/gvm-test-$(stat -c %i "$work") # cgroup; process numbers are those of the namespace

# The runtime as docs/containers.md has it, with a file in the place of the module's.
mkdir -p gvm root
sed -e "s|/usr/bin/gvmd runtime|$gvmd runtime --root $work/gvm --memory 80G|" "$source/packaging/oci/gvm-runtime" >gvm-runtime
chmod +x gvm-runtime

# The image: a program that shows what the module was told before.
cat >show.c <<'END'
#include <stdio.h>

int main(void)
{
	char text[4096];
	FILE *file = fopen("/gvm/cgroups", "r");

	printf("%s\n", file && fgets(text, sizeof(text), file) ? text : "nothing");
	return 0;
}
END
cc -static -o root/show show.c

dockerd --data-root "$work/data" --exec-root "$work/exec" -H "unix://$work/docker.sock" -p "$work/docker.pid" \
	--bridge none --iptables=false --ip-forward=false --storage-driver vfs --exec-opt native.cgroupdriver=cgroupfs \
	--cgroup-parent "$own" --add-runtime "gvm=$work/gvm-runtime" >dockerd.log 2>&1 &
daemon=$!
leave() {
	kill $daemon
	wait $daemon || true
	awk -v below="$work/" 'index($2, below) == 1 { print $2 }' /proc/mounts | sort -r | while read -r mount; do
		umount -l "$mount"
	done
	rmdir "/sys/fs/cgroup$own"/*/ "/sys/fs/cgroup$own" 2>/dev/null || true
	rm -rf "$work"
}
trap leave EXIT
docker() {
	command docker -H "unix://$work/docker.sock" "$@"
}
tries=0
until docker version >/dev/null 2>&1; do
	tries=$((tries + 1))
	kill -0 $daemon 2>/dev/null && [ $tries -lt 300 ] || fail "dockerd does not start: $(tail -n 5 dockerd.log)"
	sleep 0.2
done
tar -C root -c . | docker import - gvm-test >/dev/null

# started LINE WORD...: what the container's program has found
started() {
	line=$1
	shift
	: >gvm/cgroups
	"$@" >out 2>err || fail "$*: $(cat err)"
	grep -qxE "$line" out || fail "$*: '$(cat out)' is not '$line'"
	count=$((count + 1))
}

# refused WORD...: the container does not start, and the user reads why
refused() {
	: >gvm/cgroups
	! "$@" >out 2>err || fail "$*: it started"
	[ ! -s out ] || fail "$*: its program ran: $(cat out)"
	grep -q 'is no limit' err || fail "$*: it does not say why: $(cat err)"
	count=$((count + 1))
}

in_docker() {
	docker run --rm --runtime gvm --network none -v "$work/gvm:/gvm:ro" "$@" gvm-test /show
}

count=0
started nothing in_docker
started "\\+$own/[0-9a-f]+ gmem.limit.high=21474836480" in_docker -e GVM_LIMIT=20G
started "\\+$own/[0-9a-f]+ gmem.limit.high=3145728000" in_docker -e CUDA_DEVICE_MEMORY_LIMIT_0=3000m
started "\\+$own/tenants/[0-9a-f]+ gmem.limit.high=42949672960" in_docker --cgroup-parent "$own/tenants" -e GVM_LIMIT=50%
refused in_docker -e GVM_LIMIT=much
[ -z "$(docker ps -aq)" ] || fail "docker has containers left: $(docker ps -a)"

# containerd, which dockerd has started, with no Docker above it.
ctr() {
	command ctr -a "$work/exec/containerd/containerd.sock" -n "${own#/}" "$@"
}
docker save gvm-test >image.tar
ctr images import image.tar >/dev/null
in_containerd() {
	ctr run --rm --snapshotter native --cpu-shares 0 --runc-binary "$work/gvm-runtime" \
		--mount "type=bind,src=$work/gvm,dst=/gvm,options=rbind:ro" "$@" docker.io/library/gvm-test:latest one /show
}
started nothing in_containerd
started "\\+$own/one gmem.limit.high=32212254720" in_containerd --env GVM_LIMIT=30G
started "\\+$own/one gmem.limit.high=42949672960" in_containerd --annotation gpu-fraction=0.5
started "\\+$own/one compute.priority=2" in_containerd --annotation gvm.compute.priority=2
refused in_containerd --annotation gpu-fraction=5
[ -z "$(ctr containers ls -q)" ] || fail "containerd has containers left: $(ctr containers ls)"
echo "$count containers of Docker $(docker version -f '{{.Server.Version}}') and its containerd"
