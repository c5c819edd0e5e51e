/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How user space drives a GPU made of RAM: /dev/gvm_fakegpu<n>. An open file is a context once it
 * has been created: an address space, and TSGs that run kernels in it. pread() and pwrite() at a
 * GPU virtual address are accesses by the GPU as well, fault by fault. All of it ends when the
 * file is closed.
 */
#ifndef GVM_FAKEGPU_H
#define GVM_FAKEGPU_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* TSGs that a context can have. */
#define GVM_FAKEGPU_TSGS_MAX 4

/*
 * The most that can be mapped at once, and mappings that a context can have (more: -ENOSPC). Addresses
 * are not used again before the context ends. Page tables are charged to the container: CREATE and MAP
 * return -EDQUOT when they do not fit its gmem.limit.high.
 */
#define GVM_FAKEGPU_MAP_MAX	 (64ull << 30)
#define GVM_FAKEGPU_MAPPINGS_MAX 256

struct gvm_fakegpu_create {
	__u32 group_tgid; /* whose container to join, in the caller's pid namespace; 0: nobody's */
	__u32 tsgs;	  /* 1 to GVM_FAKEGPU_TSGS_MAX */
};

/*
 * Mapped memory is zero at first, or holds the pattern of @seed in host memory. A context has at most
 * four times the GPU's memory of the second kind (more: -ENOMEM).
 */
#define GVM_FAKEGPU_MAP_ON_HOST 1u

struct gvm_fakegpu_map {
	__u64 bytes;
	__u64 seed;
	__u32 flags;
	__u32 reserved; /* 0 */
	__u64 ret_va;	/* aligned to 2 MiB */
};

/* A range of addresses, to be unmapped (va alone, as map gave it) or discarded. */
struct gvm_fakegpu_span {
	__u64 va;
	__u64 bytes;
};

/* What a kernel does to each page. */
enum gvm_fakegpu_op {
	GVM_FAKEGPU_FILL,	 /* store the pattern of the seed */
	GVM_FAKEGPU_VERIFY,	 /* count words that are not as in the pattern of the seed */
	GVM_FAKEGPU_VERIFY_ZERO, /* count words that are not 0 */
	GVM_FAKEGPU_OPS,
};

/* Which page comes after which. */
enum gvm_fakegpu_order {
	GVM_FAKEGPU_FORWARD,
	GVM_FAKEGPU_BACKWARD,
	GVM_FAKEGPU_SHUFFLED, /* each page once, in an order drawn by the seed */
	GVM_FAKEGPU_ORDERS,
};

/*
 * Run a kernel over [va, va + bytes), both multiples of 8, and wait for it. Errors: -EINTR: a
 * signal came, and the kernel was taken off the GPU; -EIO: the TSG died before; any other: what
 * the TSG has died of now: -EFAULT: not mapped; -EDQUOT, -ENOMEM: no memory to be had.
 */
struct gvm_fakegpu_launch {
	__u64 va;
	__u64 bytes;
	__u64 seed;
	__u32 op;	    /* enum gvm_fakegpu_op */
	__u32 order;	    /* enum gvm_fakegpu_order */
	__u32 stride_pages; /* touch each so many-th page of 64 KiB; 0 is 1 */
	__u32 tsg;	    /* which of the context's */
	__u64 ret_mismatches;
	__u64 ret_first_va; /* of the first mismatch that was found */
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
	__u64 switches; /* a TSG was taken off an SM that could have gone on */
	__u32 host_chunks; /* 2 MB of host memory each: where evicted blocks are, and what began there */
	__u32 reserved;
};

/* Chunks that RM's allocator wants: as many as ret_taken were taken from containers and given back. */
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
/* CHECK: 0, or -EUCLEAN: the books of the core are broken, and the log says where. */
#define GVM_FAKEGPU_INFO  _IOR('G', 6, struct gvm_fakegpu_info)
#define GVM_FAKEGPU_CHECK _IO('G', 7)

/*
 * What the driver of a GPU does. QUIESCE stops the core within so many microseconds (-ETIMEDOUT, -EBUSY),
 * RESUME starts it (-EINVAL). LOSE: the GPU is gone until the module is loaded again. SHARE: the
 * first TSG belongs to the container of this tgid as well (-ESRCH, -EPERM, -EBUSY).
 */
#define GVM_FAKEGPU_QUIESCE _IOW('G', 8, __u64)
#define GVM_FAKEGPU_RESUME  _IO('G', 9)
#define GVM_FAKEGPU_LOSE    _IO('G', 10)
#define GVM_FAKEGPU_TAKE    _IOWR('G', 11, struct gvm_fakegpu_take)
#define GVM_FAKEGPU_SHARE   _IOW('G', 12, __u32)

/*
 * The pattern: the word at an address, by Steele, Lea and Flood's SplitMix64, so that every word
 * differs from every other one's and from the same one's under another seed.
 */
static inline __u64 gvm_fakegpu_word(__u64 seed, __u64 va)
{
	__u64 z = seed * 0xd1342543de82ef95ull + (va >> 3) * 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

#endif
