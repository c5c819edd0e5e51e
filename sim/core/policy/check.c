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
 * earlier step has verified it. The checks of containers are in check_container.c, and walks over
 * rings and lists in check_walk.c.
 *
 *
 * The invariants
 *
 * Each check below has the number of its invariant before it. "Bound" are chunks with the state
 * BOUND, and those with the state EVICTING, which are "picked". An order is GVM_ORDER_OWN or
 * GVM_ORDER_GLOBAL.
 *
 *   1. Chunks
 *      1.1   The bytes of a chunk are those of the charged pieces of its pages. On a device
 *            without a table of payers they are the whole chunk, or none if it is free.
 *      1.2   A chunk's owner pays for at least one of its pages, or for pieces of one.
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
 *      1.14  A page has charged pieces if it has a payer, and only then; at most
 *            GVM_PIECES_PER_PAGE.
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
#include "gvm/check.h"
#include "gvm/container.h"
#include "gvm/device.h"
#include "gvm/tsg.h"

/* Step 1. */

/* A chunk that is free, or allocated and not bound yet. */
static int check_unbound_chunk(const struct gvm_device *device, u32 index)
{
	const struct gvm_chunk *chunk = &device->chunks[index];

	/* 1.3 */
	if (!chunk->owner != (chunk->state == GVM_CHUNK_FREE))
		return gvm_check_failed(
			device, "free chunk has an owner, or allocated one has none", index);
	if (chunk->state == GVM_CHUNK_FREE && chunk->bytes)
		return gvm_check_failed(device, "free chunk has payers", index);
	/* 1.4 */
	if (chunk->stashed)
		return gvm_check_failed(device, "unbound chunk is stashed", index);
	for (u32 order = 0; order < GVM_ORDERS; order++) {
		/* 1.5 */
		if (chunk->next[order] != GVM_NO_CHUNK || chunk->prev[order] != GVM_NO_CHUNK)
			return gvm_check_failed(device, "unbound chunk is on a ring", index);
	}
	return 0;
}

/*
 * The bytes of a chunk are those of the charged pieces of its pages. Its owner pays for at least
 * one piece.
 */
static int check_payers(const struct gvm_device *device, u32 index)
{
	const struct gvm_chunk *chunk = &device->chunks[index];
	bool owner_pays = !chunk->owner;
	u64 bytes = 0;

	for (u32 page = 0; device->payers && page < GVM_PAGES_PER_BLOCK; page++) {
		size_t entry = (size_t)index * GVM_PAGES_PER_BLOCK + page;
		const struct gvm_container *payer = device->payers[entry];
		u32 pieces = device->pieces[entry];

		/* 1.14 */
		if (!payer != !pieces || pieces > GVM_PIECES_PER_PAGE)
			return gvm_check_failed(device,
						"page has a payer and no pieces, or the "
						"reverse",
						index);
		bytes += pieces * GVM_PIECE_BYTES;
		owner_pays |= payer && payer == chunk->owner;
	}
	if (!device->payers && chunk->state != GVM_CHUNK_FREE) {
		bytes = GVM_CHUNK_BYTES;
		owner_pays = true;
	}
	/* 1.1 */
	if (chunk->bytes != bytes)
		return gvm_check_failed(device, "chunk's bytes are not those of its payers",
					index);
	/* 1.2 */
	return owner_pays ?
		       0 :
		       gvm_check_failed(device, "chunk's owner pays for nothing of it", index);
}

static int check_links(const struct gvm_device *device, u32 index, u32 order)
{
	const struct gvm_chunk *chunk = &device->chunks[index];
	u32 next = chunk->next[order], prev = chunk->prev[order];

	/* 1.10 */
	if (!gvm_check_is_bound(device, next) || !gvm_check_is_bound(device, prev))
		return gvm_check_failed(device, "chunk links to no bound chunk", index);
	/* 1.11 */
	if (device->chunks[next].prev[order] != index)
		return gvm_check_failed(device, "next chunk does not link back", index);
	/* 1.12 */
	if (device->chunks[prev].next[order] != index)
		return gvm_check_failed(device, "previous chunk does not link back", index);
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
	if (!gvm_check_is_bound(device, index))
		return gvm_check_failed(device, "chunk has no valid state", index);
	/* 1.7 */
	if (!chunk->owner)
		return gvm_check_failed(device, "bound chunk has no owner", index);
	/* 1.8 */
	if (READ_ONCE(device->referenced[index]) >
	    GVM_REFERENCED_ALL) /* set without the lock */
		return gvm_check_failed(device, "no such reference bit", index);
	/* 1.9 */
	if (chunk->stashed > 1)
		return gvm_check_failed(device, "chunk's stash flag is no flag", index);
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
		bound += gvm_check_is_bound(device, i);
	}
	/* 1.13 */
	if (bound != device->bound_chunks)
		return gvm_check_failed(device, "device's count of bound chunks is off", bound);
	return 0;
}

