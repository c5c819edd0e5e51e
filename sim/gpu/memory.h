/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What gpu.c needs of memory.c; the table of its calls is sim_gpu_mmu_ops, in gpu.h. */
#ifndef SIM_GPU_MEMORY_H
#define SIM_GPU_MEMORY_H

#include "gpu/gpu.h"

/*
 * Blocking, gvm_mmu_ops.fence_wait: of a thread that services faults of a process, the wait is counted
 * for that process, by direction. @data: the GPU.
 */
int sim_gpu_fence_wait(void *data, const struct gvm_fence *fence);

/*
 * A push of the driver to the channel for PTE writes, TLB invalidations and replays: they take
 * their time on the GPU, one after the other. Returns when this one, which begins at @after_ns at the
 * earliest, is done.
 */
u64 sim_gpu_push(struct sim_gpu *gpu, u64 after_ns);

#endif
