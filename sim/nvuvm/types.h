/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The structs of the model of NVIDIA's driver, below all of its parts. nvuvm.c describes the
 * whole.
 *
 * LOCKING, outer to inner:
 *   nvuvm_container.va_space  sleeping; stands for the VA space's lock. The fault handler holds
 *                             it while it services faults of the container, a limit write while
 *                             it evicts.
 *   gvm_range.lock            the VA-block lock. Never two at once.
 *   nvuvm.lock                leaf spinlock: lists and states of chunks, containers.
 */
#ifndef SIM_NVUVM_TYPES_H
#define SIM_NVUVM_TYPES_H

#include "gvm/block.h"
#include "nvuvm/thrash.h"

struct nvuvm_hooks;

/* Arguments of nvuvm_create(). All pointers are borrowed while the model exists. */
struct nvuvm_config {
	struct gvm_device *device; /* initialised */
	/* the device's own: its chunk_alloc stands for RM's PMA */
	const struct gvm_mmu_ops *mmu;
	void *gpu;			 /* passed to every call of mmu */
	const struct nvuvm_hooks *hooks; /* who decides; NULL: nvuvm_driver_hooks */
	bool limits;	/* with nvuvm_driver_hooks: the published GVM's limits and victims */
	bool fast_path; /* likewise: its promotion to 2 MB and its lazy freeing */
	bool one_list;	/* likewise: it searches one list of all chunks for a victim (walk.c) */
	/* an eviction gets 4 KB pages, unless fast_path insists on 2 MB */
	bool host_fragmented;
};

/* Events since the start. */
struct nvuvm_stats {
	u64 rounds;	      /* visits of a block with pages to bring in */
	u64 restarts;	      /* of these, given up to make room, and tried again */
	u64 throttled;	      /* faults not serviced, because their page is thrashing */
	u64 deferred;	      /* blocks not serviced: no room in this batch */
	u64 promoted;	      /* blocks brought in whole by the published GVM's promotion */
	u64 pages_prefetched; /* pages brought in that did not fault */
	u64 copies_in;	      /* CE copies: one for each run, or for each 4 KB */
	u64 copies_out;
	u64 refills;	     /* calls of the device's allocator that returned chunks */
	u64 evictions;	     /* chunks taken from blocks, for any reason */
	u64 evictions_own;   /* of these, by a container above its limit, from itself */
	u64 evictions_limit; /* of these, by a limit write */
	u64 lazy_given;	     /* of these, given to the lazy-free thread */
	u64 lazy_returned;   /* of these, given back by it */
	u64 walked;	     /* chunks passed by searches for a victim: walk.c */
	u64 mapped_remote;   /* pages that the GPU was given in host memory: advice.c */
};

enum nvuvm_chunk_state {
	NVUVM_IN_PMA,	   /* the device's allocator has it */
	NVUVM_FREE,	   /* left over from a refill: on the free list */
	NVUVM_TEMP_PINNED, /* NVIDIA's UVM_PMM_GPU_CHUNK_STATE_TEMP_PINNED: between lists */
	NVUVM_USED,	   /* of a block with resident pages, or with pages on their way */
	NVUVM_UNUSED,	   /* of a block without resident pages */
	NVUVM_EVICTING,	   /* picked: still its block's, on no list */
	NVUVM_LAZY,	   /* evicted, its copy out not yet waited for: on the lazy-free list */
};

/* A chunk is on at most one of the lists of the first order, and on its container's own. */
enum nvuvm_order { NVUVM_ORDER_STATE, NVUVM_ORDER_OWN, NVUVM_ORDERS };

/* A FIFO of chunks, linked by their numbers. */
struct nvuvm_list {
	u32 head; /* GVM_NO_CHUNK: empty */
	u32 tail;
	u32 count;
};

