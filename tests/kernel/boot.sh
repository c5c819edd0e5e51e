#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Boot a kernel in QEMU, without KVM, with a first process of our own, and judge what it and the
# kernel say on the console. Fails on a failed test point, on a plan that was not completed, and on
# anything that the kernel complains about. What it boots into:
#   guest    guest_init.c: gvm.ko from outside, and the tests of the core inside
#   fakegpu  fakegpu_init.c: gvm.ko on a GPU made of RAM. GVM_TEST_SEED=n repeats a run
#   replay   replay_init.c: the same GPU, which plays what is in the folder SCRIPTS
#   softgpu  softgpu_init.c: NVIDIA's nvidia-uvm.ko on a software GPU. Ends with 77, ctest's SKIP code,
#            if there is no nvidia-uvm.ko
#   hooked   hooked_init.c: the same with our hooks in it, and gvm.ko. MODULES is what nvidia/build.sh
#            made. It plays what is in the folder SCRIPTS, too, if there is one
#
#   boot.sh SOURCE MODULES VMLINUZ OUT [guest|fakegpu|replay|softgpu|hooked [CC [SCRIPTS]]]
set -eu

source=$1
modules=$2
vmlinuz=$3
out=$4
program=${5:-guest}
cc=${6:-cc}
scripts=${7:-}
tools=$source/kernel-port/fakegpu/tools
log=$out/console.log
seconds=${GVM_BOOT_SECONDS:-400}

. "$source/tests/kernel/vm.sh"

need cpio cpio
need "$cc" gcc
need_vm

# build NAME FLAGS LIBRARIES SOURCE...: a program or library of the machine, on all processors. FLAGS and LIBRARIES
# are lists of words without blanks.
build() {
	name=$1
	flags="$cc -std=gnu11 -Wall -Werror $2"
	libraries=$3
	shift 3
	objects=$out/objects/$name
	mkdir -p "$objects"
	printf '%s\n' "$@" | xargs -P "$(nproc)" -I '{}' sh -c \
		'exec $1 -c -o "$2/$(echo "$3" | tr / _).o" "$3"' sh "$flags" "$objects" '{}'
	# shellcheck disable=SC2086 # lists of words
	$flags -o "$out/root/$name" "$objects"/*.o $libraries
}

# compile NAME FLAGS SOURCE...: a program that needs no library of the machine
compile() {
	name=$1
	flags="-O2 -Wextra -static -I $source/kernel-port/linux -I $source/kernel-port/fakegpu"
	flags="$flags -I $source/kernel-port/fakegpu/tools $2"
	shift 2
	build "$name" "$flags" "" "$@"
}

copy_libraries() {
	ldd "$1" | grep -o '/[^ ]*' | while read -r library; do
		mkdir -p "$out/root${library%/*}"
		cp -L "$library" "$out/root$library"
	done
}

# make_bundle NAME ANNOTATIONS COMMAND [CGROUP]: a container of crun, with gvmd as its hook. Its program is gvm-fakegpu.
make_bundle() {
	mkdir -p "$out/root/bundles/$1/rootfs/dev" "$out/root/bundles/$1/rootfs/proc" "$out/root/bundles/$1/rootfs/sys"
	cp "$out/root/gvm-fakegpu" "$out/root/bundles/$1/rootfs/"
	cat >"$out/root/bundles/$1/config.json" <<END
{"ociVersion": "1.0.2", "annotations": {$2},
 "process": {"user": {"uid": 0, "gid": 0}, "args": ["/gvm-fakegpu", $3], "env": ["PATH=/"], "cwd": "/"},
 "root": {"path": "rootfs"},
 "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev/gvm_fakegpu0", "type": "bind", "source": "/dev/gvm_fakegpu0", "options": ["bind", "rw"]}],
 "hooks": {"createRuntime": [{"path": "/gvmd", "args": ["gvmd", "hook"]}]},
 "linux": {"cgroupsPath": "/tenants/${4:-$1}", "namespaces": [{"type": "pid"}, {"type": "mount"}]}}
END
}

# crun with its libraries, and containers for it.
make_runtime() {
	mkdir -p "$out/root/usr/bin" "$out/root/run"
	cp "$(command -v crun)" "$out/root/usr/bin/"
	copy_libraries "$out/root/usr/bin/crun"
	make_bundle limited '"gvm.gmem.limit.high": "24M", "gvm.compute.priority": "2"' \
		'"run", "--mib", "40", "--rounds", "0"'
	make_bundle wrong '"gvm.gmem.limit.high": "much"' '"info"'
	make_bundle silent '' '"info"'
	make_bundle below '"gvm.gmem.limit.high": "24M"' '"info"' pod/below
}

# gvmd with its libraries, since it loads plug-ins. It is compiled for any processor: QEMU's is an old one.
make_gvmd() {
	build gvmd "-O1 -fno-strict-aliasing -D_GNU_SOURCE -DGVMSIM_VERSION=\"guest\" -I $source/sim \
		-I $source/sim/core/include -I $source/sim/engine/port_threads" "-ljansson -ldl -lpthread" \
		"$source"/sim/gvmd/*.c "$source"/sim/gvmd/host/*.c "$source"/sim/core/*/*.c \
		"$source/sim/engine/port/alloc.c" "$source/sim/engine/port/common.c" \
		"$source/sim/engine/port/lock_order.c" "$source/sim/engine/port/rbtree.c" \
		"$source/sim/engine/port_threads/port_threads.c" "$source/sim/config/units.c" \
		"$source/sim/config/json_read.c" \
		"$source/sim/ctl/host_files.c" "$source/sim/engine/error.c" \
		"$source/sim/engine/guess.c" "$source/sim/terminal/command.c" "$source/sim/terminal/manual.c" \
		"$source/sim/terminal/program.c" "$source/sim/terminal/signals.c"
	copy_libraries "$out/root/gvmd"
	cp -r "$source/tests/kernel/policies" "$out/root/policies"
	for what in CRASH HANG; do
		"$cc" -shared -fPIC -D$what -I "$source/sim" "$source/tests/kernel/policies/misbehave.c" \
			-o "$out/root/policies/$(echo $what | tr '[:upper:]' '[:lower:]').so"
	done
}

