/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Background evictors: room ahead of need. service/evictor.c explains them.
 */
#ifndef GVM_EVICTOR_H
#define GVM_EVICTOR_H

#include "gvm/device.h"

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

/* A background evictor, of one container or (container NULL) of a device. */
struct gvm_evictor {
	struct gvm_device *device;
	struct gvm_container *container; /* borrowed: outlives the evictor */
	struct gvm_worker worker;
	struct gvm_waitqueue wait;
	bool kicked; /* guarded by the device's lock */
	u32 demand;  /* chunks that the last batch took; guarded by the device's lock */
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
 * user all the same. restart: a user tries again; returns the same, and 0 if it runs already.
 * put: the last user ends the evictor. Each get is undone by one put, before the process
 * detaches. CONTEXT: process.
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
