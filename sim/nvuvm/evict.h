/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Taking a chunk from its block. */
#ifndef SIM_NVUVM_EVICT_H
#define SIM_NVUVM_EVICT_H

#include "nvuvm/types.h"

/*
 * Evict an EVICTING chunk. 0: it is temp-pinned, @fence covers the copy. Else it is back on its
 * list: -EBUSY, or as gvm_memory_ops.evict. CONTEXT: process, no range's lock held.
 */
int nvuvm_evict_taken(struct nvuvm *nvuvm, u32 chunk, struct gvm_fence *fence);

/*
 * uvm_pmm_gpu_pma_evict_range(): RM takes @count root chunks from @first on, and cannot be
 * refused. Chunks with data are evicted and counted (gvm_clock_take_range()). gmem.limit.low
 * and hmem.limit do not protect them. Returns 0: the device has all of them;
 * @fence covers the copies. -EBUSY: other threads are at work on some, try again; or the error
 * of an eviction. CONTEXT: process, no range's lock held; RM's locks are held in UVM.
 */
int nvuvm_evict_range(struct nvuvm *nvuvm, u32 first, u32 count, struct gvm_fence *fence);

/*
 * gvm_memory_ops.evict and evictable, with their contracts. Chunks of the batch in service are
 * not evictable. CONTEXT: process, no range's lock held; atomic.
 */
int nvuvm_evict_chunk(struct nvuvm *nvuvm, u32 chunk, struct gvm_eviction *eviction);
bool nvuvm_chunk_evictable(const struct nvuvm *nvuvm, u32 chunk);

/* The lazy-free thread: waits for copies out and gives the chunks back. @data: the model. */
void nvuvm_lazy_worker(void *data);

#endif