# shared NAME SOURCE...: a library, for any processor: QEMU's is an old one
shared() {
	name=$1
	shift
	build "shim/$name" "-O1 -fPIC -fvisibility=hidden -fno-strict-aliasing -D_GNU_SOURCE -I $source/sim \
		-I $source/sim/core/include -I $source/sim/engine/port_threads -I $source/kernel-port/guardian \
		-I $source/kernel-port/linux -I $source/kernel-port/shim" \
		"-shared -Wl,-Bsymbolic -Wl,-soname,$name -ldl -lpthread" "$@"
}

# The shim, the CUDA driver library of its tests, and an application with their libraries.
make_shim() {
	mkdir -p "$out/root/shim"
	shared libcuda.so.1 "$source"/tests/shim/fake_*.c
	guardian=$(find "$source/kernel-port/guardian" -maxdepth 1 -name '*.c' ! -name main.c ! -name 'cmd_*.c' ! -name source.c)
	# shellcheck disable=SC2086 # a list of names without blanks
	shared libgvm_shim.so "$source"/kernel-port/shim/*.c $guardian "$source/sim/core/fence/address_fence.c" \
		"$source/sim/core/fence/fence_heap.c" "$source/sim/engine/error.c" "$source/sim/engine/port/alloc.c" \
		"$source/sim/engine/port/common.c" "$source/sim/engine/port/lock_order.c" "$source/sim/engine/port/rbtree.c" \
		"$source/sim/engine/port_threads/port_threads.c"
	build shim/application "-O1 -Wextra -D_GNU_SOURCE -I $source/kernel-port/shim -I $source/kernel-port/fakegpu \
		-I $source/kernel-port/linux -I $tools" "-ldl -lpthread" \
		"$source/tests/kernel/shim_application.c" "$tools/fakegpu_lib.c"
	for file in application libgvm_shim.so libcuda.so.1; do
		copy_libraries "$out/root/shim/$file"
	done
}

# compile_uvm TREE SOURCE...: init, which knows the ioctls of nvidia-uvm
compile_uvm() {
	uvm=$1
	shift
	compile init "-I $source/kernel-port/softgpu -isystem $uvm/nvidia-uvm -isystem $uvm/common/inc" \
		"$uvm/nvidia-uvm/nvCpuUuid.c" "$source"/tests/kernel/guest.c "$@"
	cp "$modules/softgpu.ko" "$modules/nvidia-uvm.ko" "$out/root/"
	cp "$source/tests/kernel/softgpu_reference.txt" "$out/root/reference.txt"
}

# The first process, static: the machine has few files beside it and the modules.
make_initramfs() {
	rm -rf "$out"
	mkdir -p "$out/root"
	if [ "$program" = softgpu ]; then
		compile_uvm "$modules/tree" "$source"/tests/kernel/softgpu_*.c
		return
	fi
	if [ "$program" = hooked ]; then
		others=$(find "$source/tests/kernel" -name 'softgpu_*.c' ! -name softgpu_init.c)
		# The tests of the fake GPU that run here, too: hooked_gpu.c is the GPU below them.
		for shared in guest rounds integrity isolation limits protection freeze kill children victim waits; do
			others="$others $source/tests/kernel/fakegpu_$shared.c"
		done
		# shellcheck disable=SC2086 # a list of names without blanks
		compile_uvm "$modules/tree" $others "$source"/tests/kernel/hooked_*.c \
			"$source/tests/kernel/replay_play.c" "$source/tests/kernel/replay_tenant.c"
		cp "$modules/gvm.ko" "$modules/gvm_nvidia.ko" "$out/root/"
		[ -z "$scripts" ] || cp -r "$scripts" "$out/root/scripts"
		return
	fi
	cp "$modules/gvm.ko" "$out/root/"
	if [ "$program" = replay ]; then
		compile init "" "$source"/tests/kernel/guest.c "$source"/tests/kernel/replay_*.c \
			"$source"/tests/kernel/fakegpu_guest.c "$source"/tests/kernel/fakegpu_gpu.c \
			"$tools"/fakegpu_lib.c
		cp "$modules/fakegpu/gvm_fakegpu.ko" "$out/root/"
		cp -r "$scripts" "$out/root/scripts"
	elif [ "$program" = fakegpu ]; then
		compile init "" "$source"/tests/kernel/guest.c "$source"/tests/kernel/inject.c \
			"$source"/tests/kernel/fakegpu_*.c "$tools"/fakegpu_lib.c
		compile gvm-fakegpu "" "$tools"/gvm_fakegpu.c "$tools"/fakegpu_lib.c
		case ${GVM_TEST:-policies} in
		policies) make_gvmd ;;
		runtime) make_gvmd && make_runtime ;;
		shim) make_shim ;;
		esac
		cp "$modules/fakegpu/gvm_fakegpu.ko" "$out/root/"
	else
		compile init "" "$source"/tests/kernel/guest*.c "$source"/tests/kernel/inject.c
		cp -r "$source/tests/fuzz/corpus/control" "$out/root/corpus"
		cp "$modules/gvm_selftest.ko" "$modules/coretest/gvm_coretest.ko" "$out/root/"
	fi
}

fail() {
	echo "---- the end of $log:" >&2
	tail -n 60 "$log" >&2
	echo "---- failed test points:" >&2
	grep -a 'tap: not ok' "$log" >&2 || true
	echo "kernel test: $1" >&2
	exit 1
}

# The log without what the kernel says of itself where its own allocations are made to fail (inject.c):
# that vmalloc() could not, that a module cannot be linked, files be made, its tracepoints be known.
without_injected() {
	awk '
		/^tap: # injection begins$/ { injecting = 1 }
		/^tap: # injection ends$/ { injecting = 0 }
		injecting && /: vmalloc error: / { skip_to = "^ </TASK>$"; skipped = 0 }
		injecting && /cut here/ { held = $0; next }
		held != "" {
			if (/^WARNING: .* at kernel\/trace\/trace_events\.c:/) {
				skip_to = "end trace"
				skipped = 0
			} else {
				print held
			}
			held = ""
		}
		skip_to != "" {
			if ($0 ~ skip_to || ++skipped == 100)
				skip_to = ""
			next
		}
		injecting && /^debugfs: out of free dentries/ { next }
		injecting && /^gvm[a-z_]*: Unknown symbol .* \(err -12\)$/ { next }
		injecting && /^kmemleak: Cannot allocate a scan area/ { next }
		{ print }
		END { if (held != "") print held }' "$1"
}

# What nvidia-uvm is known to do, without its trace (docs/softgpu.md): the end of a loop computes a number
# that is not used. With its asserts it says at an ECC error that this is fatal, and its later unmaps find that out.
# So it does where a part makes a channel fail.
# Two of its own tests have semaphores with values that cannot be, which fails asserts of every build; the test's point
# comes next.
without_known() {
	awk '
		/ update_completed_value_locked\[.* Assert failed, .*UVM_GPU_SEMAPHORE_MAX_JUMP/ ||
		/ uvm_channel_update_progress_with_max\[.* Assert failed, .*tracking_sem.queued_value/ {
			semaphores = semaphores $0 "\n"
			next
		}
		/^tap: / && semaphores != "" {
			if (!/ - (GPU_SEMAPHORE|CHANNEL)_SANITY: /)
				printf "%s", semaphores
			semaphores = ""
		}
		/^UBSAN: shift-out-of-bounds in .*\/nvidia-uvm\/uvm_perf_utils\.h:/ { skipping = 1; skipped = 0 }
		/ uvm_gpu_check_ecc_error\[.* Assert failed/ { skipping = ecc = 1; skipped = 0 }
		/^tap: # part / { part = $4 }
		/^tap: ok [0-9]* - [a-z]*: load softgpu: / { part = $5 }
		/ uvm_channel_check_errors\[.* Assert failed, condition 0 not true: Fatal error: / &&
			part ~ /^(channelerror|lost):?$/ { skipping = 1; skipped = 0 }
		ecc && / block_kill\[.* Assert failed, condition status == uvm_global_get_status/ { skipping = 1; skipped = 0 }
		skipping {
			if (/^ <\/TASK>$/ || ++skipped == 200)
				skipping = 0
			next
		}
		{ print }
		END { printf "%s", semaphores }'
}

# Returns whether there was no end to it. Leaves QEMU's status in $status.
boot_endlessly() {
	status=0
	boot "$seconds" "$vmlinuz" "$out/initramfs.cpio" "$parameters" >"$log" 2>&1 || status=$?
	[ "$status" = 124 ] || [ "$status" = 137 ]
}

if { [ "$program" = softgpu ] || [ "$program" = hooked ]; } && [ ! -f "$modules/nvidia-uvm.ko" ]; then
	echo "skipped: there is no $modules/nvidia-uvm.ko" >&2
	exit 77
fi
if [ "${GVM_TEST:-}" = runtime ] && ! command -v crun >/dev/null; then
	echo "skipped: crun is missing" >&2
	exit 77
fi
make_initramfs
(cd "$out/root" && find . | cpio --quiet -o -H newc -R 0:0) >"$out/initramfs.cpio"
# UVM maps host memory for a PCI device, whichever it is; each of three GPUs has one. It says itself what it lost. Not all parts of its
# test have run with slub_debug yet.
parameters=oops=panic
if [ "$program" = softgpu ] || [ "$program" = hooked ]; then
	vm_devices="-device pci-testdev -device pci-testdev -device pci-testdev"
	parameters="$parameters slub_debug=-"
fi
# A runtime enables the memory controller for its cgroups. The kernel then makes lists for them in calls of gvm.ko,
# which live as long as the cgroup, and look like objects that we have lost.
[ "${GVM_TEST:-}" != runtime ] || parameters="$parameters cgroup_disable=memory"
# A kernel that patches its code while it starts is stopped for ever by QEMU 7.2, now and then (see
# guest_mount()). None of our code has run by then.
if boot_endlessly && { grep -aq 'tap: begin' "$log" || boot_endlessly; }; then
	fail "no end within $seconds seconds"
fi
[ "$status" = 0 ] || fail "QEMU ended with status $status"

guest_log "$log" >"$out/guest.log"

complaint='WARNING|BUG|Oops|Call Trace|Kernel panic|general protection|INFO: |lockdep|[Ll]eak'
complaint="$complaint|refcount_t|list_(add|del) corruption|cut here|UBSAN|KASAN|segfault"
complaint="$complaint|Assert failed|debugfs: |books are broken|Poison|Redzone|disagrees about|Unknown symbol"
# Of softgpu.ko: the driver frees device memory twice, or memory that there is not.
complaint="$complaint|softgpu: (PMA page|the PMA has no)"
# The device "test" is one whose books a test breaks to see gvm_check() say so (core_world.c). What is
# lost the guest looks at itself (guest.c), and has a test point for.
expected='^tap: |^gvm_selftest: Unknown symbol|^gvm_coretest: test: books are broken: |^kmemleak: [0-9]* new suspected'
without_injected "$out/guest.log" >"$out/injected.log" || fail "cannot filter the log"
without_known <"$out/injected.log" >"$out/judged.log" || fail "cannot filter the log"
if grep -aE "$complaint" "$out/judged.log" | grep -avE "$expected"; then
	fail "the kernel complained"
fi

passed=$(grep -ac '^tap: ok ' "$out/guest.log" || true)
plan=$(sed -n 's/^tap: 1\.\.\([0-9]*\)$/\1/p' "$out/guest.log")
if grep -aq '^tap: not ok' "$out/guest.log"; then
	fail "test points failed"
fi
if [ -z "$plan" ] || [ "$plan" != "$passed" ] || [ "$plan" = 0 ]; then
	fail "passed $passed test points of a plan of ${plan:-none}"
fi
skipped=$(grep -ac '^tap: ok [0-9]* - test_.* # SKIP ' "$out/guest.log" || true)
echo "kernel test: $passed test points passed, $skipped of them by being skipped; $log"
