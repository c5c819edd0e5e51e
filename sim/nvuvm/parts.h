/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Interfaces between the files of the model, and for their tests. Other rooms use nvuvm.h.
 *
 * LOCKING, outer to inner:
 *   nvuvm_container.va_space  sleeping; stands for the VA space's lock. The fault handler holds it
 *                         while it services faults of the container, a limit write while it evicts.
 *   gvm_range.lock        the VA-block lock. Never two at once.
 *   nvuvm.lock            leaf spinlock: lists and states of chunks, containers.
 */
#ifndef SIM_NVUVM_PARTS_H
#define SIM_NVUVM_PARTS_H

#include "gvm/evict.h"
#include "nvuvm/nvuvm.h"

/* The prefetcher: prefetch.c. */

#define NVUVM_PREFETCH_THRESHOLD 51u /* uvm_perf_prefetch_threshold, percent */

/*
 * Returns the pages to bring into a block: @faulted, and the pages that the density prefetcher
 * adds. @thrashing pages are not added and attract no others.
 */
u32 nvuvm_prefetch(u32 valid, u32 resident, u32 faulted, u32 thrashing);

/* Thrashing detection: thrash.c. */

#define NVUVM_THRASH_THRESHOLD	   3u /* uvm_perf_thrashing_threshold, events */
#define NVUVM_THRASH_PIN_THRESHOLD 10u
#define NVUVM_THRASH_LAPSE_NS	   500000ull
#define NVUVM_THRASH_NAP_NS	   (1 * NVUVM_THRASH_LAPSE_NS)
#define NVUVM_THRASH_EPOCH_NS	   (2000 * NVUVM_THRASH_LAPSE_NS)
#define NVUVM_THRASH_PIN_NS	   (300 * NVUVM_THRASH_LAPSE_NS)
#define NVUVM_THRASH_RESETS_MAX	   4u

/* The advice for a fault. */
enum nvuvm_hint {
	NVUVM_HINT_NONE,
	NVUVM_HINT_THROTTLE, /* do not service it now; it faults again */
	NVUVM_HINT_PIN,	     /* let the page live in one place, and map it there */
};

/* One page of a block that may be thrashing. */
struct nvuvm_thrash_page {
	u64 last_ns;	     /* last migration; 0: none */
	u64 throttle_end_ns; /* of the throttling period */
	u64 pin_deadline_ns; /* if it is pinned */
	u8 events;	     /* migrations within a lapse of the one before; saturates */
	u8 throttles;	     /* while not pinned; saturates */
	u8 processors;	     /* mask of enum nvuvm_processor that use it */
	u8 throttled;	     /* mask */
	u8 favoured;	     /* enum nvuvm_processor: not throttled in this period */
	u8 pinned_to;	     /* enum nvuvm_processor; NVUVM_NOBODY: not pinned */
};

/* The history of one block. All zero: none, and nothing to free. */
struct nvuvm_thrash {
	u64 last_ns;	       /* last migration of any page; 0: none */
	u64 last_thrashing_ns; /* last one of a thrashing page */
	u32 thrashing;	       /* pages */
	u32 pinned;	       /* of these */
	u8 last_processor;     /* enum nvuvm_processor */
	u8 resets;
	u8 pin_count; /* since the last reset; saturates */
	struct nvuvm_thrash_page
		*pages; /* GVM_PAGES_PER_BLOCK; NULL until two processors use the block */
};

/* @pages have migrated to @to, not by eviction. The block's lock is held. CONTEXT: process. */
void nvuvm_thrash_migrated(struct nvuvm_thrash *thrash, u32 pages, enum nvuvm_processor to,
			   u64 now_ns);

/*
 * Returns the advice for a fault of @requester on a page that is elsewhere. With NVUVM_HINT_PIN,
 * *ret_residency is the processor that gets the page.
 */
