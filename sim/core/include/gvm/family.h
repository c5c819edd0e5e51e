/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A family: a container and its children (policy/child.c). Usage, limits and protection of a
 * container that has a parent or children. Of any other container all sums are its own counts.
 */
#ifndef GVM_FAMILY_H
#define GVM_FAMILY_H

#include "gvm/container.h"

/* Children that a container can have: each sum over a family is a walk under the leaf lock. */
#define GVM_CHILDREN_MAX 64u

/* Has the container a parent or children? CONTEXT: atomic. */
static inline bool gvm_container_has_family(const struct gvm_container *container)
{
	return container->parent || READ_ONCE(container->child_count);
}

/*
 * Bytes of device memory that the container and its children pay for: what gmem.limit.high
 * limits. Device's lock held. CONTEXT: atomic.
 */
static inline u64 gvm_family_bytes(const struct gvm_container *container)
{
	return container->charged_bytes + container->children_bytes;
}

/*
 * The bytes of device memory that the container and its children occupy, as
 * gvm_container_occupied_bytes(). Device's lock held. CONTEXT: atomic.
 */
static inline u64 gvm_family_occupied_bytes(const struct gvm_container *container)
{
	u64 bytes = gvm_container_occupied_bytes(container);
	const struct gvm_container *child;

	list_for_each_entry(child, &container->children, sibling)
		bytes += gvm_container_occupied_bytes(child);
	return bytes;
}

/*
 * The container whose gmem.limit.high refuses @bytes more: this one, or its parent. NULL:
 * neither. chunk_refuser: of a chunk that the container does not have yet, of which @bytes, at
 * most a chunk, are paid for (gvm_charge_reserve_chunk()). Device's lock held. CONTEXT: atomic.
 */
struct gvm_container *gvm_family_refuser_locked(struct gvm_container *container, u64 bytes);
struct gvm_container *gvm_family_chunk_refuser_locked(struct gvm_container *container,
						      u64 bytes);

/*
 * Bytes of the container and its children that are in host memory only. CONTEXT: atomic.
 */
u64 gvm_family_swapped_bytes(struct gvm_container *container);

/* Clean bytes of the container and its children. CONTEXT: atomic. */
u64 gvm_family_clean_bytes(struct gvm_container *container);

/*
 * Events of the container and of all children that it has had: it never falls. CONTEXT: atomic.
 */
u64 gvm_family_events(struct gvm_container *container, enum gvm_event event);

/*
 * Is there room for @bytes more in the family's hmem.limit? It is the parent's. A container without
 * a parent heads a family itself. Device's lock held. CONTEXT: atomic.
 */
bool gvm_family_has_host_room(const struct gvm_container *container, u64 bytes);

/*
 * Divide the parent's gmem.limit.low anew: a limit was written, or a child has come or gone.
 * Device's lock held. CONTEXT: atomic.
 */
void gvm_family_share_low_locked(struct gvm_container *member);

/*
 * A child that no thread can reach leaves its parent's list. The reference to the parent stays
 * the caller's. Does nothing to a container that is no child. Device's lock held. CONTEXT:
 * atomic.
 */
void gvm_family_leave_locked(struct gvm_container *child);

/*
 * The member of the family whose coldest chunk makes room for a charge of @container. A child
 * at its own limit gives by itself. Else it is the member with the most memory above its share
 * of gmem.limit.low. A protected member gives only for a container that is under its own share,
 * or if the parent's limit is below the usage. @container itself, if no member can give.
 * Returns a reference. CONTEXT: atomic.
 */
struct gvm_container *gvm_family_giver_get(struct gvm_container *container);

/*
 * No member could give a chunk for @container now. May one do so later? Then chunks are in
 * service, or on their way in or out. Device's lock held. CONTEXT: atomic.
 */
bool gvm_family_gives_later_locked(struct gvm_container *container);

#endif
