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
 * earlier step has verified it:
 *
 *   1. chunks       Every link of a bound chunk is a valid index of a bound chunk which links
 *                   back. So each order is a set of disjoint closed rings, and a walk from
 *                   any bound chunk comes back to it. Other chunks have no links. Free chunks
 *                   have no owner and no payers.
 *   2. containers   The list is closed. Each container's ring holds its bound chunks and no
 *                   others. All rings together hold all bound chunks: so every owner is a
 *                   container of this device. Each container pays for its reservations, for
 *                   its unevictable memory and for its parts of bound chunks. The flags agree
 *                   with the limits. The device's counts are the sums of the containers'
 *                   counts. The device's lists of owners hold the containers with bound chunks.
 *   3. global order The global ring and the shielded rings, which are disjoint, hold all bound
 *                   chunks together. So each chunk is on exactly one of them.
 *   4. stash        Its chunks are bound, distinct, and marked as stashed.
 *   5. tsgs         The lists are closed, the owners are right, and a preempted TSG is
 *      disabled.
 *   6. listening    The device's list holds the containers that have listeners.
 *   7. manager      The memory manager's own books, if it has a call for that.
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

	if (!chunk->owner != (chunk->state == GVM_CHUNK_FREE))
		return check_failed(
			device, "free chunk has an owner, or allocated one has none", index);
	if (chunk->stashed)
		return check_failed(device, "unbound chunk is stashed", index);
	for (u32 order = 0; order < GVM_ORDERS; order++) {
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
	if (chunk->bytes != bytes)
		return check_failed(device, "chunk's bytes are not those of its payers", index);
	return owner_pays ? 0 :
			    check_failed(device, "chunk's owner pays for nothing of it", index);
}

static int check_links(const struct gvm_device *device, u32 index, u32 order)
{
	const struct gvm_chunk *chunk = &device->chunks[index];
	u32 next = chunk->next[order], prev = chunk->prev[order];

	if (!check_is_bound(device, next) || !check_is_bound(device, prev))
		return check_failed(device, "chunk links to no bound chunk", index);
	if (device->chunks[next].prev[order] != index)
		return check_failed(device, "next chunk does not link back", index);
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
	if (!check_is_bound(device, index))
		return check_failed(device, "chunk has no valid state", index);
	if (!chunk->owner)
		return check_failed(device, "bound chunk has no owner", index);
	if (READ_ONCE(device->referenced[index]) >
	    GVM_REFERENCED_ALL) /* set without the lock */
		return check_failed(device, "no such reference bit", index);
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
	if (bound != device->bound_chunks)
		return check_failed(device, "device's count of bound chunks is off", bound);
	return 0;
}

/* Steps 2 and 3. */

