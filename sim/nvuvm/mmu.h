/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The device below the model, and the host memory that its copies come from and go to. */
#ifndef SIM_NVUVM_MMU_H
#define SIM_NVUVM_MMU_H

#include "nvuvm/types.h"

/*
 * The device as the core's block functions see it: chunks come from the model's lists (pmm.c),
 * copies are split into pieces, all else goes to the device itself. The argument is the model.
 */
extern const struct gvm_mmu_ops nvuvm_mmu_ops;

/* Allocate host memory for those of @pages that have none. Range lock held. CONTEXT: atomic. */
void nvuvm_host_populate(struct nvuvm *nvuvm, struct gvm_range *range, u32 index, u32 pages);

#endif
