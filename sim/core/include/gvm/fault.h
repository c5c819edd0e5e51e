/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The fault handler's outer loop: the same code on the simulated GPU, on the fake GPU of the
 * kernel tests and on a real one.
 */
#ifndef GVM_FAULT_H
#define GVM_FAULT_H

#include "gvm/device.h"

/* UVM's defaults (uvm_perf_fault_batch_count, uvm_perf_fault_max_batches_per_service). */
#define GVM_FAULT_BATCH_MAX   256u
#define GVM_FAULT_BATCHES_MAX 20u

/* Counts of the handler's work so far. */
struct gvm_fault_stats {
	u64 batches;
	u64 faults;	/* records fetched */
	u64 duplicates; /* of these, dropped: another record of the batch has the same page */
	u64 deferred;	/* left to fault again */
	u64 cancelled;
};

/* One fault handler: a worker thread per GPU. Other threads read only stats. */
struct gvm_fault_handler {
	struct gvm_device *device;
	struct gvm_worker worker;
	struct gvm_fault_stats stats;
	struct gvm_fault batch[GVM_FAULT_BATCH_MAX];
};

/* Start and stop the worker. start: 0 or -ENOMEM. CONTEXT: process. */
int gvm_fault_handler_start(struct gvm_fault_handler *handler, struct gvm_device *device);
void gvm_fault_handler_stop(struct gvm_fault_handler *handler);

/*
 * Service up to GVM_FAULT_BATCHES_MAX batches of the records in the fault buffer. Returns the
 * number of batches, -EINTR, -ENODEV: the GPU is lost, or -EIO: its books are broken. On a
 * quiesced device it waits for the resume first. The worker calls it in a loop; tests call it
 * directly. CONTEXT: process.
 */
int gvm_fault_service(struct gvm_fault_handler *handler);

#endif
