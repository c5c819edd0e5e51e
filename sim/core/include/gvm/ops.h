/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the core needs from a GPU. Two tables of calls, implemented by the simulator, by the fake
 * GPU of the kernel tests and (the first table only) by the glue to NVIDIA's driver.
 *
 * struct gvm_gpu_ops is what a GPU is to the service layer: its fault buffer and its TSGs. Its memory
 * is a manager's: struct gvm_memory_ops in gvm/memory.h. struct gvm_mmu_ops is what a manager that
 * moves pages itself, such as the block layer, needs of the hardware.
 * Unless a call says "atomic", it may sleep, and is made from process context without the
 * device's leaf lock.
 */
#ifndef GVM_OPS_H
#define GVM_OPS_H

#include "gvm/port.h"

struct gvm_device;

/* How a fault touched its page, in the order of intrusiveness that UVM uses. */
enum gvm_access {
	GVM_ACCESS_PREFETCH,
	GVM_ACCESS_READ,
	GVM_ACCESS_WRITE,
	GVM_ACCESS_ATOMIC,
};

/*
 * One replayable fault, as the fault buffer reports it (32-byte packets on Ampere; only what
 * the core decides on is kept here).
 */
struct gvm_fault {
	void *space; /* cookie of the address space, from the device */
	/*
	 * The device that the fault is of, where several share one fault buffer (the GPU instances of
	 * MIG); NULL: the fault handler's own.
	 */
	struct gvm_device *device;
	/* The hardware's record, for a precise cancel: the core passes it to cancel_fault untouched. */
	const void *packet;
	u64 va;	     /* bytes, aligned to a page */
	u32 tsg;     /* id of the TSG that faulted */
	u8 access;   /* enum gvm_access */
	u8 priority; /* set by the fault handler: whose faults are served first */
	int status;  /* set by service: 0, or why it cannot be serviced (-errno) */
};

/* The engines of a device that work in the order in which it was started on each. */
enum gvm_engine {
	GVM_ENGINE_IN,	  /* copies from host memory */
	GVM_ENGINE_OUT,	  /* copies to host memory */
	GVM_ENGINE_CLEAR, /* clearing device memory */
	GVM_ENGINES,
};

/*
 * Work in flight: on each engine, the sequence number of the last operation that is covered; 0
 * is none. Starting an operation raises the fence it is given, so that one fence can cover many.
 */
struct gvm_fence {
	u64 sequence[GVM_ENGINES];
};

/*
 * A look at a TSG. NVIDIA's channel RAM has the bits (NV_CHRAM_CHANNEL: BUSY, ON_ENG) from Ampere
 * on; the time is in the log of context switches that its FECS firmware writes to memory.
 */
struct gvm_tsg_sample {
	bool busy;	/* a channel has work queued or running */
	bool on_gpu;	/* its context is loaded, and may run */
	u64 runtime_ns; /* that it had the GPU and was not idle, waits for its faults included */
};

/* Calls of the service layer: one GPU with its fault buffer and its TSGs. */
struct gvm_gpu_ops {
	/*
	 * Take up to @max fault records from the fault buffer. Returns how many were written to
	 * @faults; 0 when the buffer is empty.
	 */
	u32 (*fetch_faults)(void *gpu, struct gvm_fault *faults, u32 max);
	/*
	 * @count faults of one address space are about to be serviced: the device keeps the space until
	 * space_leave. 0, or what all of these faults get for status: the space is going, and it is not
	 * entered. Both or neither are NULL.
	 */
	int (*space_enter)(void *gpu, void *space, u32 count);
	void (*space_leave)(void *gpu, void *space);
	/*
	 * Atomic, with GVM_PRIORITY_BATCHES: the compute.priority of the container that an address
	 * space belongs to, of which records have just been fetched.
	 */
	u8 (*space_priority)(void *gpu, const void *space);
	/*
	 * Give up a fault that cannot be serviced: its TSG dies, no other one is touched. If it was alive,
	 * the device counts that: gvm_container_count_death() with the fault's status.
	 */
	void (*cancel_fault)(void *gpu, const struct gvm_fault *fault);
	/*
	 * Wait for the device work of the batch, which @fence covers, drop stale records, let stalled
	 * accesses run again. Returns 0, -EINTR, or -ENODEV: the GPU is lost.
	 */
	int (*flush_and_replay)(void *gpu, const struct gvm_fence *fence);
	/*
	 * The fault handler has ended since the core's books of the device are broken: no fault is serviced
	 * any more, and the driver ends what waits for the GPU, as if that were lost. Or NULL.
	 */
	void (*give_up)(void *gpu);
	/*
	 * Sleep until the fault buffer has something. Returns 0, -EINTR (shutdown), or -ENODEV: the GPU
	 * is lost.
	 */
	int (*wait_for_faults)(void *gpu);

