// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: block. The pages and the chunk of one 2 MB VA block, over struct gvm_mmu_ops: how a
 * block gets a chunk, fills it, maps it, and leaves it. Simulator and fake GPU only: on a real
 * GPU NVIDIA's uvm_va_block does this and calls policy at its hooks. block/batch.c serves
 * faults with these steps.
 *
 * Pages that exist nowhere yet are cleared on the device and never cross the link.
 */
#include "gvm/block.h"
#include "gvm/clock.h"
#include "gvm/lirs.h"
#include "gvm/predictor.h"
#include "gvm/swap.h"

static u64 block_va(const struct gvm_range *range, u32 index)
{
	return range->va + ((u64)index << GVM_CHUNK_SHIFT);
}

static void block_set_hinted_locked(struct gvm_range *range, struct gvm_block *block,
				    u32 hinted)
{
	range->hinted_pages -= hweight32(block->hinted);
	range->hinted_pages += hweight32(hinted);
	block->hinted = hinted;
}

/* Pages of a block become resident: mask, count and PTEs change together. */
static void block_map_locked(struct gvm_range *range, u32 index, u32 pages,
			     enum gvm_access access)
{
	struct gvm_memory *memory = range->memory;
	struct gvm_block *block = &range->blocks[index];

	range->resident_pages += hweight32(pages & ~block->resident);
	block->resident |= pages;
	block_set_hinted_locked(range, block, block->hinted & ~pages);
	memory->mmu->map(memory->gpu, range->space, block_va(range, index), block->chunk,
			 block->offset_pages, pages, access);
}

/*
 * Map pages: those in @clean read-only, since they keep their copies in host memory, the others
 * writable.
 */
static void block_map_clean_locked(struct gvm_range *range, u32 index, u32 pages, u32 clean)
{
	struct gvm_block *block = &range->blocks[index];

	if (pages & ~clean)
		block_map_locked(range, index, pages & ~clean, GVM_ACCESS_ATOMIC);
	if (clean)
		block_map_locked(range, index, clean, GVM_ACCESS_READ);
	gvm_clean_set_locked(range, block, (block->clean & ~pages) | clean);
}

void gvm_block_unmap_locked(struct gvm_range *range, u32 index, u32 pages)
{
	struct gvm_memory *memory = range->memory;
	struct gvm_block *block = &range->blocks[index];
	u32 mapped = pages & ~block->hinted;

	range->resident_pages -= hweight32(pages & block->resident);
	block->resident &= ~pages;
	gvm_clean_set_locked(range, block, block->clean & ~pages);
	if (mapped)
		memory->mmu->unmap(memory->gpu, range->space, block_va(range, index), mapped);
	block_set_hinted_locked(range, block, block->hinted & ~pages);
}

bool gvm_block_drop_chunk_locked(struct gvm_range *range, struct gvm_block *block, bool keep)
{
	struct gvm_memory *memory = range->memory;
	u32 chunk = block->chunk;
	bool last = true;

	gvm_block_set_in_service(memory, block, false);
	block->coming = false;
	if (gvm_block_is_part(memory, block)) {
		last = gvm_part_drop_locked(range, block);
	} else {
		block->chunk = GVM_NO_CHUNK;
		gvm_frame_set(memory, chunk, 0, NULL, 0);
		gvm_uncharge(memory->device, chunk);
	}
	if (last && !keep)
		memory->mmu->chunk_free(memory->gpu, chunk);
	return last;
}

void gvm_block_release_locked(struct gvm_range *range, u32 index)
{
	struct gvm_block *block = &range->blocks[index];

	gvm_swap_uncharge(range->container, (u64)hweight32(block->swapped) << GVM_PAGE_SHIFT);
	block->swapped = 0;
	gvm_block_end_remote_locked(range, index, block->remote);
	if (block->chunk == GVM_NO_CHUNK)
		return;
	gvm_block_unmap_locked(range, index, block->resident);
	gvm_block_drop_chunk_locked(range, block, false);
}

/*
 * The block is in service before the chunk is on the clock's rings, where an evictor could pick
 * it.
 */
void gvm_block_attach_locked(struct gvm_range *range, u32 index, u32 chunk)
{
	struct gvm_block *block = &range->blocks[index];

	block->chunk = chunk;
	gvm_block_set_in_service(range->memory, block, true);
	gvm_frame_set(range->memory, chunk, 0, range, index);
	gvm_lirs_name(range->container, chunk, block_va(range, index));
	gvm_charge_bind(range->container, chunk);
}

/*
 * The charge comes before the allocation and is bound to the chunk at once, so that the block's
 * release also undoes it after a later error.
 */
int gvm_block_populate_locked(struct gvm_range *range, u32 index)
{
	struct gvm_memory *memory = range->memory;
	u32 chunk;
	int status;

	if (gvm_block_is_part(memory, &range->blocks[index]))
		return gvm_part_populate_locked(range, index);
	status = gvm_charge_reserve(range->container);
	if (status)
		return status;
	status = memory->mmu->chunk_alloc(memory->gpu, &chunk);
	if (status) {
		gvm_charge_cancel(range->container);
		return status;
	}
	gvm_block_attach_locked(range, index, chunk);
	return 0;
}

