# SPDX-License-Identifier: MIT OR GPL-2.0
# shellcheck shell=sh
# The virtual machine, for the scripts that boot one. To be sourced.

need() {
	if ! command -v "$1" >/dev/null; then
		echo "$1 is missing: install the package $2" >&2
		exit 1
	fi
}

need_vm() {
	need qemu-system-x86_64 qemu-system-x86
	need timeout coreutils
}

# boot SECONDS VMLINUZ INITRAMFS [PARAMETER...]: the console on standard output.
# slub_debug: a use after free finds poison, and allocations know who made them.
# init_on_alloc=0: memory that a driver forgets to clear shows what was in it.
# preempt=full: more places at which two threads can meet. nowatchdog: QEMU may run slowly on a
# busy machine, which is no fault of ours; and no_timer_check: at boot the kernel counts interrupts of
# the timer, and panics if QEMU was not let run meanwhile. A thread that cannot be killed for long is
# reported. What the kernel does not know, such as GVM_TEST_SEED, it puts into the environment of the
# first process; what of these is in ours gets there. vm_devices: options of QEMU for devices.
# GVM_BOOT_MEMORY: of the machine, 1G by default.
# GVM_BOOT_ICOUNT=1: one processor, and a nanosecond is an instruction, so that times are counts that repeat.
boot() {
	limit=$1
	kernel=$2
	initramfs=$3
	shift 3
	for parameter in $(env | grep -E '^GVM_TEST(_LEAVE_OUT)?=[a-z,]+$|^GVM_TEST_[A-Z_]+=[0-9a-fx]+$'); do
		set -- "$@" "$parameter"
	done
	processors="-accel tcg,thread=multi -smp 2"
	[ -z "${GVM_BOOT_ICOUNT:-}" ] ||
		processors="-accel tcg,thread=single -smp 1 -icount shift=0,sleep=off -rtc clock=vm"
	# shellcheck disable=SC2086 # vm_devices and processors are lists of words
	timeout --kill-after=10 "$limit" qemu-system-x86_64 $processors \
		-m "${GVM_BOOT_MEMORY:-1G}" ${vm_devices:-} -nodefaults -no-user-config -nographic -no-reboot -serial stdio \
		-kernel "$kernel" -initrd "$initramfs" \
		-append "console=ttyS0 panic=-1 printk.devkmsg=on slub_debug=FZPU init_on_alloc=0 preempt=full nowatchdog \
no_timer_check sysctl.kernel.hung_task_timeout_secs=40 rcupdate.rcu_cpu_stall_suppress=1 mitigations=off \
rdinit=/init $*" </dev/null
}

# The log without time stamps and carriage returns, from the first word of our own on: what the
# kernel says of its (emulated) processor before that is none of our business.
guest_log() {
	tr -d '\r' <"$1" | sed 's/^\[ *[0-9.]*\] //' | sed -n '/^tap: begin$/,$p'
}
