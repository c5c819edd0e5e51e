/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The fault service of a simulated GPU, for gpu.c and process.c; see gpu.h. */
#ifndef SIM_GPU_SERVICE_H
#define SIM_GPU_SERVICE_H

#include "gpu/types.h"

/* The calls that the core's service layer makes to a simulated GPU. */
extern const struct gvm_gpu_ops sim_gpu_ops;

/*
 * The context dies of a fault or a context that gets no memory: @status, counted once in
 * gmem.events. The process notices at its next call.
 */
void sim_process_die(struct sim_process *process, int status);

/*
 * Blocking and not interruptible: drop the faults of a process whose work has ended, and wait
 * until none is in service.
 */
void sim_gpu_settle(struct sim_gpu *gpu, struct sim_process *process);

/* The same for a process that no longer runs. No fault of it is serviced afterwards. */
void sim_gpu_forget(struct sim_gpu *gpu, struct sim_process *process);

#endif
