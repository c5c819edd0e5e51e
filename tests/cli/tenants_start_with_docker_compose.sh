#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# packaging/compose/compose.yaml is started by docker-compose and Docker's daemon: the limits are told to the module before the
# tenants run, and each tenant runs below its cgroup, with its devices and its program. Files and null devices take the place of
# the module's, and the image is made here: no network is used.
# Needs root, dockerd, docker-compose, runc and a static busybox. Usage: NAME.sh GVMSIM SOURCE
needs="dockerd docker docker-compose runc busybox"
# shellcheck source=tests/cli/daemons.inc
. "$(dirname "$0")/daemons.inc"

# The image: a shell, and a program in the place of gvm-fakegpu that says what it has, and stays.
cat >fakegpu.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void end(int signal)
{
	(void)signal;
	_exit(0);
}

int main(int argc, char **argv)
{
	signal(SIGTERM, end);
	for (int i = 1; i < argc; i++)
		printf("%s ", argv[i]);
	printf("| %s, %s\n", access("/dev/gvm_fakegpu0", F_OK) ? "no GPU" : "GPU",
	       access("/dev/gvm", F_OK) ? "no pressure" : "pressure");
	fflush(stdout);
	pause();
	return 0;
}
END
mkdir -p root/bin build/kernel-port module/gvm
cc -static -o build/kernel-port/gvm-fakegpu fakegpu.c
cp "$(command -v busybox)" root/bin/busybox # Debian's busybox-static
for name in sh mkdir; do
	ln -s busybox "root/bin/$name"
done
mkfifo module/gvm/cgroups

# Devices and the module's files of this host are others inside of these namespaces.
mkdir dev
mount -t tmpfs dev dev
mknod dev/gvm c 1 3
mknod dev/gvm_fakegpu0 c 1 3
for device in gvm gvm_fakegpu0; do
	[ -e /dev/$device ] || { : >/dev/$device && made="${made:-} /dev/$device"; }
	mount --bind dev/$device /dev/$device
done

dockerd --data-root "$work/data" --exec-root "$work/exec" -H "unix://$work/docker.sock" -p "$work/docker.pid" \
	--bridge none --iptables=false --ip-forward=false --storage-driver vfs --exec-opt native.cgroupdriver=cgroupfs \
	>dockerd.log 2>&1 &
daemon=$!
leave() {
	kill $daemon
	wait $daemon || true
	awk -v below="$work/" 'index($2, below) == 1 { print $2 }' /proc/mounts | sort -r | while read -r mount; do
		umount -l "$mount"
	done
	for device in ${made:-}; do
		umount "$device"
		rm "$device"
	done
	rmdir /sys/fs/cgroup/gvm-tenant-a/*/ /sys/fs/cgroup/gvm-tenant-b/*/ /sys/fs/cgroup/gvm-setup/*/ \
		/sys/fs/cgroup/gvm-tenant-a /sys/fs/cgroup/gvm-tenant-b /sys/fs/cgroup/gvm-setup 2>/dev/null || true
	rm -rf "$work"
}
trap leave EXIT
export DOCKER_HOST="unix://$work/docker.sock"
tries=0
until docker version >/dev/null 2>&1; do
	tries=$((tries + 1))
	kill -0 $daemon 2>/dev/null && [ $tries -lt 600 ] || fail "dockerd does not start: $(tail -n 5 dockerd.log)"
	sleep 0.2
done
tar -C root -c . | docker import - debian:12 >/dev/null

# The file as it is, but for the module's folder, the network, and rights that a container of this host may not give.
sed -e '/^    privileged: true$/d' -e "s,- /sys/kernel:/sys/kernel,- $work/module:/sys/kernel," \
	-e 's,^    image: debian:12,&\n    network_mode: none,' "$source/packaging/compose/compose.yaml" >compose.yaml
grep -c "network_mode" compose.yaml | grep -qx 3 || fail "services of compose.yaml"
cat module/gvm/cgroups >told &
reader=$!
exec 3>module/gvm/cgroups # so the reader sees both writers
compose() {
	GVM_BUILD=$work/build docker-compose -p gvm-test -f compose.yaml "$@"
}
compose up -d >out 2>&1 || fail "$(tail -n 20 out)"
exec 3>&-
wait $reader
printf '+/gvm-tenant-%s gmem.limit.high=%s\n' a 32M b 64M | cmp - told || fail "the module was told: $(cat told)"

# tenant NAME WORDS: it runs below its cgroup, with these arguments and the devices
tenant() {
	tries=0
	until compose logs --no-color "tenant-$1" 2>/dev/null | grep -q "| run .* | GPU, pressure$"; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] || fail "tenant $1: $(compose logs --no-color 2>&1)"
		sleep 0.2
	done
	compose logs --no-color "tenant-$1" | grep -qF "| $2 | GPU" || fail "tenant $1 has other arguments"
	[ "$(cat "/sys/fs/cgroup/gvm-tenant-$1"/*/cgroup.procs | wc -l)" = 1 ] || fail "tenant $1 is not below its cgroup"
}
tenant a "run --mib 48 --rounds 0"
tenant b "run --mib 48 --rounds 0 --order shuffled"
compose down >out 2>&1 || fail "$(cat out)"
