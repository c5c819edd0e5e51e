// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The calls that a memory manager makes to a simulated GPU. Chunks come from a ring of free
 * ones. Copies use the link. Clears have an engine of their own, PTE writes a channel. See
 * memory.h.
 */
#include "gpu/memory.h"

#include "gpu/stall.h"

#define NS_PER_S 1000000000ull

static bool gpu_fence_passed(void *data, const struct gvm_fence *fence)
{
	struct sim_gpu *gpu = data;

	return pcie_is_done(&gpu->link, PCIE_H2D, fence->sequence[GVM_ENGINE_IN]) &&
	       pcie_is_done(&gpu->link, PCIE_D2H, fence->sequence[GVM_ENGINE_OUT]) &&
	       fence->sequence[GVM_ENGINE_CLEAR] <= eng_now_busy();
}

static int fence_wait(struct sim_gpu *gpu, const struct gvm_fence *fence)
{
	int status = pcie_wait(&gpu->link, PCIE_H2D, fence->sequence[GVM_ENGINE_IN]);

	if (!status)
		status = pcie_wait(&gpu->link, PCIE_D2H, fence->sequence[GVM_ENGINE_OUT]);
	/* A sequence number of the clearing engine is the time at which the clear is done. */
	if (!status && fence->sequence[GVM_ENGINE_CLEAR] > eng_now())
		status = eng_sleep_until(fence->sequence[GVM_ENGINE_CLEAR]);
	return status;
}

int sim_gpu_fence_wait(void *data, const struct gvm_fence *fence)
{
	struct sim_gpu *gpu = data;
	bool serves;
	int status;

	eng_pay_debt();
	serves = gpu->servicing && gpu->servicer == eng_self();
	if (serves)
		sim_gpu_service_waits(gpu, SIM_SERVICE_WAITS);
	status = fence_wait(gpu, fence);
	if (serves)
		sim_gpu_service_waits(gpu, SIM_SERVICE_COMPUTES);
	return status;
}

void sim_gpu_drain(struct sim_gpu *gpu)
{
	u64 clear_end_ns = gpu->clear_end_ns;

	pcie_drain(&gpu->link, PCIE_H2D);
	pcie_drain(&gpu->link, PCIE_D2H);
	while (eng_now() < clear_end_ns)
		eng_wait(&gpu->drain, clear_end_ns, false);
}

u64 sim_gpu_push(struct sim_gpu *gpu, u64 after_ns)
{
	gpu->push_end_ns = max(after_ns, gpu->push_end_ns) + gpu->profile->fault.push;
	return gpu->push_end_ns;
}

static int gpu_chunk_alloc(void *data, u32 *ret_chunk)
{
	struct sim_gpu *gpu = data;

	if (!gpu->free_count)
		return -ENOMEM;
	*ret_chunk = gpu->free_chunks[gpu->free_first];
	gpu->free_first = (gpu->free_first + 1) % gpu->device.chunk_count;
	gpu->free_count--;
	return 0;
}

static u32 gpu_free_chunks(const void *data)
{
	const struct sim_gpu *gpu = data;

	return gpu->free_count;
}

static void gpu_chunk_free(void *data, u32 chunk)
{
	struct sim_gpu *gpu = data;
	u32 last = (gpu->free_first + gpu->free_count++) % gpu->device.chunk_count;

	gpu->free_chunks[last] = chunk;
}

static struct sim_process_stats *run_stats(const struct gvm_page_run *run)
{
	struct sim_process *process = run->space;

	return &process->stats;
}

static int gpu_copy_in(void *data, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	struct sim_gpu *gpu = data;
	struct sim_frame *frame = &gpu->frames[run->chunk];
	const struct pcie_copy copy = {
		.bytes = (u64)run->page_count << GVM_PAGE_SHIFT,
		.pieces = run->pieces,
		.doorbell_ns = eng_now_busy(),
		.after = frame->out_sequence,
		.ret_bytes = &run_stats(run)->bytes_h2d,
	};

	if (pcie_copy(&gpu->link, PCIE_H2D, &copy, &frame->in_sequence))
		return -ENOMEM;
	fence->sequence[GVM_ENGINE_IN] = frame->in_sequence;
	return 0;
}

