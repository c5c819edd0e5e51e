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
 * make evictions in the fault path rare: one thread for each container and one for the device.
 * Each keeps some chunks free. A container's evictor lives until the container's last process
 * detaches:
 *
 *     0 --------- LOW --------- HIGH ---------------------------> free
 *                  ^              ^
 *          below: wakes up     stops, sleeps
 *
 * An evicted chunk is uncharged and free at once, while its copy to the host is still on the
 * link: the device starts the next owner's work behind that copy. The chunk that has been free
 * longest is handed out first. The evictors are a few milliseconds of link time ahead, so the
 * copy has usually ended when its chunk is handed out. Both directions of the link then work at
 * once (GVM 4.3, Figure 9).
 *
 * Before a reclaim and before each round of a background evictor, pressure listeners are told
 * how much is wanted (policy/pressure.c). The evictor does not wait for them.
 *
 * A container whose hmem.limit is used up cannot give a chunk. At its gmem.limit.high an
 * eviction for it returns -ENOSPC, and its fault is cancelled. On a full device an eviction
 * returns -ENOSPC when all containers that could give a chunk have used up their hmem.limit.
 * The evictor of such a container only tells its listeners. Room comes when they free memory.
 *
 * How it differs from the papers (GVM 4.3, Ghost 4.2) and the published driver:
 *  1. Ghost's gmem.limit.low is best effort (4.1). Here it holds against every container that
 *     is not protected as well.
 *  2. The papers' evictor belongs to a container. A device without limits needs one, too.
 *  3. The papers give no watermarks. Here they are a few milliseconds of a 16 GB/s link, or
 *     what the last batch of faults took, at most a sixteenth of a limit. When a batch needs
 *     more chunks than are free, the fault handler evicts one chunk for each block while the
 *     evictor sleeps. That work takes longer than the copies on a link as fast as an H100's,
 *     and a fifth of the link is idle.
 *  4. The published driver has no background evictor. It frees lazily: the fault thread evicts,
 *     and a thread waits for the copies. Its reclaim on a limit write goes through the
 *     container's memory in address order, with up to 256 blocks locked at once.
 */
#include "gvm/evict.h"
#include "gvm/activity.h"
#include "gvm/family.h"
#include "gvm/clock.h"
#include "gvm/hint.h"
#include "gvm/lirs.h"
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

/*
 * The number of picks that take a hand round twice: one pick looks at a bounded number of
 * chunks.
 */
static u32 evict_asks(const struct gvm_device *device)
{
	return 2 * (device->chunk_count / GVM_PICK_SWEEP_LOOKS + 1);
}

/*
 * Evict a picked chunk. Returns 0 also if its owner freed it meanwhile (-ENOENT of the
 * manager). An eviction of a part lowers a charge but frees no chunk. For a full device that is
 * -EBUSY, and the search tries the next victim.
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
	u32 asks = evict_asks(device), tries = EVICT_TRIES_MAX;
	int error = -ENOENT;

	while (asks && tries) {
		u32 chunk = evict_pick(container, order);
		int status;

		if (chunk == GVM_NO_CHUNK) {
			asks--;
			continue;
		}
		tries--;
		status = evict_picked(device, chunk, need, eviction);
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

/* Make room within the container's own limit. */
static int evict_own(struct gvm_container *container, struct gvm_eviction *eviction)
{
	int status = evict_search(container, EVICT_OWN, GVM_NEED_CHARGE, eviction);
	u64 used;

	if (status != -ENOENT)
		return status;
	gvm_spin_lock(&container->device->lock);
	/* A container that pays for parts of others' chunks occupies less than it pays for. */
	used = max(gvm_container_occupied_bytes(container), container->charged_bytes);
	/* Has the container freed memory since its charge was refused? */
	status = used + GVM_CHUNK_BYTES <= container->gmem_high_bytes ?
			 0 :
			 evict_none_own_locked(container);
	gvm_spin_unlock(&container->device->lock);
	return status;
}

/* No member could give a chunk. Returns the status of gvm_evict_for() for the reason. */
static int evict_none_in_family(struct gvm_container *container)
{
	const struct gvm_container *refuser;
	int status = -ENOENT;

	gvm_spin_lock(&container->device->lock);
	refuser = gvm_family_chunk_refuser_locked(container, GVM_CHUNK_BYTES);
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
	return status == -ENOENT ? evict_none_in_family(container) : status;
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

int gvm_reclaim(struct gvm_container *container)
{
	struct gvm_device *device = container->device;
	u32 excess = gvm_charge_excess(container);
	struct gvm_eviction eviction = { 0 };
	/* Faults may charge more meanwhile: bounded by twice the excess. */
	u32 most = 2 * excess;

	gvm_pressure_post(container, (u64)excess << GVM_CHUNK_SHIFT);
	while (excess && most--) {
		int status;

		if (gvm_give_way())
			return -EINTR;
		if (gvm_device_is_lost(device))
			return -ENODEV;
		if (gvm_activity_should_end(device, GVM_ACTIVITY_WRITERS))
			return -EAGAIN;
		status = gvm_evict_for(container, GVM_NEED_CHARGE, &eviction);
		/*
		 * No more chunks may go, or the rest is in service and leaves with its batch.
		 */
		if (gvm_evict_found_none(status) || status == -EAGAIN)
			break;
		if (status)
			return status;
		excess = gvm_charge_excess(container);
	}
	return 0;
}

/* The background evictors. */

/*
 * Free chunks of an evictor's container or device; *ret_total: all its chunks. Device's lock
 * held.
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
		used = (gvm_family_occupied_bytes(evictor->container) + GVM_CHUNK_BYTES - 1) >>
		       GVM_CHUNK_SHIFT;
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
 * Unmap some chunks ahead of the hand. The chunks in use have faulted when the hand arrives. With
 * both features, GVM_LIRS says which chunks.
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
		if (!device->memory_ops->hint(device->memory, chunk))
			evictor->hinted++;
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
	u32 asks = evict_asks(device);
	u32 chunk = GVM_NO_CHUNK;

	evictor_hint(evictor);
	if (!evictor->container)
		gvm_clock_refill_stash(device, GVM_PICK_LOOKS);
	while (asks-- && chunk == GVM_NO_CHUNK)
		chunk = evictor->container ? evictor_pick_own(evictor->container) :
					     gvm_clock_pick_global(device);
	return chunk == GVM_NO_CHUNK ? -ENOENT :
				       evict_picked(device, chunk, GVM_NEED_CHARGE, eviction);
}

/* Is the container's hmem.limit used up? Then none of its chunks can be evicted. */
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
