// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: block. Serves the faults of a batch that are in one range, with the steps of
 * block/block.c. Simulator and fake GPU only.
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
 * How it differs from the paper: it charges while the copy is in flight, so usage may be above
 * the limit until then. Here a chunk is reserved before it is allocated and filled. Only
 * reference bits and PTEs come later.
 */
#include "gvm/block.h"
#include "gvm/evict.h"
#include "gvm/evictor.h"
#include "gvm/predictor.h"

/* Evictions that one block may cause before it is left to fault again. */
#define BLOCK_TRIES_MAX 64u

/* The pages of one block that faults of a batch ask for. */
struct block_request {
	u32 index;
	u32 pages;
	enum gvm_access access; /* the most intrusive one */
	u32 run;		/* number of these faults */
	u32 tsg;		/* of the first one */
};

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

/* Give a block its chunk, and start its copies. */
static int block_start_locked(struct gvm_range *range, const struct block_request *request,
			      u32 wanted, struct gvm_fence *fence)
{
	u32 index = request->index;
	struct gvm_block *block = &range->blocks[index];
	int status = 0;

	if (block->chunk != GVM_NO_CHUNK) {
		gvm_block_set_in_service(range->memory, block, true);
	} else {
		status = gvm_block_populate_locked(range, index);
		if (status)
			return status;
		gvm_block_note_return_locked(range, block, request->tsg);
	}
	/* A write to a remote page after the start of its copy would be lost. */
	gvm_block_end_remote_locked(range, index, wanted);
	gvm_cost(GVM_COST_BLOCK, 1);
	if (block->resident || block->on_host)
		gvm_predictor_used(range->container, range->space,
				   range->va + ((u64)index << GVM_CHUNK_SHIFT));
	if (block->coming)
		gvm_block_take_coming_locked(range, index, fence);
	else
		status = gvm_block_fill_locked(range, index, wanted, fence);
	if (status)
		gvm_block_set_in_service(range->memory, block, false);
	return status;
}

/*
 * Give a block its @missing pages, those of the request that have to come in. A stuck block is
 * mapped remotely. Where that fails it comes in as any other block does.
 */
static int block_serve_locked(struct gvm_range *range, const struct block_request *request,
			      u32 missing, bool stuck, struct gvm_fence *fence)
{
	const struct gvm_block *block = &range->blocks[request->index];
	int status = 0;
	u32 wanted;

	if (stuck) {
		status = gvm_block_map_remote_locked(range, request->index, missing);
		if (!status || status == -EINTR)
			return status;
	}
	wanted = block_wanted(block, request);
	if (!wanted && !block_remapped(block, request))
		return status;
	return block_start_locked(range, request, wanted, fence);
}

/*
 * Try to start the service of a block. *ret_needs_room: the block got no chunk,
 * because of its container's limit (-EDQUOT) or of a full device (-ENOMEM). A block that has a
 * chunk failed for another reason, and an eviction would not help.
 */
static int range_try_block(struct gvm_range *range, const struct block_request *request,
			   struct gvm_fence *fence, bool *ret_needs_room)
{
	const struct gvm_block *block = &range->blocks[request->index];
	u32 missing;
	int status = 0;
	bool stuck;

	gvm_mutex_lock(&range->lock);
	missing = request->pages & block->valid & ~block->remote;
	stuck = gvm_block_is_stuck_locked(range, block, request->tsg);
	if (range->dying)
		status = -EFAULT;
	else if (missing)
		status = block_serve_locked(range, request, missing, stuck, fence);
	/* A stuck block gets no more room at its container's limit: its fault is cancelled. */
	*ret_needs_room = block->chunk == GVM_NO_CHUNK &&
			  ((status == -EDQUOT && !stuck) || status == -ENOMEM);
	gvm_mutex_unlock(&range->lock);
	return status;
}

/*
 * Start the service of a block. Makes room up to BLOCK_TRIES_MAX times. Memory may be freed
 * during the search for a victim. So the first "no victim" leads to one more try, and the second
 * one in a row counts. A whole block at its container's limit gets no such try: the search looks
 * at the limit again by itself, for a chunk. A part may fit with less. @others: earlier blocks of
 * this batch may bring data back from the host, which makes room within hmem.limit. So a used up
 * hmem.limit is final only without them.
 */
static int range_start_block(struct gvm_range *range, const struct block_request *request,
			     bool others, struct gvm_fence *fence)
{
	bool is_whole = !gvm_block_is_part(range->memory, &range->blocks[request->index]);
	struct gvm_eviction evictions = { 0 };
	bool is_last_try = false;

	for (u32 tries = 0; tries < BLOCK_TRIES_MAX; tries++) {
		bool needs_room, at_limit;
		int status, room;

		status = range_try_block(range, request, fence, &needs_room);
		if (!needs_room)
			return status;
		at_limit = status == -EDQUOT;
		room = gvm_evict_for(range->container,
				     at_limit ? GVM_NEED_CHARGE : GVM_NEED_MEMORY, &evictions);
		if (room == -ENOSPC && others)
			return -EAGAIN;
		if (!gvm_evict_found_none(room)) {
			if (room)
				return room;
			is_last_try = false;
			continue;
		}
		if (is_last_try || (is_whole && at_limit))
			return status;
		is_last_try = true;
	}
	return -EAGAIN;
}

/* End the service of a block that was started: its books and PTEs. */
static void range_finish_block(struct gvm_range *range, const struct block_request *request)
{
	struct gvm_block *block = &range->blocks[request->index];

	gvm_mutex_lock(&range->lock);
	/*
	 * A block that is not in service was not started: its start failed, or it had all
	 * wanted pages and may have lost them since. One that is coming is in another's
	 * service, which began after that. A range that is dying has no block in service.
	 */
	if (block->chunk != GVM_NO_CHUNK && gvm_block_in_service(range->memory, block) &&
	    !block->coming)
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
