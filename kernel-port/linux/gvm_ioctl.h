/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * /dev/gvm: what a process can ask of gvm.ko for itself. For user space as well.
 *
 * GVM_IOCTL_PRESSURE_OPEN gives a descriptor by which the caller's own container hears of
 * memory pressure (Ghost's usermemfd). On it:
 *
 *   read()   takes the newest event, struct gvm_pressure_record; what came before it is
 *            overwritten. Waits for one. 0: the end, the container's last process or the GPU
 *            has gone. EAGAIN: none, and O_NONBLOCK. EINTR. EINVAL: less room than an event
 *            needs; it stays.
 *   poll()   POLLIN: read() would give an event or the end. POLLHUP: the end.
 */
#ifndef GVM_IOCTL_H
#define GVM_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Which descriptor is wanted. */
struct gvm_pressure_request {
	__u32 gpu;   /* number of the device: <gpu> in <tgid>/<gpu>/ */
	__u32 flags; /* O_CLOEXEC and O_NONBLOCK, or 0 */
};

/* What a read gives. */
struct gvm_pressure_record {
	__u64 target_bytes; /* so much is about to be evicted of the container */
	__u64 sequence;	    /* 1, 2...; a gap: as many were overwritten */
};

/*
 * Returns a descriptor. EINVAL: other flags. ENODEV: no such GPU. ESRCH: the caller's process
 * does not use it. ENOSPC: its container has as many listeners as it may. EMFILE, ENOMEM,
 * EFAULT.
 */
#define GVM_IOCTL_PRESSURE_OPEN _IOW('G', 0x50, struct gvm_pressure_request)

/* Kernels that the caller's process has launched since its last report, and that have ended. */
struct gvm_launch_report {
	__u32 gpu; /* the same in each report on one open file */
	__u32 reserved;
	__u64 submitted;
	__u64 ended;
};

/*
 * Count launches in gcgroup.stat of the caller's container. They belong to the open file: when
 * it is closed, or its process killed, those that have not ended count as ended. EBUSY: another
 * gpu than before. ENODEV, ESRCH, EFAULT as above. EINTR.
 */
#define GVM_IOCTL_LAUNCHES _IOW('G', 0x51, struct gvm_launch_report)

#endif
