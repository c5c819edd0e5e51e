/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Host memory of containers, and hmem.limit. policy/swap.c explains it.
 */
#ifndef GVM_SWAP_H
#define GVM_SWAP_H

#include "gvm/container.h"

/*
 * charge: @bytes of the container moved to host memory. uncharge: they left it. The caller
 * credits the container that it charged, also when another process brings the page back: a
 * range remembers its container. A credit above the charged bytes warns once and leaves 0.
 * reserve: as charge, within hmem.limit; 0 bytes always fit. Returns 0, -EDQUOT, or -EIO: the
 * device is dead, and none of these calls changes its books. CONTEXT: atomic.
 */
int gvm_swap_reserve(struct gvm_container *container, u64 bytes);
void gvm_swap_charge(struct gvm_container *container, u64 bytes);
void gvm_swap_uncharge(struct gvm_container *container, u64 bytes);

/*
 * Host memory held copies of @before bytes of a chunk of the container, and now of @after
 * bytes. hmem.limit counts these copies: see block/clean.c. CONTEXT: atomic.
 */
void gvm_clean_charge(struct gvm_container *container, u32 chunk, u32 before, u32 after);

/*
 * Set hmem.limit in bytes. From now on a chunk is picked only if all of it fits beside the
 * memory that is swapped out or on its way to the host. Memory that is on the host already
 * stays there. CONTEXT: process.
 */
void gvm_limit_set_hmem(struct gvm_container *container, u64 bytes);

#endif