typedef int (*block_move)(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence);

/* The lowest contiguous run of pages of a block in a non-empty mask. */
static struct gvm_page_run mask_first_run(struct gvm_range *range, u32 index, u32 mask)
{
	const struct gvm_block *block = &range->blocks[index];
	u32 first = (u32)__ffs(mask);
	u32 above = ~(mask >> first); /* zero bits of the mask, from @first on */

	return (struct gvm_page_run){
		.range = range,
		.index = index,
		.space = range->space,
		.chunk = block->chunk,
		.offset_pages = block->offset_pages,
		.first_page = first,
		.page_count = above ? (u32)__ffs(above) : GVM_PAGES_PER_BLOCK,
	};
}

static u32 run_mask(const struct gvm_page_run *run)
{
	return (u32)((BIT(run->page_count) - 1) << run->first_page);
}

/* Start moving or clearing the pages of @mask, one call for each contiguous run of them. */
static int block_move_runs(struct gvm_range *range, u32 index, u32 mask, block_move move,
			   struct gvm_fence *fence)
{
	while (mask) {
		struct gvm_page_run run = mask_first_run(range, index, mask);
		int status = move(range->memory->gpu, &run, fence);

		if (status)
			return status;
		mask &= ~run_mask(&run);
	}
	return 0;
}

void gvm_block_leave_host_locked(struct gvm_range *range, u32 index, u32 pages)
{
	struct gvm_memory *memory = range->memory;
	struct gvm_block *block = &range->blocks[index];
	u32 swapped = block->swapped & pages;
	bool was_there = block->on_host;

	gvm_block_end_remote_locked(range, index, pages);
	block->on_host &= ~pages;
	block->swapped &= ~pages;
	gvm_swap_uncharge(range->container, (u64)hweight32(swapped) << GVM_PAGE_SHIFT);
	if (was_there && !block->on_host && memory->mmu->host_free)
		memory->mmu->host_free(memory->gpu, range, index);
}

/* Start the copies and clears of a block that has a chunk. */
int gvm_block_fill_locked(struct gvm_range *range, u32 index, u32 wanted,
			  struct gvm_fence *fence)
{
	const struct gvm_mmu_ops *mmu = range->memory->mmu;
	struct gvm_block *block = &range->blocks[index];
	u32 copy = wanted & block->on_host;
	u32 clear = wanted & ~block->on_host;
	int status = 0;

	if (copy & block->swapped)
		status = gvm_block_wait_for_host(range, block);
	if (!status)
		status = block_move_runs(range, index, copy, mmu->copy_in, fence);
	if (!status)
		status = block_move_runs(range, index, clear, mmu->clear, fence);
	if (!status && range->stats) {
		range->stats->pages_copied_in += hweight32(copy);
		range->stats->pages_cleared += hweight32(clear);
	}
	return status;
}

void gvm_block_finish_locked(struct gvm_range *range, u32 index, u32 wanted,
			     enum gvm_access access)
{
	struct gvm_block *block = &range->blocks[index];
	u32 clean = gvm_clean_plan_locked(range, block, wanted, access);
	u32 back = wanted & clean & block->swapped;

	block_map_clean_locked(range, index, wanted, clean);
	block->swapped &= ~back;
	gvm_swap_uncharge(range->container, (u64)hweight32(back) << GVM_PAGE_SHIFT);
	gvm_block_leave_host_locked(range, index, wanted & ~clean);
	gvm_clock_touch(range->memory->device, block->chunk);
	gvm_block_set_in_service(range->memory, block, false);
}

/*
 * The copies of the pages @copied have started. From now on the block's data counts as on the
 * host. Returns whether the block was the last one of its chunk.
 */
static bool block_leave_device_locked(struct gvm_range *range, struct gvm_block *block,
				      u32 pages, u32 copied,
				      const struct gvm_eviction *eviction)
{
	block->on_host |= pages;
	block->swapped |= pages;
	if (copied) /* else an earlier copy may still be under way */
		block->out_sequence = eviction->fence.sequence[GVM_ENGINE_OUT];
	gvm_swap_charge(range->container, (u64)hweight32(pages) << GVM_PAGE_SHIFT);
	return gvm_block_drop_chunk_locked(range, block, eviction->keep);
}

/* Unmap first: no write can come after the copy has started. */
int gvm_block_push_out_locked(struct gvm_range *range, u32 index, u32 pages,
			      struct gvm_fence *fence)
{
	struct gvm_block *block = &range->blocks[index];
	u32 clean = pages & block->clean;
	int status;

	gvm_block_unmap_locked(range, index, pages);
	status = block_move_runs(range, index, pages & ~clean, range->memory->mmu->copy_out,
				 fence);
	if (status)
		block_map_clean_locked(range, index, pages, clean);
	return status;
}

