/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The dual CLOCK: which chunk goes next, of a container or of the whole device. The idea, the
 * picture and the differences from the papers are told in policy/clock.c.
 */
#ifndef GVM_CLOCK_H
#define GVM_CLOCK_H

#include "gvm/container.h"

/*
 * The chunk was used: a fault, a migration, a prefetch or a mapping, which is all that a driver
 * can see of recency on this hardware. Sets its reference bits. CONTEXT: atomic; lockless.
 */
static inline void gvm_clock_touch(struct gvm_device *device, u32 chunk)
{
	WRITE_ONCE(device->referenced[chunk], GVM_REFERENCED_ALL);
}

/*
 * Pick a victim of @container in its own order, or of the device in the global order, sparing
 * containers at or under gmem.limit.low. Looks at no more than GVM_PICK_LOOKS entries and asks
 * the device about each one that it would take. The victim is GVM_CHUNK_EVICTING on return: the
 * caller evicts and uncharges it, or puts it back. Nothing is picked of a container whose
 * hmem.limit has no room for it. Returns GVM_NO_CHUNK if there was none within these looks.
 * CONTEXT: atomic.
 */
u32 gvm_clock_pick_own(struct gvm_container *container);
u32 gvm_clock_pick_global(struct gvm_device *device);

/*
 * The last resort when every container is at or under its gmem.limit.low: the oldest chunk of any of
 * them, starting with the one that was asked the longest time ago. Same contract as the two above. For
 * a container that is protected itself (service/evict.c). CONTEXT: atomic.
 */
u32 gvm_clock_pick_protected(struct gvm_device *device);

/*
 * The device's own driver has chosen this chunk: it is picked from now on, as if by one of the
 * above. False: it is not bound, picked already, or its owner's hmem.limit is used up.
 * CONTEXT: atomic.
 */
bool gvm_clock_take(struct gvm_device *device, u32 chunk);

/*
 * The device's allocator needs a range of physical memory, holds locks of its own and cannot be
 * refused (NVIDIA's RM: the eviction callbacks of its PMA). Every bound chunk of the range is
 * picked, whatever gmem.limit.low and hmem.limit say, and counted as GVM_EVENT_TAKEN of its owner.
 * The caller evicts and uncharges them. Returns how many it picked; chunks that were picked
 * before are left to those who picked them. Never sleeps, makes no RPC. CONTEXT: atomic.
 */
u32 gvm_clock_take_range(struct gvm_device *device, u32 first, u32 count);

/* Is this chunk picked, and neither given back nor put back yet? CONTEXT: atomic. */
bool gvm_clock_is_picked(struct gvm_device *device, u32 chunk);

/* A picked chunk was not evicted after all. It counts as just used. CONTEXT: atomic. */
void gvm_clock_putback(struct gvm_device *device, u32 chunk);

/*
 * Fill the stash of cold victims that gvm_clock_pick_global() takes from first. Looks at no more
 * than @looks entries, giving up the lock between bounded steps. Returns how many the stash holds.
 * CONTEXT: process.
 */
u32 gvm_clock_refill_stash(struct gvm_device *device, u32 looks);

/* For charge.c: enter and leave both orders; what shields the owner changed. Lock held. */
void gvm_clock_insert_locked(struct gvm_device *device, u32 chunk);
void gvm_clock_remove_locked(struct gvm_device *device, u32 chunk);
void gvm_clock_shield_locked(struct gvm_container *container, bool is_protected,
			     bool is_swap_full);

/* At or under gmem.limit.low, once its picked chunks have gone? */
static inline bool gvm_container_is_low(const struct gvm_container *container)
{
	u64 low = container->gmem_low_bytes;

	return low && (container->charged_bytes <= low ||
		       container->charged_bytes - low <= container->evicting_bytes);
}

/* Would one more chunk on the host, beside those that are on their way there, be too many? */
static inline bool gvm_container_swap_is_full(const struct gvm_container *container)
{
	u64 promised = container->evicting_bytes + GVM_CHUNK_BYTES;

	return container->swapped_bytes + promised > container->hmem_bytes;
}

/*
 * Usage, swap or picks of a container have changed: move its chunks if that changed whether they are
 * shielded. In line, since each charge and each pick asks. Lock held.
 */
static inline void gvm_container_update_shield_locked(struct gvm_container *container)
{
	bool low = gvm_container_is_low(container);
	bool full = gvm_container_swap_is_full(container);

	if (low != container->is_protected || full != container->is_swap_full)
		gvm_clock_shield_locked(container, low, full);
}

#endif
