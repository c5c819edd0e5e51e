/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Stopping a device for suspend or reset. service/quiesce.c explains it.
 */
#ifndef GVM_QUIESCE_H
#define GVM_QUIESCE_H

#include "gvm/device.h"

/*
 * Stop evictors, scheduler, writers and fault service, in this order, and wait until each is
 * idle, no longer than @timeout_ns in all. Afterwards the core calls only the atomic operations
 * of the device except tsg_sample, and those that a detaching process needs. Faults stay in the
 * fault buffer.
 * Returns 0; -EBUSY (quiesced already, or another thread quiesces or resumes it now); -ENODEV
 * (the GPU is lost: nothing runs anyhow) or -EIO (its books are broken); or -ETIMEDOUT or
 * -EINTR, and everything runs again. CONTEXT: process.
 */
int gvm_device_quiesce(struct gvm_device *device, u64 timeout_ns);

/*
 * The same for a GPU that is about to sleep, whatever the core does. No signal ends the wait.
 * An activity that does not end in time stays stopped all the same: the threads inside go on,
 * and no other one begins. Returns 0; -ETIMEDOUT: the device is quiesced but for those threads;
 * or -EBUSY, -ENODEV or -EIO, as above. CONTEXT: process.
 */
int gvm_device_quiesce_to_sleep(struct gvm_device *device, u64 timeout_ns);

/*
 * Start the activities that gvm_device_quiesce() or gvm_device_quiesce_to_sleep() stopped. The
 * GPU may have forgotten its settings, so they are applied again to every TSG. Returns 0;
 * -EINVAL (not quiesced, or another thread quiesces or resumes it now); -ENODEV or -EIO (as
 * above); or the error of an RPC: the device runs, and the next write or the scheduler tries
 * that RPC again. CONTEXT: process.
 */
int gvm_device_resume(struct gvm_device *device);

#endif
