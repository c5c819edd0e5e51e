/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Making room: in the fault path, behind a lowered limit, and ahead of need by background
 * evictors. The story is told in service/evict.c.
 */
#ifndef GVM_EVICT_H
#define GVM_EVICT_H

#include "gvm/charge.h"

/*
 * What a background evictor keeps free: it wakes below LOW and works until HIGH chunks are, or as
 * many as the last batch of faults took, if those were more: the next one is likely of its kind.
 * Both are capped at a fraction of the limit or the device, so that a small limit loses little.
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
 * Evict one chunk so that @container can have one. Returns 0: a charge has become less, try again;
 * -EAGAIN: all candidates are in service or on their way in or out; -ENOENT: there is no victim (the
 * limit is below a chunk; or no container has one); -ENOSPC: there are chunks, and none of them may go
 * (the container's own: hmem.limit is used up, counted as GVM_EVENT_HMEM; or, on a full device, all are
 * of containers that are protected or whose hmem.limit is used up); -ENODEV: the GPU is lost; -EINTR;
 * or the error of the last of many victims, all of which failed and are where they were. Memory may
 * have been freed meanwhile: after -ENOENT or -ENOSPC on a full device, retry once. With
 * @eviction->keep the chunk in @eviction->chunk, if there is one, is the caller's. The charge that needs
 * the room is not held meanwhile.
 * CONTEXT: process, no VA-block lock held.
 */
int gvm_evict_for(struct gvm_container *container, enum gvm_need need,
		  struct gvm_eviction *eviction);

/*
 * The same for a thread that can wait and holds no lock: while all candidates are in service or on their
 * way, it sleeps, killably, and tries again. -EAGAIN: that took longer than a second. -EINTR: the thread
 * is being killed. CONTEXT: process.
 */
int gvm_evict_wait_for(struct gvm_container *container, enum gvm_need need,
		       struct gvm_eviction *eviction);

/*
 * Evict chunks of @container until its usage is within its gmem.limit.high, or no more can go. Its
 * listeners are told at the beginning.
 * Bounded: looks at each chunk a few times. Concurrent faults are served meanwhile and held to the
 * limit; chunks in service leave with their batch. Returns 0; or why it ended early, and the container's
 * next faults do the rest: -EINTR: the thread is being killed; -EAGAIN: the device is being quiesced;
 * -ENODEV: the GPU is lost; or the error of evictions. CONTEXT: process.
 */
int gvm_reclaim(struct gvm_container *container);

/* Did gvm_evict_for() find no container that can give a chunk? CONTEXT: atomic. */
static inline bool gvm_evict_found_nobody(int status)
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
	u32 demand;   /* chunks that the last batch took; guarded likewise */
	u64 evicted;  /* chunks, ever; the worker's own */
	u64 hinted;   /* chunks unmapped to see whether they are in use; likewise */
	u64 failures; /* rounds ended by an error of the device */
};

/*
 * Start and stop the one of a device. start: 0, -EBUSY (there is one already, maybe this one: it goes on)
 * or -ENOMEM. stop: nothing for an evictor that was not started. CONTEXT: process.
 */
int gvm_evictor_start(struct gvm_evictor *evictor, struct gvm_device *device);
void gvm_evictor_stop(struct gvm_evictor *evictor);

/*
 * The one of a container, which all its processes use. get: it runs from now on, started by the first
 * user. 0; or -ENOMEM: there is no thread for it now, though the caller uses it, and restart tries again.
 * put: the last user ends it. Each get is undone by one put, before the process detaches.
 * CONTEXT: process.
 */
int gvm_container_evictor_get(struct gvm_container *container);
int gvm_container_evictor_restart(struct gvm_container *container);
void gvm_container_evictor_put(struct gvm_container *container);

/*
 * A batch of faults has taken up to @chunks for @container (0: it was not a batch, and says nothing of
 * the next one): wake its evictor and the device's if they are due. CONTEXT: process.
 */
void gvm_evictors_kick(struct gvm_container *container, u32 chunks);

#endif
