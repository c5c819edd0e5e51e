/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Root chunks, their states and lists; pmm.c describes them. */
#ifndef SIM_NVUVM_PMM_H
#define SIM_NVUVM_PMM_H

#include "nvuvm/types.h"

#define NVUVM_REFILL_CHUNKS 64u /* 1 << uvm_perf_pma_batch_nonpinned_order */

/* init: 0 or -ENOMEM. CONTEXT: process. */
int nvuvm_pmm_init(struct nvuvm *nvuvm);
void nvuvm_pmm_destroy(struct nvuvm *nvuvm);

/* All that follow: CONTEXT: atomic. */

/* Take a chunk from the free list, temp-pinned. GVM_NO_CHUNK: the list is empty. */
u32 nvuvm_pmm_claim(struct nvuvm *nvuvm);

/* Take up to 64 from the device: one is returned, temp-pinned, the rest go to the free list. */
u32 nvuvm_pmm_refill(struct nvuvm *nvuvm);

/* claim, and refill if the list is empty. GVM_NO_CHUNK: the device has none either. */
u32 nvuvm_pmm_alloc(struct nvuvm *nvuvm);

/* A temp-pinned chunk goes to the device, or to the lazy-free list. */
void nvuvm_pmm_release(struct nvuvm *nvuvm, u32 chunk);
void nvuvm_pmm_release_lazily(struct nvuvm *nvuvm, u32 chunk, u64 out_sequence);

/*
 * RM wants this chunk: give it to the device if it is on the free list. True: the device has
 * it, or had it before.
 */
bool nvuvm_pmm_give_back(struct nvuvm *nvuvm, u32 chunk);

/* Return the whole free list to the device. */
void nvuvm_pmm_trim(struct nvuvm *nvuvm);

/* Take the first chunk of the lazy-free list, temp-pinned, or GVM_NO_CHUNK. */
u32 nvuvm_pmm_take_lazy(struct nvuvm *nvuvm, u64 *ret_out_sequence);

/*
 * A block was serviced or got data. Move its chunk, temp-pinned or on a list, to the tail of
 * the used list. Does nothing if the chunk is EVICTING. @batch: the batch of faults that needs
 * it until its end; 0: none does, so it may be the next victim.
 */
void nvuvm_pmm_mark_used(struct nvuvm *nvuvm, struct nvuvm_container *owner, u32 chunk,
			 u64 batch);

/* The last resident page of the block has left. */
void nvuvm_pmm_mark_unused(struct nvuvm *nvuvm, u32 chunk);

/* Has the batch in service migrated data to this chunk? Then it is no victim; see service.c. */
bool nvuvm_pmm_is_of_batch(const struct nvuvm *nvuvm, u32 chunk);

/*
 * Pick a victim of @owner, or of any container (NULL), unused chunks first. It becomes
 * EVICTING. Chunks that the batch in service has migrated to are no victims. GVM_NO_CHUNK:
 * there is none.
 */
u32 nvuvm_pmm_pick(struct nvuvm *nvuvm, struct nvuvm_container *owner);

/* The victim that nvuvm_pmm_pick() would pick of any container. It stays on its list. */
u32 nvuvm_pmm_peek(struct nvuvm *nvuvm);

/* Pick this chunk: it becomes EVICTING. False: it is on neither list. */
bool nvuvm_pmm_take(struct nvuvm *nvuvm, u32 chunk);

/* An EVICTING chunk was not evicted: it goes back to the tail of its list. */
void nvuvm_pmm_putback(struct nvuvm *nvuvm, u32 chunk);

/* A block has lost its chunk: temp-pinned for its evictor if EVICTING, else to the device. */
void nvuvm_pmm_leave_block(struct nvuvm *nvuvm, u32 chunk);

#endif