/* Evict one block of a picked chunk. *ret_last: no other block had a part of the chunk. */
static int block_evict_locked(struct gvm_range *range, u32 index, u32 chunk,
			      struct gvm_eviction *eviction, bool *ret_last)
{
	struct gvm_memory *memory = range->memory;
	struct gvm_block *block = &range->blocks[index];
	u32 pages, dirty;
	int status;

	/* The chunk may have left the block before this thread got the lock. */
	if (block->chunk != chunk || !gvm_clock_is_picked(memory->device, chunk))
		return -ENOENT;
	if (gvm_block_in_service(memory, block))
		return -EBUSY;
	gvm_cost(GVM_COST_EVICT, 1);
	pages = block->resident;
	dirty = pages & ~block->clean;
	status = gvm_block_push_out_locked(range, index, pages, &eviction->fence);
	if (status)
		return status;
	*ret_last = block_leave_device_locked(range, block, pages, dirty, eviction);
	gvm_predictor_evicted(range->container, range->space, block_va(range, index));
	gvm_trace_evict(range->container, block_va(range, index), chunk, hweight32(pages));
	return 0;
}

/* The same, of a range that the caller has entered: leaves it. */
static int block_evict_entered(struct gvm_range *range, u32 index, u32 chunk,
			       struct gvm_eviction *eviction, bool *ret_last)
{
	int status;

	gvm_mutex_lock(&range->lock);
	status = block_evict_locked(range, index, chunk, eviction, ret_last);
	gvm_mutex_unlock(&range->lock);
	/* Count after other threads can see the eviction: in the simulator the unlock may take time. */
	if (!status && range->stats)
		range->stats->evictions++;
	gvm_range_leave(range);
	return status;
}

/*
 * The blocks of a chunk leave one after the other, each under its range's lock. Those that are
 * in service stay, and the chunk with them. An error ends the walk. Blocks that have left stay
 * away: no data is lost, and the limit has got its bytes.
 *
 * Owners may free all blocks meanwhile. Then the chunk is free, or another block's, and it may
 * even be picked anew. An eviction that puts it back too early is harmless: the other evictor
 * finds that the chunk is not picked any more.
 */
int gvm_block_evict(struct gvm_memory *memory, u32 chunk, struct gvm_eviction *eviction)
{
	bool last = false, left = false;
	struct gvm_range *range;
	int stays = 0;
	u32 index;

	eviction->left_bytes = 0;
	for (u32 page = 0; !last && (!stays || stays == -EBUSY); page++) {
		int status;

		range = gvm_frame_enter_range(memory, chunk, &page, &index);
		if (!range)
			break;
		status = block_evict_entered(range, index, chunk, eviction, &last);
		left |= !status;
		if (status && status != -ENOENT)
			stays = status;
	}
	if (last)
		return 0;
	if (stays)
		eviction->left_bytes = gvm_clock_putback_rest(memory->device, chunk);
	/* Nothing to put back: the last block has left by itself. */
	if (!eviction->left_bytes)
		return -ENOENT;
	if (left && stays == -EBUSY)
		return 0;
	eviction->left_bytes = 0;
	return stays;
}

void gvm_block_hide_locked(struct gvm_range *range, u32 index)
{
	struct gvm_memory *memory = range->memory;
	struct gvm_block *block = &range->blocks[index];
	u32 mapped = block->resident & ~block->hinted;

	block_set_hinted_locked(range, block, block->resident);
	memory->mmu->unmap(memory->gpu, range->space, block_va(range, index), mapped);
}

static int block_hint_locked(struct gvm_range *range, u32 index, u32 chunk)
{
	struct gvm_memory *memory = range->memory;
	struct gvm_block *block = &range->blocks[index];
	u32 mapped = block->resident & ~block->hinted;

	if (block->chunk != chunk)
		return -ENOENT;
	if (gvm_block_in_service(memory, block))
		return -EBUSY;
	if (!mapped)
		return 0;
	gvm_cost(GVM_COST_BLOCK, 1);
	gvm_block_hide_locked(range, index);
	return 0;
}

/* Hint all blocks of the chunk: any of them that is used saves it. */
int gvm_block_hint(struct gvm_memory *memory, u32 chunk)
{
	int status = -ENOENT;

	for (u32 page = 0;; page++) {
		struct gvm_range *range;
		int one;
		u32 index;

		range = gvm_frame_enter_range(memory, chunk, &page, &index);
		if (!range)
			return status;
		gvm_mutex_lock(&range->lock);
		one = block_hint_locked(range, index, chunk);
		gvm_mutex_unlock(&range->lock);
		gvm_range_leave(range);
		if (!one || status == -ENOENT)
			status = one;
	}
}

bool gvm_block_evictable(const struct gvm_memory *memory, u32 chunk)
{
	for (u32 page = 0; page < 1u << memory->frame_shift; page++) {
		if (READ_ONCE(gvm_frame(memory, chunk, page)->in_service))
			return false;
	}
	return true;
}
