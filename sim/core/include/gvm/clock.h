/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The dual CLOCK: which chunk of a container or of the whole device is evicted next.
 * policy/clock.c has the idea, a picture and the differences from the papers.
 */
#ifndef GVM_CLOCK_H
#define GVM_CLOCK_H

#include "gvm/container.h"

/*
 * The chunk was used: by a fault, a migration, a prefetch or a mapping. On this hardware a
 * driver sees no other use. Sets both reference bits. CONTEXT: atomic; lockless.
 */
static inline void gvm_clock_touch(struct gvm_device *device, u32 chunk)
{
	WRITE_ONCE(device->referenced[chunk], GVM_REFERENCED_ALL);
}

/*
 * Pick a victim of @container in its own order, or of the device in the global order. A global
 * pick spares protected containers (gvm_container_is_low()). No pick takes a chunk of a
 * container whose hmem.limit has no room for it. A pick looks at no more than GVM_PICK_LOOKS
 * entries, and asks the memory manager about each chunk that it would take. The victim is
 * GVM_CHUNK_EVICTING on return: the caller evicts and uncharges it, or puts it back. Returns
 * GVM_NO_CHUNK if these looks find no victim. CONTEXT: atomic.
 */
u32 gvm_clock_pick_own(struct gvm_container *container);
u32 gvm_clock_pick_global(struct gvm_device *device);

/*
 * The last resort when every container is protected: pick the oldest chunk of one of them,
 * first of the container that was asked the longest time ago. Looks and results are as in the
 * two calls above. The caller asks only for a container that is under its own gmem.limit.low
 * (service/evict.c). CONTEXT: atomic.
 */
u32 gvm_clock_pick_protected(struct gvm_device *device);

/*
 * Pick the chunk that the device's own driver has chosen. Returns false: the chunk is not
 * bound, is picked already, or its owner's hmem.limit is used up. CONTEXT: atomic.
 */
bool gvm_clock_take(struct gvm_device *device, u32 chunk);

/*
 * The device's allocator needs a range of physical memory, holds locks of its own and cannot be
 * refused (NVIDIA's RM: the eviction callbacks of its PMA). Every bound chunk of the range is
 * picked, against gmem.limit.low and hmem.limit, and counted as GVM_EVENT_TAKEN of its owner.
 * The caller evicts and uncharges these chunks. A chunk that another thread picked before stays
 * with that thread. Returns the number of chunks picked. Never sleeps, makes no RPC. CONTEXT:
 * atomic.
 */
u32 gvm_clock_take_range(struct gvm_device *device, u32 first, u32 count);

/*
 * The same for one chunk, for a driver whose eviction may fail. It is not counted. Returns
 * whether it was picked. count_taken: a part of the picked chunk is about to be uncharged, so
 * its owner loses it: count it. CONTEXT: atomic.
 */
bool gvm_clock_force(struct gvm_device *device, u32 chunk);
void gvm_clock_count_taken(struct gvm_device *device, u32 chunk);

/* Is the chunk picked, and neither uncharged nor put back yet? CONTEXT: atomic. */
bool gvm_clock_is_picked(struct gvm_device *device, u32 chunk);

/* Put back a picked chunk that was not evicted. It counts as just used. CONTEXT: atomic. */
void gvm_clock_putback(struct gvm_device *device, u32 chunk);

/*
 * The same for a chunk of which a part may be left, and that may not be picked any more.
 * Returns its charged bytes; 0: it was not picked. CONTEXT: atomic.
 */
u64 gvm_clock_putback_rest(struct gvm_device *device, u32 chunk);

/*
 * Fill the stash of cold victims that gvm_clock_pick_global() takes from first. Looks at no
 * more than @looks entries, giving up the lock between bounded steps. Returns how many the
 * stash holds. CONTEXT: process.
 */
u32 gvm_clock_refill_stash(struct gvm_device *device, u32 looks);

/* For charge.c: a chunk enters or leaves both orders. CONTEXT: atomic, device's lock held. */
void gvm_clock_insert_locked(struct gvm_device *device, u32 chunk);
void gvm_clock_remove_locked(struct gvm_device *device, u32 chunk);

#endif
