/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A GPU as the CUDA runtime of its processes sees it; and the launch counts that the runtime
 * reports to the driver's scheduler.
 *
 * GVM 4.4 interposes CUDA calls in user space: each process counts its launches, records an event
 * behind them every so often, and reports both counts to the driver. So the driver knows what was
 * pending at the last event, and nothing since. The paper says every 2 ms; the published code,
 * 8 ms. An event costs no time here.
 */
#ifndef SIM_CUDA_DEVICE_H
#define SIM_CUDA_DEVICE_H

#include "gpu/process.h"

struct cuda_burst;
struct cuda_device;

/*
 * The GPU context of a process. Owned by the caller: cuda_context_create(), cuda_context_destroy().
 * All calls of one context come from one actor, but cuda_discard().
 */
struct cuda_context {
	struct sim_process *process; /* borrowed */
	struct cuda_device *device;  /* it counts launches of this context */
	struct list_head node;	     /* in cuda_device.contexts */
	struct cuda_burst *first;    /* launched and not yet recycled, in order */
	struct cuda_burst *last;
	struct cuda_burst *free; /* ended, to be used again */
	u64 launches_reported;	 /* kernels that the driver was told of */
	u64 ends_reported;
};

/* Owned by the caller: cuda_device_init(), start and stop around sim_gpu_start() and _stop(). */
struct cuda_device {
	struct sim_gpu *gpu;	   /* borrowed */
	struct list_head contexts; /* cuda_context.node */
	struct eng_timer report_timer;
	u64 report_interval_ns;
};

void cuda_device_init(struct cuda_device *device, struct sim_gpu *gpu);

/*
 * Report launches every now and then from here on, if the GPU's scheduler wants to be told
 * (GVM_TRACK_EVENTS). Call it before sim_gpu_start(), and stop before sim_gpu_stop().
 */
void cuda_device_start(struct cuda_device *device);
void cuda_device_stop(struct cuda_device *device);

/* A process exits: its kernels that have not ended never will. Nothing of it stays pending. */
void cuda_device_forget(struct cuda_context *context);

#endif
