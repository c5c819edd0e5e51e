// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: service. Threads; works over struct gvm_memory_ops only.
 *
 * The background evictors: room before it is needed
 * =================================================
 *
 * One thread for each container and one for the device keep some chunks free, so that the fault
 * path seldom has to evict (service/evict.c). A container's evictor lives until the container's
 * last process detaches:
 *
 *     0 --------- LOW --------- HIGH ---------------------------> free
 *                  ^              ^
 *          below: wakes up     stops, sleeps
 *
 * The evictors are a few milliseconds of link time ahead, so the copy of an evicted chunk has
 * usually ended when the chunk is handed out. Both directions of the link then work at once
 * (GVM 4.3, Figure 9).
 *
 * Before each round, pressure listeners are told how much is wanted (policy/pressure.c). The
 * evictor does not wait for them. The evictor of a container whose hmem.limit is used up only
 * tells its listeners. Room comes when they free memory.
 *
 * How it differs from the papers (GVM 4.3, Ghost 4.2) and the published driver:
 *  1. The papers' evictor belongs to a container. A device without limits needs one, too.
 *  2. The papers give no watermarks. Here they are a few milliseconds of a 16 GB/s link, or
 *     what the last batch of faults took, at most a sixteenth of a limit. When a batch needs
 *     more chunks than are free, the fault handler evicts one chunk for each block while the
 *     evictor sleeps. That work takes longer than the copies on a link as fast as an H100's,
 *     and a fifth of the link is idle.
 *  3. The published driver has no background evictor. It frees lazily: the fault thread evicts,
 *     and a thread waits for the copies.
 */
#include "gvm/evictor.h"
#include "gvm/activity.h"
#include "gvm/clock.h"
#include "gvm/evict.h"
#include "gvm/family.h"
#include "gvm/hint.h"
#include "gvm/lirs.h"
#include "gvm/pressure.h"

/*
 * Free chunks of an evictor's container or device; *ret_total: all its chunks. A container's free
 * chunks are those that its limit still allows. With byte_limits its bytes count, and not its
 * chunks: a container with small parts of many chunks would be full long before its limit, and
 * the evictor would take nearly all of them. Device's lock held.
 */
static u32 evictor_free_locked(const struct gvm_evictor *evictor, u32 *ret_total)
{
	const struct gvm_device *device = evictor->device;
	u64 limit = device->chunk_count;
	u64 used;

	if (!evictor->container && device->memory_ops->free_chunks) {
		*ret_total = device->chunk_count;
		return device->memory_ops->free_chunks(device->memory);
	}
	used = device->bound_chunks + (device->unevictable_bytes >> GVM_CHUNK_SHIFT);
	if (evictor->container) {
		limit = evictor->container->gmem_high_bytes >> GVM_CHUNK_SHIFT;
		used = device->byte_limits ? gvm_family_bytes(evictor->container) :
					     gvm_family_occupied_bytes(evictor->container);
		used = (used + GVM_CHUNK_BYTES - 1) >> GVM_CHUNK_SHIFT;
	}
	*ret_total = (u32)min(limit, (u64)U32_MAX);
	return used < *ret_total ? *ret_total - (u32)used : 0;
}

/* The number of chunks to evict up to the high watermark. */
static u32 evictor_lack(const struct gvm_evictor *evictor)
{
	u32 unused, total, wanted;

	gvm_spin_lock(&evictor->device->lock);
	unused = evictor_free_locked(evictor, &total);
	wanted = min(max(GVM_EVICT_HIGH_CHUNKS, evictor->demand), total / GVM_EVICT_HIGH_SHARE);
	gvm_spin_unlock(&evictor->device->lock);
	return wanted - min(wanted, unused);
}

/*
 * Unmap some chunks ahead of the hand. The chunks in use have faulted when the hand arrives.
 * With both features, GVM_LIRS says which chunks.
 */
