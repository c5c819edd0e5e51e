/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Activities of the core on a device. Each has a count of the threads inside it, so that it can
 * be stopped (gvm/quiesce.h) or ended for good when the GPU is lost.
 */
#ifndef GVM_ACTIVITY_H
#define GVM_ACTIVITY_H

#include "gvm/device.h"

/*
 * Record that the GPU is gone for good (it fell off the bus, or a reset failed). Fault service
 * ends. Evictors and scheduler do nothing more. Writes to control files answer -ENODEV. Books,
 * reads and detaching go on without the GPU. The core calls this itself when wait_for_faults,
 * flush_and_replay or an eviction returns -ENODEV, or an RPC returns -ENXIO. The driver may
 * know earlier. CONTEXT: process.
 */
void gvm_device_set_lost(struct gvm_device *device);

/*
 * The driver gives the device up: the same, without a message. Writers that wait for a resume
 * return, so that the directories of their control files can be removed. CONTEXT: process.
 */
void gvm_device_end(struct gvm_device *device);

/* Is the GPU gone for good, or are its books broken? CONTEXT: atomic. */
static inline bool gvm_device_is_lost(const struct gvm_device *device)
{
	return READ_ONCE(device->lost) || gvm_device_is_dead(device);
}

/*
 * The error of calls to a lost device: -EIO (its books are broken) or -ENODEV. 0: it is not
 * lost.
 */
static inline int gvm_device_error(const struct gvm_device *device)
{
	if (gvm_device_is_dead(device))
		return -EIO;
	return gvm_device_is_lost(device) ? -ENODEV : 0;
}

/*
 * For the service layer. begin: returns false if the activity is stopped or the GPU is lost;
 * the caller then does not do the work and does not call end. CONTEXT: atomic.
 */
bool gvm_activity_begin(struct gvm_device *device, enum gvm_activity activity);
void gvm_activity_end(struct gvm_device *device, enum gvm_activity activity);

/*
 * Wait while the activity is stopped, then begin it. Returns 0, -EINTR (any signal), or
 * gvm_device_error(). CONTEXT: process.
 */
int gvm_activity_begin_wait(struct gvm_device *device, enum gvm_activity activity);

/*
 * Should the activity end: is it stopped, or the GPU lost? Long work asks between two steps.
 * CONTEXT: atomic.
 */
static inline bool gvm_activity_should_end(const struct gvm_device *device,
					   enum gvm_activity activity)
{
	return READ_ONCE(device->stopped[activity]) || gvm_device_is_lost(device);
}

#endif