enum nvuvm_hint nvuvm_thrash_hint(struct nvuvm_thrash *thrash, u32 page,
				  enum nvuvm_processor requester, u64 now_ns,
				  enum nvuvm_processor *ret_residency);

void nvuvm_thrash_destroy(struct nvuvm_thrash *thrash);

/* Chunks: pmm.c. */

#define NVUVM_REFILL_CHUNKS 64u /* 1 << uvm_perf_pma_batch_nonpinned_order */

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
	u64 out_sequence; /* LAZY: GVM_ENGINE_OUT, its copy out */
	u8 state;	  /* enum nvuvm_chunk_state */
};

/* A container in the model: the published GVM keeps such a record by process. */
struct nvuvm_container {
	struct list_head node; /* in nvuvm.containers */
	struct gvm_container *container;
	u32 users;		   /* ranges, and calls at work in it */
	struct gvm_mutex va_space; /* see LOCKING */
	struct list_head ranges;   /* by address; guarded by va_space */
	struct nvuvm_list own;	   /* its chunks, by last fault or migration */
	u64 host_bytes;
	/*
	 * A batch did not fit: only blocks in [turn_start, turn_end) are serviced. Both 0: all
	 * are.
	 */
	u64 turn_start;
	u64 turn_end;
	bool turn_used;	 /* one of them has faulted in this batch */
	u64 deferred_va; /* the first block in this batch that found no room; 0: none */
};

/* One block, beside struct gvm_block. Guarded by the range's lock. */
struct nvuvm_block {
	u32 host_pages; /* pages with host memory behind them */
	bool host_huge; /* that memory is one chunk of 2 MB */
	struct nvuvm_thrash thrash;
};

/* gvm_range.device_data. */
struct nvuvm_range {
	struct list_head node; /* in nvuvm_container.ranges */
	struct gvm_range *range;
	struct nvuvm_container *owner; /* holds one of its users */
	struct nvuvm_block *blocks;
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
	u64 batch;    /* number of the batch in service, from 1 */
	u32 in_hands; /* chunks that are TEMP_PINNED or EVICTING */
	u32 held;     /* chunk that was evicted for the block in service, or GVM_NO_CHUNK */
	struct gvm_worker lazy_worker;
	struct gvm_waitqueue lazy_wait;	 /* the worker waits for a chunk on the list */
	struct gvm_waitqueue lazy_freed; /* waiters for the worker to free a chunk */
	struct nvuvm_stats stats;
};

int nvuvm_pmm_init(struct nvuvm *nvuvm);
void nvuvm_pmm_destroy(struct nvuvm *nvuvm);

/* The device as the core's block functions see it. The argument is the model. */
extern const struct gvm_mmu_ops nvuvm_mmu_ops;

/* All of these: CONTEXT: atomic. */

/* Take a chunk from the free list, temp-pinned. GVM_NO_CHUNK: the list is empty. */
u32 nvuvm_pmm_claim(struct nvuvm *nvuvm);

/* Take up to 64 from the device: one is returned, temp-pinned, the rest go to the free list. */
u32 nvuvm_pmm_refill(struct nvuvm *nvuvm);

/* A temp-pinned chunk goes to the device, or to the lazy-free list. */
void nvuvm_pmm_release(struct nvuvm *nvuvm, u32 chunk);
void nvuvm_pmm_release_lazily(struct nvuvm *nvuvm, u32 chunk, u64 out_sequence);

/* Return the whole free list to the device. */
void nvuvm_pmm_trim(struct nvuvm *nvuvm);

/* Take the first chunk of the lazy-free list, temp-pinned, or GVM_NO_CHUNK. */
u32 nvuvm_pmm_take_lazy(struct nvuvm *nvuvm, u64 *ret_out_sequence);

/*
 * A block was serviced or got data. Move its chunk, temp-pinned or on a list, to the tail of the
 * used list. Does nothing if the chunk is EVICTING.
 */
