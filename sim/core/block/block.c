// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: block. Work inside a 2 MB VA block, over struct gvm_mmu_ops. Simulator and fake GPU
 * only: on a real GPU NVIDIA's uvm_va_block does this and calls policy at its hooks.
 *
 * Copy first
 * ==========
 *
 * The stock driver services a batch block by block and waits for all copies at its end. Here
 * the copies of all blocks of a batch are started first. The work on charges, clock and PTEs is
 * done while they are in flight, and one wait at the end covers them (GVM 4.3, Figure 9:
 * "issues page I/O first, then continues fault handling during data transmission").
 *
 *     block 1: reserve, allocate, bind, copy      CPU  |r|r|r|a|a|a|  wait
 *     block 2: reserve, allocate, bind, copy      link   |copy1|copy2|copy3|
 *     ...
 *     block 1, 2, ...: touch, write PTEs
 *
 * An eviction needs the victim's lock, and the victim may lie in the same range. So a block
 * that finds no room drops its lock, evicts a chunk and starts again, as UVM does. Blocks that
 * the batch has started are in service until their PTEs are written, and no evictor takes them.
 * If all chunks that the container may have are in service, the rest of the batch faults again.
 * An access that would fault for ever gets its pages in host memory (block/remote.c).
 *
 * How it differs from the paper:
 *  1. The paper charges while the copy is in flight, so usage may be above the limit until
 *     then. Here a chunk is reserved before it is allocated and filled. Only reference
 *     bits and PTEs come later.
 *  2. Pages that exist nowhere yet are cleared on the device and never cross the link.
 */
#include "gvm/block.h"
#include "gvm/child.h"
#include "gvm/clock.h"
#include "gvm/evict.h"
#include "gvm/evictor.h"
#include "gvm/lirs.h"

/* Evictions that one block may cause before it is left to fault again. */
#define BLOCK_TRIES_MAX 64u

static u32 block_valid_mask(u64 bytes_from_block)
{
	u64 pages;

	if (bytes_from_block >= GVM_CHUNK_BYTES)
		return GVM_BLOCK_FULL;
	pages = (bytes_from_block + GVM_PAGE_BYTES - 1) >> GVM_PAGE_SHIFT;
	return pages >= GVM_PAGES_PER_BLOCK ? GVM_BLOCK_FULL : (1u << pages) - 1;
}

/* Whose addresses are those of the new range? It takes a reference to its payer. */
static int block_find_payer(struct gvm_range *range, const struct gvm_range_config *config,
			    u64 bytes)
{
	const struct gvm_window addresses = {
		.space = config->space,
		.va = config->va,
		.bytes = bytes,
	};

	if (gvm_container_has_family(config->container))
		return gvm_child_payer(config->container, &addresses, &range->container);
	range->container = config->container;
	gvm_container_get(config->container);
	return 0;
}

int gvm_range_init(struct gvm_memory *memory, struct gvm_range *range,
		   const struct gvm_range_config *config)
{
	u64 count = ((config->bytes - 1) >> GVM_CHUNK_SHIFT) + 1;
	int status;

	if (!config->bytes || (config->va & (GVM_CHUNK_BYTES - 1)) || count > U32_MAX)
		return -EINVAL;
	if (config->bytes - 1 > U64_MAX - config->va)
		return -EINVAL;
	memset(range, 0, sizeof(*range));
	status = block_find_payer(range, config, count << GVM_CHUNK_SHIFT);
	if (status)
		return status;
	range->blocks = gvm_alloc(count * sizeof(*range->blocks));
	if (!range->blocks) {
		gvm_container_put(range->container);
		return -ENOMEM;
	}
	range->memory = memory;
	range->space = config->space;
	range->stats = config->stats;
	range->va = config->va;
	range->bytes = config->bytes;
	range->block_count = (u32)count;
	gvm_mutex_init(&range->lock, "gvm range");
	gvm_waitqueue_init(&range->idle);
	for (u64 i = 0; i < count; i++) {
		struct gvm_block *block = &range->blocks[i];

		block->chunk = GVM_NO_CHUNK;
		block->valid = block_valid_mask(config->bytes - (i << GVM_CHUNK_SHIFT));
		block->on_host = config->on_host ? block->valid : 0;
		range->valid_pages += hweight32(block->valid);
	}
	RB_CLEAR_NODE(&range->node);
	gvm_range_publish(range);
	return 0;
}

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

/* Take a block's pages and its chunk away. The data is lost. Range's lock held. */
static void block_release_locked(struct gvm_range *range, u32 index)
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

