/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A simulated GPU with NVIDIA's driver and one or two processes, as the measured loops have it.
 */
#ifndef SIM_VALIDATE_RIG_H
#define SIM_VALIDATE_RIG_H

#include "cuda/cuda.h"
#include "cuda/device.h"

#define HW_PROCESSES_MAX 2u

/* Owned by the caller: hw_rig_start(), then hw_rig_stop(). */
struct hw_rig {
	struct sim_gpu gpu;
	struct cuda_device device;
	struct sim_process processes[HW_PROCESSES_MAX];
	struct cuda_context contexts[HW_PROCESSES_MAX];
	u32 count; /* of processes */
};

/*
 * Blocking: make a GPU of the configuration and start @count processes on it. Returns 0 or a
 * negative errno. A rig that fails is not taken apart: the simulation is over then.
 */
int hw_rig_start(struct hw_rig *rig, const struct config *config, u32 count);

/* Blocking: end the processes with all of their work, and the GPU. */
void hw_rig_stop(struct hw_rig *rig);

/* Host time of a launch by a C program such as those that were measured. */
u64 hw_launch_ns(const struct config *config);

/* The median of @count times, which it sorts; 0: there are none. */
u64 hw_median(u64 *times_ns, u32 count);

#endif