void nvuvm_pmm_mark_used(struct nvuvm *nvuvm, struct nvuvm_container *owner, u32 chunk);

/* The last resident page of the block has left. */
void nvuvm_pmm_mark_unused(struct nvuvm *nvuvm, u32 chunk);

/*
 * Pick a victim of @owner, or of any container (NULL), unused chunks first. It becomes EVICTING.
 * Chunks that the batch in service has migrated to are no victims. GVM_NO_CHUNK: there is none.
 */
u32 nvuvm_pmm_pick(struct nvuvm *nvuvm, struct nvuvm_container *owner);

/* Pick this chunk: it becomes EVICTING. False: it is on neither list. */
bool nvuvm_pmm_take(struct nvuvm *nvuvm, u32 chunk);

/* An EVICTING chunk was not evicted: it goes back to the tail of its list. */
void nvuvm_pmm_putback(struct nvuvm *nvuvm, u32 chunk);

/* A block has lost its chunk: temp-pinned for its evictor if EVICTING, else to the device. */
void nvuvm_pmm_leave_block(struct nvuvm *nvuvm, u32 chunk);

/* Eviction: evict.c. */

/* Is the container above its limit, and are limits enforced? CONTEXT: atomic. */
bool nvuvm_over_limit(const struct nvuvm *nvuvm, const struct nvuvm_container *owner);

/*
 * Make room for a block of @owner: evict one chunk of any container (@forced false), or its own
 * chunks until it is within its limit. Returns 0: nvuvm.held has a chunk, or a second try makes
 * sense; -EAGAIN: not in this batch; -ENOENT: never; -EINTR, or the error of a copy. CONTEXT:
 * process, no range's lock held.
 */
int nvuvm_make_room(struct nvuvm *nvuvm, struct nvuvm_container *owner, bool forced);

/* The core's policy at the model's hooks: policy.c. Only with core_policy. */

/* nvuvm_make_room() by the core's order of victims. -ENOSPC: hmem.limit permits no eviction. */
int nvuvm_policy_make_room(struct nvuvm *nvuvm, struct gvm_container *container,
			   enum gvm_need need);

/* Has the batch in service migrated data to this chunk? Then it stays. CONTEXT: atomic. */
bool nvuvm_policy_keeps(const struct nvuvm *nvuvm, u32 chunk);

/* Evict an EVICTING chunk. 0: it is temp-pinned, @fence covers the copy. Else as evict_chunk. */
int nvuvm_evict_taken(struct nvuvm *nvuvm, u32 chunk, struct gvm_fence *fence);

/* The lazy-free thread. @data: the model. */
void nvuvm_lazy_worker(void *data);

/* Blocks: block.c. */

/*
 * Bring all pages of a block to the GPU as if they had faulted, but without the prefetcher.
 * Status and fence as in nvuvm_service(). CONTEXT: process, the owner's va_space held, no range's
 * lock.
 */
int nvuvm_block_bring_in(struct nvuvm *nvuvm, struct gvm_range *range, u32 index,
			 struct gvm_fence *fence);

/* Containers and ranges: nvuvm.c. */

/* get: the record of a container with one more user, or NULL. CONTEXT: atomic; put: process. */
struct nvuvm_container *nvuvm_container_get(struct nvuvm *nvuvm,
					    const struct gvm_container *container);
void nvuvm_container_put(struct nvuvm *nvuvm, struct nvuvm_container *owner);

static inline struct nvuvm_range *nvuvm_range_of(const struct gvm_range *range)
{
	return range->device_data;
}

static inline struct nvuvm_block *nvuvm_block_of(const struct gvm_range *range, u32 index)
{
	return &nvuvm_range_of(range)->blocks[index];
}

/* Allocate host memory for those of @pages that have none. Range lock held. */
void nvuvm_host_populate(struct nvuvm *nvuvm, struct gvm_range *range, u32 index, u32 pages);

#endif
