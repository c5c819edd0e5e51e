/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The memory manager of a device: it owns the chunks, decides which pages are resident, copies
 * them, and writes PTEs. It is one table of calls, given with the device (struct
 * gvm_device_config). The service layer calls the table directly and does not know which
 * manager it is:
 *
 *     the core's block layer          gvm_block_memory_ops in gvm/block.h
 *     a model of NVIDIA's driver      sim/nvuvm: stock, the published GVM's patch to it, or
 *                                     the core's policy at its hooks
 *     NVIDIA's uvm_va_block           in the kernel: the same calls from its hooks
 *
 *     fault buffer -> service loop --- service ---> manager --- gvm_mmu_ops ---> PTEs, copies
 *                     evictors    --- evict ----->    |
 *                     control     --- limit_write ->  '--- charge, pick, touch ---> policy
 *
 * A call may sleep, and is made from process context and without any lock of the core, unless
 * its comment says otherwise. The manager takes its own locks inside the call. NVIDIA's driver
 * takes mmap_lock, the VA space's lock and the VA block's lock in service. In evict it takes
 * the victim's VA-block lock alone, so no caller of evict may hold one of these.
 */
#ifndef GVM_MEMORY_H
#define GVM_MEMORY_H

#include "gvm/ops.h"

struct gvm_container;
struct gvm_prefetch;
struct gvm_range;

/* Counts of what happened to the pages of ranges, ever. */
struct gvm_range_stats {
	u64 pages_copied_in;
	u64 pages_cleared;
	u64 evictions; /* chunks taken away */
};

/* A managed allocation that is to be made. */
struct gvm_range_config {
	struct gvm_container *container; /* the payer; the range takes a reference of its own */
	void *space;  /* the device's cookie of the address space, as in gvm_fault.space */
	u64 va;	      /* bytes, aligned to a block */
	u64 bytes;    /* at least 1; the last block may be partial */
	bool on_host; /* the application wrote it on the CPU: first touches copy it in */
	/* the range counts here, one thread at a time; borrowed; or NULL */
	struct gvm_range_stats *stats;
};

/* How to evict a chunk, and the result. */
struct gvm_eviction {
	/*
	 * Hand the chunk to the caller and do not free it: it is in no block and uncharged. The
	 * caller gives it to a block, or back with gvm_memory_ops.release.
	 */
	bool keep;
	/*
	 * Of gvm_evict_for() with GVM_NEED_CHARGE: the bytes that gvm_charge_reserve_bytes()
	 * has refused; 0: gvm_charge_reserve_chunk() has refused a chunk or a part of one.
	 */
	u64 bytes;
	u64 left_bytes; /* out: bytes that could not go; the chunk stays charged for them */
	u32 chunk;	/* out, gvm_evict_for() with keep: the chunk, or GVM_NO_CHUNK */
	/*
	 * In and out: raised to cover the copies of this eviction, which may be in flight.
	 * Clean data leaves without a copy, so earlier copies of the chunk may be in flight,
	 * too.
	 */
	struct gvm_fence fence;
};

/*
 * Device memory that is no page of a process: the buffers of its context, its page tables. It
 * is never a victim. Used by one thread at a time.
 */
struct gvm_unevictable {
	struct gvm_container *container; /* borrowed: outlives it */
	u64 bytes;			 /* asked for */
	u32 chunks;			 /* taken for them */
	u32 first_chunk; /* of a list that the manager keeps; GVM_NO_CHUNK: none */
};

/* The processors that can have the pages of a range. */
enum gvm_processor { GVM_PROCESSOR_CPU, GVM_PROCESSOR_GPU };

/* What an application tells the driver about all of a range (cuMemAdvise). */
enum gvm_advice {
	GVM_ADVICE_PREFER_CPU, /* SET_PREFERRED_LOCATION */
	GVM_ADVICE_PREFER_GPU,
	GVM_ADVICE_ACCESSED_BY_GPU, /* SET_ACCESSED_BY, once its memory has its contents */
	/*
	 * The same advice, given when the range was made. What the range has on the host comes
	 * by copies of the application that are still to be made (gvm_range_config.on_host).
	 */
	GVM_ADVICE_ACCESSED_BY_GPU_EARLY,
	/* SET_READ_MOSTLY: what comes in for a read keeps its copy on the host */
	GVM_ADVICE_READ_MOSTLY,
};

/* The calls. @memory is gvm_device_config.memory. "Or NULL": the manager may lack the call. */
struct gvm_memory_ops {
	/*
	 * init: make a range in the caller's memory, which stays until range_destroy. Returns
	 * 0, -EINVAL (its addresses, or a child's window has a part of them), -ENOMEM or -EIO
	 * (the device is dead). From here on faults find the range. destroy: unmap, uncharge
	 * and free all of it. Returns once the threads at work in the range have left. No
	 * access may be in flight.
	 */
	int (*range_init)(void *memory, struct gvm_range *range,
			  const struct gvm_range_config *config);
	void (*range_destroy)(void *memory, struct gvm_range *range);
	/*
	 * Atomic. An address space is about to go: from here on its faults find no range. The
	 * call does not wait for faults in service.
	 */
	void (*space_close)(void *memory, void *space);

	/*
	 * Make the pages of @count faults resident and mapped. The faults are of one address
	 * space, sorted by address, without duplicates, in any number of ranges. Makes room
	 * where the limit or the device is full, by gvm_evict_for() or in a way of its own.
	 * Sets each fault's status: 0; -EAGAIN (no room now, but soon: let it fault again);
	 * -EFAULT (in no range); -EDQUOT (no room within the container's limit); -ENOMEM (no
	 * chunk can go); or an eviction's or a copy's error. @fence is raised to cover the
	 * device work: wait for it before the replay. Calls for one device, all from its fault
	 * handler, never overlap.
	 */
	void (*service)(void *memory, void *space, struct gvm_fault *faults, u32 count,
			struct gvm_fence *fence);
	/* All faults of a batch have been serviced; the replay is next. Or NULL. */
	void (*batch_end)(void *memory);

