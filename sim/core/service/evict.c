// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: service. Blocks; works over struct gvm_memory_ops only.
 *
 * Eviction: which container loses a chunk, and when
 * =================================================
 *
 * Room is short in two cases. Each case says which container owns the victim:
 *
 *     the container is at its gmem.limit.high  -> the coldest chunk of its own. No container
 *                                                 pays for another one's limit.
 *     the device is full                       -> the coldest chunk of any container above its
 *                                                 gmem.limit.low. If there is none: see below.
 *
 * A protected chunk goes only to a container that is itself under its gmem.limit.low. This
 * happens when the administrator has promised more memory than there is. Any other container
 * gives a chunk of its own for the chunk that it wants. If it can give none, it is refused, and
 * its fault is cancelled: the container is new, its hmem.limit is used up, or all of its memory
 * is unevictable. If a neighbour had to give instead, a tenant could take any neighbour's
 * memory by making its own unevictable.
 *
 * A victim whose copy fails is put back and another one is tried. The container that asked gets
 * an error only if the search evicted no victim.
 *
 * Three parties evict. The first is the fault path, when no chunk is free: it evicts one victim
 * and tries again. The second is a control write that lowered a limit. The limit holds for new
 * charges before the first victim is picked, so faults cannot undo the work. Each eviction
 * holds one VA-block lock only, and faults are served between two evictions. The work is
 * bounded, and gmem.current reports the result. The third are the background evictors, which
 * make evictions in the fault path rare: service/evictor.c.
 *
 * An evicted chunk is uncharged and free at once, while its copy to the host is still on the
 * link: the device starts the next owner's work after that copy. The chunk that has been free
 * longest is handed out first.
 *
 * Before a reclaim, pressure listeners are told how much is wanted (policy/pressure.c).
 *
 * A container whose hmem.limit is used up cannot give a chunk. At its gmem.limit.high an
 * eviction for it returns -ENOSPC, and its fault is cancelled. On a full device an eviction
 * returns -ENOSPC when all containers that could give a chunk have used up their hmem.limit.
 *
 * How it differs from the papers (GVM 4.3, Ghost 4.2) and the published driver:
 *  1. Ghost's gmem.limit.low is best effort (4.1). Here it holds against every container that
 *     is not protected as well.
 *  2. The published driver's reclaim on a limit write goes through the container's memory in
 *     address order, with up to 256 blocks locked at once.
 */
#include "gvm/evict.h"
#include "gvm/activity.h"
#include "gvm/family.h"
#include "gvm/clock.h"
#include "gvm/pressure.h"

/*
 * A thread that can wait looks for a victim again after this time, at most this often: for a
 * second.
 */
#define EVICT_WAIT_NS	500000ull
#define EVICT_WAITS_MAX 2000u

/* Victims that one search may try. */
#define EVICT_TRIES_MAX 64u

/* Where a search picks its victims. */
enum evict_order { EVICT_OWN, EVICT_GLOBAL, EVICT_PROTECTED };

u32 gvm_evict_asks(const struct gvm_device *device)
{
	return 2 * (device->chunk_count / GVM_PICK_SWEEP_LOOKS + 1);
}