/* One root chunk. Guarded by nvuvm.lock. */
struct nvuvm_chunk {
	struct nvuvm_container *owner; /* container of its block; NULL: in no block */
	u32 next[NVUVM_ORDERS];
	u32 prev[NVUVM_ORDERS];
	u64 batch;	  /* the last batch that migrated data to it */
	u64 place;	  /* USED: its place in the used list, ascending */
	u64 out_sequence; /* LAZY: GVM_ENGINE_OUT, its copy out */
	u8 state;	  /* enum nvuvm_chunk_state */
};

/* A container in the model: the published GVM keeps such a record by process. */
struct nvuvm_container {
	struct list_head node;		 /* in nvuvm.containers */
	struct gvm_container *container; /* a reference */
	u32 users;			 /* ranges, and calls at work in it */
	struct gvm_mutex va_space;	 /* see LOCKING */
	struct list_head ranges;	 /* by address; guarded by va_space */
	struct nvuvm_list used;		 /* its chunks, as in struct nvuvm */
	struct nvuvm_list unused;
	u64 host_bytes;
	u32 walk_first; /* its first chunk in the used list, or GVM_NO_CHUNK; see walk.c */
	u32 walk_ahead; /* chunks of others in front of that one */
	/*
	 * A batch did not fit: only blocks in [turn_start, turn_end) are serviced. Both 0: all
	 * are.
	 */
	u64 turn_start;
	u64 turn_end;
	bool turn_used;	  /* one of them has faulted in this batch */
	u64 deferred_va;  /* the first block in this batch that found no room; 0: none */
	u32 batch_blocks; /* of nvuvm_policy_hooks: serviced in this batch */
};

/* One block, beside struct gvm_block. Guarded by the range's lock. */
struct nvuvm_block {
	u32 host_pages; /* pages with host memory behind them */
	u32 staged;	/* of those on the host, pages that a copy of the application brings */
	bool host_huge; /* that memory is one chunk of 2 MB */
	/*
	 * It has had a chunk since a limit write last came by: NVIDIA's
	 * uvm_va_block_gpu_state_t
	 */
	bool gpu_state;
	struct nvuvm_thrash thrash;
};

/* gvm_range.device_data. */
struct nvuvm_range {
	struct list_head node; /* in nvuvm_container.ranges */
	struct gvm_range *range;
	struct nvuvm_container *owner; /* holds one of its users */
	struct nvuvm_block *blocks;
	enum nvuvm_processor preferred; /* advice: preferred location, or NVUVM_NOBODY */
	bool accessed_by_gpu;		/* advice */
};

struct nvuvm {
	struct nvuvm_config config;
	struct gvm_memory memory; /* over nvuvm_mmu_ops: frames and ranges */
	struct gvm_spinlock lock;
	struct nvuvm_chunk *chunks; /* one for each of the device */
	struct nvuvm_list free;
	struct nvuvm_list unused;
	struct nvuvm_list used;
	struct nvuvm_list lazy;
	struct list_head containers;
	u64 batch;	/* number of the batch in service, from 1 */
	u64 last_place; /* in the used list */
	u32 in_hands;	/* chunks that are TEMP_PINNED or EVICTING */
	u32 held;	/* chunk that was evicted for the block in service, or GVM_NO_CHUNK */
	struct gvm_worker lazy_worker;
	struct gvm_waitqueue lazy_wait;	 /* the worker waits for a chunk on the list */
	struct gvm_waitqueue lazy_freed; /* waiters for the worker to free a chunk */
	struct list_head evicted;	 /* blocks to map in host memory: advice.c */
	struct gvm_worker evicted_worker;
	struct gvm_waitqueue evicted_wait; /* that worker waits for a block on the list */
	bool evicted_started;
	struct nvuvm_stats stats;
};

static inline struct nvuvm_range *nvuvm_range_of(const struct gvm_range *range)
{
	return range->device_data;
}

static inline struct nvuvm_block *nvuvm_block_of(const struct gvm_range *range, u32 index)
{
	return &nvuvm_range_of(range)->blocks[index];
}

#endif
