// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: block. Work inside a 2 MB VA block, over struct gvm_mmu_ops. Simulator and fake GPU
 * only: on a real GPU NVIDIA's uvm_va_block does this and calls policy at its hooks.
 *
 * Copy first
 * ==========
 *
 * The stock driver services a batch block by block and waits for everything at its end. Here the
 * copies of all blocks of a batch are started first; charging, clock and PTE work is done while
 * they fly, and one wait at the end covers them (GVM 4.3, Figure 9: "issues page I/O first, then
 * continues fault handling during data transmission").
 *
 *     block 1: reserve, allocate, start copy      CPU  |r|r|r|a|a|a|  wait
 *     block 2: reserve, allocate, start copy      link   |copy1|copy2|copy3|
 *     ...
 *     block 1, 2, ...: bind, touch, write PTEs
 *
 * How it differs from the paper:
 *  1. The paper charges while the copy flies, which lets usage pass the limit for as long. A
 *     chunk is reserved here before anything is allocated or moved; only the clock and the PTEs
 *     come later.
 *  2. Pages that exist nowhere yet are cleared on the device and never cross the link.
 */
#include "gvm/block.h"
#include "gvm/clock.h"

static u32 block_valid_mask(u64 bytes_from_block)
{
	u64 pages;

	if (bytes_from_block >= GVM_CHUNK_BYTES)
		return GVM_BLOCK_FULL;
	pages = (bytes_from_block + GVM_PAGE_BYTES - 1) >> GVM_PAGE_SHIFT;
	return pages >= GVM_PAGES_PER_BLOCK ? GVM_BLOCK_FULL : (1u << pages) - 1;
}

int gvm_range_init(struct gvm_range *range, const struct gvm_range_config *config)
{
	u64 count = ((config->bytes - 1) >> GVM_CHUNK_SHIFT) + 1;
	u64 i;

	if (!config->bytes || (config->va & (GVM_CHUNK_BYTES - 1)) || count > U32_MAX)
		return -EINVAL;
	memset(range, 0, sizeof(*range));
	range->blocks = gvm_alloc(count * sizeof(*range->blocks));
	if (!range->blocks)
		return -ENOMEM;
	range->container = config->container;
	gvm_container_get(config->container);
	range->gpu = config->gpu;
	range->mmu = config->mmu;
	range->space = config->space;
	range->va = config->va;
	range->bytes = config->bytes;
	range->block_count = (u32)count;
	gvm_mutex_init(&range->lock, "gvm range");
	for (i = 0; i < count; i++) {
		struct gvm_block *block = &range->blocks[i];

		block->chunk = GVM_NO_CHUNK;
		block->valid = block_valid_mask(config->bytes - (i << GVM_CHUNK_SHIFT));
		block->on_host = config->on_host ? block->valid : 0;
		range->valid_pages += hweight32(block->valid);
	}
	return 0;
}

static u64 block_va(const struct gvm_range *range, u32 index)
{
	return range->va + ((u64)index << GVM_CHUNK_SHIFT);
}

/* Take a block's pages and its chunk away; the data is lost. Range lock held. */
static void block_release_locked(struct gvm_range *range, u32 index)
{
	struct gvm_block *block = &range->blocks[index];

	if (block->chunk == GVM_NO_CHUNK)
		return;
	range->mmu->unmap(range->gpu, range->space, block_va(range, index), block->resident);
	gvm_uncharge(range->container->device, block->chunk);
	range->mmu->chunk_free(range->gpu, block->chunk);
	range->resident_pages -= hweight32(block->resident);
	block->resident = 0;
	block->chunk = GVM_NO_CHUNK;
}

void gvm_range_destroy(struct gvm_range *range)
{
	u32 i;

	gvm_mutex_lock(&range->lock);
	for (i = 0; i < range->block_count; i++)
		block_release_locked(range, i);
	gvm_mutex_unlock(&range->lock);
	gvm_free(range->blocks);
	gvm_container_put(range->container);
	range->blocks = NULL;
}

/*
 * Give the block a device chunk. The charge comes before the allocation and is bound to the
 * chunk at once, so that whatever fails later is undone by the block's release.
 */
static int block_populate_locked(struct gvm_range *range, struct gvm_block *block)
{
	u32 chunk;
	int status;

	if (block->chunk != GVM_NO_CHUNK)
		return 0;
	status = gvm_charge_reserve(range->container);
	if (status)
		return status;
	status = range->mmu->chunk_alloc(range->gpu, &chunk);
	if (status) {
		gvm_charge_cancel(range->container);
		gvm_container_count_event(range->container, GVM_EVENT_OOM);
		return status;
	}
	gvm_charge_bind(range->container, chunk);
	block->chunk = chunk;
	return 0;
}

typedef int (*block_move)(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence);

/* The lowest contiguous run of pages in a non-empty mask. */
static struct gvm_page_run mask_first_run(u32 chunk, u32 mask)
{
	u32 first = (u32)__ffs(mask);
	u32 above = ~(mask >> first); /* zero bits of the mask, from @first on */

	return (struct gvm_page_run){ chunk, first,
				      above ? (u32)__ffs(above) : GVM_PAGES_PER_BLOCK };
}

static u32 run_mask(const struct gvm_page_run *run)
{
	return (u32)((BIT(run->page_count) - 1) << run->first_page);
}

/* Start moving or clearing the pages of @mask, one call for each contiguous run of them. */
static int block_move_runs(struct gvm_range *range, const struct gvm_block *block, u32 mask,
			   block_move move, struct gvm_fence *fence)
{
	while (mask) {
		struct gvm_page_run run = mask_first_run(block->chunk, mask);
		int status = move(range->gpu, &run, fence);

		if (status)
			return status;
		mask &= ~run_mask(&run);
	}
	return 0;
}

/* First half of servicing a block: its chunk and its data, in flight on return. */
static int block_start_locked(struct gvm_range *range, struct gvm_block *block, u32 wanted,
			      struct gvm_block_stats *stats, struct gvm_fence *fence)
{
	u32 copy = wanted & block->on_host;
	u32 clear = wanted & ~block->on_host;
	int status;

	gvm_cost(GVM_COST_BLOCK, 1);
	status = block_populate_locked(range, block);
	if (!status)
		status = block_move_runs(range, block, copy, range->mmu->copy_in, fence);
	if (!status)
		status = block_move_runs(range, block, clear, range->mmu->clear, fence);
	if (status)
		return status;
	stats->pages_copied_in += hweight32(copy);
	stats->pages_cleared += hweight32(clear);
	return 0;
}

/* Second half: books and PTEs, while the copies fly. The replay waits for the fence. */
static void block_finish_locked(struct gvm_range *range, u32 index, u32 wanted)
{
	struct gvm_block *block = &range->blocks[index];

	range->mmu->map(range->gpu, range->space, block_va(range, index), block->chunk, wanted);
	range->resident_pages += hweight32(wanted & ~block->resident);
	block->resident |= wanted;
	block->on_host &= ~wanted;
	gvm_clock_touch(range->container->device, block->chunk);
}

static u32 fault_block_index(const struct gvm_range *range, const struct gvm_fault *fault)
{
	return (u32)((fault->va - range->va) >> GVM_CHUNK_SHIFT);
}

/* The pages of one block that the faults at the head of @faults ask for; *ret_run of them. */
static u32 fault_block_mask(const struct gvm_range *range, const struct gvm_fault *faults,
			    u32 count, u32 *ret_run)
{
	u32 index = fault_block_index(range, &faults[0]);
	u32 mask = 0;
	u32 i;

	for (i = 0; i < count && fault_block_index(range, &faults[i]) == index; i++)
		mask |= 1u << ((faults[i].va >> GVM_PAGE_SHIFT) & (GVM_PAGES_PER_BLOCK - 1));
	*ret_run = i;
	return mask;
}

static void fault_set_status(struct gvm_fault *faults, u32 count, int status)
{
	u32 i;

	for (i = 0; i < count; i++)
		faults[i].status = status;
}

/* What a block will be given for its faults: nothing that it has, everything it is promoted to. */
static u32 block_wanted(const struct gvm_block *block, u32 faulted)
{
	return gvm_hugepage_plan(block, faulted & block->valid) & ~block->resident;
}

void gvm_range_service(struct gvm_range *range, struct gvm_fault *faults, u32 count,
		       struct gvm_block_stats *stats, struct gvm_fence *fence)
{
	u32 done, run, mask, wanted;

	gvm_mutex_lock(&range->lock);
	for (done = 0; done < count; done += run) {
		struct gvm_block *block =
			&range->blocks[fault_block_index(range, &faults[done])];
		int status = 0;

		mask = fault_block_mask(range, faults + done, count - done, &run);
		wanted = block_wanted(block, mask);
		/* Pages behind the end of the range can never be had: no replay would help. */
		if (mask & ~block->valid)
			status = -EFAULT;
		else if (wanted)
			status = block_start_locked(range, block, wanted, stats, fence);
		fault_set_status(faults + done, run, status);
	}
	for (done = 0; done < count; done += run) {
		u32 index = fault_block_index(range, &faults[done]);

		mask = fault_block_mask(range, faults + done, count - done, &run);
		wanted = block_wanted(&range->blocks[index], mask);
		if (wanted && !faults[done].status)
			block_finish_locked(range, index, wanted);
	}
	gvm_mutex_unlock(&range->lock);
}
