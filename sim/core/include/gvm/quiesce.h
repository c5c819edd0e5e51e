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

#endif
