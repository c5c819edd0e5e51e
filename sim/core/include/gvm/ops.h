/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the core needs from a GPU: two tables of calls. The simulator and the fake GPU of the
 * kernel tests implement both, the glue to NVIDIA's driver the first one only.
 *
 * struct gvm_gpu_ops is for the service layer: the GPU's fault buffer and its TSGs. The GPU's
 * memory belongs to a manager: struct gvm_memory_ops in gvm/memory.h. struct gvm_mmu_ops is for
 * a manager that moves pages itself, such as the block layer. Unless a call says "atomic", it
 * may sleep, and is made from process context without the device's leaf lock.
 */
#ifndef GVM_OPS_H
#define GVM_OPS_H

#include "gvm/port.h"

struct gvm_device;

/* The access that faulted, in UVM's order of intrusiveness. */
enum gvm_access {
	GVM_ACCESS_PREFETCH,
	GVM_ACCESS_READ,
	GVM_ACCESS_WRITE,
	GVM_ACCESS_ATOMIC,
};

/*
 * One replayable fault, as the fault buffer reports it. Ampere's packets have 32 bytes; only
 * the fields that the core uses are here.
 */
struct gvm_fault {
	void *space; /* cookie of the address space, from the device */
	/*
	 * The device of the fault, where several devices share one fault buffer (the GPU
	 * instances of MIG); NULL: the fault handler's own.
	 */
	struct gvm_device *device;
	/*
	 * The hardware's record, for a precise cancel: the core passes it to cancel_fault
	 * untouched.
	 */
	const void *packet;
	u64 va;	     /* bytes, aligned to a page */
	u32 tsg;     /* id of the TSG that faulted */
	u8 access;   /* enum gvm_access */
	u8 priority; /* set by the fault handler: smaller ones are served first */
	int status;  /* set by service: 0, or the reason why it cannot be serviced (-errno) */
};

/* The engines of a device. Each works in the order in which its operations were started. */
enum gvm_engine {
	GVM_ENGINE_IN,	  /* copies from host memory */
	GVM_ENGINE_OUT,	  /* copies to host memory */
	GVM_ENGINE_CLEAR, /* clearing device memory */
	GVM_ENGINES,
};

/*
 * Work in flight: for each engine, the sequence number of the last operation that the fence
 * covers; 0: none. A call that starts an operation raises the fence that it is given, so one
 * fence can cover many.
 */
struct gvm_fence {
	u64 sequence[GVM_ENGINES];
};

/*
 * A look at a TSG. NVIDIA's channel RAM has the bits (NV_CHRAM_CHANNEL: BUSY, ON_ENG) from
 * Ampere on; the time is in the log of context switches that its FECS firmware writes to
 * memory.
 */
struct gvm_tsg_sample {
	bool busy;	/* a channel has work queued or running */
	bool on_gpu;	/* its context is loaded, and may run */
	u64 runtime_ns; /* time on the GPU and not idle; waits for its faults count */
};

/* Calls of the service layer: one GPU with its fault buffer and its TSGs. */
struct gvm_gpu_ops {
	/*
	 * Take up to @max fault records from the fault buffer. Returns how many were written to
	 * @faults; 0 when the buffer is empty.
	 */
	u32 (*fetch_faults)(void *gpu, struct gvm_fault *faults, u32 max);
	/*
	 * @count faults of one address space are about to be serviced: the device keeps the
	 * space until space_leave. Returns 0, or an error, which becomes the status of these
	 * faults: the space is going, and it is not entered. Either both are NULL or none.
	 */
	int (*space_enter)(void *gpu, void *space, u32 count);
	void (*space_leave)(void *gpu, void *space);
	/*
	 * Atomic, with GVM_PRIORITY_BATCHES: the compute.priority of an address space's
	 * container. Records of the space have just been fetched.
	 */
	u8 (*space_priority)(void *gpu, const void *space);
	/*
	 * Give up a fault that cannot be serviced: its TSG dies, and no other TSG. If the TSG
	 * was alive, the device counts its death: gvm_container_count_death() with the fault's
	 * status.
	 */
	void (*cancel_fault)(void *gpu, const struct gvm_fault *fault);
	/*
	 * Wait for the device work of the batch, which @fence covers, drop stale records, and
	 * let stalled accesses run again. Returns 0, -EINTR, or -ENODEV: the GPU is lost.
	 */
	int (*flush_and_replay)(void *gpu, const struct gvm_fence *fence);
	/*
	 * The core's books of the device are broken and the fault handler has ended, so no
	 * fault is serviced any more. The driver ends all waits for the GPU, as for a lost GPU.
	 * Or NULL.
	 */
	void (*give_up)(void *gpu);
	/*
	 * Sleep until the fault buffer has something. Returns 0, -EINTR (shutdown), or -ENODEV:
	 * the GPU is lost.
	 */
	int (*wait_for_faults)(void *gpu);