int gvm_evict_picked(struct gvm_device *device, u32 chunk, enum gvm_need need,
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

static u32 evict_pick(struct gvm_container *container, enum evict_order order)
{
	switch (order) {
	case EVICT_OWN:
		return gvm_clock_pick_own(container);
	case EVICT_GLOBAL:
		return gvm_clock_pick_global(container->device);
	case EVICT_PROTECTED:
		return gvm_clock_pick_protected(container->device);
	}
	return GVM_NO_CHUNK;
}

/*
 * Pick a victim and evict it. A victim may not go: it has come into service, only a part of it
 * could go, or its copy failed, which is not @container's fault. Then it has been put back, and
 * the next one is tried. Returns 0; -ENOENT: no victim was found, or all were busy; -EINTR;
 * -ENODEV; or the error of the last victim that failed.
 */
static int evict_search(struct gvm_container *container, enum evict_order order,
			enum gvm_need need, struct gvm_eviction *eviction)
{
	struct gvm_device *device = container->device;
	u32 asks = gvm_evict_asks(device), tries = EVICT_TRIES_MAX;
	int error = -ENOENT;

	while (asks && tries) {
		u32 chunk = evict_pick(container, order);
		int status;

		if (chunk == GVM_NO_CHUNK) {
			asks--;
			continue;
		}
		tries--;
		status = gvm_evict_picked(device, chunk, need, eviction);
		if (!status || status == -EINTR || status == -ENODEV)
			return status;
		if (status != -EBUSY)
			error = status;
	}
	return error;
}

/*
 * The container is at its gmem.limit.high, and none of its chunks could be evicted. Returns the
 * status of gvm_evict_for() for the reason. Device's lock held.
 */
static int evict_none_own_locked(struct gvm_container *container)
{
	if (container->charged_bytes == container->unevictable_bytes)
		return -ENOENT;
	/* All that it pays for may be in chunks of others, and leaves with them. */
	if (!container->bound_chunks && !container->reserved_bytes &&
	    !container->evicting_bytes)
		return -ENOENT;
	/* An eviction in progress may fail and return its room. */
	if (!container->is_swap_full || container->evicting_bytes)
		return -EAGAIN;
	container->events[GVM_EVENT_HMEM]++;
	return -ENOSPC;
}

/*
 * Would the refused charge fit by now? Memory has been freed since then, and maybe less than a
 * chunk. Of a container without a family. Device's lock held.
 */
static bool evict_own_fits_locked(struct gvm_container *container,
				  const struct gvm_eviction *eviction)
{
	u64 used;

	if (eviction->bytes)
		return !gvm_family_refuser_locked(container, eviction->bytes);
	/* A container that pays for parts of others' chunks occupies less than it pays for. */
	used = max(gvm_container_occupied_bytes(container), container->charged_bytes);
	return used + GVM_CHUNK_BYTES <= container->gmem_high_bytes;
}

/* Make room within the container's own limit. */
static int evict_own(struct gvm_container *container, struct gvm_eviction *eviction)
{
	int status = evict_search(container, EVICT_OWN, GVM_NEED_CHARGE, eviction);

	if (status != -ENOENT)
		return status;
	gvm_spin_lock(&container->device->lock);
	status = evict_own_fits_locked(container, eviction) ? 0 :
							      evict_none_own_locked(container);
	gvm_spin_unlock(&container->device->lock);
	return status;
}

/* No member could give a chunk. Returns the status of gvm_evict_for() for the reason. */
static int evict_none_in_family(struct gvm_container *container,
				const struct gvm_eviction *eviction)
{
	const struct gvm_container *refuser;
	int status = -ENOENT;

	gvm_spin_lock(&container->device->lock);
	refuser = eviction->bytes ? gvm_family_refuser_locked(container, eviction->bytes) :
				    gvm_family_chunk_refuser_locked(container, GVM_CHUNK_BYTES);
	if (!refuser) {
		/* The family has freed memory since the charge was refused. */
		status = 0;
	} else if (refuser == container && container->parent) {
		status = evict_none_own_locked(container);
	} else if (gvm_family_gives_later_locked(container)) {
		status = -EAGAIN;
	} else if (container->is_swap_full) {
		container->events[GVM_EVENT_HMEM]++;
		status = -ENOSPC;
	}
	gvm_spin_unlock(&container->device->lock);
	return status;
}

/* Make room within the limits of a member of a family. */
static int evict_in_family(struct gvm_container *container, struct gvm_eviction *eviction)
{
	struct gvm_container *giver = gvm_family_giver_get(container);
	int status = evict_search(giver, EVICT_OWN, GVM_NEED_CHARGE, eviction);

	if (status == -ENOENT && giver != container)
		status = evict_search(container, EVICT_OWN, GVM_NEED_CHARGE, eviction);
	gvm_container_put(giver);
	return status == -ENOENT ? evict_none_in_family(container, eviction) : status;
}

/* Has any container that is not shielded a chunk? Such a chunk may go, now or later. */
static bool evict_has_exposed(struct gvm_device *device)
{
	u32 exposed;

	gvm_spin_lock(&device->lock);
	exposed = device->exposed_chunks;
	gvm_spin_unlock(&device->lock);
	return exposed > 0;
}

/* Has the container less than its gmem.limit.low? Then it would be protected with one more. */
static bool evict_may_take_protected(struct gvm_container *container)
{
	bool may;

	gvm_spin_lock(&container->device->lock);
	may = container->charged_bytes < container->low_bytes;
	gvm_spin_unlock(&container->device->lock);
	return may;
}

/*
 * There was no exposed chunk, and no victim for @container: among all chunks with
 * @protected_too, else among its own. Returns the status of gvm_evict_for() for the reason.
 */
static int evict_none(struct gvm_container *container, bool protected_too)
{
	struct gvm_device *device = container->device;
	u32 bound, busy;

	gvm_spin_lock(&device->lock);
	bound = device->bound_chunks;
	busy = device->evicting_chunks;
	if (protected_too)
		busy += bound - device->stuck_chunks;
	else if (!container->is_swap_full)
		busy += container->bound_chunks;
	gvm_spin_unlock(&device->lock);
	if (busy)
		return -EAGAIN;
	return bound ? -ENOSPC : -ENOENT;
}

int gvm_evict_for(struct gvm_container *container, enum gvm_need need,
		  struct gvm_eviction *eviction)
{
	struct gvm_device *device = container->device;
	bool protected_too;
	int status;

	eviction->chunk = GVM_NO_CHUNK;
	if (gvm_device_is_lost(device))
		return -ENODEV;
	if (need == GVM_NEED_CHARGE) {
		if (gvm_container_has_family(container))
			return evict_in_family(container, eviction);
		return evict_own(container, eviction);
	}
	status = evict_search(container, EVICT_GLOBAL, need, eviction);
	if (status != -ENOENT)
		return status;
	if (evict_has_exposed(device))
		return -EAGAIN;
	protected_too = evict_may_take_protected(container);
	status = evict_search(container, protected_too ? EVICT_PROTECTED : EVICT_OWN, need,
			      eviction);
	return status == -ENOENT ? evict_none(container, protected_too) : status;
}

int gvm_evict_ahead(struct gvm_container *container, enum gvm_need need)
{
	struct gvm_eviction eviction = { 0 };

	if (gvm_device_is_lost(container->device))
		return -ENODEV;
	if (need == GVM_NEED_CHARGE && gvm_container_has_family(container))
		return -ENOENT;
	return evict_search(container, need == GVM_NEED_CHARGE ? EVICT_OWN : EVICT_GLOBAL, need,
			    &eviction);
}

/* A batch of faults ends within milliseconds. Then its blocks are no longer in service. */
int gvm_evict_wait_for(struct gvm_container *container, enum gvm_need need,
		       struct gvm_eviction *eviction)
{
	struct gvm_device *device = container->device;
	int status = gvm_evict_for(container, need, eviction);

	for (u32 waits = 0; status == -EAGAIN && waits < EVICT_WAITS_MAX; waits++) {
		if (gvm_give_way() || gvm_wait_event_killable_timeout_ns(
					      &device->activity, gvm_device_is_lost(device),
					      EVICT_WAIT_NS) == -EINTR)
			return -EINTR;
		status = gvm_evict_for(container, need, eviction);
	}
	return status;
}

/*
 * How many chunks a reclaim may evict. Faults may charge more meanwhile: bounded by twice the
 * excess. Where limits hold for bytes, each chunk may hold a piece only, so all may have to go.
 */
static u32 reclaim_most(struct gvm_container *container, u32 excess)
{
	u64 chunks = excess;

	if (excess && container->device->byte_limits) {
		gvm_spin_lock(&container->device->lock);
		chunks += gvm_family_occupied_bytes(container) >> GVM_CHUNK_SHIFT;
		gvm_spin_unlock(&container->device->lock);
	}
	return (u32)min(2 * chunks, (u64)U32_MAX);
}

int gvm_reclaim(struct gvm_container *container)
{
	struct gvm_device *device = container->device;
	u32 excess = gvm_charge_excess(container);
	struct gvm_eviction eviction = { 0 };
	/*
	 * An eviction that leaves a part of its chunk has taken a page or more, so there are no
	 * more of those than pages.
	 */
	u32 most = reclaim_most(container, excess);
	u64 most_parts = gvm_charged_bytes(container) >> GVM_PAGE_SHIFT;

	gvm_pressure_post(container, (u64)excess << GVM_CHUNK_SHIFT);
	while (excess && most) {
		int status;

		if (gvm_give_way())
			return -EINTR;
		if (gvm_device_is_lost(device))
			break;
		if (gvm_activity_should_end(device, GVM_ACTIVITY_WRITERS))
			return -EAGAIN;
		status = gvm_evict_for(container, GVM_NEED_CHARGE, &eviction);
		/*
		 * No more chunks may go, or the rest is in service and leaves with its batch.
		 */
		if (gvm_evict_found_none(status) || status == -EAGAIN || status == -ENODEV)
			break;
		if (status)
			return status;
		if (eviction.left_bytes && most_parts)
			most_parts--;
		else
			most--;
		excess = gvm_charge_excess(container);
	}
	return gvm_device_error(device);
}
