// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: service. Blocks; works over struct gvm_memory_ops only.
 *
 * Eviction: which container loses a chunk, and when
 * =================================================
 *
 * Room is short in two ways, and the answer to each names the victim's owner:
 *
 *     the container is at its gmem.limit.high  -> the coldest chunk of its own. No container
 *                                                 pays for another one's limit.
 *     the device is full                       -> the coldest chunk of any container that is
 *                                                 above its gmem.limit.low; only when there is
 *                                                 none at all, one of a protected container:
 *                                                 protection is best effort (Ghost 4.1), and a
 *                                                 newcomer's context would die for it.
 *
 * Three parties evict. First the fault path, when no chunk is free: one victim, then it tries again.
 * Second a control write that lowered a limit. The limit holds for new charges before the first victim
 * is picked, so faults cannot undo the work. Each chunk is evicted under its own block's lock only, so
 * the container's faults are served all the while. The work is bounded, and gmem.current reports the
 * result. Third the background evictors, which make the fault path's case rare: one thread for
 * each container with a limit and one for the device, each keeping some chunks free:
 *
 *     0 --------- LOW --------- HIGH ---------------------------> free
 *                  ^              ^
 *          below: wakes up     stops, sleeps
 *
 * An evicted chunk is uncharged and free at once, while its copy to the host is still on the
 * link: the device starts the next owner's work behind that copy. Free chunks are handed out
 * oldest first, so with the evictors ahead by a few milliseconds of link time that copy has
 * ended by then, and both directions of the link work side by side (GVM 4.3, Figure 9).
 *
 * Before a reclaim and before each round of a background evictor, pressure listeners are told how much is
 * wanted (policy/pressure.c). The evictor does not wait for them.
 *
 * A container whose hmem.limit is used up cannot give a chunk. At its gmem.limit.high its eviction
 * returns -ENOSPC and its fault is cancelled. A full device returns -ENOSPC when that holds for all
 * containers with chunks. Such a container's evictor can only tell its listeners: memory that they give
 * up is the only way out.
 *
 * How it differs from the papers (GVM 4.3, Ghost 4.2) and the published driver:
 *  1. The papers' evictor belongs to a container. A device without limits needs one, too.
 *  2. The papers give no watermarks. These are a few milliseconds of a 16 GB/s link, or what the
 *     last batch of faults took, at most a sixteenth of a limit. A batch that finds less than it
 *     takes makes the fault handler evict, one chunk for each block, while the evictor sleeps. On
 *     a link as fast as an H100's both take longer than the copies do, and a fifth of it is idle.
 *  3. The published driver has no background evictor. It frees lazily: the fault thread evicts,
 *     and a thread waits for the copies. Its reclaim on a limit write goes through the
 *     container's memory in address order, with up to 256 blocks locked at once.
 */
#include "gvm/evict.h"
#include "gvm/activity.h"
#include "gvm/clock.h"
#include "gvm/hint.h"
#include "gvm/pressure.h"

/* How often one search asks the clock, whose picks are bounded, for a hand to go twice round. */
static u32 evict_asks(const struct gvm_device *device)
{
	return 2 * (device->chunk_count / GVM_PICK_LOOKS + 1);
}

static u32 evict_pick(struct gvm_container *container, enum gvm_need need)
{
	return need == GVM_NEED_CHARGE ? gvm_clock_pick_own(container) :
					 gvm_clock_pick_global(container->device);
}

/*
 * Evict a chunk that was picked. A chunk whose owner gave it back meanwhile is as good as evicted. A
 * part of one lowers a charge, but frees no chunk: -EBUSY for a full device, which tries the next.
 */
static int evict_picked(struct gvm_device *device, u32 chunk, enum gvm_need need,
			struct gvm_eviction *eviction)
{
	int status = device->memory_ops->evict(device->memory, chunk, eviction);

	if (status == -ENODEV)
		gvm_device_set_lost(device);
	if (!status && eviction->left_bytes && need == GVM_NEED_MEMORY)
		return -EBUSY;
	if (!status && eviction->keep && !eviction->left_bytes)
		eviction->chunk = chunk;
	return status == -ENOENT ? 0 : status;
}

/* Why no chunk of the container could go, as gvm_evict_for() puts it. Device's lock held. */
static int evict_none_own_locked(const struct gvm_container *container)
{
	/* Since it was refused, the container may have given back what it had. */
	if (container->charged_bytes + GVM_CHUNK_BYTES <= container->gmem_high_bytes)
		return 0;
	if (container->charged_bytes == container->unevictable_bytes)
		return -ENOENT;
	/* Picks are promises, and may be taken back; reservations will be chunks soon. */
	if (container->is_swap_full && !container->evicting_bytes)
		return -ENOSPC;
	return -EAGAIN;
}

