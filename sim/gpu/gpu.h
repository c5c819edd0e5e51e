/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * One simulated GPU put together: host engine (gsp), GMMU, link, memory, and the driver core over
 * them. Implements the core's gvm_gpu_ops and gvm_mmu_ops.
 */
#ifndef SIM_GPU_GPU_H
#define SIM_GPU_GPU_H

#include "config/config.h"
#include "gsp/gsp.h"
#include "gvm/fault.h"
#include "pcie/link.h"

struct sim_process;

struct sim_gpu {
	char name[CFG_NAME_MAX];
	const struct cfg_gpu *profile; /* borrowed */
	struct gvm_device device;
	struct gvm_fault_handler handler;
	struct gsp gsp;
	struct gmmu gmmu;
	struct pcie_link link;
	u32 *free_chunks; /* stack */
	u32 free_count;
	u64 clear_end_ns;	       /* until when the clearing engine is busy */
	struct eng_waitq drain;	       /* who waits for that date; never woken before it */
	struct sim_process *servicing; /* whose faults the handler is at */
	struct gvm_fence batch;	       /* device work of the batch in service */
};

/* Returns 0 or -ENOMEM. start: from an actor, or before eng_run(). */
int sim_gpu_init(struct sim_gpu *gpu, const char *name, const struct cfg_gpu *profile);
int sim_gpu_start(struct sim_gpu *gpu);
/* Blocking: stop the driver's threads. No process may be left. */
void sim_gpu_stop(struct sim_gpu *gpu);
void sim_gpu_destroy(struct sim_gpu *gpu);

/*
 * Blocking, also for who is interrupted: wait until the engines are through with all that was
 * started on them so far, so that memory under a copy or a clear can be freed.
 */
void sim_gpu_drain(struct sim_gpu *gpu);

/* The memory of a simulated GPU, for the core's block layer. */
extern const struct gvm_mmu_ops sim_gpu_mmu_ops;

/* The costs of the driver's CPU work from the profile, for gvm_cost(). Once per simulation. */
void sim_gpu_set_costs(const struct cfg_gpu *profile);

#endif
