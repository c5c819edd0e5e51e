// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gvm_check(): verifies all invariants of the core's books.
 *
 * Layer: policy. Takes tsg_mutex and the device's leaf lock; never calls back.
 *
 *
 * The order of the steps
 *
 * The books may be broken in any way, so a step follows a pointer or an index only after an
 * earlier step has verified it.
 *
 *
 * The invariants
 *
 * Each check below has the number of its invariant before it. "Bound" are chunks with the state
 * BOUND, and those with the state EVICTING, which are "picked". An order is GVM_ORDER_OWN or
 * GVM_ORDER_GLOBAL.
 *
 *   1. Chunks
 *      1.1   The bytes of a chunk are those of its pages that have a payer. On a device without
 *            a table of payers they are the whole chunk, or none if it is free.
 *      1.2   A chunk's owner pays for at least one of its pages.
 *      1.3   A free chunk has no owner, and by 1.1 no payer, since it has no bytes. An allocated
 *            one has an owner.
 *      1.4   A chunk that is not bound is not stashed.
 *      1.5   A chunk that is not bound has no links.
 *      1.6   Each chunk is free, allocated or bound.
 *      1.7   A bound chunk has an owner.
 *      1.8   Its reference bits are of GVM_REFERENCED_ALL.
 *      1.9   Its stash flag is 0 or 1.
 *      1.10  In each order its next and its previous chunk are bound.
 *      1.11  Its next chunk links back to it.
 *      1.12  Its previous chunk links back to it. So each order is a set of disjoint closed
 *            rings, and a walk from a bound chunk comes back to it.
 *      1.13  The device's count of bound chunks is right.
 *   2. Containers
 *      2.1   The device's list of containers is closed and has as many as the device counts.
 *      2.2   Each is a container of this device.
 *      2.3   It has at least one reference, and one for each of its processes.
 *      2.4   It is attached if it has processes, and only then.
 *      2.5   If it has no parent: its part of gmem.limit.low and the parts of its children are
 *            together its gmem.limit.low.
 *      2.6   The bytes of its children are the sum of their usages. Each child has it as its
 *            parent, and has no children.
 *      2.7   Its usage and its children's are together not above its peak.
 *      2.8   The hand of its own ring is on a bound chunk, or there is none.
 *      2.9   All chunks on its own ring are its own.
 *      2.10  A front hand that leads, and the end of a window, are on the ring.
 *      2.11  Its own ring has as many chunks as it counts as bound.
 *      2.12  It is on a list of owners if it has bound chunks, and only then.
 *      2.13  Its usage is the bytes that it pays for in bound chunks, its reservations and its
 *            unevictable memory.
 *      2.14  What it pays for in allocated chunks is reserved.
 *      2.15  Its bytes of picked chunks, and the clean ones of these, are those of the picked
 *            chunks on its own ring.
 *      2.16  It is protected if its part of gmem.limit.low is above the usage that stays when
 *            its picked chunks and one further chunk leave; and only then.
 *      2.17  It is full if its hmem.limit or its parent's has no room for its bytes on the
 *            host, its picked chunks and one further chunk; and only then.
 *      2.18  If it is neither protected nor full, its shielded ring is empty.
 *      2.19  Its list of listeners is closed and has as many as it counts, at most
 *            GVM_LISTENERS_MAX.
 *      2.20  It is on a list of listening containers if it has listeners, and only then.
 *      2.21  Each listener on its list is its own.
 *      2.22  No two attached containers have the same tgid, unless it is 0.
 *      2.23  The device's two lists of owners are closed. One has as many containers as there
 *            are with bound chunks and without a shield, the other as many as with a shield.
 *      2.24  All own rings together have all bound chunks. So each owner is a container of this
 *            device.
 *      2.25  The device's count of exposed chunks is the sum over its containers that are
 *            neither protected nor full.
 *      2.26  Its count of stuck chunks is the sum over those that are full.
 *      2.27  Its count of picked chunks is the sum over all.
 *      2.28  Its unevictable bytes are the sum over all.
 *   3. Global order
 *      3.1   The global hand is on a bound chunk, or there is none.
 *      3.2   No chunk on the global ring is under the hand of its owner's shielded ring.
 *      3.3   A front hand that leads, and the end of a window, are on their ring: the global
 *            one or a shielded one.
 *      3.4   The hand of a container's shielded ring is on a bound chunk, or there is none.
 *      3.5   All chunks on a container's shielded ring are its own.
 *      3.6   The global ring and the shielded rings together have as many chunks as are bound.
 *            They are disjoint, so each bound chunk is on one of them.
 *   4. Stash
 *      4.1   It has at most GVM_STASH_SIZE chunks.
 *      4.2   Each is bound and marked as stashed.
 *      4.3   None is in it twice.
 *      4.4   As many chunks are marked as are in it.
 *   5. TSGs
 *      5.1   Each container's list of TSGs is closed.
 *      5.2   Each container's priority is at most GVM_PRIORITY_MAX.
 *      5.3   Each TSG on a container's list is the container's.
 *      5.4   A preempted TSG is disabled.
 *   6. Listening
 *      6.1   The device's list of listening containers is closed.
 *      6.2   It has as many containers as have listeners: by 2.20 these are on a list.
 *   7. Manager
 *      7.1   The memory manager's own books are right, if it has a call for that.
 *
 * No code here is shared with the code that it checks, not even the definition of "protected".
 */
