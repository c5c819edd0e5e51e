/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Memory that RM takes from the device beside UVM. */
#ifndef SIM_NVUVM_RM_H
#define SIM_NVUVM_RM_H

#include "nvuvm/types.h"

/*
 * gvm_memory_ops.unevictable_add and remove, for contexts and page tables. RM allocates them
 * from the device and charges them to no container. If the device is full, the model returns
 * its free chunks, then evicts chunks of any container (nvuvm_hooks.make_room_for_rm). add
 * returns 0, -ENOMEM, or the error of an eviction. CONTEXT: process, no range's lock held.
 */
int nvuvm_rm_take(struct nvuvm *nvuvm, struct gvm_unevictable *taken, u64 bytes);
void nvuvm_rm_return(struct nvuvm *nvuvm, struct gvm_unevictable *taken, u64 bytes);

#endif
