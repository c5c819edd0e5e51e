// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Step 2 of gvm_check(): the books of containers, and the device's sums over them. check.c has the
 * list of invariants.
 *
 * Layer: policy. Never calls back.
 */
#include "gvm/check.h"
#include "gvm/container.h"
#include "gvm/device.h"
#include "gvm/pressure.h"

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
			size_t entry = (size_t)i * GVM_PAGES_PER_BLOCK + page;

			if (device->payers[entry] == container)
				bytes += device->pieces[entry] * GVM_PIECE_BYTES;
		}
		if (gvm_check_is_bound(device, i))
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
	return container->hmem_limit_bytes < used ||
	       container->hmem_limit_bytes - used < GVM_CHUNK_BYTES;
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
		return gvm_check_failed(container->device,
					"protection does not follow the limit",
					container->tgid);
	/* 2.17 */
	if (container->is_swap_full != check_swap_is_full(container))
		return gvm_check_failed(container->device, "full does not follow hmem.limit",
					container->tgid);
	/* 2.18 */
	if (!protect && !container->is_swap_full && container->shielded.hand != GVM_NO_CHUNK)
		return gvm_check_failed(container->device,
					"container with nothing to shield has shielded chunks",
					container->tgid);
	return 0;
}

static int check_listeners(const struct gvm_container *container)
{
	const struct gvm_device *device = container->device;
	const struct gvm_listener *listener;
	u32 count;

	/* 2.19 */
	if (!gvm_check_list_is_closed(&container->listeners, GVM_LISTENERS_MAX, &count) ||
	    count != container->listener_count)
		return gvm_check_failed(device, "list of listeners is broken", container->tgid);
	/* 2.20 */
	if (list_empty(&container->listening) != (count == 0))
		return gvm_check_failed(device, "listening without listeners, or the reverse",
					container->tgid);
	list_for_each_entry(listener, &container->listeners, watcher.node) {
		/* 2.21 */
		if (listener->container != container)
			return gvm_check_failed(device, "listener on a foreign list",
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

/* Its references, its processes, and the books that it has as a parent. */
static int check_family(const struct gvm_container *container)
{
	const struct gvm_device *device = container->device;

	/* 2.3 */
	if (container->refs == 0 || container->refs < container->processes)
		return gvm_check_failed(device, "fewer references than holders",
					container->tgid);
	/* 2.4 */
	if (container->attached != (container->processes > 0))
		return gvm_check_failed(device, "attached without processes, or the reverse",
					container->tgid);
	/* 2.5 */
	if (!container->parent && check_low_bytes(container) != container->gmem_low_bytes)
		return gvm_check_failed(device, "parts of gmem.limit.low are off",
					container->tgid);
	/* 2.6 */
	if (container->children_bytes != check_children_bytes(container))
		return gvm_check_failed(device, "bytes of children are off", container->tgid);
	/* 2.7 */
	if (container->charged_bytes + container->children_bytes > container->peak_bytes)
		return gvm_check_failed(device, "usage is above its peak", container->tgid);
	return 0;
}

/* 2.8 to 2.12: its own ring. Adds its chunks to the sums. */
static int check_own_ring(const struct gvm_container *container, struct check_sums *sums)
{
	const struct gvm_device *device = container->device;
	u32 own = 0;
	int status = gvm_check_owned_ring(container, &container->own, GVM_ORDER_OWN, &own);

	if (status)
		return status;
	/* 2.11 */
	if (own != container->bound_chunks)
		return gvm_check_failed(device, "count of bound chunks is off",
					container->tgid);
	/* 2.12 */
	if (list_empty(&container->owner_node) != (own == 0))
		return gvm_check_failed(device, "owner without chunks, or the reverse",
					container->tgid);
	sums->chunks += own;
	if (gvm_container_is_shielded(container)) {
		sums->shielded_owners += own > 0;
	} else {
		sums->owners += own > 0;
		sums->exposed += own;
	}
	if (container->is_swap_full)
		sums->stuck += own;
	return 0;
}

/* What it pays for. Adds its picked chunks and its unevictable bytes to the sums. */
static int check_bytes(const struct gvm_container *container, struct check_sums *sums)
{
	const struct gvm_device *device = container->device;
	struct check_paid paid = check_paid(container);
	u64 evicting, clean;

	/* 2.13 */
	if (container->charged_bytes !=
	    paid.bound_bytes + container->reserved_bytes + container->unevictable_bytes)
		return gvm_check_failed(device,
					"usage is not reserved, bound and unevictable bytes",
					container->tgid);
	/* 2.14 */
	if (container->reserved_bytes < paid.allocated_bytes)
		return gvm_check_failed(device, "more is allocated than reserved",
					container->tgid);
	evicting = check_add_evicting(container, &sums->evicting, &clean);
	/* 2.15 */
	if (container->evicting_bytes != evicting || container->evicting_clean_bytes != clean)
		return gvm_check_failed(device, "bytes of picked chunks are off",
					container->tgid);
	sums->unevictable_bytes += container->unevictable_bytes;
	return 0;
}

static int check_container(const struct gvm_container *container, struct check_sums *sums)
{
	int status = check_family(container);

	if (!status)
		status = check_own_ring(container, sums);
	if (!status)
		status = check_bytes(container, sums);
	if (!status)
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
	if (!gvm_check_list_is_closed(&device->owners, device->container_count, &owners) ||
	    !gvm_check_list_is_closed(&device->shielded_owners, device->container_count,
				      &shielded) ||
	    owners != sums->owners || shielded != sums->shielded_owners)
		return gvm_check_failed(device, "list of owners is broken", owners + shielded);
	/* 2.24 */
	if (sums->chunks != device->bound_chunks)
		return gvm_check_failed(device, "chunks are bound to no container on the list",
					sums->chunks);
	/* 2.25 */
	if (sums->exposed != device->exposed_chunks)
		return gvm_check_failed(device, "device's count of exposed chunks is off",
					sums->exposed);
	/* 2.26 */
	if (sums->stuck != device->stuck_chunks)
		return gvm_check_failed(device, "device's count of stuck chunks is off",
					sums->stuck);
	/* 2.27 */
	if (sums->evicting != device->evicting_chunks)
		return gvm_check_failed(device, "device's count of picked chunks is off",
					sums->evicting);
	/* 2.28 */
	if (sums->unevictable_bytes != device->unevictable_bytes)
		return gvm_check_failed(device, "device's unevictable bytes are off",
					(u32)(sums->unevictable_bytes >> GVM_CHUNK_SHIFT));
	return 0;
}

int gvm_check_containers(const struct gvm_device *device)
{
	const struct gvm_container *container;
	struct check_sums sums = { 0 };
	u32 count = 0;

	/* 2.1 */
	if (!gvm_check_list_is_closed(&device->containers, device->container_count, &count) ||
	    count != device->container_count)
		return gvm_check_failed(device, "list of containers is broken", count);
	list_for_each_entry(container, &device->containers, node) {
		int status;

		/* 2.2 */
		if (container->device != device)
			return gvm_check_failed(device, "foreign container", container->tgid);
		status = check_container(container, &sums);
		if (status)
			return status;
		/* 2.22 */
		if (container->attached && container->tgid &&
		    !check_tgid_is_unique(device, container))
			return gvm_check_failed(device, "two containers of a tgid",
						container->tgid);
	}
	return check_sums(device, &sums);
}