static void evictor_hint(struct gvm_evictor *evictor)
{
	struct gvm_device *device = evictor->device;
	u32 most = GVM_HINTS_PER_VICTIM;
	u32 chunk;

	if (!gvm_has_feature(device, GVM_HINT_FAULTS) && !device->lirs)
		return;
	while (most--) {
		chunk = device->lirs ? gvm_lirs_next(device, evictor->container) :
				       gvm_hint_next(device, evictor->container);
		if (chunk == GVM_NO_CHUNK)
			break;
		(void)device->memory_ops->hint(device->memory, chunk);
	}
}

/*
 * The container's own coldest chunk; for the limit of a container with children, that of the
 * member which has to give one.
 */
static u32 evictor_pick_own(struct gvm_container *container)
{
	struct gvm_container *giver;
	u32 chunk;

	if (!READ_ONCE(container->child_count))
		return gvm_clock_pick_own(container);
	giver = gvm_family_giver_get(container);
	chunk = gvm_clock_pick_own(giver);
	gvm_container_put(giver);
	return chunk;
}

/*
 * Evict one cold chunk, if there is one. Only a thread that needs room now takes chunks in use.
 */
static int evictor_evict_one(struct gvm_evictor *evictor, struct gvm_eviction *eviction)
{
	struct gvm_device *device = evictor->device;
	u32 asks = gvm_evict_asks(device);
	u32 chunk = GVM_NO_CHUNK;

	evictor_hint(evictor);
	if (!evictor->container)
		gvm_clock_refill_stash(device, GVM_PICK_LOOKS);
	while (asks-- && chunk == GVM_NO_CHUNK)
		chunk = evictor->container ? evictor_pick_own(evictor->container) :
					     gvm_clock_pick_global(device);
	return chunk == GVM_NO_CHUNK ?
		       -ENOENT :
		       gvm_evict_picked(device, chunk, GVM_NEED_CHARGE, eviction);
}

/*
 * Is the container's hmem.limit used up? Then only clean chunks could go, and these are left to
 * the faults that need room.
 */
static bool evictor_is_stuck(const struct gvm_evictor *evictor)
{
	bool stuck;

	gvm_spin_lock(&evictor->device->lock);
	stuck = evictor->container && evictor->container->is_swap_full;
	gvm_spin_unlock(&evictor->device->lock);
	return stuck;
}

/* One round: tell the listeners, then evict up to the high watermark. */
static void evictor_run(struct gvm_evictor *evictor)
{
	struct gvm_eviction eviction = { 0 };
	u32 lack = evictor_lack(evictor);
	u32 most = max(GVM_EVICT_HIGH_CHUNKS, lack);

	if (evictor->container)
		gvm_pressure_post(evictor->container, (u64)lack << GVM_CHUNK_SHIFT);
	else
		gvm_pressure_post_device(evictor->device, (u64)lack << GVM_CHUNK_SHIFT);
	if (evictor_is_stuck(evictor))
		return;
	while (most-- && !gvm_give_way() && evictor_lack(evictor) &&
	       !gvm_activity_should_end(evictor->device, GVM_ACTIVITY_EVICTORS)) {
		if (evictor_evict_one(evictor, &eviction))
			break;
	}
}

static bool evictor_take_kick(struct gvm_evictor *evictor)
{
	bool kicked;

	gvm_spin_lock(&evictor->device->lock);
	kicked = evictor->kicked;
	evictor->kicked = false;
	gvm_spin_unlock(&evictor->device->lock);
	return kicked;
}

static void evictor_worker(void *data)
{
	struct gvm_evictor *evictor = data;

	while (!gvm_worker_should_stop()) {
		if (gvm_wait_event_interruptible(&evictor->wait, evictor_take_kick(evictor)))
			break;
		/* A quiesced or lost device gets no round; the next kick asks again. */
		if (!gvm_activity_begin(evictor->device, GVM_ACTIVITY_EVICTORS))
			continue;
		evictor_run(evictor);
		gvm_activity_end(evictor->device, GVM_ACTIVITY_EVICTORS);
	}
}

/* Where a container or a device keeps its evictor. */
static struct gvm_evictor **evictor_slot(struct gvm_device *device,
					 struct gvm_container *container)
{
	return container ? &container->evictor : &device->evictor;
}

