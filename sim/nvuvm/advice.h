/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Advice of the application, and mappings of host memory on the GPU; advice.c describes them.
 */
#ifndef SIM_NVUVM_ADVICE_H
#define SIM_NVUVM_ADVICE_H

#include "gvm/memory.h"
#include "nvuvm/types.h"

/* Part of nvuvm_create() and of nvuvm_stop(). CONTEXT: atomic; process. */
void nvuvm_advice_init(struct nvuvm *nvuvm);
void nvuvm_advice_stop(struct nvuvm *nvuvm);

/* gvm_memory_ops.advise. CONTEXT: process. */
int nvuvm_advise(struct nvuvm *nvuvm, struct gvm_range *range, enum gvm_advice advice);

/*
 * Which of the pages @faulted of a block, none of them resident, does a fault of the GPU leave
 * in host memory? CONTEXT: the range's lock held.
 */
u32 nvuvm_advice_stays(const struct gvm_range *range, u32 index, u32 faulted);

/*
 * Map @pages of a block in host memory, and those that were evicted with them. Pages without
 * content are zero from now on. The mappings hold once @fence has passed, which is raised for
 * that. Returns 0 or -ENOMEM. CONTEXT: the range's lock held.
 */
int nvuvm_map_host_locked(struct nvuvm *nvuvm, struct gvm_range *range, u32 index, u32 pages,
			  struct gvm_fence *fence);

/*
 * The same for all pages of a block that "accessed by" gives the GPU and
 * that are not mapped yet.
 */
int nvuvm_advice_map_locked(struct nvuvm *nvuvm, struct gvm_range *range, u32 index,
			    struct gvm_fence *fence);

#endif