void gvm_range_destroy(struct gvm_range *range)
{
	gvm_range_hide(range);
	gvm_mutex_lock(&range->lock);
	range->dying = true;
	for (u32 i = 0; i < range->block_count; i++)
		block_release_locked(range, i);
	gvm_mutex_unlock(&range->lock);
	/* No frame leads to the range any more. Threads inside it see dying, and leave. */
	gvm_range_wait_idle(range);
	gvm_free(range->blocks);
	gvm_container_put(range->container);
	range->blocks = NULL;
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
 * Give the block a device chunk. The charge comes before the allocation and is bound to the
 * chunk at once, so that the block's release also undoes it after a later error.
 */
static int block_populate_locked(struct gvm_range *range, u32 index)
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

/* The pages of one block that faults of a batch ask for. */
struct block_request {
	u32 index;
	u32 pages;
	enum gvm_access access; /* the most intrusive one */
	u32 run;		/* number of these faults */
	u32 tsg;		/* of the first one */
};

/* First half of a block's service: its chunk, and the start of its copies. */
static int block_start_locked(struct gvm_range *range, const struct block_request *request,
			      u32 wanted, struct gvm_fence *fence)
{
	u32 index = request->index;
	struct gvm_block *block = &range->blocks[index];
	int status = 0;

	if (block->chunk != GVM_NO_CHUNK) {
		gvm_block_set_in_service(range->memory, block, true);
	} else {
		status = block_populate_locked(range, index);
		if (status)
			return status;
		gvm_block_note_return_locked(range, block, request->tsg);
	}
	/* A write to a remote page after the start of its copy would be lost. */
	gvm_block_end_remote_locked(range, index, wanted);
	gvm_cost(GVM_COST_BLOCK, 1);
	status = gvm_block_fill_locked(range, index, wanted, fence);
	if (status)
		gvm_block_set_in_service(range->memory, block, false);
	return status;
}

/*
 * Second half: books and PTEs, while the copies are in flight. The replay waits for the fence.
 */
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

/* The request for one block of the faults at the head of @faults. */
static struct block_request block_request(const struct gvm_range *range,
					  const struct gvm_fault *faults, u32 count)
{
	struct block_request request = { .index = gvm_fault_block_index(range, &faults[0]),
					 .tsg = faults[0].tsg };

	request.pages = gvm_fault_block_mask(range, faults, count, &request.run);
	for (u32 i = 0; i < request.run; i++)
		request.access = max(request.access, (enum gvm_access)faults[i].access);
	return request;
}

/* The pages that a block gets for its faults: those of the plan that are not resident. */
static u32 block_wanted(const struct gvm_block *block, const struct block_request *request)
{
	return gvm_hugepage_plan(block, request->pages & block->valid) & ~block->resident;
}

/*
 * The resident pages that do not permit the access yet, if a faulted page is among them: all of
 * these are mapped again.
 */
static u32 block_remapped(const struct gvm_block *block, const struct block_request *request)
{
	u32 mapped = gvm_block_accessible(block, request->access);

	return request->pages & block->resident & ~mapped ? block->resident & ~mapped : 0;
}

/*
 * An attempt at the first half of a block's service. *ret_needs_room: the block got no chunk,
 * because of its container's limit (-EDQUOT) or of a full device (-ENOMEM). A block that has a
 * chunk failed for another reason, and an eviction would not help.
 */
static int range_try_block(struct gvm_range *range, const struct block_request *request,
			   struct gvm_fence *fence, bool *ret_needs_room)
{
	struct gvm_block *block = &range->blocks[request->index];
	u32 missing, wanted;
	int status = 0;
	bool stuck;

	gvm_mutex_lock(&range->lock);
	missing = request->pages & block->valid & ~block->remote;
	stuck = gvm_block_is_stuck_locked(range, block, request->tsg);
	wanted = block_wanted(block, request);
	if (range->dying)
		status = -EFAULT;
	else if (stuck && missing)
		status = gvm_block_map_remote_locked(range, request->index, missing);
	if (!range->dying && missing && (!stuck || (status && status != -EINTR)) &&
	    (wanted || block_remapped(block, request)))
		status = block_start_locked(range, request, wanted, fence);
	/* A stuck block gets no more room at its container's limit: its fault is cancelled. */
	*ret_needs_room = block->chunk == GVM_NO_CHUNK &&
			  ((status == -EDQUOT && !stuck) || status == -ENOMEM);
	gvm_mutex_unlock(&range->lock);
	return status;
}

/*
 * The first half of a block's service. Makes room up to BLOCK_TRIES_MAX times. Memory may be
 * freed during the search for a victim, so "no victim" counts only if the device is still full
 * afterwards. @others: earlier blocks of this batch may bring data back from the host, which
 * makes room within hmem.limit. So a used up hmem.limit is final only without them.
 */
static int range_start_block(struct gvm_range *range, const struct block_request *request,
			     bool others, struct gvm_fence *fence)
{
	struct gvm_eviction evictions = { 0 };
	/* A part may fit as soon as the container frees less than a chunk, so look again. */
	bool whole = !gvm_block_is_part(range->memory, &range->blocks[request->index]);
	bool none = false, none_before, needs_room;
	int status, room;

	for (u32 tries = 0; tries < BLOCK_TRIES_MAX; tries++) {
		status = range_try_block(range, request, fence, &needs_room);
		if (!needs_room)
			return status;
		room = gvm_evict_for(range->container,
				     status == -EDQUOT ? GVM_NEED_CHARGE : GVM_NEED_MEMORY,
				     &evictions);
		if (room == -ENOSPC && others)
			return -EAGAIN;
		none_before = none;
		none = gvm_evict_found_none(room);
		if (none && (none_before || (whole && status == -EDQUOT)))
			return status;
		if (room && !none)
			return room;
	}
	return -EAGAIN;
}

/* Do the second half of a block's service, if its first half has succeeded. */
static void range_finish_block(struct gvm_range *range, const struct block_request *request)
{
	struct gvm_block *block = &range->blocks[request->index];

	gvm_mutex_lock(&range->lock);
	/*
	 * A block that is not in service needs no second half: its first half failed, or it had
	 * all wanted pages and may have lost them since. A range that is dying has no block in
	 * service.
	 */
	if (block->chunk != GVM_NO_CHUNK && gvm_block_in_service(range->memory, block))
		gvm_block_finish_locked(range, request->index,
					block_wanted(block, request) |
						block_remapped(block, request),
					request->access);
	gvm_mutex_unlock(&range->lock);
}

/*
 * A write that lowered the limit meanwhile could not evict the blocks in service here: evict
 * them now.
 */
static void range_keep_limit(struct gvm_range *range, u32 blocks)
{
	struct gvm_eviction evictions = { 0 };

	while (blocks-- && gvm_charge_excess(range->container)) {
		if (gvm_evict_for(range->container, GVM_NEED_CHARGE, &evictions))
			break;
	}
}

void gvm_range_service(struct gvm_range *range, struct gvm_fault *faults, u32 count,
		       struct gvm_fence *fence)
{
	struct block_request request;
	u32 pages = 0, blocks = 0, started = 0;
	int status;

	gvm_range_enter(range);
	for (u32 done = 0; done < count; done += request.run) {
		request = block_request(range, faults + done, count - done);
		status = range_start_block(range, &request, started > 0, fence);
		gvm_fault_set_status(&range->blocks[request.index], faults + done, request.run,
				     status);
		started += !status;
	}
	for (u32 done = 0; done < count; done += request.run) {
		request = block_request(range, faults + done, count - done);
		range_finish_block(range, &request);
		pages += gvm_block_pages(range->memory, &range->blocks[request.index]);
		blocks++;
	}
	range_keep_limit(range, blocks);
	gvm_evictors_kick(range->container,
			  (pages + GVM_PAGES_PER_BLOCK - 1) / GVM_PAGES_PER_BLOCK);
	gvm_range_leave(range);
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
	gvm_trace_evict(range->container, block_va(range, index), chunk, hweight32(pages));
	return 0;
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
	int status = -ENOENT, stays = 0;
	bool last = false, left = false;
	struct gvm_range *range;
	u32 page, index;

	eviction->left_bytes = 0;
	for (page = 0; !last && (!stays || stays == -EBUSY); page++) {
		range = gvm_frame_enter_range(memory, chunk, &page, &index);
		if (!range)
			break;
		gvm_mutex_lock(&range->lock);
		status = block_evict_locked(range, index, chunk, eviction, &last);
		gvm_mutex_unlock(&range->lock);
		/*
		 * Count after other threads can see the eviction: in the simulator the unlock
		 * may take time.
		 */
		if (!status && range->stats)
			range->stats->evictions++;
		gvm_range_leave(range);
		left |= !status;
		if (status && status != -ENOENT)
			stays = status;
	}
	if (last)
		return 0;
	/* Nothing to put back: the last block has left by itself. */
	if (!stays || !(eviction->left_bytes = gvm_clock_putback_rest(memory->device, chunk)))
		return -ENOENT;
	if (left && stays == -EBUSY)
		return 0;
	eviction->left_bytes = 0;
	return stays;
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
	block_set_hinted_locked(range, block, block->resident);
	memory->mmu->unmap(memory->gpu, range->space, block_va(range, index), mapped);
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
