/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Unmanaged memory (cudaMalloc), and the memory limits of MPS's third version
 * ===========================================================================
 *
 * Memory of cudaMalloc is on the GPU from its allocation until it is freed. No driver pages it.
 * An allocation takes free memory first. Then the driver evicts managed memory of others. If
 * that is not enough, the allocation fails.
 *
 * MPS's third version (driver 615, CUDA 13.4; "MPS v3 Memory Partitioning" in
 * docs.nvidia.com/deploy/mps) has two limits for each client:
 *
 *     hard    An allocation that would exceed it fails, as if there were no memory.
 *     soft    Up to here memory is guaranteed. A client above it has borrowed. It may be ended
 *             when there is real pressure: another client's allocation finds no room.
 *
 * Both count the context and unmanaged memory. Managed memory is not counted.
 *
 * NVIDIA does not say who is ended, nor for whom. Here an allocation that leaves its client
 * within its soft limit ends other clients of the same server, those first that are farthest
 * above theirs, until there is room. An allocation above the soft limit, or without one, has no
 * claim: it fails. A client that is ended loses its context; its memory is free at once.
 *
 * The failure of an allocation is the death of the context, as for a frame buffer: frameworks
 * end when they find no memory. So its memory is free at once, too. An allocation that a frame
 * buffer cannot hold fails likewise.
 */
#ifndef SIM_GPU_UNMANAGED_H
#define SIM_GPU_UNMANAGED_H

#include "gpu/types.h"

/*
 * Blocking: take @bytes of unmanaged memory for a process, a multiple of a chunk. If it gets
 * none, its context dies, for the reason in process->death.
 */
void sim_process_take_unmanaged(struct sim_process *process, u64 bytes);

/*
 * Give @bytes of it back. Does nothing in a process that has lost its memory. No work of the
 * process that uses it may be queued or running.
 */
void sim_process_give_unmanaged(struct sim_process *process, u64 bytes);

#endif