#include "gvm/device.h"
#include "gvm/container.h"
#include "gvm/pressure.h"
#include "gvm/tsg.h"

/* Log the broken invariant and the number of the chunk, container or TSG. Always -EUCLEAN. */
static int check_failed(const struct gvm_device *device, const char *what, u32 number)
{
	gvm_warn("%s: books are broken: %s (%u)", device->name, what, number);
	return -EUCLEAN;
}

/* Is @index a chunk that may stand on a ring? */
static bool check_is_bound(const struct gvm_device *device, u32 index)
{
	return index < device->chunk_count &&
	       (device->chunks[index].state == GVM_CHUNK_BOUND ||
		device->chunks[index].state == GVM_CHUNK_EVICTING);
}

/* Step 1. */

/* A chunk that is free, or allocated and not bound yet. */
static int check_unbound_chunk(const struct gvm_device *device, u32 index)
{
	const struct gvm_chunk *chunk = &device->chunks[index];

	/* 1.3 */
	if (!chunk->owner != (chunk->state == GVM_CHUNK_FREE))
		return check_failed(
			device, "free chunk has an owner, or allocated one has none", index);
	if (chunk->state == GVM_CHUNK_FREE && chunk->bytes)
		return check_failed(device, "free chunk has payers", index);
	/* 1.4 */
	if (chunk->stashed)
		return check_failed(device, "unbound chunk is stashed", index);
	for (u32 order = 0; order < GVM_ORDERS; order++) {
		/* 1.5 */
		if (chunk->next[order] != GVM_NO_CHUNK || chunk->prev[order] != GVM_NO_CHUNK)
			return check_failed(device, "unbound chunk is on a ring", index);
	}
	return 0;
}

/*
 * The bytes of a chunk are those of its pages with a payer. Its owner pays for at least one
 * page.
 */
static int check_payers(const struct gvm_device *device, u32 index)
{
	const struct gvm_chunk *chunk = &device->chunks[index];
	bool owner_pays = !chunk->owner;
	u64 bytes = 0;

	for (u32 page = 0; device->payers && page < GVM_PAGES_PER_BLOCK; page++) {
		const struct gvm_container *payer =
			device->payers[(size_t)index * GVM_PAGES_PER_BLOCK + page];

		bytes += payer ? GVM_PAGE_BYTES : 0;
		owner_pays |= payer && payer == chunk->owner;
	}
	if (!device->payers && chunk->state != GVM_CHUNK_FREE) {
		bytes = GVM_CHUNK_BYTES;
		owner_pays = true;
	}
	/* 1.1 */
	if (chunk->bytes != bytes)
		return check_failed(device, "chunk's bytes are not those of its payers", index);
	/* 1.2 */
	return owner_pays ? 0 :
			    check_failed(device, "chunk's owner pays for nothing of it", index);
}

