/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Making room: in the fault path, after a limit was lowered, and ahead of need by background
 * evictors. service/evict.c explains it.
 */
#ifndef GVM_EVICT_H
#define GVM_EVICT_H

#include "gvm/charge.h"

/*
 * The watermarks of a background evictor. It wakes up below LOW free chunks and works until
 * HIGH chunks are free. If the last batch of faults took more chunks than that, its number
 * counts instead: the next batch is likely of the same size. Both watermarks are capped at a
 * fraction of the limit or the device, so that a small limit loses little.
 */
#define GVM_EVICT_LOW_CHUNKS  16u
#define GVM_EVICT_HIGH_CHUNKS 32u
#define GVM_EVICT_LOW_SHARE   32u
#define GVM_EVICT_HIGH_SHARE  16u

/* Why room is needed. */
enum gvm_need {
	GVM_NEED_CHARGE, /* the container is at its gmem.limit.high: a chunk of its own goes */
	GVM_NEED_MEMORY, /* the device is full: a chunk of an unprotected container goes */
};

/*
 * Evict one chunk so that @container can have one. The caller does not hold the charge that
 * needs the room. With @eviction->keep the chunk in @eviction->chunk, if there is one, is the
 * caller's. Returns
 *   0         a usage has fallen: try again
 *   -EAGAIN   all candidates are in service or on their way in or out
 *   -ENOENT   there is no victim: all of the container's memory is unevictable; or, on a
 *             full device, no container has a bound chunk
 *   -ENOSPC   there are chunks, and none may go: the container's own, since its hmem.limit is
 *             used up (counted as GVM_EVENT_HMEM); or, on a full device, all are of containers
 *             that are protected or whose hmem.limit is used up
 *   -ENODEV   the GPU is lost
 *   -EINTR    or the error of the last victim that failed. All victims are back in place
 * Memory may have been freed meanwhile: after -ENOENT or -ENOSPC on a full device, retry once.
 * CONTEXT: process, no VA-block lock held.
 */
int gvm_evict_for(struct gvm_container *container, enum gvm_need need,
		  struct gvm_eviction *eviction);

/*
 * The same for a thread that can wait and holds no lock. While all candidates are in service or
 * on their way in or out, the thread sleeps, killably, and tries again. -EAGAIN: that took
 * longer than a second. -EINTR: the thread is being killed. CONTEXT: process.
 */
int gvm_evict_wait_for(struct gvm_container *container, enum gvm_need need,
		       struct gvm_eviction *eviction);

/*
 * Evict chunks of @container until its usage is within its gmem.limit.high, or no more can go.
 * Its listeners are told at the beginning. The work is bounded: at most twice the excess.
 * Faults are served meanwhile and held to the limit. Chunks in service leave with their batch.
 * Returns 0, or an error if it ended early, and the container's next faults do the rest:
 * -EINTR: the thread is being killed; -EAGAIN: the device is being quiesced; -ENODEV: the GPU
 * is lost; or the error of an eviction. CONTEXT: process.
 */
int gvm_reclaim(struct gvm_container *container);

/* Did gvm_evict_for() find no container that can give a chunk? CONTEXT: atomic. */
static inline bool gvm_evict_found_none(int status)
{
	return status == -ENOENT || status == -ENOSPC;
}

/* A background evictor, of one container or (container NULL) of a device. */
struct gvm_evictor {
	struct gvm_device *device;
	struct gvm_container *container; /* borrowed: outlives the evictor */
	struct gvm_worker worker;
	struct gvm_waitqueue wait;
	bool kicked;  /* guarded by the device's lock */
	u32 demand;   /* chunks that the last batch took; guarded by the device's lock */
	u64 evicted;  /* chunks that it has evicted; only the worker writes it */
	u64 hinted;   /* chunks that it has unmapped to see whether they are used; likewise */
	u64 failures; /* rounds ended by an error of the device */
};

/*
 * Start and stop the evictor of a device. start: 0, -EBUSY (the device has an evictor already,
 * maybe this one, which goes on) or -ENOMEM. stop: does nothing if @evictor was not started.
 * CONTEXT: process.
 */
int gvm_evictor_start(struct gvm_evictor *evictor, struct gvm_device *device);
void gvm_evictor_stop(struct gvm_evictor *evictor);

/*
 * The evictor of a container, which all its processes use. get: count one more user; the first
 * one starts the evictor. Returns 0, or -ENOMEM: it has no thread now. The caller counts as a
 * user all the same, and restart tries again. put: the last user ends the evictor. Each get is
 * undone by one put, before the process detaches. CONTEXT: process.
 */
int gvm_container_evictor_get(struct gvm_container *container);
int gvm_container_evictor_restart(struct gvm_container *container);
void gvm_container_evictor_put(struct gvm_container *container);

/*
 * A batch of faults has taken up to @chunks for @container; 0: other memory was taken, which
 * says nothing about the next batch. Wake the evictors of the container and the device if they
 * are below their low watermarks. CONTEXT: process.
 */
void gvm_evictors_kick(struct gvm_container *container, u32 chunks);

#endif
