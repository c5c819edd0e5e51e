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

/* Is the GPU gone for good, or are its books broken? CONTEXT: atomic. */
static inline bool gvm_device_is_lost(const struct gvm_device *device)
{
	return READ_ONCE(device->lost) || gvm_device_is_dead(device);
}

/* The answer of calls to a lost device: -EIO (its books are broken) or -ENODEV; 0: it is not lost. */
static inline int gvm_device_error(const struct gvm_device *device)
{
	if (gvm_device_is_dead(device))
		return -EIO;
	return gvm_device_is_lost(device) ? -ENODEV : 0;
}

/*
 * For the service layer: begin an activity; false: it is stopped, or the GPU is lost, and the
 * caller leaves it undone. End it. CONTEXT: atomic.
 */
bool gvm_activity_begin(struct gvm_device *device, enum gvm_activity activity);
void gvm_activity_end(struct gvm_device *device, enum gvm_activity activity);

/*
 * Begin an activity as soon as nothing stops it. Returns 0, -EINTR, or gvm_device_error().
 * CONTEXT: process.
 */
int gvm_activity_begin_wait(struct gvm_device *device, enum gvm_activity activity);

/* For long work between two steps: does a thread wait for it to end? CONTEXT: atomic. */
static inline bool gvm_activity_should_end(const struct gvm_device *device,
					   enum gvm_activity activity)
{
	return READ_ONCE(device->stopped[activity]) || gvm_device_is_lost(device);
}

#endif
