/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The launch counts that the CUDA runtime of a GPU's processes reports to the driver's
 * scheduler.
 *
 * GVM 4.4 interposes CUDA calls in user space: each process counts its launches, records an
 * event after them every so often, and reports both counts to the driver. So the driver knows
 * what was pending at the last event, and nothing since. The paper says every 2 ms; the
 * published code, 8 ms. An event costs no time here.
 */
#ifndef SIM_CUDA_DEVICE_H
#define SIM_CUDA_DEVICE_H

#include "cuda/types.h"

/* Between two reports, where the system says nothing else: GVM 4.4. */
#define CUDA_REPORT_NS 2000000ull

void cuda_device_init(struct cuda_device *device, struct sim_gpu *gpu);

/*
 * Report launches every now and then from here on, if the GPU's scheduler wants to be told
 * (GVM_TRACK_EVENTS), or a policy of gvmd reads them (cuda_device.policy_reads). Call it before
 * sim_gpu_start(), and stop before sim_gpu_stop().
 */
void cuda_device_start(struct cuda_device *device);
void cuda_device_stop(struct cuda_device *device);

/*
 * Bring the launch counts of a process up to date for a reader of gcgroup.stat. Does nothing
 * where they are reported every now and then, since a reader there sees the last report.
 */
void cuda_device_report(struct cuda_context *context);

/* A process exits: its kernels that have not ended never will. Nothing of it stays pending. */
void cuda_device_forget(struct cuda_context *context);

#endif
