/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* MPS servers of a simulated GPU; mps.c describes them. */
#ifndef SIM_GPU_MPS_H
#define SIM_GPU_MPS_H

#include "gpu/types.h"

/* Put a server on the runlist of a GPU, for the GPU's life. The caller keeps its memory. */
void sim_mps_init(struct sim_mps *mps, struct sim_gpu *gpu);

/*
 * Blocking: a process with a container and a fifo_tsg becomes a client of process->mps, or
 * ceases to be one. In place of gvm_tsg_attach() and gvm_tsg_detach().
 */
void sim_mps_join(struct sim_process *process);
void sim_mps_leave(struct sim_process *process);

#endif