static int evict_none_own(struct gvm_container *container)
{
	int status;

	gvm_spin_lock(&container->device->lock);
	status = evict_none_own_locked(container);
	if (status == -ENOSPC)
		container->events[GVM_EVENT_HMEM]++;
	gvm_spin_unlock(&container->device->lock);
	return status;
}

/* Are there chunks of containers that are not shielded, even if none can go right now? */
static bool evict_has_exposed(struct gvm_device *device)
{
	u32 exposed;

	gvm_spin_lock(&device->lock);
	exposed = device->exposed_chunks;
	gvm_spin_unlock(&device->lock);
	return exposed > 0;
}

/* Why no shielded chunk of the device could go, as gvm_evict_for() puts it. */
static int evict_none_protected(struct gvm_device *device)
{
	u32 bound, stuck, evicting;

	gvm_spin_lock(&device->lock);
	bound = device->bound_chunks;
	stuck = device->stuck_chunks;
	evicting = device->evicting_chunks;
	gvm_spin_unlock(&device->lock);
	if (bound > stuck || evicting)
		return -EAGAIN;
	return bound ? -ENOSPC : -ENOENT;
}

/* All containers with chunks are shielded. */
static int evict_protected(struct gvm_device *device, struct gvm_eviction *eviction)
{
	u32 asks = evict_asks(device);
	int status;
	u32 chunk;

	while (asks--) {
		chunk = gvm_clock_pick_protected(device);
		if (chunk == GVM_NO_CHUNK)
			continue;
		status = evict_picked(device, chunk, GVM_NEED_MEMORY, eviction);
		if (status != -EBUSY)
			return status;
	}
	return evict_none_protected(device);
}

int gvm_evict_for(struct gvm_container *container, enum gvm_need need,
		  struct gvm_eviction *eviction)
{
	struct gvm_device *device = container->device;
	u32 asks = evict_asks(device);
	int status;
	u32 chunk;

	eviction->chunk = GVM_NO_CHUNK;
	if (gvm_device_is_lost(device))
		return -ENODEV;
	while (asks--) {
		chunk = evict_pick(container, need);
		if (chunk == GVM_NO_CHUNK)
			continue;
		status = evict_picked(device, chunk, need, eviction);
		if (status != -EBUSY)
			return status;
	}
	if (need == GVM_NEED_CHARGE)
		return evict_none_own(container);
	return evict_has_exposed(device) ? -EAGAIN : evict_protected(device, eviction);
}

u32 gvm_reclaim(struct gvm_container *container)
{
	u32 excess = gvm_charge_excess(container);
	struct gvm_eviction eviction = { 0 };
	/* Faults may charge more meanwhile: bounded by twice the excess. */
	u32 most = 2 * excess;

	gvm_pressure_post(container, (u64)excess << GVM_CHUNK_SHIFT);
	while (excess && most-- && !gvm_give_way() &&
	       !gvm_activity_should_end(container->device, GVM_ACTIVITY_WRITERS)) {
		if (gvm_evict_for(container, GVM_NEED_CHARGE, &eviction))
			break;
		excess = gvm_charge_excess(container);
	}
	return excess;
}

/* The background evictors. */

/* Free chunks of an evictor's container or device, and all of them. Device's lock held. */
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
		used = (evictor->container->charged_bytes + GVM_CHUNK_BYTES - 1) >>
		       GVM_CHUNK_SHIFT;
	}
	*ret_total = (u32)min(limit, (u64)U32_MAX);
	return used < *ret_total ? *ret_total - (u32)used : 0;
}

static bool evictor_is_due_locked(const struct gvm_evictor *evictor)
{
	u32 total;
	u32 unused = evictor_free_locked(evictor, &total);

	return unused <
	       min(max(GVM_EVICT_LOW_CHUNKS, evictor->demand), total / GVM_EVICT_LOW_SHARE);
}

/* How many chunks are missing to the high watermark. */
static u32 evictor_lack(const struct gvm_evictor *evictor)
{
	u32 unused, total, wanted;

	gvm_spin_lock(&evictor->device->lock);
	unused = evictor_free_locked(evictor, &total);
	wanted = min(max(GVM_EVICT_HIGH_CHUNKS, evictor->demand), total / GVM_EVICT_HIGH_SHARE);
	gvm_spin_unlock(&evictor->device->lock);
	return wanted - min(wanted, unused);
}

/* Unmap some chunks ahead of the hand: by the time it arrives, those in use have faulted. */
static void evictor_hint(struct gvm_evictor *evictor)
{
	struct gvm_device *device = evictor->device;
	u32 most = GVM_HINTS_PER_VICTIM;
	u32 chunk;

	if (!gvm_has_feature(device, GVM_HINT_FAULTS))
		return;
	while (most--) {
		chunk = gvm_hint_next(device, evictor->container);
		if (chunk == GVM_NO_CHUNK)
			break;
		if (!device->memory_ops->hint(device->memory, chunk))
			evictor->hinted++;
	}
}

