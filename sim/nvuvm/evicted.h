/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Blocks that left the GPU and that it is to access where they are: a queue for advice.c. */
#ifndef SIM_NVUVM_EVICTED_H
#define SIM_NVUVM_EVICTED_H

#include "nvuvm/types.h"

/* An entry of the queue. The block is found by its address: its range may go. */
struct nvuvm_evicted {
	struct list_head node; /* in nvuvm.evicted */
	void *space;
	u64 va;
};

/*
 * Pages of a block leave the GPU. Without memory it is mapped at its next fault.
 * CONTEXT: the range's lock held.
 */
void nvuvm_evicted_add(struct nvuvm *nvuvm, const struct gvm_range *range, u32 index);

/* Take the first entry, which is the caller's to free; or NULL. CONTEXT: atomic. */
struct nvuvm_evicted *nvuvm_evicted_take(struct nvuvm *nvuvm);

#endif
