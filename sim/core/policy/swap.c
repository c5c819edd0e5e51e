// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Host memory: how much of a container's memory is on the host, and how much may be.
 *
 * Layer: policy. Never waits, never calls back, takes only the device's leaf lock.
 *
 * hmem.limit works like gmem.limit.high (policy/charge.c): the promise comes first. A picked
 * chunk may become memory of the host, and counts as such until its eviction ends. A container
 * without room for one more chunk is "full", and none of its chunks is picked, not even for
 * itself. So gmem.swap.current never exceeds hmem.limit, however many evictors work. A limit
 * that is lowered below the swap brings nothing back; it only stops further evictions. Copies
 * of clean pages (block/clean.c) count as well. A chunk that is clean as a whole needs no more
 * room on the host, so its own container can always evict it.
 *
 * How it differs from the paper (GVM 4.3) and the published driver: the driver has no
 * hmem.limit. The paper does not say what happens when it is used up: here the owner's own next
 * fault fails, and no other container's. A container with hmem.limit but without
 * gmem.limit.high keeps all its memory. Room for less than a chunk counts as none.
 */
#include "gvm/swap.h"
#include "gvm/family.h"
#include "gvm/shield.h"

/* CONTEXT: atomic. */
void gvm_swap_charge(struct gvm_container *container, u64 bytes)
{
	if (!gvm_books_lock(container->device))
		return;
	container->swapped_bytes += bytes;
	gvm_container_update_shield_locked(container);
	gvm_spin_unlock(&container->device->lock);
}

/* CONTEXT: atomic. */
int gvm_swap_reserve(struct gvm_container *container, u64 bytes)
{
	int status = -EDQUOT;
	u64 used;

	if (!gvm_books_lock(container->device))
		return -EIO;
	used = gvm_container_host_bytes(container);
	/* A limit below the usage has room for nothing, but no bytes need no room. */
	if (!bytes || (used <= container->hmem_limit_bytes &&
		       bytes <= container->hmem_limit_bytes - used &&
		       gvm_family_has_host_room(container, bytes))) {
		container->swapped_bytes += bytes;
		gvm_container_update_shield_locked(container);
		status = 0;
	}
	gvm_spin_unlock(&container->device->lock);
	return status;
}

/*
 * Lower a count of memory that the device's driver reports. A wrap to 2^64 would fill the
 * container's hmem.limit for ever. NVIDIA's driver moves pages in ways that no hook sees, so a
 * credit that is too large is clamped and logged once.
 */
static void swap_take_off_locked(struct gvm_container *container, u64 *count, u64 bytes)
{
	struct gvm_device *device = container->device;

	if (bytes > *count && !device->credit_warned) {
		device->credit_warned = true;
		gvm_warn("%s: more swapped or clean memory was credited than charged",
			 device->name);
	}
	*count -= min(bytes, *count);
}

/* CONTEXT: atomic. */
void gvm_swap_uncharge(struct gvm_container *container, u64 bytes)
{
	if (!gvm_books_lock(container->device))
		return;
	swap_take_off_locked(container, &container->swapped_bytes, bytes);
	gvm_container_update_shield_locked(container);
	gvm_spin_unlock(&container->device->lock);
}

/* CONTEXT: atomic. */
void gvm_clean_charge(struct gvm_container *container, u32 chunk, u32 before, u32 after)
{
	struct gvm_chunk *entry = &container->device->chunks[chunk];

	if (!gvm_books_lock(container->device))
		return;
	swap_take_off_locked(container, &container->clean_bytes, before);
	container->clean_bytes += after;
	if (entry->state == GVM_CHUNK_EVICTING)
		container->evicting_clean_bytes += (u64)after - before;
	entry->clean_bytes += after - before;
	gvm_container_update_shield_locked(container);
	gvm_spin_unlock(&container->device->lock);
}

/* CONTEXT: process. */
void gvm_limit_set_hmem(struct gvm_container *container, u64 bytes)
{
	if (!gvm_books_lock(container->device))
		return;
	container->hmem_limit_bytes = bytes;
	gvm_container_update_shield_locked(container);
	gvm_spin_unlock(&container->device->lock);
}
