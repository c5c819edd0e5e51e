/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the core does on a device, counted, so that it can be stopped (gvm/quiesce.h) or end for good when
 * the GPU is lost.
 */
#ifndef GVM_ACTIVITY_H
#define GVM_ACTIVITY_H

#include "gvm/device.h"

/*
 * The GPU is gone for good (it fell off the bus, or a reset failed). Fault service ends, evictors and
 * scheduler do nothing more, writes to control files answer -ENODEV. Books, reads and detaching
 * go on without the GPU. The core calls this itself when wait_for_faults, flush_and_replay or an
 * eviction returns -ENODEV, or an RPC returns -ENXIO; the driver may know earlier. CONTEXT: process.
 */
void gvm_device_set_lost(struct gvm_device *device);

/* Is the GPU gone for good? CONTEXT: atomic. */
static inline bool gvm_device_is_lost(const struct gvm_device *device)
{
	return READ_ONCE(device->lost);
}

/*
 * For the service layer: begin an activity; false: it is stopped, or the GPU is lost, and the
 * caller leaves it undone. End it. CONTEXT: atomic.
 */
bool gvm_activity_begin(struct gvm_device *device, enum gvm_activity activity);
void gvm_activity_end(struct gvm_device *device, enum gvm_activity activity);

/*
 * Begin an activity as soon as nothing stops it. Returns 0, -EINTR, or -ENODEV (the GPU is lost).
 * CONTEXT: process.
 */
int gvm_activity_begin_wait(struct gvm_device *device, enum gvm_activity activity);

/* Asked by long work between two steps: does somebody wait for it to end? CONTEXT: atomic. */
static inline bool gvm_activity_should_end(const struct gvm_device *device,
					   enum gvm_activity activity)
{
	return READ_ONCE(device->stopped[activity]) || gvm_device_is_lost(device);
}

#endif