static int check_links(const struct gvm_device *device, u32 index, u32 order)
{
	const struct gvm_chunk *chunk = &device->chunks[index];
	u32 next = chunk->next[order], prev = chunk->prev[order];

	/* 1.10 */
	if (!check_is_bound(device, next) || !check_is_bound(device, prev))
		return check_failed(device, "chunk links to no bound chunk", index);
	/* 1.11 */
	if (device->chunks[next].prev[order] != index)
		return check_failed(device, "next chunk does not link back", index);
	/* 1.12 */
	if (device->chunks[prev].next[order] != index)
		return check_failed(device, "previous chunk does not link back", index);
	return 0;
}

static int check_chunk(const struct gvm_device *device, u32 index)
{
	const struct gvm_chunk *chunk = &device->chunks[index];
	int status = check_payers(device, index);

	if (status)
		return status;
	if (chunk->state == GVM_CHUNK_FREE || chunk->state == GVM_CHUNK_ALLOCATED)
		return check_unbound_chunk(device, index);
	/* 1.6 */
	if (!check_is_bound(device, index))
		return check_failed(device, "chunk has no valid state", index);
	/* 1.7 */
	if (!chunk->owner)
		return check_failed(device, "bound chunk has no owner", index);
	/* 1.8 */
	if (READ_ONCE(device->referenced[index]) >
	    GVM_REFERENCED_ALL) /* set without the lock */
		return check_failed(device, "no such reference bit", index);
	/* 1.9 */
	if (chunk->stashed > 1)
		return check_failed(device, "chunk's stash flag is no flag", index);
	for (u32 order = 0; order < GVM_ORDERS; order++) {
		status = check_links(device, index, order);
		if (status)
			return status;
	}
	return 0;
}

static int check_chunks(const struct gvm_device *device)
{
	u32 bound = 0;

	for (u32 i = 0; i < device->chunk_count; i++) {
		int status = check_chunk(device, i);

		if (status)
			return status;
		bound += check_is_bound(device, i);
	}
	/* 1.13 */
	if (bound != device->bound_chunks)
		return check_failed(device, "device's count of bound chunks is off", bound);
	return 0;
}

/* Steps 2 and 3. */

/* A leading front hand and the end of a window stand on their ring: @met, they were found. */
static int check_front(const struct gvm_device *device, bool met)
{
	/* 2.10, 3.3 */
	return met ? 0 : check_failed(device, "front hand or window is not on its ring", 0);
}

/* Walk a ring of one owner, whose links have been checked. Add its length to *length. */
static int check_owned_ring(const struct gvm_container *owner, const struct gvm_ring *ring,
			    enum gvm_order order, u32 *length)
{
	const struct gvm_device *device = owner->device;
	bool front_met = !ring->lead, ask_met = !ring->asked;
	u32 index = ring->hand;

	if (index == GVM_NO_CHUNK)
		return check_front(device, front_met && ask_met);
	/* 2.8, 3.4 */
	if (!check_is_bound(device, index))
		return check_failed(device, "hand is on no bound chunk", owner->tgid);
	do {
		/* 2.9, 3.5 */
		if (device->chunks[index].owner != owner)
			return check_failed(device, "chunk on a foreign ring", index);
		(*length)++;
		front_met |= index == ring->front;
		ask_met |= index == ring->ask;
		index = device->chunks[index].next[order];
	} while (index != ring->hand);
	return check_front(device, front_met && ask_met);
}

