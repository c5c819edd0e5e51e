/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * On what the time of a fault episode goes: the service thread says what it does (enum
 * sim_service_wait), and the host engine books the episode by it (enum fifo_stall_part).
 */
#ifndef SIM_GPU_STALL_H
#define SIM_GPU_STALL_H

#include "gpu/types.h"

/*
 * struct fifo_stall_ops, @data: the GPU. Split @ns of stall by the work of the service thread
 * for this TSG. While it waits for copies, the use of the link decides.
 */
struct fifo_stall sim_gpu_stall_parts(void *data, const struct fifo_tsg *tsg, u64 ns);

/*
 * The service thread changes its state: book the stall of the process in gpu->servicing up to
 * now, then enter @waits. Does not book if that process has exited (gpu->servicing is NULL).
 */
void sim_gpu_service_waits(struct sim_gpu *gpu, enum sim_service_wait waits);

#endif
