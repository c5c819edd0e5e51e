// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Migration by a prefetch or by a touch of the CPU: a model of
 * open-gpu-kernel-modules 575, uvm_migrate.c (cudaMemPrefetchAsync) and uvm_va_block.c
 * (uvm_va_block_cpu_fault).
 *
 *
 * Faster than faults
 *
 *     faults     batch: block, block, ... wait for the copies, replay; batch: ...
 *     to the GPU block, block, block, ...            all copies in a row; wait for the last
 *     to the CPU block, block, block, ...  wait for the last; then map page by page
 *
 * A prefetch needs no round trip to the GPU and no prefetcher. Each block moves whole. The CPU
 * works on the next block while the copy engine copies this one, so the link is always busy. On
 * the way to the CPU, memory is mapped in a second pass after all copies (uvm_migrate's two
 * passes). It writes 512 PTEs of 4 KB for each block. That is most of the work, and makes this
 * direction three times as slow.
 *
 * The way to the GPU has two passes as well. The second finds all blocks there, unless the
 * range is larger than memory. Then the first pass has evicted its own first blocks, and the
 * second moves the whole range again.
 */
#include "nvuvm/migrate.h"

#include "nvuvm/advice.h"
#include "nvuvm/mmu.h"
#include "nvuvm/pmm.h"
#include "nvuvm/service.h"

/* Migrate pages of a block to the CPU. @fence covers the copies. */
static int block_to_cpu_locked(struct nvuvm *nvuvm, struct gvm_range *range, u32 index,
			       u32 pages, struct gvm_fence *fence)
{
	struct gvm_block *block = &range->blocks[index];
	u32 moved = pages & block->resident;
	int status;

	if (range->dying || (pages & ~block->valid))
		return -EFAULT;
	nvuvm_host_populate(nvuvm, range, index, pages);
	status = gvm_block_push_out_locked(range, index, moved, fence);
	if (status)
		return status;
	block->on_host |= pages;
	if (!moved)
		return 0;
	/*
	 * Only pages that arrive count as a use of the chunk. A chunk of sub-chunks may have
	 * resident pages of other blocks.
	 */
	if (!block->resident && !gvm_block_is_part(range->memory, block))
		nvuvm_pmm_mark_unused(nvuvm, block->chunk);
	nvuvm_thrash_migrated(&nvuvm_block_of(range, index)->thrash, moved, NVUVM_CPU,
			      gvm_ktime_ns());
	return 0;
}

int nvuvm_cpu_touch(struct nvuvm *nvuvm, struct gvm_range *range, u32 index, u32 pages)
{
	struct gvm_fence fence = { 0 };
	int status;

	gvm_range_enter(range);
	gvm_mutex_lock(&range->lock);
	status = block_to_cpu_locked(nvuvm, range, index, pages, &fence);
	/*
	 * Wait with the block locked, as UVM does: the CPU's PTEs are written after the copies,
	 * and then those of a GPU that the range is "accessed by".
	 */
	if (!status)
		status = nvuvm->config.mmu->fence_wait(nvuvm->config.gpu, &fence);
	if (!status)
		status = nvuvm_advice_map_locked(nvuvm, range, index, &fence);
	gvm_mutex_unlock(&range->lock);
	gvm_range_leave(range);
	return status;
}

/* @ret_pages: number of pages to map after the copies. */
static int migrate_blocks_to_cpu(struct nvuvm *nvuvm, struct gvm_range *range,
				 struct gvm_fence *fence, u32 *ret_pages)
{
	int status = 0;

	for (u32 i = 0; i < range->block_count && !status; i++) {
		gvm_mutex_lock(&range->lock);
		gvm_cost(GVM_COST_BLOCK, 1);
		*ret_pages += hweight32(range->blocks[i].resident);
		status = block_to_cpu_locked(nvuvm, range, i, range->blocks[i].valid, fence);
		gvm_mutex_unlock(&range->lock);
	}
	return status;
}

/* The second pass on the way to the CPU. */
static int migrate_map_advised(struct nvuvm *nvuvm, struct gvm_range *range)
{
	struct gvm_fence fence = { 0 };
	int status = 0;

	for (u32 i = 0; i < range->block_count && !status; i++) {
		gvm_mutex_lock(&range->lock);
		status = nvuvm_advice_map_locked(nvuvm, range, i, &fence);
		gvm_mutex_unlock(&range->lock);
	}
	return status;
}

int nvuvm_migrate(struct nvuvm *nvuvm, struct gvm_range *range, enum nvuvm_processor to)
{
	struct nvuvm_container *owner = nvuvm_range_of(range)->owner;
	struct gvm_fence fence = { 0 };
	u32 pages = 0;
	int status = 0, waited;

	gvm_range_enter(range);
	gvm_mutex_lock(&owner->va_space);
	if (to == NVUVM_CPU)
		status = migrate_blocks_to_cpu(nvuvm, range, &fence, &pages);
	for (u32 pass = 0; to == NVUVM_GPU && pass < 2; pass++)
		for (u32 i = 0; i < range->block_count && !status; i++)
			status = nvuvm_block_bring_in(nvuvm, range, i, &fence);
	waited = nvuvm->config.mmu->fence_wait(nvuvm->config.gpu, &fence);
	gvm_cost(GVM_COST_PAGE, pages);
	if (to == NVUVM_CPU && !status && !waited)
		status = migrate_map_advised(nvuvm, range);
	gvm_mutex_unlock(&owner->va_space);
	gvm_range_leave(range);
	return status ? status : waited;
}
