/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Device memory that a process costs beside its pages: the buffers of its context, its page tables.
 */
#ifndef SIM_GPU_OVERHEAD_H
#define SIM_GPU_OVERHEAD_H

#include "gvm/block.h"

struct sim_gpu;

/* What one process has taken. */
struct sim_overhead {
	struct sim_gpu *gpu;
	struct gvm_pinned pinned; /* by the core, which charges it */
	/* By NVIDIA's driver, which charges nobody. */
	u64 bytes;
	u32 chunks;
	u32 first_chunk; /* of a list through gvm_frame.index */
};

/* Begin with nothing; end gives everything back. */
void sim_overhead_begin(struct sim_overhead *overhead, struct sim_gpu *gpu,
			struct gvm_container *container);
void sim_overhead_end(struct sim_overhead *overhead);

/*
 * Blocking: take @bytes more, evicting whom the system evicts. Returns 0, -ENOMEM (the device has no
 * room, nor can it be made), or an eviction's error.
 */
int sim_overhead_add(struct sim_overhead *overhead, u64 bytes);

#endif