	/*
	 * Atomic, under the device's leaf lock, and without a lock of the manager's own: would
	 * this chunk go now? The answer may be out of date when it is used. Evict is the step
	 * that confirms.
	 */
	bool (*evictable)(void *memory, u32 chunk);
	/*
	 * Move a picked chunk's pages out to host memory. On 0 the chunk is unmapped,
	 * uncharged, and free or (keep) the caller's. On 0 with left_bytes a part had to stay,
	 * and the chunk has been put back (gvm_clock_putback). -ENOENT: its owner gave it back
	 * meanwhile; nothing was handed over. Other errors (-EBUSY: in service; -EINTR, or a
	 * copy's error): the chunk has been put back, and its data is where it was, but for
	 * parts that had left before the error.
	 */
	int (*evict)(void *memory, u32 chunk, struct gvm_eviction *eviction);
	/* Atomic: free a chunk that evict handed over. */
	void (*release)(void *memory, u32 chunk);
	/*
	 * Atomic, under the device's leaf lock, and without a lock of the manager's own: the
	 * number of chunks that an allocation would find now. On a real GPU the driver, RM and
	 * other clients take chunks that are charged to no container, so the core cannot
	 * compute the number. NULL: every chunk is either charged or free.
	 */
	u32 (*free_chunks)(void *memory);
	/*
	 * With GVM_HINT_FAULTS: unmap a chunk and leave its data where it is, so that the next
	 * access to it faults. 0; -ENOENT: the chunk is in no block; -EBUSY: it is in service.
	 * NULL: the manager cannot do this, and the feature must be off.
	 */
	int (*hint)(void *memory, u32 chunk);

	/*
	 * With GVM_OWNER_PREFETCH: bring in up to GVM_PREFETCH_BATCH blocks of a container, and
	 * wait for their copies. Room comes from the container itself or from an unprotected
	 * one. A block that is resident, or for which there is no room, is left out. Returns 0,
	 * -EINTR or -ENODEV. NULL: the manager cannot do this.
	 */
	int (*prefetch)(void *memory, struct gvm_container *container,
			struct gvm_prefetch *blocks, u32 count);

	/*
	 * Unevictable memory, in whole chunks. Begin with gvm_unevictable_init(). Add takes
	 * @bytes more, and evicts for them as for a page. 0; -EDQUOT (more than gmem.limit.high
	 * allows, and no chunk of the container can go); -ENOMEM (the device is full, and no
	 * chunk can go); -EAGAIN (all chunks were in service for a second); -EINTR (the thread
	 * is being killed); or an eviction's error. On an error none of @bytes stays taken;
	 * only RM's memory (sim/nvuvm) stays until it is removed. Remove gives @bytes back, at
	 * most taken->bytes. The manager decides whether the memory is charged: NVIDIA's driver
	 * does not see the memory that RM takes.
	 */
	int (*unevictable_add)(void *memory, struct gvm_unevictable *taken, u64 bytes);
	void (*unevictable_remove)(void *memory, struct gvm_unevictable *taken, u64 bytes);

	/*
	 * gmem.limit.high of a container is about to become @bytes, and the writer can wait.
	 * The core reclaims after the limit holds. This call is for a manager that works
	 * before. Returns 0, or -EINTR: the limit keeps its old value. Or NULL.
	 */
	int (*limit_write)(void *memory, struct gvm_container *container, u64 bytes);

	/*
	 * Atomic. Does the manager alone bring usage down to gmem.limit.high, in its own way?
	 * The core then does not reclaim after a write of the limit. NULL: the core does.
	 */
	bool (*enforces_limit)(void *memory);

	/*
	 * gmem.limit.high of a container has been written: unmap its pages that are mapped from
	 * host memory for want of chunks. Their next accesses fault. Or NULL.
	 */
	void (*remote_end)(void *memory, const struct gvm_container *container);

	/*
	 * Move all of a range to the GPU or the CPU, and wait (cudaMemPrefetchAsync). 0;
	 * -EAGAIN: no room for all of it now; or an error that service gives a fault. NULL: the
	 * manager has no such call.
	 */
	int (*migrate)(void *memory, struct gvm_range *range, enum gvm_processor to);
	/*
	 * An application's advice on a range holds from now on. 0, -EINTR, -ENOMEM, or
	 * -EOPNOTSUPP: the manager does not know this advice. NULL: it knows none.
	 */
	int (*advise)(void *memory, struct gvm_range *range, enum gvm_advice advice);
	/*
	 * The application gives up the data of the whole pages between @offset and @offset +
	 * @bytes of a range (block/discard.c). The next touch finds zeros. Returns the bytes of
	 * device memory that became free. NULL: the manager has no such call.
	 */
	u64 (*discard)(void *memory, struct gvm_range *range, u64 offset, u64 bytes);
	/*
	 * Verify the manager's own books, for gvm_check(). Returns 0, or -EUCLEAN after logging
	 * the first broken invariant. Or NULL.
	 */
	int (*check)(void *memory);
};

/* Nothing taken yet. CONTEXT: atomic. */
static inline void gvm_unevictable_init(struct gvm_unevictable *taken,
					struct gvm_container *container)
{
	*taken =
		(struct gvm_unevictable){ .container = container, .first_chunk = GVM_NO_CHUNK };
}

#endif