/* The bytes of the picked chunks on the container's own ring, whose links have been checked. */
static u64 check_add_evicting(const struct gvm_container *container, u32 *chunks_evicting,
			      u64 *ret_clean)
{
	const struct gvm_chunk *chunks = container->device->chunks;
	u32 index = container->own.hand;
	u64 bytes = 0;

	*ret_clean = 0;
	if (index == GVM_NO_CHUNK)
		return 0;
	do {
		if (chunks[index].state == GVM_CHUNK_EVICTING) {
			bytes += chunks[index].bytes;
			*ret_clean += chunks[index].clean_bytes;
			(*chunks_evicting)++;
		}
		index = chunks[index].next[GVM_ORDER_OWN];
	} while (index != container->own.hand);
	return bytes;
}

/*
 * The bytes that a container pays for: in bound chunks, and in chunks that are only allocated.
 */
struct check_paid {
	u64 bound_bytes;
	u64 allocated_bytes;
};

static struct check_paid check_paid(const struct gvm_container *container)
{
	const struct gvm_device *device = container->device;
	struct check_paid paid = { 0 };

	for (u32 i = 0; i < device->chunk_count; i++) {
		u64 bytes = 0;

		/* Step 1 has found no payer there. */
		if (device->chunks[i].state == GVM_CHUNK_FREE)
			continue;
		if (!device->payers && device->chunks[i].owner == container)
			bytes = device->chunks[i].bytes;
		for (u32 page = 0; device->payers && page < GVM_PAGES_PER_BLOCK; page++) {
			if (device->payers[(size_t)i * GVM_PAGES_PER_BLOCK + page] == container)
				bytes += GVM_PAGE_BYTES;
		}
		if (check_is_bound(device, i))
			paid.bound_bytes += bytes;
		else
			paid.allocated_bytes += bytes;
	}
	return paid;
}

static u64 check_host_bytes(const struct gvm_container *container)
{
	return container->swapped_bytes + container->clean_bytes + container->evicting_bytes -
	       container->evicting_clean_bytes;
}

/* Has hmem.limit no room for one more chunk beside @used bytes? */
static bool check_has_no_room(const struct gvm_container *container, u64 used)
{
	return container->hmem_bytes < used || container->hmem_bytes - used < GVM_CHUNK_BYTES;
}

/*
 * A container is full if hmem.limit, its own or its parent's, has no room for the picked chunks
 * and one more. A parent's limit counts its children.
 */
static bool check_swap_is_full(const struct gvm_container *container)
{
	const struct gvm_container *head = container->parent ? container->parent : container;
	u64 used = check_host_bytes(head);
	const struct gvm_container *child;

	list_for_each_entry(child, &head->children, sibling)
		used += check_host_bytes(child);
	return check_has_no_room(head, used) ||
	       check_has_no_room(container, check_host_bytes(container));
}

static int check_protection(const struct gvm_container *container)
{
	u64 evicting = min(container->evicting_bytes, container->charged_bytes);
	u64 staying = container->charged_bytes - evicting;
	u64 without_a_chunk = staying - min(staying, GVM_CHUNK_BYTES);
	bool protect = container->low_bytes > without_a_chunk;

	/* 2.16 */
	if (container->is_protected != protect)
		return check_failed(container->device, "protection does not follow the limit",
				    container->tgid);
	/* 2.17 */
	if (container->is_swap_full != check_swap_is_full(container))
		return check_failed(container->device, "full does not follow hmem.limit",
				    container->tgid);
	/* 2.18 */
	if (!protect && !container->is_swap_full && container->shielded.hand != GVM_NO_CHUNK)
		return check_failed(container->device,
				    "container with nothing to shield has shielded chunks",
				    container->tgid);
	return 0;
}

/*
 * Does the list have at most @max entries, and does each link back? Such a list ends at its
 * head: a circle elsewhere would need an entry with two predecessors.
 */
static bool check_list_is_closed(const struct list_head *head, u32 max, u32 *ret_count)
{
	const struct list_head *position = head;
	u32 count = 0;

	while (position->next && position->next->prev == position && count <= max) {
		position = position->next;
		if (position == head) {
			*ret_count = count;
			return true;
		}
		count++;
	}
	return false;
}

