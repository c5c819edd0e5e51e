/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Servicing the faults of a batch, block by block; service.c describes it. */
#ifndef SIM_NVUVM_SERVICE_H
#define SIM_NVUVM_SERVICE_H

#include "nvuvm/types.h"

/* gvm_memory_ops.service for faults that are all in one range. CONTEXT: process. */
void nvuvm_service(struct nvuvm *nvuvm, struct gvm_range *range, struct gvm_fault *faults,
		   u32 count, struct gvm_fence *fence);

/* gvm_memory_ops.batch_end: the chunks of the batch may be evicted again. CONTEXT: process. */
void nvuvm_batch_end(struct nvuvm *nvuvm);

/*
 * Bring all pages of a block to the GPU as if they had faulted, but without the prefetcher.
 * Status and fence as in nvuvm_service(). CONTEXT: process, the owner's va_space held, no
 * range's lock.
 */
int nvuvm_block_bring_in(struct nvuvm *nvuvm, struct gvm_range *range, u32 index,
			 struct gvm_fence *fence);

#endif