	/*
	 * RPCs to the GSP about one TSG. Each returns 0 or -errno; -ENODEV: the TSG is gone;
	 * -ENXIO: the GPU is lost. None waits for anything that a tenant can delay. Preempt
	 * asks a TSG that is off the runlist to leave the GPU, and returns at once
	 * (NVA06C_CTRL_CMD_PREEMPT without bWait). tsg_sample tells when the TSG has left.
	 * After the request the TSG makes no new access. Only accesses that have stalled
	 * already finish, when their faults are serviced.
	 */
	int (*tsg_set_timeslice)(void *gpu, u32 tsg, u64 timeslice_us);
	int (*tsg_preempt)(void *gpu, u32 tsg);
	/*
	 * One RPC about @count TSGs, 1 to 64. disable: take them off the runlist, and with
	 * @preempt ask them to leave the GPU as well (NV2080_CTRL_CMD_FIFO_DISABLE_CHANNELS
	 * without bOnlyDisableScheduling). enable: put them back. TSGs that are gone are passed
	 * over. Returns 0; or -ENODEV (all are gone) or another -errno, and the RPC has changed
	 * nothing.
	 */
	int (*tsgs_disable)(void *gpu, const u32 *tsgs, u32 count, bool preempt);
	int (*tsgs_enable)(void *gpu, const u32 *tsgs, u32 count);
	/*
	 * Atomic: the device's knowledge of a TSG, without an RPC. May read a register, so it
	 * is not called while the device is quiesced. Leaves *ret_sample as it is if the TSG is
	 * gone.
	 */
	void (*tsg_sample)(void *gpu, u32 tsg, struct gvm_tsg_sample *ret_sample);
	/*
	 * Atomic: the number of accesses that a TSG has finished, ever; 0: it is gone. An
	 * access that waits for its fault has not finished. Or NULL: the device cannot count,
	 * and the block layer does not look for accesses that never finish (block/remote.c).
	 */
	u64 (*tsg_accesses)(void *gpu, u32 tsg);
};

struct gvm_range;

/* One contiguous run of pages to move or clear, inside one block. The range's lock is held. */
struct gvm_page_run {
	struct gvm_range *range;
	u32 index;	  /* of the block in the range */
	void *space;	  /* the device's cookie of the pages' address space */
	u32 chunk;	  /* physical chunk on the device */
	u32 offset_pages; /* page of the chunk in which the block's page 0 lies */
	u32 first_page;	  /* of the block: 0 to 31 */
	u32 page_count;	  /* 1 to 32 */
	u32 pieces;	  /* copies that a copy engine needs for it; 0 means 1 */
};

/*
 * The memory of one GPU, for a manager that moves pages itself. Operations on one chunk take
 * effect in the order in which they were started, also on different engines. So a chunk whose
 * copy out is still in flight can be freed, allocated and filled again without a wait.
 */
struct gvm_mmu_ops {
	/* Take the chunk that has been free longest. Returns 0, or -ENOMEM. */
	int (*chunk_alloc)(void *gpu, u32 *ret_chunk);
	/* Atomic: the number of free chunks. Or NULL, if the manager does not call it. */
	u32 (*free_chunks)(const void *gpu);
	/* Give a chunk back. No mapping of it may be left. */
	void (*chunk_free)(void *gpu, u32 chunk);
	/*
	 * Start copying a run of pages from host memory, and raise @fence to cover it. 0 or
	 * -errno.
	 */
	int (*copy_in)(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence);
	/* Start copying a run of pages to host memory. */
	int (*copy_out)(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence);
	/*
	 * Block number @index of a range has no data in host memory any more. The device frees
	 * the block's host memory after the copies that have been started. Range's lock held.
	 * Or NULL: the device does not manage host memory.
	 */
	void (*host_free)(void *gpu, struct gvm_range *range, u32 index);
	/*
	 * Start clearing a run of pages, so that reused memory never shows another tenant's
	 * bytes.
	 */
	int (*clear)(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence);
	/* Wait until a fence has passed. Returns 0 or -EINTR. */
	int (*fence_wait)(void *gpu, const struct gvm_fence *fence);
	/* Atomic: has it passed already? */
	bool (*fence_passed)(void *gpu, const struct gvm_fence *fence);
	/*
	 * Write the PTEs of @page_mask of the block at @va. Page n of the block lies in page
	 * @offset_pages + n of @chunk, whose other pages may be other blocks'. The PTEs permit
	 * what @access needs: with less than GVM_ACCESS_WRITE, a write to them faults. A page
	 * that is mapped read-only may be mapped again to permit writes.
	 */
	void (*map)(void *gpu, void *space, u64 va, u32 chunk, u32 offset_pages, u32 page_mask,
		    enum gvm_access access);
	/* Clear the PTEs of @page_mask of the block at @va and invalidate the TLBs. */
	void (*unmap)(void *gpu, void *space, u64 va, u32 page_mask);
	/*
	 * Map pages of block number @index of a range from host memory, for reads and writes.
	 * The block has no chunk, and no copy of it is in flight. Those of @empty_mask have no
	 * data in host memory yet and are zero from now on. unmap ends the mapping. Range's
	 * lock held. Returns 0 or -ENOMEM. Or NULL: the GPU cannot access host memory.
	 */
	int (*map_remote)(void *gpu, struct gvm_range *range, u32 index, u32 page_mask,
			  u32 empty_mask);
	/*
	 * A thread is about to evict or hint a chunk that the core picked, and holds no lock.
	 * For a device that models the time of the driver's own work (the simulator). Or NULL.
	 */
	void (*evict_begin)(void *gpu);
};

#endif