static int check_listeners(const struct gvm_container *container)
{
	const struct gvm_device *device = container->device;
	const struct gvm_listener *listener;
	u32 count;

	/* 2.19 */
	if (!check_list_is_closed(&container->listeners, GVM_LISTENERS_MAX, &count) ||
	    count != container->listener_count)
		return check_failed(device, "list of listeners is broken", container->tgid);
	/* 2.20 */
	if (list_empty(&container->listening) != (count == 0))
		return check_failed(device, "listening without listeners, or the reverse",
				    container->tgid);
	list_for_each_entry(listener, &container->listeners, watcher.node) {
		/* 2.21 */
		if (listener->container != container)
			return check_failed(device, "listener on a foreign list",
					    container->tgid);
	}
	return 0;
}

/* Sums over all containers. */
struct check_sums {
	u32 chunks;	     /* on own rings */
	u32 owners;	     /* containers with chunks on their own ring, and no shield */
	u32 shielded_owners; /* with a shield */
	u32 exposed;
	u32 stuck;
	u32 evicting;
	u64 unevictable_bytes;
};

/* The usage of a container's children, each with a parent that has children. */
static u64 check_children_bytes(const struct gvm_container *container)
{
	const struct gvm_container *child;
	u64 bytes = 0;

	list_for_each_entry(child, &container->children, sibling) {
		if (child->parent != container || child->child_count)
			return U64_MAX;
		bytes += child->charged_bytes;
	}
	return bytes;
}

/* The protected parts of all members: together they are the parent's gmem.limit.low. */
static u64 check_low_bytes(const struct gvm_container *container)
{
	const struct gvm_container *child;
	u64 bytes = container->low_bytes;

	list_for_each_entry(child, &container->children, sibling)
		bytes += child->low_bytes;
	return bytes;
}

static int check_container(const struct gvm_container *container, struct check_sums *sums)
{
	u64 clean;
	const struct gvm_device *device = container->device;
	struct check_paid paid;
	u32 own = 0;
	int status;

	/* 2.3 */
	if (container->refs == 0 || container->refs < container->processes)
		return check_failed(device, "fewer references than holders", container->tgid);
	/* 2.4 */
	if (container->attached != (container->processes > 0))
		return check_failed(device, "attached without processes, or the reverse",
				    container->tgid);
	/* 2.5 */
	if (!container->parent && check_low_bytes(container) != container->gmem_low_bytes)
		return check_failed(device, "parts of gmem.limit.low are off", container->tgid);
	/* 2.6 */
	if (container->children_bytes != check_children_bytes(container))
		return check_failed(device, "bytes of children are off", container->tgid);
	/* 2.7 */
	if (container->charged_bytes + container->children_bytes > container->peak_bytes)
		return check_failed(device, "usage is above its peak", container->tgid);
	status = check_owned_ring(container, &container->own, GVM_ORDER_OWN, &own);
	if (status)
		return status;
	/* 2.11 */
	if (own != container->bound_chunks)
		return check_failed(device, "count of bound chunks is off", container->tgid);
	/* 2.12 */
	if (list_empty(&container->owner_node) != (own == 0))
		return check_failed(device, "owner without chunks, or the reverse",
				    container->tgid);
	paid = check_paid(container);
	/* 2.13 */
	if (container->charged_bytes !=
	    paid.bound_bytes + container->reserved_bytes + container->unevictable_bytes)
		return check_failed(device,
				    "usage is not reserved, bound and unevictable bytes",
				    container->tgid);
	/* 2.14 */
	if (container->reserved_bytes < paid.allocated_bytes)
		return check_failed(device, "more is allocated than reserved", container->tgid);
	/* 2.15 */
	if (container->evicting_bytes !=
		    check_add_evicting(container, &sums->evicting, &clean) ||
	    container->evicting_clean_bytes != clean)
		return check_failed(device, "bytes of picked chunks are off", container->tgid);
	sums->chunks += own;
	if (gvm_container_is_shielded(container))
		sums->shielded_owners += own > 0;
	else
		sums->owners += own > 0;
	if (!container->is_protected && !container->is_swap_full)
		sums->exposed += own;
	if (container->is_swap_full)
		sums->stuck += own;
	sums->unevictable_bytes += container->unevictable_bytes;
	status = check_protection(container);
	return status ? status : check_listeners(container);
}

