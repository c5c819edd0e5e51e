// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Charging: whose chunks are whose, and how many anybody may have.
 *
 * Layer: policy. Never waits, never calls back, takes only the device's leaf lock.
 *
 *
 * Charge before use, uncharge once, by what is written down
 *
 * A charge is a promise before it is a chunk:
 *
 *              reserve              bind                   uncharge
 *     (nothing) ------> reserved ----------> bound to a chunk ------> (nothing)
 *                           |
 *                           '---> cancel ---> (nothing)
 *
 *     charged_chunks    +1                    .                 -1
 *     reserved_chunks   +1          -1 (or -1 in cancel)
 *
 * The usage rises in the first step, under the lock that checks the limit. Whatever the device's
 * allocator does next, in whatever batches and however many threads, the sum of promises and
 * chunks was never above the limit. From bind to uncharge the chunk itself says who pays for
 * it, so that a chunk which is freed by somebody else's eviction is taken off the right account,
 * once, at its one size.
 *
 * gmem.limit.low is settled here as well: any change of the usage or of the limit may put the
 * container on the other side of it, which costs the clock O(1). So is hmem.limit, and in the same
 * manner as gmem.limit.high: the promise comes first. A chunk that is picked may become a chunk in
 * host memory, and until it is known what became of it, it counts as one. A container with no room
 * for one more is "full": its chunks are nobody's victims, not even its own. So gmem.swap.current is
 * never above hmem.limit, however many evictors are at work; and what was swapped in before the
 * limit was lowered is not brought back, it has only become less to pick from.
 *
 * Page tables and contexts are charged, too, and pinned: they are in gmem.current and gmem.peak and
 * count against the limits, but the clock has never heard of them.
 *
 *
 * How it differs from the papers (GVM 4.3) and the published driver
 *
 *   1. GVM "first accounts the new pages, then checks": usage above the limit is normal there
 *      and eviction brings it down again. Here a charge above the limit is refused and the
 *      caller makes room first. Usage is above a limit only after somebody lowered the limit.
 *   2. The published driver compares before the allocation, adds after it, and enforces only
 *      when its allocator has no free chunk left from its last batch: up to 64 chunks over.
 *   3. It uncharges the size of a root chunk per VA block and clamps at zero, which hides chunks
 *      counted twice or never. Here below zero is a broken invariant.
 *   4. It has no hmem.limit and counts neither page tables nor contexts; GVM's Table 2 and section
 *      4.3 want both. The papers do not say who pays when hmem.limit is used up: here the owner
 *      alone does, when its own next page finds no room. Whoever has hmem.limit but no
 *      gmem.limit.high keeps all that it ever got. Less than a chunk of room is none.
 */
#include "gvm/charge.h"
#include "gvm/clock.h"

static u64 charge_bytes(u32 chunks)
{
	return (u64)chunks << GVM_CHUNK_SHIFT;
}

/* gmem.limit.high in whole chunks. */
static u64 charge_limit_chunks(const struct gvm_container *container)
{
	return container->gmem_high_bytes >> GVM_CHUNK_SHIFT;
}

static void charge_add_locked(struct gvm_container *container)
{
	container->charged_chunks++;
	container->reserved_chunks++;
	container->peak_chunks = max(container->peak_chunks, container->charged_chunks);
	gvm_container_settle_locked(container);
}

static int charge_reserve_locked(struct gvm_container *container)
{
	if (container->charged_chunks >= charge_limit_chunks(container)) {
		container->events[GVM_EVENT_HIGH]++;
		return -EDQUOT;
	}
	charge_add_locked(container);
	return 0;
}

/* CONTEXT: under a VA-block lock. */
int gvm_charge_reserve(struct gvm_container *container)
{
	int error;

	gvm_spin_lock(&container->device->lock);
	error = charge_reserve_locked(container);
	gvm_spin_unlock(&container->device->lock);
	return error;
}

/* CONTEXT: atomic. */
void gvm_charge_force(struct gvm_container *container)
{
	gvm_spin_lock(&container->device->lock);
	charge_add_locked(container);
	gvm_spin_unlock(&container->device->lock);
}

/* CONTEXT: atomic. */
void gvm_charge_cancel(struct gvm_container *container)
{
	gvm_spin_lock(&container->device->lock);
	GVM_ASSERT(container->reserved_chunks > 0);
	container->reserved_chunks--;
	container->charged_chunks--;
	gvm_container_settle_locked(container);
	gvm_spin_unlock(&container->device->lock);
}

/* CONTEXT: atomic. */
void gvm_charge_bind(struct gvm_container *container, u32 chunk)
{
	struct gvm_device *device = container->device;
	struct gvm_chunk *entry = &device->chunks[chunk];

	gvm_spin_lock(&device->lock);
	GVM_ASSERT(chunk < device->chunk_count && entry->state == GVM_CHUNK_FREE);
	GVM_ASSERT(container->reserved_chunks > 0);
	container->reserved_chunks--;
	device->charged_chunks++;
	entry->owner = container;
	entry->state = GVM_CHUNK_CHARGED;
	gvm_clock_insert_locked(device, chunk);
	gvm_spin_unlock(&device->lock);
}

