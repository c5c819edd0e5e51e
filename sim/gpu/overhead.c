// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Contexts and page tables; see overhead.h.
 *
 * Every driver takes this memory from the device, and so it is taken under every system. Who counts
 * it differs. The core charges it to the container. NVIDIA's driver and the published GVM do not:
 * RM's allocations pass UVM's accounting by, and what GVM hooks is where UVM gives chunks to blocks
 * (block_alloc_gpu_chunk). So under stock and gvm gmem.current is the pages alone, as their
 * memory.current is.
 */
#include "gpu/overhead.h"

#include "gpu/gpu.h"

void sim_overhead_begin(struct sim_overhead *overhead, struct sim_gpu *gpu,
			struct gvm_container *container)
{
	*overhead = (struct sim_overhead){ .gpu = gpu, .first_chunk = GVM_NO_CHUNK };
	gvm_pinned_init(&overhead->pinned, &gpu->memory, container);
}

static int overhead_add_chunk(struct sim_overhead *overhead)
{
	struct sim_gpu *gpu = overhead->gpu;
	u32 chunk;
	int status = nvuvm_rm_alloc(gpu->nvuvm, &chunk);

	if (status)
		return status;
	gpu->memory.frames[chunk].index = overhead->first_chunk;
	overhead->first_chunk = chunk;
	overhead->chunks++;
	return 0;
}

int sim_overhead_add(struct sim_overhead *overhead, u64 bytes)
{
	int status = 0;

	if (!overhead->gpu->nvuvm)
		return gvm_pinned_add(&overhead->pinned, bytes);
	overhead->bytes += bytes;
	while (!status && (u64)overhead->chunks << GVM_CHUNK_SHIFT < overhead->bytes)
		status = overhead_add_chunk(overhead);
	return status;
}

void sim_overhead_end(struct sim_overhead *overhead)
{
	struct sim_gpu *gpu = overhead->gpu;
	u32 chunk = overhead->first_chunk;

	for (; overhead->chunks; overhead->chunks--) {
		u32 next = gpu->memory.frames[chunk].index;

		sim_gpu_mmu_ops.chunk_free(gpu, chunk);
		chunk = next;
	}
	gvm_pinned_release(&overhead->pinned);
}