/* Is this the only attached container with its tgid? */
static bool check_tgid_is_unique(const struct gvm_device *device,
				 const struct gvm_container *container)
{
	const struct gvm_container *other;

	list_for_each_entry(other, &device->containers, node) {
		if (other->attached && other->tgid == container->tgid && other != container)
			return false;
	}
	return true;
}

static int check_sums(const struct gvm_device *device, const struct check_sums *sums)
{
	u32 owners = 0, shielded = 0;

	/* 2.23 */
	if (!check_list_is_closed(&device->owners, device->container_count, &owners) ||
	    !check_list_is_closed(&device->shielded_owners, device->container_count,
				  &shielded) ||
	    owners != sums->owners || shielded != sums->shielded_owners)
		return check_failed(device, "list of owners is broken", owners + shielded);
	/* 2.24 */
	if (sums->chunks != device->bound_chunks)
		return check_failed(device, "chunks are bound to no container on the list",
				    sums->chunks);
	/* 2.25 */
	if (sums->exposed != device->exposed_chunks)
		return check_failed(device, "device's count of exposed chunks is off",
				    sums->exposed);
	/* 2.26 */
	if (sums->stuck != device->stuck_chunks)
		return check_failed(device, "device's count of stuck chunks is off",
				    sums->stuck);
	/* 2.27 */
	if (sums->evicting != device->evicting_chunks)
		return check_failed(device, "device's count of picked chunks is off",
				    sums->evicting);
	/* 2.28 */
	if (sums->unevictable_bytes != device->unevictable_bytes)
		return check_failed(device, "device's unevictable bytes are off",
				    (u32)(sums->unevictable_bytes >> GVM_CHUNK_SHIFT));
	return 0;
}

static int check_containers(const struct gvm_device *device)
{
	const struct gvm_container *container;
	struct check_sums sums = { 0 };
	u32 count = 0;

	/* 2.1 */
	if (!check_list_is_closed(&device->containers, device->container_count, &count) ||
	    count != device->container_count)
		return check_failed(device, "list of containers is broken", count);
	list_for_each_entry(container, &device->containers, node) {
		int status;

		/* 2.2 */
		if (container->device != device)
			return check_failed(device, "foreign container", container->tgid);
		status = check_container(container, &sums);
		if (status)
			return status;
		/* 2.22 */
		if (container->attached && container->tgid &&
		    !check_tgid_is_unique(device, container))
			return check_failed(device, "two containers of a tgid",
					    container->tgid);
	}
	return check_sums(device, &sums);
}

/*
 * Walk the global ring, which shares no chunk with a shielded ring; add its length to *length.
 */
static int check_global_ring(const struct gvm_device *device, u32 *length)
{
	u32 index = device->global.hand;
	bool front_met = !device->global.lead, ask_met = !device->global.asked;

	if (index == GVM_NO_CHUNK)
		return check_front(device, front_met && ask_met);
	/* 3.1 */
	if (!check_is_bound(device, index))
		return check_failed(device, "global hand is on no bound chunk", index);
	do {
		/* 3.2 */
		if (device->chunks[index].owner->shielded.hand == index)
			return check_failed(device, "shielded ring is the global ring", index);
		(*length)++;
		front_met |= index == device->global.front;
		ask_met |= index == device->global.ask;
		index = device->chunks[index].next[GVM_ORDER_GLOBAL];
	} while (index != device->global.hand);
	return check_front(device, front_met && ask_met);
}