/* A leading front hand and the end of a window stand on their ring: @met, they were found. */
static int check_front(const struct gvm_device *device, bool met)
{
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
	if (!check_is_bound(device, index))
		return check_failed(device, "hand is on no bound chunk", owner->tgid);
	do {
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

	if (container->is_protected != protect)
		return check_failed(container->device, "protection does not follow the limit",
				    container->tgid);
	if (container->is_swap_full != check_swap_is_full(container))
		return check_failed(container->device, "full does not follow hmem.limit",
				    container->tgid);
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

	if (!check_list_is_closed(&container->listeners, GVM_LISTENERS_MAX, &count) ||
	    count != container->listener_count)
		return check_failed(device, "list of listeners is broken", container->tgid);
	if (list_empty(&container->listening) != (count == 0))
		return check_failed(device, "listening without listeners, or the reverse",
				    container->tgid);
	list_for_each_entry(listener, &container->listeners, watcher.node) {
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

	if (container->refs == 0 || container->refs < container->processes)
		return check_failed(device, "fewer references than holders", container->tgid);
	if (container->attached != (container->processes > 0))
		return check_failed(device, "attached without processes, or the reverse",
				    container->tgid);
	if (!container->parent && check_low_bytes(container) != container->gmem_low_bytes)
		return check_failed(device, "parts of gmem.limit.low are off", container->tgid);
	if (container->children_bytes != check_children_bytes(container))
		return check_failed(device, "bytes of children are off", container->tgid);
	if (container->charged_bytes + container->children_bytes > container->peak_bytes)
		return check_failed(device, "usage is above its peak", container->tgid);
	status = check_owned_ring(container, &container->own, GVM_ORDER_OWN, &own);
	if (status)
		return status;
	if (own != container->bound_chunks)
		return check_failed(device, "count of bound chunks is off", container->tgid);
	if (list_empty(&container->owner_node) != (own == 0))
		return check_failed(device, "owner without chunks, or the reverse",
				    container->tgid);
	paid = check_paid(container);
	if (container->charged_bytes !=
	    paid.bound_bytes + container->reserved_bytes + container->unevictable_bytes)
		return check_failed(device,
				    "usage is not reserved, bound and unevictable bytes",
				    container->tgid);
	if (container->reserved_bytes < paid.allocated_bytes)
		return check_failed(device, "more is allocated than reserved", container->tgid);
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

	if (!check_list_is_closed(&device->owners, device->container_count, &owners) ||
	    !check_list_is_closed(&device->shielded_owners, device->container_count,
				  &shielded) ||
	    owners != sums->owners || shielded != sums->shielded_owners)
		return check_failed(device, "list of owners is broken", owners + shielded);
	if (sums->chunks != device->bound_chunks)
		return check_failed(device, "chunks are bound to no container on the list",
				    sums->chunks);
	if (sums->exposed != device->exposed_chunks)
		return check_failed(device, "device's count of exposed chunks is off",
				    sums->exposed);
	if (sums->stuck != device->stuck_chunks)
		return check_failed(device, "device's count of stuck chunks is off",
				    sums->stuck);
	if (sums->evicting != device->evicting_chunks)
		return check_failed(device, "device's count of picked chunks is off",
				    sums->evicting);
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

	if (!check_list_is_closed(&device->containers, device->container_count, &count) ||
	    count != device->container_count)
		return check_failed(device, "list of containers is broken", count);
	list_for_each_entry(container, &device->containers, node) {
		int status;

		if (container->device != device)
			return check_failed(device, "foreign container", container->tgid);
		status = check_container(container, &sums);
		if (status)
			return status;
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
	if (!check_is_bound(device, index))
		return check_failed(device, "global hand is on no bound chunk", index);
	do {
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

	if (device->stash_count > GVM_STASH_SIZE)
		return check_failed(device, "stash is overfull", device->stash_count);
	for (u32 i = 0; i < device->stash_count; i++) {
		u32 index = device->stash[i];

		if (!check_is_bound(device, index) || !device->chunks[index].stashed)
			return check_failed(device, "stash holds a chunk that was not stashed",
					    index);
		if (check_is_stashed_before(device, i))
			return check_failed(device, "stash holds a chunk twice", index);
	}
	for (u32 i = 0; i < device->chunk_count; i++)
		flags += device->chunks[i].stashed;
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

		if (!check_list_is_closed(&container->tsgs, U32_MAX - 1, &count))
			return check_failed(device, "list of TSGs is broken", container->tgid);
		if (container->priority > GVM_PRIORITY_MAX)
			return check_failed(device, "no such priority", container->priority);
		list_for_each_entry(tsg, &container->tsgs, node) {
			if (tsg->container != container)
				return check_failed(device, "TSG on a foreign list", tsg->id);
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

	if (!check_list_is_closed(&device->listening, device->container_count, &listed))
		return check_failed(device, "list of listening containers is broken", listed);
	list_for_each_entry(container, &device->containers, node)
		with_listeners += container->listener_count > 0;
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
	if (!status && device->memory_ops && device->memory_ops->check)
		status = device->memory_ops->check(device->memory);
	return status;
}
