#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Real containers, by crun, runc and podman where a host has them, with gvmd hook as their OCI hook: gvm.ko knows the
# limit when the container's program starts. A file takes the place of the module's; with the module itself:
# kernel_containers_get_their_limits. Needs root. Usage: NAME.sh GVMSIM SOURCE
if [ -z "${IN_NAMESPACE:-}" ]; then
	if [ "$(id -u)" != 0 ] || ! unshare --mount true 2>/dev/null; then
		echo "skipped: only root can start containers here"
		exit 77
	fi
	# Mounts of ours end with the namespace.
	IN_NAMESPACE=1 exec unshare --mount sh "$0" "$@"
fi
# shellcheck source=tests/cli/common.inc
. "$(dirname "$0")/common.inc"
gvmd=$(dirname "$gvmsim")/gvmd
# The last words of podman may come after its end.
trap 'rm -rf "$work" 2>/dev/null || { sleep 1; rm -rf "$work"; }' EXIT

# Some hosts have the hierarchy of version 2 beside those of version 1. A container of GVM is one of version 2.
if [ "$(stat -f -c %T /sys/fs/cgroup)" != cgroup2fs ]; then
	umount -R /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup || { echo "skipped: no cgroups of version 2"; exit 77; }
fi

# The hook, with a file in the place of the module's.
mkdir -p gvm bundle/rootfs/proc bundle/rootfs/dev bundle/rootfs/sys bundle/rootfs/gvm hooks
cat >hook.sh <<END
#!/bin/sh
: >$work/gvm/cgroups
exec $gvmd hook --root $work/gvm --memory 80G
END
chmod +x hook.sh
sed -e "s|/usr/bin/gvmd|$work/hook.sh|" "$source/packaging/oci/gvm-hook.json" >hooks/gvm-hook.json

# The container's program shows what the module was told before.
cat >show.c <<'END'
#include <stdio.h>

int main(void)
{
	char text[4096];
	FILE *file = fopen("/gvm/cgroups", "r");

	if (!file || !fgets(text, sizeof(text), file))
		return 1;
	printf("%s\n", text);
	return 0;
}
END
cc -static -o bundle/rootfs/show show.c

# bundle ANNOTATIONS ENVIRONMENT
bundle() {
	cat >bundle/config.json <<END
{"ociVersion": "1.0.2", "annotations": {$1},
 "process": {"user": {"uid": 0, "gid": 0}, "args": ["/show"], "env": ["PATH=/"$2], "cwd": "/"},
 "root": {"path": "rootfs"},
 "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/gvm", "type": "bind", "source": "$work/gvm", "options": ["rbind", "ro"]}],
 "hooks": {"createRuntime": [{"path": "$work/hook.sh"}]},
 "linux": {"cgroupsPath": "/gvm-test-$$/tenant", "namespaces": [{"type": "pid"}, {"type": "mount"}]}}
END
}

started=0
for runtime in crun runc; do
	command -v "$runtime" >/dev/null || continue
	for words in '"gvm.gmem.limit.high": "20G"||20G' '"gpu-fraction": "0.5"||42949672960' \
		'|, "CUDA_DEVICE_MEMORY_LIMIT_0=3000m"|3145728000'; do
		annotations=${words%%|*}
		limit=${words##*|}
		environment=${words#*|}
		rm -rf gvm/*
		bundle "$annotations" "${environment%|*}"
		"$runtime" --root "$work/$runtime" run --bundle bundle "gvm-$$" >out 2>err || fail "$runtime: $(cat err)"
		[ "$(cat out)" = "+/gvm-test-$$/tenant gmem.limit.high=$limit" ] || fail "$runtime, $words: $(cat out err)"
		started=$((started + 1))
	done
	# A container whose limit cannot be set does not start, and the user reads why.
	rm -rf gvm/*
	bundle '"gpu-fraction": "7"' ''
	if "$runtime" --root "$work/$runtime" run --bundle bundle "gvm-$$" >out 2>err; then
		fail "$runtime starts a container without its limit"
	fi
	[ ! -s out ] || fail "$runtime: the program ran: $(cat out)"
	# crun says that the hook failed, runc says why, too.
	grep -q 'hook' err || fail "$runtime does not name the hook: $(cat err)"
	[ "$runtime" = crun ] || grep -q 'gpu-fraction=7 is no limit' err || fail "$runtime does not say why: $(cat err)"
done
if command -v podman >/dev/null && command -v crun >/dev/null; then
	rm -rf gvm/*
	podman --root "$work/podman" --runroot "$work/podman-run" --tmpdir "$work/podman-tmp" --runtime crun \
		--cgroup-manager cgroupfs --events-backend none --storage-driver vfs --hooks-dir "$work/hooks" \
		run --rm --network none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --privileged --pids-limit -1 --log-driver none --annotation gvm.gmem.limit.high=20G -v "$work/gvm:/gvm:ro" \
		--rootfs "$work/bundle/rootfs" /show >out 2>err || fail "podman: $(cat err)"
	grep -qx '+/.* gmem.limit.high=20G' out || fail "podman: $(cat out err)"
	started=$((started + 1))
fi
rmdir "/sys/fs/cgroup/gvm-test-$$" 2>/dev/null || true
[ "$started" != 0 ] || { echo "skipped: neither crun nor runc is here"; exit 77; }
echo "$started containers started with their limits"