static int check_global_order(const struct gvm_device *device)
{
	const struct gvm_container *container;
	u32 length = 0;
	int status;

	status = check_global_ring(device, &length);
	if (status)
		return status;
	list_for_each_entry(container, &device->containers, node) {
		status = check_owned_ring(container, &container->shielded, GVM_ORDER_GLOBAL,
					  &length);
		if (status)
			return status;
	}
	/* 3.6 */
	if (length != device->bound_chunks)
		return check_failed(device, "chunks missing from the global order", length);
	return 0;
}

/* Step 4. */

static bool check_is_stashed_before(const struct gvm_device *device, u32 position)
{
	for (u32 i = 0; i < position; i++) {
		if (device->stash[i] == device->stash[position])
			return true;
	}
	return false;
}

static int check_stash(const struct gvm_device *device)
{
	u32 flags = 0;

	/* 4.1 */
	if (device->stash_count > GVM_STASH_SIZE)
		return check_failed(device, "stash is overfull", device->stash_count);
	for (u32 i = 0; i < device->stash_count; i++) {
		u32 index = device->stash[i];

		/* 4.2 */
		if (!check_is_bound(device, index) || !device->chunks[index].stashed)
			return check_failed(device, "stash holds a chunk that was not stashed",
					    index);
		/* 4.3 */
		if (check_is_stashed_before(device, i))
			return check_failed(device, "stash holds a chunk twice", index);
	}
	for (u32 i = 0; i < device->chunk_count; i++)
		flags += device->chunks[i].stashed;
	/* 4.4 */
	if (flags != device->stash_count)
		return check_failed(device, "stashed chunks missing from the stash", flags);
	return 0;
}

/* Step 5. */

static int check_tsgs(const struct gvm_device *device)
{
	const struct gvm_container *container;
	const struct gvm_tsg *tsg;

	list_for_each_entry(container, &device->containers, node) {
		u32 count;

		/* 5.1 */
		if (!check_list_is_closed(&container->tsgs, U32_MAX - 1, &count))
			return check_failed(device, "list of TSGs is broken", container->tgid);
		/* 5.2 */
		if (container->priority > GVM_PRIORITY_MAX)
			return check_failed(device, "no such priority", container->priority);
		list_for_each_entry(tsg, &container->tsgs, node) {
			/* 5.3 */
			if (tsg->container != container)
				return check_failed(device, "TSG on a foreign list", tsg->id);
			/* 5.4 */
			if (tsg->preempted && !tsg->disabled)
				return check_failed(device, "TSG preempted, but on the runlist",
						    tsg->id);
		}
	}
	return 0;
}

/* Step 6. Step 2 has checked that each container with listeners is on a list. */

static int check_listening(const struct gvm_device *device)
{
	const struct gvm_container *container;
	u32 listed = 0, with_listeners = 0;

	/* 6.1 */
	if (!check_list_is_closed(&device->listening, device->container_count, &listed))
		return check_failed(device, "list of listening containers is broken", listed);
	list_for_each_entry(container, &device->containers, node)
		with_listeners += container->listener_count > 0;
	/* 6.2 */
	if (listed != with_listeners)
		return check_failed(device, "listening on no device's list", listed);
	return 0;
}

/* CONTEXT: process. */
int gvm_check(struct gvm_device *device)
{
	int (*const steps[])(const struct gvm_device *device) = {
		check_chunks, check_containers, check_global_order,
		check_stash,  check_tsgs,	check_listening,
	};
	int status = 0;

	/* The broken invariant of a dead device is in the log already. */
	if (gvm_device_is_dead(device))
		return -EUCLEAN;
	gvm_mutex_lock(&device->tsg_mutex);
	gvm_spin_lock(&device->lock);
	for (u32 i = 0; i < ARRAY_SIZE(steps) && !status; i++)
		status = steps[i](device);
	gvm_spin_unlock(&device->lock);
	gvm_mutex_unlock(&device->tsg_mutex);
	/* 7.1 */
	if (!status && device->memory_ops && device->memory_ops->check)
		status = device->memory_ops->check(device->memory);
	return status;
}
