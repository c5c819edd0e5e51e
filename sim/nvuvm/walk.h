/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* How far the published GVM walks to find a container's victim; walk.c describes it. */
#ifndef SIM_NVUVM_WALK_H
#define SIM_NVUVM_WALK_H

#include "nvuvm/types.h"

/* A container that has no chunk. CONTEXT: atomic. */
void nvuvm_walk_init(struct nvuvm_container *owner);

/*
 * A chunk with an owner has been appended to the used list, or is about to be removed from it.
 * LOCK: nvuvm.lock. CONTEXT: atomic.
 */
void nvuvm_walk_appended(struct nvuvm *nvuvm, u32 chunk);
void nvuvm_walk_remove(struct nvuvm *nvuvm, u32 chunk);

/*
 * The driver looks for a victim of @owner: its CPU time is booked. LOCK: nvuvm.lock. CONTEXT:
 * atomic.
 */
void nvuvm_walk_cost(struct nvuvm *nvuvm, const struct nvuvm_container *owner);

#endif
