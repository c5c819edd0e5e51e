/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * /dev/gvm: what a process can ask of gvm.ko for itself. For user space as well.
 *
 * GVM_IOCTL_CHILD_OPEN divides the caller's container by addresses, for a process that serves
 * several tenants in one address space. See struct gvm_child_request.
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
 * does not use it. ENOSPC: its container has as many listeners as it may. EIO: the GPU is given
 * up. EMFILE, ENOMEM, EFAULT.
 */
#define GVM_IOCTL_PRESSURE_OPEN _IOW('G', 0x50, struct gvm_pressure_request)

/* Kernels that the caller's process has launched since its last report, and that have ended. */
struct gvm_launch_report {
	__u32 gpu;	/* the same in each report on one open file */
	__u32 reserved; /* 0 */
	__u64 submitted;
	__u64 ended;
};

/*
 * Count launches in gcgroup.stat of the caller's container. They belong to the open file. When
 * it is closed, its process is killed, or its process reports from another container, those that
 * have not ended count as ended. EBUSY: another gpu than before, while the caller is in the same
 * container there. EINVAL: reserved is not 0. ENODEV, ESRCH, EFAULT as above. EINTR.
 */
#define GVM_IOCTL_LAUNCHES _IOW('G', 0x51, struct gvm_launch_report)

/* A child of the caller's container: <tgid>/<gpu>/child.<number>/ has its control files. */
struct gvm_child_request {
	__u32 gpu;
	__u32 number;
	__u64 va; /* first address of its window, a multiple of 2 MiB; CLOSE, RESIZE: unused */
	__u64 bytes; /* of the window, a multiple of 2 MiB; CLOSE: unused */
};

/*
 * OPEN: managed memory that the caller allocates in the window from now on is the child's. An
 * allocation that lies in the window in part only is refused. The parent's limits hold for the
 * sum of its children. In sysfs the child's files belong to the caller's user. RESIZE: the
 * window ends elsewhere; memory that the child has stays the child's. CLOSE: the files and the
 * limits are gone. Memory that the child has left counts for the parent until it is freed. The
 * end of the address space closes all of its children.
 *
 * Errors: EINVAL: the window is empty, wraps or is not of whole 2 MiB. EEXIST: the number, or
 * some of the addresses, are those of another child. ENOSPC: the container has 64. ENOENT: the
 * caller has no such child, or it is being closed. EOPNOTSUPP: the GPU's driver does not name
 * the caller's address space. ENOTUNIQ: the caller has several on this GPU. EIO: the GPU is
 * given up. ENODEV, ESRCH, EFAULT, ENOMEM as above.
 */
#define GVM_IOCTL_CHILD_OPEN   _IOW('G', 0x52, struct gvm_child_request)
#define GVM_IOCTL_CHILD_RESIZE _IOW('G', 0x53, struct gvm_child_request)
#define GVM_IOCTL_CHILD_CLOSE  _IOW('G', 0x54, struct gvm_child_request)

#endif
