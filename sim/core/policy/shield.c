// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Shielding: which containers are spared by the global order of eviction (policy/clock.c).
 *
 * Layer: policy. Never waits, never calls back, takes no lock: its callers hold the device's
 * leaf lock.
 *
 *
 * Two reasons
 *
 * A container is shielded if it would be under its gmem.limit.low with one chunk less, or if
 * its hmem.limit is used up. Its chunks are no victims of the global order.
 *
 * A victim is charged until its eviction ends, but gmem.limit.low counts it as gone from the
 * pick on. Otherwise simultaneous picks could take several chunks below a container's limit.
 * gvm_clock_pick_protected() takes from such containers: service/evict.c says when it is used.
 *
 * hmem.limit is stricter: a chunk that it shields is not even a victim of its own container.
 * One flag refuses the pick, without a look.
 *
 *
 * A flag, and a ring that follows
 *
 * A hand that only skipped shielded chunks could spend every look on one big container, so they
 * leave the global ring. But a container near a limit changes sides with every charge, under
 * the leaf lock, and may own tens of thousands of chunks. So shielding only sets a flag. The
 * global hand moves each chunk of a shielded owner that it meets to the owner's "shielded"
 * ring. When the last reason is gone, that ring is spliced back in just behind the hand.
 *
 * Both steps are O(1), and the deferred work is free: the hand would spend the look on passing
 * the chunk anyway. The chunk comes back behind the hand, so it is moved at most once a turn,
 * even if its owner changes sides many times. The order stays the same, too: after the splice
 * the chunk stands where it would stand if the hand had passed it, with its bit untouched.
 *
 * No field says which of the two rings a chunk is on, since a splice could not update it. Only
 * the removal of a chunk needs to know, and there it is enough to check whether one of the two
 * hands stands on the chunk.
 */
#include "gvm/shield.h"

/* Global order: move all of @from, which starts at its hand, to just behind the hand of @to. */
static void shield_splice(struct gvm_chunk *chunks, struct gvm_ring *from, struct gvm_ring *to)
{
	u32 first = from->hand, hand = to->hand, last, tail;

	from->hand = GVM_NO_CHUNK;
	if (first == GVM_NO_CHUNK)
		return;
	if (hand == GVM_NO_CHUNK) {
		to->hand = first;
		return;
	}
	last = chunks[first].prev[GVM_ORDER_GLOBAL];
	tail = chunks[hand].prev[GVM_ORDER_GLOBAL];
	chunks[tail].next[GVM_ORDER_GLOBAL] = first;
	chunks[first].prev[GVM_ORDER_GLOBAL] = tail;
	chunks[last].next[GVM_ORDER_GLOBAL] = hand;
	chunks[hand].prev[GVM_ORDER_GLOBAL] = last;
}

/*
 * Add a container's chunks to the device's counts of exposed and stuck chunks, or subtract
 * them.
 */
static void shield_count(struct gvm_container *container, u32 chunks)
{
	if (!gvm_container_is_shielded(container))
		container->device->exposed_chunks += chunks;
	if (container->is_swap_full)
		container->device->stuck_chunks += chunks;
}

static void shield_uncount(struct gvm_container *container, u32 chunks)
{
	if (!gvm_container_is_shielded(container))
		container->device->exposed_chunks -= chunks;
	if (container->is_swap_full)
		container->device->stuck_chunks -= chunks;
}

/* The list of owners on whose side a container is. */
static struct list_head *shield_owners(const struct gvm_container *container)
{
	struct gvm_device *device = container->device;

	return gvm_container_is_shielded(container) ? &device->shielded_owners :
						      &device->owners;
}

/* CONTEXT: atomic, device's lock held. */
void gvm_shield_join_locked(struct gvm_container *container)
{
	gvm_spin_assert_held(&container->device->lock);
	if (list_empty(&container->owner_node))
		list_add_tail(&container->owner_node, shield_owners(container));
	shield_count(container, 1);
}

/* CONTEXT: atomic, device's lock held. */
void gvm_shield_leave_locked(struct gvm_container *container)
{
	gvm_spin_assert_held(&container->device->lock);
	if (container->own.hand == GVM_NO_CHUNK)
		list_del_init(&container->owner_node);
	shield_uncount(container, 1);
}

/* CONTEXT: atomic, device's lock held. */
void gvm_shield_set_locked(struct gvm_container *container, bool is_protected,
			   bool is_swap_full)
{
	struct gvm_device *device = container->device;
	bool was_shielded = gvm_container_is_shielded(container);

	gvm_spin_assert_held(&device->lock);
	shield_uncount(container, container->bound_chunks);
	container->is_protected = is_protected;
	container->is_swap_full = is_swap_full;
	shield_count(container, container->bound_chunks);
	if (gvm_container_is_shielded(container) != was_shielded &&
	    !list_empty(&container->owner_node))
		list_move_tail(&container->owner_node, shield_owners(container));
	if (!gvm_container_is_shielded(container))
		shield_splice(device->chunks, &container->shielded, &device->global);
}

static void shield_member(struct gvm_container *member, bool is_family_full)
{
	bool low = gvm_container_is_low(member);
	bool full = is_family_full || gvm_container_swap_is_full(member);

	if (low != member->is_protected || full != member->is_swap_full)
		gvm_shield_set_locked(member, low, full);
}

/*
 * When the room in the parent's hmem.limit (policy/family.c) ends or comes back, the flags of
 * all members change. CONTEXT: atomic, device's lock held.
 */
void gvm_shield_family_locked(struct gvm_container *container)
{
	struct gvm_container *head = container->parent ? container->parent : container;
	bool limited = head->hmem_limit_bytes != U64_MAX;
	bool full = limited &&
		    gvm_family_host_bytes(head) + GVM_CHUNK_BYTES > head->hmem_limit_bytes;
	struct gvm_container *child;

	if (full == head->is_family_full) {
		shield_member(container, full);
		return;
	}
	head->is_family_full = full;
	shield_member(head, full);
	list_for_each_entry(child, &head->children, sibling)
		shield_member(child, full);
}
