// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Families: the limits of a container with children hold for all of its members.
 *
 * Layer: policy. Never waits, never calls back, takes only the device's leaf lock.
 *
 *
 * Charges and limits
 *
 * A member's books stay its own: chunks, rings and counts. The parent also has the sum of its
 * children's charges, so that a charge checks two limits and walks over no list:
 *
 *     parent   charged_bytes        memory of no child       |  gmem.limit.high of the parent
 *              children_bytes       all children             |  holds for the sum
 *     child    charged_bytes        its own                  |  its own gmem.limit.high
 *
 * gmem.current, gmem.peak and gmem.swap.current of the parent are those of the family, as in
 * cgroups.
 *
 *
 * The victim
 *
 * A child at its own limit gives its own coldest chunk. At the parent's limit, the member gives
 * that has the most memory above its protected part. So members without limits tend to equal
 * shares of the parent's limit, and a child that takes memory does not empty a small one. The
 * rejected alternative is a ring for the family's order, a third pair of links for each chunk of
 * every container.
 *
 *
 * Protection and host memory
 *
 * The parent's gmem.limit.low is what the family is promised. Children get their parts of it
 * first, in the order of their making, up to their own gmem.limit.low; the rest protects the
 * memory of no child. So a process cannot promise its children more than it was promised. Each
 * member is protected by itself, from other members as well. hmem.limit of the parent counts
 * the host memory of all members: without room for one more chunk, no member can give one.
 */
#include "gvm/family.h"
#include "gvm/clock.h"

/* In family_can_give(): the member is above its protected part. */
#define FAMILY_IS_ABOVE (1ull << 63)

/* The container that has the children. */
static struct gvm_container *family_head(struct gvm_container *member)
{
	return member->parent ? member->parent : member;
}

/* CONTEXT: atomic. */
u64 gvm_family_swapped_bytes(struct gvm_container *container)
{
	const struct gvm_container *child;
	u64 bytes;

	gvm_spin_lock(&container->device->lock);
	bytes = container->swapped_bytes;
	list_for_each_entry(child, &container->children, sibling)
		bytes += child->swapped_bytes;
	gvm_spin_unlock(&container->device->lock);
	return bytes;
}

/* CONTEXT: atomic, device's lock held. */
struct gvm_container *gvm_family_refuser_locked(struct gvm_container *container, u64 bytes)
{
	struct gvm_container *parent = container->parent;

	if (gvm_family_bytes(container) + bytes > container->gmem_high_bytes)
		return container;
	return parent && gvm_family_bytes(parent) + bytes > parent->gmem_high_bytes ? parent :
										      NULL;
}

/* May the container have one more chunk, of which it pays for @bytes, by its own limit? */
static bool family_has_chunk(const struct gvm_container *container, u64 bytes)
{
	u64 high = container->gmem_high_bytes;
	u64 most = (high >> GVM_CHUNK_SHIFT) + ((high & (GVM_CHUNK_BYTES - 1)) != 0);
	u64 occupied = gvm_family_occupied_bytes(container) + GVM_CHUNK_BYTES;

	if (gvm_family_bytes(container) + bytes > high)
		return false;
	return !container->device->payers ||
	       (occupied + GVM_CHUNK_BYTES - 1) >> GVM_CHUNK_SHIFT <= most;
}

/* CONTEXT: atomic, device's lock held. */
struct gvm_container *gvm_family_chunk_refuser_locked(struct gvm_container *container,
						      u64 bytes)
{
	if (!family_has_chunk(container, bytes))
		return container;
	if (container->parent && !family_has_chunk(container->parent, bytes))
		return container->parent;
	return NULL;
}

/* CONTEXT: atomic, device's lock held. */
bool gvm_family_has_host_room(const struct gvm_container *container, u64 bytes)
{
	const struct gvm_container *head = container->parent;
	u64 used;

	if (!head)
		return true;
	used = gvm_family_host_bytes(head);
	return used <= head->hmem_bytes && bytes <= head->hmem_bytes - used;
}

/* CONTEXT: atomic, device's lock held. */
void gvm_family_share_low_locked(struct gvm_container *member)
{
	struct gvm_container *head = family_head(member);
	u64 rest = head->gmem_low_bytes;
	struct gvm_container *child;

	list_for_each_entry(child, &head->children, sibling) {
		child->low_bytes = min(child->gmem_low_bytes, rest);
		rest -= child->low_bytes;
		gvm_container_update_shield_locked(child);
	}
	head->low_bytes = rest;
	gvm_container_update_shield_locked(head);
}

/* CONTEXT: atomic, device's lock held. */
void gvm_family_leave_locked(struct gvm_container *child)
{
	struct gvm_container *parent = child->parent;

	if (!parent)
		return;
	list_del_init(&child->sibling);
	parent->child_count--;
	if (!parent->child_count)
		parent->is_family_full = false;
	gvm_family_share_low_locked(parent);
}

/* The bytes that a member could give, those above its protected part before all others. */
static u64 family_can_give(const struct gvm_container *member)
{
	u64 bytes = (u64)member->bound_chunks << GVM_CHUNK_SHIFT;

	if (member->is_swap_full && !member->clean_bytes)
		return 0;
	bytes -= min(bytes, member->evicting_bytes);
	if (bytes > member->low_bytes)
		return (bytes - member->low_bytes) | FAMILY_IS_ABOVE;
	return bytes;
}

static struct gvm_container *family_giver_locked(struct gvm_container *container)
{
	struct gvm_container *head = family_head(container);
	struct gvm_container *giver = container, *child;
	u64 most = 0;

	if (container->parent &&
	    gvm_family_chunk_refuser_locked(container, GVM_CHUNK_BYTES) == container)
		return container;
	if (family_can_give(head)) {
		giver = head;
		most = family_can_give(head);
	}
	list_for_each_entry(child, &head->children, sibling) {
		if (family_can_give(child) > most) {
			giver = child;
			most = family_can_give(child);
		}
	}
	return giver;
}

/* CONTEXT: atomic. */
struct gvm_container *gvm_family_giver_get(struct gvm_container *container)
{
	struct gvm_container *giver;

	gvm_spin_lock(&container->device->lock);
	giver = family_giver_locked(container);
	giver->refs++;
	gvm_spin_unlock(&container->device->lock);
	return giver;
}