/* CONTEXT: atomic. */
void gvm_charge_pin(struct gvm_container *container)
{
	struct gvm_device *device = container->device;

	gvm_spin_lock(&device->lock);
	GVM_ASSERT(container->reserved_chunks > 0);
	container->reserved_chunks--;
	container->pinned_chunks++;
	device->pinned_chunks++;
	gvm_spin_unlock(&device->lock);
}

/* CONTEXT: atomic. */
void gvm_charge_unpin(struct gvm_container *container)
{
	struct gvm_device *device = container->device;

	gvm_spin_lock(&device->lock);
	GVM_ASSERT(container->pinned_chunks > 0);
	container->pinned_chunks--;
	container->charged_chunks--;
	device->pinned_chunks--;
	gvm_container_settle_locked(container);
	gvm_spin_unlock(&device->lock);
}

static void uncharge_locked(struct gvm_device *device, u32 chunk)
{
	struct gvm_chunk *entry = &device->chunks[chunk];
	struct gvm_container *owner = entry->owner;

	GVM_ASSERT(owner->charged_chunks > owner->reserved_chunks + owner->pinned_chunks);
	GVM_ASSERT(device->charged_chunks > 0);
	gvm_clock_remove_locked(device, chunk);
	if (entry->state == GVM_CHUNK_EVICTING) {
		owner->evicted_chunks++;
		owner->evicting_chunks--;
		device->evicting_chunks--;
	}
	entry->state = GVM_CHUNK_FREE;
	entry->owner = NULL;
	owner->charged_chunks--;
	device->charged_chunks--;
	gvm_container_settle_locked(owner);
}

/* CONTEXT: atomic. */
void gvm_uncharge(struct gvm_device *device, u32 chunk)
{
	gvm_spin_lock(&device->lock);
	GVM_ASSERT(chunk < device->chunk_count &&
		   device->chunks[chunk].state != GVM_CHUNK_FREE);
	uncharge_locked(device, chunk);
	gvm_spin_unlock(&device->lock);
}

/* CONTEXT: atomic. */
u32 gvm_charge_excess(struct gvm_container *container)
{
	u64 limit, charged;

	gvm_spin_lock(&container->device->lock);
	limit = charge_limit_chunks(container);
	charged = container->charged_chunks;
	gvm_spin_unlock(&container->device->lock);
	return charged > limit ? (u32)(charged - limit) : 0;
}

/* CONTEXT: atomic. */
void gvm_swap_charge(struct gvm_container *container, u64 bytes)
{
	gvm_spin_lock(&container->device->lock);
	container->swapped_bytes += bytes;
	gvm_container_settle_locked(container);
	gvm_spin_unlock(&container->device->lock);
}

/* CONTEXT: atomic. */
void gvm_swap_uncharge(struct gvm_container *container, u64 bytes)
{
	gvm_spin_lock(&container->device->lock);
	GVM_ASSERT(container->swapped_bytes >= bytes);
	container->swapped_bytes -= bytes;
	gvm_container_settle_locked(container);
	gvm_spin_unlock(&container->device->lock);
}

/* CONTEXT: atomic. */
void gvm_clean_charge(struct gvm_container *container, u64 before, u64 after)
{
	gvm_spin_lock(&container->device->lock);
	GVM_ASSERT(container->clean_bytes >= before);
	container->clean_bytes += after - before;
	gvm_spin_unlock(&container->device->lock);
}

/* CONTEXT: process. */
void gvm_limit_set_high(struct gvm_container *container, u64 bytes)
{
	gvm_spin_lock(&container->device->lock);
	container->gmem_high_bytes = bytes;
	gvm_spin_unlock(&container->device->lock);
}

/* CONTEXT: process. */
void gvm_limit_set_low(struct gvm_container *container, u64 bytes)
{
	gvm_spin_lock(&container->device->lock);
	container->gmem_low_bytes = bytes;
	gvm_container_settle_locked(container);
	gvm_spin_unlock(&container->device->lock);
}

/* CONTEXT: process. */
void gvm_limit_set_hmem(struct gvm_container *container, u64 bytes)
{
	gvm_spin_lock(&container->device->lock);
	container->hmem_bytes = bytes;
	gvm_container_settle_locked(container);
	gvm_spin_unlock(&container->device->lock);
}

/* CONTEXT: atomic. */
u64 gvm_charged_bytes(struct gvm_container *container)
{
	u64 bytes;

	gvm_spin_lock(&container->device->lock);
	bytes = charge_bytes(container->charged_chunks);
	gvm_spin_unlock(&container->device->lock);
	return bytes;
}

/* CONTEXT: atomic. */
u64 gvm_peak_bytes(struct gvm_container *container)
{
	u64 bytes;

	gvm_spin_lock(&container->device->lock);
	bytes = charge_bytes(container->peak_chunks);
	gvm_spin_unlock(&container->device->lock);
	return bytes;
}
