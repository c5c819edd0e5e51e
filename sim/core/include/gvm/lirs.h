/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * LIRS over hint faults (GVM_LIRS): an order of eviction that survives loops. policy/lirs.c
 * explains the idea. Every call does nothing on a device without the feature.
 */
#ifndef GVM_LIRS_H
#define GVM_LIRS_H

#include "gvm/container.h"

/* A ring whose zone is shorter than this share of its chunks, or than this, fills it. */
#define GVM_LIRS_ZONE_SHARE 16u
#define GVM_LIRS_ZONE_LEAST 32u

/* The share of a ring's chunks that the window has at least, and at most. */
#define GVM_LIRS_WINDOW_LEAST_SHARE 32u
#define GVM_LIRS_WINDOW_MOST_SHARE  4u

/* The order's record of a chunk. Guarded by the device's lock. */
struct gvm_lirs_chunk {
	u32 slot;		  /* of its block in gvm_lirs.seen; GVM_NO_CHUNK: unknown */
	u32 asked_at[GVM_ORDERS]; /* the ring's date when it was unmapped; valid if asked */
	u8 cold;		  /* GVM_REFERENCED bits: it came in cold in that order */
	u8 asked;		  /* GVM_REFERENCED bits: it was unmapped for that order */
};

/* When a block came in last, also after it has left. Guarded by the device's lock. */
struct gvm_lirs_seen {
	u32 tag;	    /* of the block; 0: an empty slot */
	u32 at[GVM_ORDERS]; /* dates of the two rings; 0: never */
};

/* The order's books of a device, allocated once. */
struct gvm_lirs {
	struct gvm_lirs_chunk *chunks; /* gvm_device.chunk_count of them */
	struct gvm_lirs_seen *seen;    /* mask + 1 of them */
	u32 mask;
};

/* For gvm_device_init() and _destroy(). Returns 0 or -ENOMEM. CONTEXT: process. */
int gvm_lirs_init(struct gvm_device *device);
void gvm_lirs_destroy(struct gvm_device *device);

/*
 * A free chunk is about to be bound for the block at @va of a process of @container. A chunk
 * that was not named is bound as one of an unknown block. CONTEXT: atomic.
 */
void gvm_lirs_name(struct gvm_container *container, u32 chunk, u64 va);

/*
 * The next chunk to unmap, as gvm_hint_next(): in @container's own order, or (NULL) in the
 * global one. Returns GVM_NO_CHUNK if the window is full, if GVM_PICK_LOOKS looks found no
 * chunk to unmap, or if @container's hmem.limit is used up. CONTEXT: atomic.
 */
u32 gvm_lirs_next(struct gvm_device *device, struct gvm_container *container);

/*
 * For policy/clock.c. insert: link a chunk into the global ring or an own ring, hot or cold.
 * fill_zone: before a victim is looked for in @container's own order, or (NULL) in the global
 * one. CONTEXT: atomic, device's lock held.
 */
void gvm_lirs_insert_locked(struct gvm_device *device, struct gvm_ring *ring,
			    enum gvm_order order, u32 chunk);
void gvm_lirs_fill_zone_locked(struct gvm_device *device, struct gvm_container *container);

/* Did the chunk come in cold? Then its reference bit tells of its arrival only. */
static inline bool gvm_lirs_is_cold(const struct gvm_device *device, enum gvm_order order,
				    u32 chunk)
{
	return device->lirs && device->lirs->chunks[chunk].cold & GVM_REFERENCED(order);
}

#endif
