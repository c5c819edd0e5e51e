/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Shielded containers: their chunks are no victims of the global order. policy/shield.c has the
 * idea.
 */
#ifndef GVM_SHIELD_H
#define GVM_SHIELD_H

#include "gvm/container.h"

/*
 * Would the container have less than its share of gmem.limit.low if it gave a chunk? Its picked
 * chunks count as gone. Memory goes in chunks, so a low that is no multiple of a chunk protects
 * up to a chunk more. CONTEXT: atomic, device's lock held.
 */
static inline bool gvm_container_is_low(const struct gvm_container *container)
{
	u64 low = container->low_bytes;
	u64 spare = container->evicting_bytes + GVM_CHUNK_BYTES;

	return low &&
	       (container->charged_bytes < low || container->charged_bytes - low < spare);
}

/*
 * The container's host memory, as hmem.limit counts it: swapped pages, copies of clean pages,
 * and picked chunks, which may become swapped pages. CONTEXT: atomic, device's lock held.
 */
static inline u64 gvm_container_host_bytes(const struct gvm_container *container)
{
	return container->swapped_bytes + container->clean_bytes + container->evicting_bytes -
	       container->evicting_clean_bytes;
}

/* Would one more chunk on the host exceed hmem.limit? CONTEXT: atomic, device's lock held. */
static inline bool gvm_container_swap_is_full(const struct gvm_container *container)
{
	return gvm_container_host_bytes(container) + GVM_CHUNK_BYTES >
	       container->hmem_limit_bytes;
}

/*
 * Host memory of a container and its children. CONTEXT: atomic, device's lock held.
 */
static inline u64 gvm_family_host_bytes(const struct gvm_container *container)
{
	u64 bytes = gvm_container_host_bytes(container);
	const struct gvm_container *child;

	list_for_each_entry(child, &container->children, sibling)
		bytes += gvm_container_host_bytes(child);
	return bytes;
}

/*
 * For policy/clock.c: a chunk of the container enters both orders, or has left them. CONTEXT:
 * atomic, device's lock held.
 */
void gvm_shield_join_locked(struct gvm_container *container);
void gvm_shield_leave_locked(struct gvm_container *container);

/* Set the two flags that shield a container. CONTEXT: atomic, device's lock held. */
void gvm_shield_set_locked(struct gvm_container *container, bool is_protected,
			   bool is_swap_full);

/*
 * gvm_container_update_shield_locked() of a member of a family. CONTEXT:
 * atomic, device's lock held.
 */
void gvm_shield_family_locked(struct gvm_container *container);

/*
 * Usage, swap or picks of a container have changed: set its flags anew if they changed. Inline,
 * since each charge and each pick calls it. CONTEXT: atomic, device's lock held.
 */
static inline void gvm_container_update_shield_locked(struct gvm_container *container)
{
	bool low = gvm_container_is_low(container);
	bool full = gvm_container_swap_is_full(container);

	if (container->parent || container->child_count) {
		gvm_shield_family_locked(container);
		return;
	}
	if (low != container->is_protected || full != container->is_swap_full)
		gvm_shield_set_locked(container, low, full);
}

#endif