/* Start an evictor of a container, or (NULL) of the device. */
static int evictor_start(struct gvm_evictor *evictor, struct gvm_device *device,
			 struct gvm_container *container)
{
	struct gvm_evictor **slot = evictor_slot(device, container);
	bool busy;
	int status;

	gvm_spin_lock(&device->lock);
	busy = *slot;
	/* An evictor that runs already stays as it is. */
	if (*slot != evictor)
		memset(evictor, 0, sizeof(*evictor));
	if (!busy) {
		gvm_waitqueue_init(&evictor->wait);
		evictor->device = device;
		evictor->container = container;
		*slot = evictor;
	}
	gvm_spin_unlock(&device->lock);
	if (busy)
		return -EBUSY;
	status = gvm_worker_start(&evictor->worker, "gvm evictor", evictor_worker, evictor);
	if (!status)
		return 0;
	gvm_spin_lock(&device->lock);
	*slot = NULL;
	gvm_spin_unlock(&device->lock);
	evictor->device = NULL;
	return status;
}

int gvm_evictor_start(struct gvm_evictor *evictor, struct gvm_device *device)
{
	return evictor_start(evictor, device, NULL);
}

void gvm_evictor_stop(struct gvm_evictor *evictor)
{
	struct gvm_device *device = evictor->device;

	if (!device)
		return;
	/* No new kick can reach the evictor after this, so its thread can end. */
	gvm_spin_lock(&device->lock);
	device->evictor = NULL;
	gvm_spin_unlock(&device->lock);
	gvm_worker_stop(&evictor->worker);
	evictor->device = NULL;
}

int gvm_container_evictor_get(struct gvm_container *container)
{
	gvm_spin_lock(&container->device->lock);
	container->evictor_users++;
	gvm_spin_unlock(&container->device->lock);
	return gvm_container_evictor_restart(container);
}

int gvm_container_evictor_restart(struct gvm_container *container)
{
	struct gvm_evictor *evictor;
	bool runs;
	int status;

	gvm_spin_lock(&container->device->lock);
	runs = container->evictor != NULL;
	gvm_spin_unlock(&container->device->lock);
	if (runs)
		return 0;
	evictor = gvm_alloc(sizeof(*evictor));
	if (!evictor)
		return -ENOMEM;
	status = evictor_start(evictor, container->device, container);
	if (status)
		gvm_free(evictor);
	return status == -EBUSY ? 0 : status;
}

/*
 * The evictor leaves its slot under the lock that guards the count of users. So a process that
 * attaches now starts another evictor.
 */
void gvm_container_evictor_put(struct gvm_container *container)
{
	struct gvm_device *device = container->device;
	struct gvm_evictor *evictor = NULL;

	gvm_spin_lock(&device->lock);
	GVM_ASSERT(container->evictor_users > 0);
	container->evictor_users--;
	if (!container->evictor_users)
		swap(evictor, container->evictor);
	gvm_spin_unlock(&device->lock);
	if (!evictor)
		return;
	gvm_worker_stop(&evictor->worker);
	gvm_free(evictor);
}

/* Wake an evictor that is below its low watermark. The lock keeps gvm_evictor_stop() out. */
static void evictor_kick_locked(struct gvm_evictor *evictor, u32 chunks)
{
	u32 unused, total, low;

	if (!evictor)
		return;
	evictor->demand = chunks ? chunks : evictor->demand;
	if (evictor->kicked)
		return;
	unused = evictor_free_locked(evictor, &total);
	low = min(max(GVM_EVICT_LOW_CHUNKS, evictor->demand), total / GVM_EVICT_LOW_SHARE);
	if (unused >= low)
		return;
	evictor->kicked = true;
	gvm_wake_up_one(&evictor->wait);
}

void gvm_evictors_kick(struct gvm_container *container, u32 chunks)
{
	struct gvm_device *device = container->device;

	gvm_spin_lock(&device->lock);
	evictor_kick_locked(container->evictor, chunks);
	if (container->parent)
		evictor_kick_locked(container->parent->evictor, chunks);
	evictor_kick_locked(device->evictor, chunks);
	gvm_spin_unlock(&device->lock);
}
