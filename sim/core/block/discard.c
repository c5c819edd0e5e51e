// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: block. Simulator and fake GPU only.
 *
 * Discarding: memory that its owner does not need any more
 * ========================================================
 *
 * A driver that runs out of room copies evicted pages to the host, since it cannot know that a
 * KV block belongs to no request, or that a tensor is not used again. The application knows,
 * and tells the driver, as with madvise(MADV_DONTNEED). The pages are unmapped. A chunk without
 * pages is uncharged and goes back to the device. Data in host memory is dropped. Nothing
 * crosses the link in either direction. A discarded page reads as zeros, like a new page.
 *
 * A block in service is left alone, since the service of a fault needs its pages. An
 * application that discards memory in use finds zeros there. The range's lock is taken for one
 * block at a time, so faults and evictions of other blocks are served in between.
 *
 * How it differs from the paper (Ghost 4.2): the paper has applications drop objects in
 * reaction to a pressure event and does not say how the driver learns of it.
 */
#include "gvm/block.h"

/* Discard @pages of a block. Returns the bytes of device memory that have become free. */
static u64 discard_block_locked(struct gvm_range *range, u32 index, u32 pages)
{
	struct gvm_block *block = &range->blocks[index];

	if (block->chunk == GVM_NO_CHUNK) {
		gvm_block_leave_host_locked(range, index, pages);
		return 0;
	}
	if (gvm_block_in_service(range->memory, block))
		return 0;
	gvm_cost(GVM_COST_BLOCK, 1);
	gvm_block_leave_host_locked(range, index, pages);
	gvm_block_unmap_locked(range, index, pages & block->resident);
	if (block->resident)
		return 0;
	gvm_block_drop_chunk_locked(range, block, false);
	return (u64)gvm_block_pages(range->memory, block) << GVM_PAGE_SHIFT;
}

/* The mask of block number @index for the range's pages from @first to before @end. */
static u32 discard_mask(u32 index, u64 first, u64 end)
{
	u64 block = (u64)index * GVM_PAGES_PER_BLOCK;
	u32 skip = first > block ? (u32)(first - block) : 0;
	u32 count = (u32)min(end - block, (u64)GVM_PAGES_PER_BLOCK) - skip;

	return (u32)((BIT(count) - 1) << skip);
}

/* The pages that @bytes take, rounded up. */
static u64 discard_pages(u64 bytes)
{
	return (bytes + GVM_PAGE_BYTES - 1) >> GVM_PAGE_SHIFT;
}

u64 gvm_range_discard(struct gvm_range *range, u64 offset, u64 bytes)
{
	u64 from = min(offset, range->bytes);
	u64 to = from + min(bytes, range->bytes - from);
	u64 first = discard_pages(from);
	/* The rest of the range's last page belongs to nobody: that page goes as a whole. */
	u64 end = to == range->bytes ? discard_pages(to) : to >> GVM_PAGE_SHIFT;
	u64 freed = 0;
	u32 index;

	gvm_range_enter(range);
	for (index = (u32)(first / GVM_PAGES_PER_BLOCK);
	     (u64)index * GVM_PAGES_PER_BLOCK < end && first < end; index++) {
		gvm_mutex_lock(&range->lock);
		if (!range->dying)
			freed += discard_block_locked(range, index,
						      discard_mask(index, first, end));
		gvm_mutex_unlock(&range->lock);
	}
	gvm_range_leave(range);
	return freed;
}
