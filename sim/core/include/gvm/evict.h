/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Making room: in the fault path, and after a limit was lowered. service/evict.c explains it.
 * The background evictors, which make room ahead of need, are in gvm/evictor.h.
 */
#ifndef GVM_EVICT_H
#define GVM_EVICT_H

#include "gvm/charge.h"

/* Why room is needed. */
enum gvm_need {
	GVM_NEED_CHARGE, /* the container is at its gmem.limit.high: a chunk of its own goes */
	GVM_NEED_MEMORY, /* the device is full: a chunk of an unprotected container goes */
};

/*
 * Evict one chunk so that @container can have one. The caller does not hold the charge that
 * needs the room. With @eviction->keep the chunk in @eviction->chunk, if there is one, is the
 * caller's. Returns
 *   0         a usage has fallen, and with GVM_NEED_CHARGE a charge of @eviction->bytes may fit:
 *             try again
 *   -EAGAIN   all candidates are in service or on their way in or out
 *   -ENOENT   there is no victim: all of the container's memory is unevictable; or, on a
 *             full device, no container has a bound chunk
 *   -ENOSPC   there are chunks, and none may go: the container's own, since its hmem.limit is
 *             used up (counted as GVM_EVENT_HMEM); or, on a full device, all are of containers
 *             that are protected or whose hmem.limit is used up
 *   -ENODEV   the GPU is lost, or its books are broken
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
 * Its listeners are told at the beginning. The work is bounded: by twice the excess, and with
 * byte_limits by twice the sum of the excess and the container's chunks. Faults are served
 * meanwhile and held to the limit. Chunks in service leave with their batch.
 * Returns 0, or an error if it ended early, and the container's next faults do the rest:
 * -EINTR: the thread is being killed; -EAGAIN: the device is being quiesced; -ENODEV: the GPU
 * is lost; -EIO: its books are broken; or the error of an eviction. CONTEXT: process.
 */
int gvm_reclaim(struct gvm_container *container);

/*
 * The same for work ahead of need: no protected chunk goes, nothing is counted, and there is no
 * retry. Returns 0: a chunk has gone; else there is no room now. CONTEXT: process, no VA-block
 * lock held.
 */
int gvm_evict_ahead(struct gvm_container *container, enum gvm_need need);

/* Did gvm_evict_for() find no container that can give a chunk? CONTEXT: atomic. */
static inline bool gvm_evict_found_none(int status)
{
	return status == -ENOENT || status == -ENOSPC;
}

/*
 * The parts of a search, for the background evictors. asks: the number of picks that take a
 * hand round twice; one pick looks at a bounded number of chunks. picked: evict a picked chunk.
 * Returns 0 also if its owner freed it meanwhile (-ENOENT of the manager). An eviction of a
 * part lowers a charge but frees no chunk. For a full device that is -EBUSY, and the search
 * tries the next victim. CONTEXT: process, no VA-block lock held.
 */
u32 gvm_evict_asks(const struct gvm_device *device);
int gvm_evict_picked(struct gvm_device *device, u32 chunk, enum gvm_need need,
		     struct gvm_eviction *eviction);

#endif