/* Step 3. Step 2 is in check_container.c. */

/*
 * Walk the global ring, which shares no chunk with a shielded ring; add its length to *length.
 */
static int check_global_ring(const struct gvm_device *device, u32 *length)
{
	u32 index = device->global.hand;
	bool front_met = !device->global.lead, ask_met = !device->global.asked;

	if (index == GVM_NO_CHUNK)
		return gvm_check_front(device, front_met && ask_met);
	/* 3.1 */
	if (!gvm_check_is_bound(device, index))
		return gvm_check_failed(device, "global hand is on no bound chunk", index);
	do {
		/* 3.2 */
		if (device->chunks[index].owner->shielded.hand == index)
			return gvm_check_failed(device, "shielded ring is the global ring",
						index);
		(*length)++;
		front_met |= index == device->global.front;
		ask_met |= index == device->global.ask;
		index = device->chunks[index].next[GVM_ORDER_GLOBAL];
	} while (index != device->global.hand);
	return gvm_check_front(device, front_met && ask_met);
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
		status = gvm_check_owned_ring(container, &container->shielded, GVM_ORDER_GLOBAL,
					      &length);
		if (status)
			return status;
	}
	/* 3.6 */
	if (length != device->bound_chunks)
		return gvm_check_failed(device, "chunks missing from the global order", length);
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
		return gvm_check_failed(device, "stash is overfull", device->stash_count);
	for (u32 i = 0; i < device->stash_count; i++) {
		u32 index = device->stash[i];

		/* 4.2 */
		if (!gvm_check_is_bound(device, index) || !device->chunks[index].stashed)
			return gvm_check_failed(
				device, "stash holds a chunk that was not stashed", index);
		/* 4.3 */
		if (check_is_stashed_before(device, i))
			return gvm_check_failed(device, "stash holds a chunk twice", index);
	}
	for (u32 i = 0; i < device->chunk_count; i++)
		flags += device->chunks[i].stashed;
	/* 4.4 */
	if (flags != device->stash_count)
		return gvm_check_failed(device, "stashed chunks missing from the stash", flags);
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
		if (!gvm_check_list_is_closed(&container->tsgs, U32_MAX - 1, &count))
			return gvm_check_failed(device, "list of TSGs is broken",
						container->tgid);
		/* 5.2 */
		if (container->priority > GVM_PRIORITY_MAX)
			return gvm_check_failed(device, "no such priority",
						container->priority);
		list_for_each_entry(tsg, &container->tsgs, node) {
			/* 5.3 */
			if (tsg->container != container)
				return gvm_check_failed(device, "TSG on a foreign list",
							tsg->id);
			/* 5.4 */
			if (tsg->preempted && !tsg->disabled)
				return gvm_check_failed(
					device, "TSG preempted, but on the runlist", tsg->id);
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
	if (!gvm_check_list_is_closed(&device->listening, device->container_count, &listed))
		return gvm_check_failed(device, "list of listening containers is broken",
					listed);
	list_for_each_entry(container, &device->containers, node)
		with_listeners += container->listener_count > 0;
	/* 6.2 */
	if (listed != with_listeners)
		return gvm_check_failed(device, "listening on no device's list", listed);
	return 0;
}

/* CONTEXT: process. */
int gvm_check(struct gvm_device *device)
{
	int (*const steps[])(const struct gvm_device *device) = {
		check_chunks, gvm_check_containers, check_global_order,
		check_stash,  check_tsgs,	    check_listening,
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
