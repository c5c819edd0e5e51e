/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A process with a GPU context: an address space with managed ranges, one TSG, a container.
 */
#ifndef SIM_GPU_PROCESS_H
#define SIM_GPU_PROCESS_H

#include "gpu/gpu.h"

/*
 * Blocking: create the context. Returns 0, -ENOMEM, or -ENOSPC: the GPU has no channel left. If
 * the GPU has no memory for the context, this returns 0, the context is dead, and every
 * submission fails.
 */
int sim_process_start(struct sim_process *process, struct sim_gpu *gpu, u32 tgid);

/*
 * The same of a client of an MPS server, which gets at most @limit_ppm of the GPU's SMs. NULL:
 * of no server. The server is borrowed while the process runs.
 */
int sim_process_start_client(struct sim_process *process, struct sim_gpu *gpu, u32 tgid,
			     struct sim_mps *mps, u32 limit_ppm);

/*
 * The same without a context: the process uses no memory of the GPU and submits nothing to it.
 */
int sim_process_start_bare(struct sim_process *process, struct sim_gpu *gpu, u32 tgid,
			   struct sim_mps *mps, u32 limit_ppm);

/*
 * Blocking: map @bytes of managed memory, in blocks of its own. @on_host: the application
 * filled it on the CPU, so first touches copy it in. Returns the range, or NULL: no host
 * memory, or SIM_PROCESS_RANGES_MAX ranges. If the GPU has no memory for the page tables of the
 * range, the context dies. With a frame buffer the range is on the GPU when this returns; if it
 * does not fit, the context dies, as of -ENOMEM.
 */
struct gvm_range *sim_process_map(struct sim_process *process, u64 bytes, bool on_host);

/* Bytes of a frame buffer that the process has allocated: ranges, context, unmanaged memory. */
u64 sim_process_allocated(const struct sim_process *process);

/*
 * Blocking: unmap a range. Its chunks and its page tables go back. No work of the process may
 * be queued or running.
 */
void sim_process_unmap(struct sim_process *process, struct gvm_range *range);

/* Returns the range of a process that contains @va, or NULL. */
struct gvm_range *sim_process_find_range(struct sim_process *process, u64 va);

/*
 * Blocking: advice on a range, until it is unmapped. Returns the status of
 * gvm_memory_ops.advise, or -EOPNOTSUPP if the manager has no such call.
 */
int sim_process_advise(struct sim_process *process, struct gvm_range *range,
		       enum gvm_advice advice);

/*
 * Blocking: prefetch a whole range to the GPU or to the CPU, and wait for it. Returns the
 * status of gvm_memory_ops.migrate, or -EOPNOTSUPP if the manager has no such call.
 */
int sim_process_prefetch(struct sim_process *process, struct gvm_range *range,
			 enum gvm_processor to);

/*
 * The application gives up @bytes of a range from @offset on (gvm_memory_ops.discard).
 * Returns the bytes of device memory that became free, or 0 if the manager has no such call.
 */
u64 sim_process_discard(struct sim_process *process, struct gvm_range *range, u64 offset,
			u64 bytes);

/*
 * Blocking: destroy the context. Its pending work fails. Its memory is freed after the last
 * copy that uses it. A second call does nothing. Keep the structure until this returns.
 */
void sim_process_exit(struct sim_process *process);

/* Make a touch of a range: of all its blocks, or of @count blocks from number @first on. */
struct gmmu_touch sim_touch_all(const struct gvm_range *range, enum gvm_access access);
struct gmmu_touch sim_touch_blocks(const struct gvm_range *range, u32 first, u32 count,
				   enum gvm_access access);

#endif
