/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What a memory manager, and the parts of this room, ask of the GPU's memory and link; see
 * gpu.h.
 */
#ifndef SIM_GPU_MEMORY_H
#define SIM_GPU_MEMORY_H

#include "gpu/types.h"

/* The calls that a memory manager makes to a simulated GPU. */
extern const struct gvm_mmu_ops sim_gpu_mmu_ops;

/*
 * Blocking, gvm_mmu_ops.fence_wait. A wait of the service thread is booked as stall of the
 * process in service, by direction of the copies. @data: the GPU.
 */
int sim_gpu_fence_wait(void *data, const struct gvm_fence *fence);

/*
 * Blocking and not interruptible: wait until all copies and clears that are started so far are
 * done. Their memory can be freed afterwards.
 */
void sim_gpu_drain(struct sim_gpu *gpu);

/*
 * The driver pushes a PTE write, a TLB invalidation or a replay to their channel. The GPU
 * executes pushes one after the other, this one not before @after_ns. Returns the time at which
 * it is done.
 */
u64 sim_gpu_push(struct sim_gpu *gpu, u64 after_ns);

#endif
