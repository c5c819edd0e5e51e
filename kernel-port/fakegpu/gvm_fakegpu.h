/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The user-space interface of a GPU made of RAM: /dev/gvm_fakegpu<n>. CREATE makes an open file
 * a context: an address space, and TSGs that run kernels in it. pread() and pwrite() at a GPU
 * virtual address are accesses by the GPU as well, with its faults. The context ends when the
 * file is closed.
 */
#ifndef GVM_FAKEGPU_H
#define GVM_FAKEGPU_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include "gvm_fakegpu_word.h"

/* TSGs that a context can have. */
#define GVM_FAKEGPU_TSGS_MAX 4

/*
 * The largest mapping, and the number of mappings that a context can have (more: -ENOSPC).
 * Addresses are not used again before the context ends. Page tables are charged to the
 * container: CREATE and MAP return -EDQUOT when the tables do not fit its gmem.limit.high.
 */
#define GVM_FAKEGPU_MAP_MAX	 (64ull << 30)
#define GVM_FAKEGPU_MAPPINGS_MAX 256

struct gvm_fakegpu_create {
	__u32 group_tgid; /* join this process's container (caller's pid namespace); 0: none */
	__u32 tsgs;	  /* 1 to GVM_FAKEGPU_TSGS_MAX */
};

/*
 * Mapped memory is zero at first. With this flag it begins in host memory, with the pattern of
 * @seed; a context has at most four times the GPU's memory of this kind (more: -ENOMEM).
 */
#define GVM_FAKEGPU_MAP_ON_HOST 1u

struct gvm_fakegpu_map {
	__u64 bytes;
	__u64 seed;
	__u32 flags;
	__u32 reserved; /* 0 */
	__u64 ret_va;	/* aligned to 2 MiB */
};

/*
 * A range of addresses to discard, or to unmap: then va is the ret_va of MAP, and bytes is not
 * used.
 */
struct gvm_fakegpu_span {
	__u64 va;
	__u64 bytes;
};

/* What a kernel does to each page. */
enum gvm_fakegpu_op {
	GVM_FAKEGPU_FILL,	 /* store the pattern of the seed */
	GVM_FAKEGPU_VERIFY,	 /* count words that differ from the pattern of the seed */
	GVM_FAKEGPU_VERIFY_ZERO, /* count words that are not 0 */
	GVM_FAKEGPU_OPS,
};

/* The order of pages. */
enum gvm_fakegpu_order {
	GVM_FAKEGPU_FORWARD,
	GVM_FAKEGPU_BACKWARD,
	GVM_FAKEGPU_SHUFFLED, /* each page once, in an order that the seed gives */
	GVM_FAKEGPU_ORDERS,
};

/* Addresses that one instruction of a warp can have. */
#define GVM_FAKEGPU_TOGETHER_MAX 32u

/*
 * Run a kernel over [va, va + bytes), both multiples of 8, and wait for it. With together = n
 * the range has n equal parts of whole pages, and each instruction touches the same place of
 * all of them. It finishes when all these pages are mapped at once. Errors: -EINTR: a
 * signal came, and the kernel was taken off the GPU; -EIO: the TSG died before; any other
 * error: the TSG died of it now, such as -EFAULT: not mapped; -EDQUOT, -ENOMEM: no memory.
 */
struct gvm_fakegpu_launch {
	__u64 va;
	__u64 bytes;
	__u64 seed;
	__u32 op;	    /* enum gvm_fakegpu_op */
	__u32 order;	    /* enum gvm_fakegpu_order */
	__u32 stride_pages; /* touch every n-th page of 64 KiB; 0 means 1 */
	__u32 tsg;	    /* index of the context's TSG */
	__u32 together;	    /* parts of the range that one instruction touches; 0 means 1 */
	__u32 reserved;	    /* 0 */
	__u64 ret_mismatches;
	__u64 ret_first_va; /* address of the first mismatch found */
	/* the longest time from a fault to the access that then succeeded */
	__u64 ret_fault_ns;
};

/* The GPU and what it has done. */
struct gvm_fakegpu_info {
	__u32 gpu; /* <gpu> of /sys/kernel/debug/gvm/<tgid>/<gpu>/ */
	__u32 chunks;
	__u32 free_chunks;
	__u32 sms;
	__u64 bytes_in;
	__u64 bytes_out;
	__u64 bytes_cleared;
	__u64 faults;
	__u64 lost_faults; /* of these, not recorded: the buffer was full */
	__u64 replays;
	__u64 switches;		 /* a TSG left an SM with work left */
	__u32 host_chunks;	 /* 2 MB of host memory each, for blocks that have data there */
	__u32 partial_evictions; /* a part of the chunk stayed: its mapping was in service */
};

/*
 * Chunks that RM's allocator wants. ret_taken of them were taken from containers and given
 * back.
 */
struct gvm_fakegpu_take {
	__u32 first;
	__u32 count;
	__u32 ret_taken;
	__u32 reserved; /* 0 */
};

#define GVM_FAKEGPU_CREATE  _IOW('G', 1, struct gvm_fakegpu_create)
#define GVM_FAKEGPU_MAP	    _IOWR('G', 2, struct gvm_fakegpu_map)
#define GVM_FAKEGPU_UNMAP   _IOW('G', 3, struct gvm_fakegpu_span)
#define GVM_FAKEGPU_DISCARD _IOW('G', 4, struct gvm_fakegpu_span)
#define GVM_FAKEGPU_LAUNCH  _IOWR('G', 5, struct gvm_fakegpu_launch)
/* CHECK: 0, or -EUCLEAN: the books of the core are broken, and the log has the invariant. */
#define GVM_FAKEGPU_INFO  _IOR('G', 6, struct gvm_fakegpu_info)
#define GVM_FAKEGPU_CHECK _IO('G', 7)

/*
 * Tasks of a GPU's driver. QUIESCE stops the core; its argument is the longest wait in
 * microseconds (-ETIMEDOUT, -EBUSY). RESUME starts it again (-EINVAL). LOSE: the GPU is gone
 * until the module is loaded again. TAKE: RM takes chunks by force (-EINVAL). SHARE: the
 * container of this tgid uses the first TSG as well (-ESRCH, -EPERM, -EBUSY).
 */
#define GVM_FAKEGPU_QUIESCE _IOW('G', 8, __u64)
#define GVM_FAKEGPU_RESUME  _IO('G', 9)
#define GVM_FAKEGPU_LOSE    _IO('G', 10)
#define GVM_FAKEGPU_TAKE    _IOWR('G', 11, struct gvm_fakegpu_take)
#define GVM_FAKEGPU_SHARE   _IOW('G', 12, __u32)

#endif