	/*
	 * RPCs to the GSP about one TSG. Each returns 0 or -errno; -ENODEV: the TSG is gone; -ENXIO: the
	 * GPU is lost. None waits for anything that a tenant can delay. Preempt asks a TSG that is off
	 * the runlist to leave the GPU, and returns at once (NVA06C_CTRL_CMD_PREEMPT without bWait):
	 * tsg_sample tells when it has left. From the request on the TSG makes no new access. Only
	 * accesses that have stalled already still finish, when their faults are serviced.
	 */
	int (*tsg_set_timeslice)(void *gpu, u32 tsg, u64 timeslice_us);
	int (*tsg_preempt)(void *gpu, u32 tsg);
	/*
	 * One RPC about @count TSGs, 1 to 64: off the runlist, with @preempt asked to leave the GPU as
	 * well (NV2080_CTRL_CMD_FIFO_DISABLE_CHANNELS without bOnlyDisableScheduling), or back on it.
	 * Those that are gone are passed over. Returns 0, -ENODEV (all are gone) or -errno, and
	 * nothing has been done.
	 */
	int (*tsgs_disable)(void *gpu, const u32 *tsgs, u32 count, bool preempt);
	int (*tsgs_enable)(void *gpu, const u32 *tsgs, u32 count);
	/*
	 * Atomic: what the device knows of a TSG without an RPC. Of one that is gone, *ret_sample is left
	 * as it is.
	 */
	void (*tsg_sample)(void *gpu, u32 tsg, struct gvm_tsg_sample *ret_sample);
};

/* One contiguous run of pages to move or clear, inside one block. */
struct gvm_page_run {
	void *space;	/* whose pages: the device's cookie of the address space */
	u32 chunk;	/* physical chunk on the device */
	u32 first_page; /* 0 to 31 */
	u32 page_count; /* 1 to 32 */
	u32 pieces;	/* copies that a copy engine needs for it; 0 is 1, too */
};

struct gvm_range;

/*
 * Calls of a manager that moves pages itself: the memory of one GPU. Operations on one chunk take
 * effect in the order in which they were started, whichever engine works on them: a chunk whose
 * copy out is still in flight can be freed, allocated and filled again without waiting.
 */
struct gvm_mmu_ops {
	/* Take a free chunk, the one that has been free longest. Returns 0, or -ENOMEM. */
	int (*chunk_alloc)(void *gpu, u32 *ret_chunk);
	/* Atomic: how many are free. Only for a manager that asks. */
	u32 (*free_chunks)(const void *gpu);
	/* Give a chunk back. No mapping of it may be left. */
	void (*chunk_free)(void *gpu, u32 chunk);
	/* Start copying a run of pages from host memory, and let @fence cover it. 0 or -errno. */
	int (*copy_in)(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence);
	/* Start copying a run of pages to host memory. */
	int (*copy_out)(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence);
	/*
	 * Nothing of block number @index of a range is in host memory any more: the device gives back what
	 * it keeps there, behind the copies that have been started. Range's lock held. Or NULL: host
	 * memory is not the device's.
	 */
	void (*host_free)(void *gpu, struct gvm_range *range, u32 index);
	/* Start clearing a run of pages: reused memory never shows another tenant's bytes. */
	int (*clear)(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence);
	/* Wait until a fence has passed. Returns 0 or -EINTR. */
	int (*fence_wait)(void *gpu, const struct gvm_fence *fence);
	/* Atomic: has it passed already? */
	bool (*fence_passed)(void *gpu, const struct gvm_fence *fence);
	/*
	 * Write the PTEs of @page_mask of the block at @va, backed by @chunk. They permit what
	 * @access needs: with less than GVM_ACCESS_WRITE, a write to them faults. What was mapped
	 * read-only may be mapped again to permit writes.
	 */
	void (*map)(void *gpu, void *space, u64 va, u32 chunk, u32 page_mask,
		    enum gvm_access access);
	/* Clear the PTEs of @page_mask of the block at @va and invalidate the TLBs. */
	void (*unmap)(void *gpu, void *space, u64 va, u32 page_mask);
	/*
	 * A thread is about to evict or hint a chunk that the core picked, and holds no lock: for a device
	 * that takes time for the driver's own work (the simulator). Or NULL.
	 */
	void (*evict_begin)(void *gpu);
};

#endif
