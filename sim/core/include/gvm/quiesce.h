/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Stopping a device for suspend or reset, and for good when its GPU is lost. The story is told in
 * service/quiesce.c.
 */
#ifndef GVM_QUIESCE_H
#define GVM_QUIESCE_H

#include "gvm/device.h"

/*
 * Stop evictors, scheduler, writers and fault service, in this order, and wait for each until it is
 * idle, together no longer than @timeout_ns. Afterwards the core calls no operation of the device but
 * the atomic ones, and those that a detaching process needs. Faults stay in the fault buffer.
 * Returns 0; -EBUSY (quiesced already); -ENODEV (the GPU is lost: nothing runs anyhow); or -ETIMEDOUT
 * or -EINTR, and everything runs again. CONTEXT: process.
 */
int gvm_device_quiesce(struct gvm_device *device, u64 timeout_ns);

/*
 * Start again what gvm_device_quiesce() stopped. The GPU may have forgotten its settings: they are
 * made anew for every TSG. Returns 0, -EINVAL (not quiesced), -ENODEV, or the error of an RPC: the
 * device runs, and the next write or the scheduler tries that RPC again. CONTEXT: process.
 */
int gvm_device_resume(struct gvm_device *device);

/*
 * The GPU is gone for good (it fell off the bus, or a reset failed). Fault service ends, evictors and
 * scheduler do nothing more, writes to control files answer -ENODEV. Books, reads and detaching
 * go on without the GPU. The core calls this itself when wait_for_faults, flush_and_replay or an
 * eviction returns -ENODEV, or an RPC returns -ENXIO; the driver may know earlier. CONTEXT: atomic.
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