/* Tell the listeners, and go on without waiting for them. */
static void evictor_post(struct gvm_evictor *evictor)
{
	u64 target_bytes = (u64)evictor_lack(evictor) << GVM_CHUNK_SHIFT;

	if (evictor->container)
		gvm_pressure_post(evictor->container, target_bytes);
	else
		gvm_pressure_post_device(evictor->device, target_bytes);
}

/* Evict one victim, if there is a cold one: only a thread that needs room now takes chunks in use. */
static int evictor_evict_one(struct gvm_evictor *evictor, struct gvm_eviction *eviction)
{
	struct gvm_device *device = evictor->device;
	u32 asks = evict_asks(device);
	u32 chunk = GVM_NO_CHUNK;

	evictor_hint(evictor);
	if (!evictor->container)
		gvm_clock_refill_stash(device, GVM_PICK_LOOKS);
	while (asks-- && chunk == GVM_NO_CHUNK)
		chunk = evictor->container ? gvm_clock_pick_own(evictor->container) :
					     gvm_clock_pick_global(device);
	return chunk == GVM_NO_CHUNK ? -ENOENT :
				       evict_picked(device, chunk, GVM_NEED_CHARGE, eviction);
}

/* Is the hmem.limit of its container used up, so that no chunk can go? */
static bool evictor_is_stuck(const struct gvm_evictor *evictor)
{
	bool stuck;

	gvm_spin_lock(&evictor->device->lock);
	stuck = evictor->container && evictor->container->is_swap_full;
	gvm_spin_unlock(&evictor->device->lock);
	return stuck;
}

static void evictor_run(struct gvm_evictor *evictor)
{
	struct gvm_eviction eviction = { 0 };
	u32 most = max(GVM_EVICT_HIGH_CHUNKS, evictor_lack(evictor));

	evictor_post(evictor);
	if (evictor_is_stuck(evictor))
		return;
	while (most-- && !gvm_give_way() && evictor_lack(evictor) &&
	       !gvm_activity_should_end(evictor->device, GVM_ACTIVITY_EVICTORS)) {
		if (evictor_evict_one(evictor, &eviction)) {
			evictor->failures++;
			break;
		}
		evictor->evicted++;
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
		/* A quiesced or lost device gets no round: demand comes again with the next kick. */
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

/* From here on it can be kicked. Under the lock, since it may be one that runs already. */
static bool evictor_publish_locked(struct gvm_evictor *evictor, struct gvm_device *device,
				   struct gvm_container *container)
{
	struct gvm_evictor **slot = evictor_slot(device, container);

	if (*slot == evictor)
		return false;
	memset(evictor, 0, sizeof(*evictor));
	if (*slot)
		return false;
	gvm_waitqueue_init(&evictor->wait);
	evictor->device = device;
	evictor->container = container;
	*slot = evictor;
	return true;
}

int gvm_evictor_start(struct gvm_evictor *evictor, struct gvm_device *device,
		      struct gvm_container *container)
{
	bool published;
	int status;

	gvm_spin_lock(&device->lock);
	published = evictor_publish_locked(evictor, device, container);
	gvm_spin_unlock(&device->lock);
	if (!published)
		return -EBUSY;
	status = gvm_worker_start(&evictor->worker, "gvm evictor", evictor_worker, evictor);
	if (!status)
		return 0;
	gvm_spin_lock(&device->lock);
	*evictor_slot(device, container) = NULL;
	gvm_spin_unlock(&device->lock);
	evictor->device = NULL;
	return status;
}

void gvm_evictor_stop(struct gvm_evictor *evictor)
{
	struct gvm_device *device = evictor->device;

	if (!device)
		return;
	/* No kick can reach it from here on; then it ends. */
	gvm_spin_lock(&device->lock);
	*evictor_slot(device, evictor->container) = NULL;
	gvm_spin_unlock(&device->lock);
	gvm_worker_stop(&evictor->worker);
	evictor->device = NULL;
}

/* Under the lock, so that an evictor that is being stopped is not touched. */
static void evictor_kick_locked(struct gvm_evictor *evictor, u32 chunks)
{
	if (!evictor)
		return;
	evictor->demand = chunks ? chunks : evictor->demand;
	if (evictor->kicked || !evictor_is_due_locked(evictor))
		return;
	evictor->kicked = true;
	gvm_wake_up_all(&evictor->wait);
}

void gvm_evictors_kick(struct gvm_container *container, u32 chunks)
{
	struct gvm_device *device = container->device;

	gvm_spin_lock(&device->lock);
	evictor_kick_locked(container->evictor, chunks);
	evictor_kick_locked(device->evictor, chunks);
	gvm_spin_unlock(&device->lock);
}