static int gpu_copy_out(void *data, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	struct sim_gpu *gpu = data;
	struct sim_frame *frame = &gpu->frames[run->chunk];
	u64 unmapped_ns = max(eng_now_busy(), gpu->push_end_ns);
	const struct pcie_copy copy = {
		.bytes = (u64)run->page_count << GVM_PAGE_SHIFT,
		.pieces = run->pieces,
		.doorbell_ns = max(unmapped_ns, frame->clear_end_ns),
		.after = frame->in_sequence,
		.ret_bytes = &run_stats(run)->bytes_d2h,
	};

	if (pcie_copy(&gpu->link, PCIE_D2H, &copy, &frame->out_sequence))
		return -ENOMEM;
	fence->sequence[GVM_ENGINE_OUT] = frame->out_sequence;
	return 0;
}

/* The clearing engine has no queue, so the copies of the same chunk are waited for here. */
static int gpu_clear(void *data, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	struct sim_gpu *gpu = data;
	struct sim_frame *frame = &gpu->frames[run->chunk];
	u64 bytes = (u64)run->page_count << GVM_PAGE_SHIFT;
	struct gvm_fence copies = { .sequence = { [GVM_ENGINE_IN] = frame->in_sequence,
						  [GVM_ENGINE_OUT] = frame->out_sequence } };
	u64 start;

	if (!gpu_fence_passed(gpu, &copies) && sim_gpu_fence_wait(gpu, &copies))
		return -EINTR;
	start = max((u64)eng_now_busy(), gpu->clear_end_ns);
	gpu->clear_end_ns = start + bytes * NS_PER_S / gpu->profile->fault.zero_bandwidth;
	frame->clear_end_ns = gpu->clear_end_ns;
	fence->sequence[GVM_ENGINE_CLEAR] = gpu->clear_end_ns;
	return 0;
}

/* The PTE write follows the copy of its data, and is done before the replay. */
static void gpu_map(void *data, void *space, u64 va, u32 chunk, u32 offset_pages, u32 page_mask,
		    enum gvm_access access)
{
	struct sim_gpu *gpu = data;
	struct sim_process *process = space;

	if (!page_mask)
		return;
	page_table_map(&process->page_table, va, chunk, offset_pages, page_mask,
		       access >= GVM_ACCESS_WRITE);
	sim_gpu_push(gpu, eng_now_busy());
	gpu->batch_maps = true;
}

/* The bytes are the driver's; only the PTEs are the GPU's. */
static int gpu_map_remote(void *data, struct gvm_range *range, u32 index, u32 page_mask,
			  u32 empty_mask)
{
	struct sim_gpu *gpu = data;
	struct sim_process *process = range->space;
	u64 va = range->va + ((u64)index << GVM_CHUNK_SHIFT);

	(void)empty_mask;
	page_table_map_remote(&process->page_table, va, page_mask);
	sim_gpu_push(gpu, eng_now_busy());
	gpu->batch_maps = true;
	return 0;
}

/*
 * Running work misses when it next touches an unmapped page. Unmapping for a process that exits
 * takes no time.
 */
static void gpu_unmap(void *data, void *space, u64 va, u32 page_mask)
{
	struct sim_gpu *gpu = data;
	struct sim_process *process = space;

	if (!page_mask)
		return;
	page_table_unmap(&process->page_table, va, page_mask);
	if (!process->running)
		return;
	sim_gpu_push(gpu, eng_now_busy());
	fifo_unmapped(&process->tsg, va);
}

/* Evictors and reclaim pay for their CPU work here; the fault handler pays at its replay. */
static void gpu_evict_begin(void *data)
{
	const struct sim_gpu *gpu = data;

	if (eng_self() != gpu->handler.worker.actor)
		eng_pay_debt();
}

const struct gvm_mmu_ops sim_gpu_mmu_ops = {
	.chunk_alloc = gpu_chunk_alloc,
	.free_chunks = gpu_free_chunks,
	.chunk_free = gpu_chunk_free,
	.copy_in = gpu_copy_in,
	.copy_out = gpu_copy_out,
	.clear = gpu_clear,
	.fence_wait = sim_gpu_fence_wait,
	.fence_passed = gpu_fence_passed,
	.map = gpu_map,
	.map_remote = gpu_map_remote,
	.unmap = gpu_unmap,
	.evict_begin = gpu_evict_begin,
};
