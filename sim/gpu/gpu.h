/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * One simulated GPU put together: host engine (fifo), GMMU, link, memory, and the driver core
 * over them.
 *
 *     types.h    the structs of a GPU and of a process
 *     stall.c    on what the time of a fault episode goes
 *     memory.c   gvm_mmu_ops: the calls that a memory manager makes to the hardware
 *     service.c  gvm_gpu_ops: the calls that the core's service layer makes to the hardware
 *     manager.h  the memory managers that a system chooses from
 *     gpu.c      a GPU from its profile: made, started, stopped
 *     process.c  a process with a context on it
 *     check.c    page tables against the driver's books
 */
#ifndef SIM_GPU_GPU_H
#define SIM_GPU_GPU_H

#include "gpu/types.h"

/* Both return 0 or -ENOMEM. Call sim_gpu_start() from an actor. */
int sim_gpu_init(struct sim_gpu *gpu, const char *name, const struct cfg_gpu *profile,
		 const struct sim_memory_policy *policy);
int sim_gpu_start(struct sim_gpu *gpu);
/* Blocking: stop the driver's threads. No process may be left. */
void sim_gpu_stop(struct sim_gpu *gpu);
void sim_gpu_destroy(struct sim_gpu *gpu);

/*
 * Actors do the driver's CPU work at this GPU's costs (gvm_cost()): the running actor, and
 * those that it starts from now on. sim_gpu_start() and sim_process_start() call it.
 */
void sim_gpu_use_costs(struct sim_gpu *gpu);

#endif
