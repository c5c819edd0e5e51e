// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Servicing the faults of a batch block by block, as NVIDIA's driver does it: a model of
 * open-gpu-kernel-modules 575, uvm_gpu_replayable_faults.c (service_fault_batch_block_locked) and
 * uvm_va_block.c (block_alloc_gpu_chunk, uvm_va_block_service_locked).
 *
 *
 * Begin again
 *
 *     block 1: masks, chunk, copy, PTEs -> block 2: masks, chunk? none is free!
 *                                            drop the lock, evict, take the lock
 *                                          block 2: masks, chunk, copy, PTEs -> block 3 ...
 *
 * One block after the other gets its chunk, always a whole one of 2 MB, its copies and its PTEs.
 * When there is no chunk the lock has to be dropped, since the victim's has to be taken, and with
 * the lock goes all that was found out: the block is serviced again from its beginning
 * (UVM_VA_BLOCK_RETRY_LOCKED), and has the victim's chunk then. What is done twice are masks and the
 * plan; what costs most, copies and PTEs, comes behind the chunk and is done once. The eviction comes
 * on top, all of it before the next block's copy can start.
 *
 * The published GVM brings a block in whole, once it may: it has all its 32 pages in one chunk of
 * 2 MB on the host, and none on the device. That is so for what was evicted before, and for what the
 * CPU wrote into huge pages, but never on the first touch of memory that is nowhere yet.
 *
 *
 * A batch larger than memory
 *
 * Where fewer chunks are to be had than a batch has blocks, the stock driver goes on evicting what
 * the same batch has brought in; each warp whose own page is there at the replay gets on. Our GMMU
 * has one cursor for all warps, which would have to be among the survivors. So nothing is evicted
 * that the batch in service has migrated to (pmm.c), and blocks take turns: those that found
 * room are served until they fault no more, a block takes several rounds; then it is the turn of
 * the next ones in order of address. What has to wait is left to fault again.
 */
#include "nvuvm/parts.h"

/* Times that one block may be begun again before it is left to fault again. */
#define BLOCK_TRIES_MAX 64u

/* One block in service. */
struct block_visit {
	struct nvuvm *nvuvm;
	struct gvm_range *range;
	u32 index;
	u32 faulted;	   /* pages, of those that can be serviced */
	u32 throttled;	   /* of these, pages to be left alone in this batch */
	bool found_nobody; /* the last time that room was asked for */
	bool advised;	   /* not faults: the application has asked for these pages */
	struct gvm_fence *fence;
};

static struct gvm_block *visit_block(const struct block_visit *visit)
{
	return &visit->range->blocks[visit->index];
}

static struct nvuvm_block *visit_entry(const struct block_visit *visit)
{
	return nvuvm_block_of(visit->range, visit->index);
}

static struct nvuvm_container *visit_container(const struct block_visit *visit)
{
	return nvuvm_range_of(visit->range)->owner;
}

/* Which faulted pages are to be left alone? What is pinned elsewhere cannot be mapped from there. */
static u32 visit_throttle(const struct block_visit *visit, u32 faulted)
{
	struct nvuvm_thrash *thrash = &visit_entry(visit)->thrash;
	enum nvuvm_processor residency;
	u32 throttled = 0;
	u32 page;

	for (; thrash->pages && faulted; faulted &= faulted - 1) {
		page = (u32)__ffs(faulted);
		if (nvuvm_thrash_hint(thrash, page, NVUVM_GPU, gvm_ktime_ns(), &residency) ==
		    NVUVM_HINT_THROTTLE)
			throttled |= 1u << page;
	}
	return throttled;
}

/* The published GVM's conditions for bringing a block in whole. */
static bool visit_promotes(const struct block_visit *visit)
{
	const struct gvm_block *block = visit_block(visit);
	const struct nvuvm_block *entry = visit_entry(visit);

	return visit->nvuvm->config.fast_path && !block->resident &&
	       block->on_host == GVM_BLOCK_FULL && entry->host_huge && !entry->thrash.pinned;
}

/* The pages to bring in. */
static u32 visit_plan(const struct block_visit *visit, u32 faulted)
{
	const struct gvm_block *block = visit_block(visit);
	struct nvuvm_stats *stats = &visit->nvuvm->stats;
	u32 wanted;

	if (visit->nvuvm->config.core_policy) {
		wanted = gvm_hugepage_plan(block, faulted) & ~block->resident;
	} else if (visit_promotes(visit)) {
		stats->promoted++;
		wanted = GVM_BLOCK_FULL;
	} else {
		wanted = nvuvm_prefetch(block->valid, block->resident, faulted,
					visit_entry(visit)->thrash.thrashing);
	}
	stats->pages_prefetched += hweight32(wanted & ~faulted);
	return wanted;
}

/* A chunk for the block: the one that it was restarted with, or a free one. */
static int visit_find_chunk(const struct block_visit *visit, u32 *ret_chunk)
{
	struct nvuvm *nvuvm = visit->nvuvm;

	*ret_chunk = nvuvm->held;
	nvuvm->held = GVM_NO_CHUNK;
	if (*ret_chunk != GVM_NO_CHUNK)
		return 0;
	if (nvuvm_over_limit(nvuvm, visit_container(visit))) {
		gvm_container_count_event(visit->range->container, GVM_EVENT_HIGH);
		return -EDQUOT;
	}
	return nvuvm_mmu_ops.chunk_alloc(nvuvm, ret_chunk);
}

/*
 * The core's policy charges before the allocation, so that no limit is ever passed. Else the charge comes
 * after it and whatever the limit is, as in the published GVM, which has looked at the limit in its way.
 */
static int visit_populate_locked(const struct block_visit *visit)
{
	bool reserves = visit->nvuvm->config.core_policy;
	int status = 0;
	u32 chunk;

	if (visit_block(visit)->chunk != GVM_NO_CHUNK) {
		gvm_frame_set_in_service(visit->range->memory, visit_block(visit)->chunk, true);
		return 0;
	}
	if (reserves)
		status = gvm_charge_reserve(visit->range->container);
	if (status)
		return status;
	status = visit_find_chunk(visit, &chunk);
	if (status) {
		if (reserves)
			gvm_charge_cancel(visit->range->container);
		return status;
	}
	if (!reserves)
		gvm_charge_force(visit->range->container);
	gvm_block_attach_locked(visit->range, visit->index, chunk);
	return 0;
}

static int visit_migrate_locked(const struct block_visit *visit, u32 faulted)
{
	struct gvm_range *range = visit->range;
	struct gvm_block *block = visit_block(visit);
	u32 wanted = visit->advised ? faulted : visit_plan(visit, faulted);
	int status;

	/* For each 4 KB of what a fault brings in, its policy is looked at: advice is looked at once. */
	if (!visit->advised)
		gvm_cost(GVM_COST_PAGE, hweight32(wanted & block->on_host));
	status = gvm_block_fill_locked(range, visit->index, wanted, visit->fence);
	if (status)
		gvm_frame_set_in_service(range->memory, block->chunk, false);
	else
		gvm_block_finish_locked(range, visit->index, wanted, GVM_ACCESS_ATOMIC);
	nvuvm_pmm_mark_used(visit->nvuvm, visit_container(visit), block->chunk);
	if (!status)
		nvuvm_thrash_migrated(&visit_entry(visit)->thrash, wanted, NVUVM_GPU,
				      gvm_ktime_ns());
	return status;
}

/* One attempt; -EDQUOT or -ENOMEM: it needs room. */
static int visit_try_locked(struct block_visit *visit)
{
	const struct gvm_block *block = visit_block(visit);
	u32 faulted = visit->faulted & block->valid & ~block->resident;
	int status;

	if (visit->range->dying)
		return -EFAULT;
	visit->throttled = visit_throttle(visit, faulted);
	faulted &= ~visit->throttled;
	if (!faulted)
		return 0;
	visit->nvuvm->stats.rounds++;
	status = visit_populate_locked(visit);
	if (status)
		return status;
	gvm_cost(GVM_COST_BLOCK, 1);
	return visit_migrate_locked(visit, faulted);
}

static int visit_try(struct block_visit *visit)
{
	int status;

	gvm_mutex_lock(&visit->range->lock);
	status = visit_try_locked(visit);
	gvm_mutex_unlock(&visit->range->lock);
	return status;
}

/* Nobody can make room for this container: say why its context has to die. */
static int visit_out_of_room(const struct block_visit *visit)
{
	gvm_container_count_event(visit->range->container, GVM_EVENT_OOM);
	return -ENOMEM;
}

/*
 * With the core's policy memory may have been freed meanwhile: a full device without a victim is tried
 * once more.
 */
static int visit_make_room(struct block_visit *visit, bool forced)
{
	int status = nvuvm_make_room(visit->nvuvm, visit_container(visit), forced);
	bool again = visit->nvuvm->config.core_policy && !forced && !visit->found_nobody;

	visit->found_nobody = gvm_evict_found_nobody(status);
	if (!visit->found_nobody)
		return status;
	return again ? 0 : visit_out_of_room(visit);
}

static int visit_service(struct block_visit *visit)
{
	u32 tries = 0;
	int status, room;

	do {
		status = visit_try(visit);
		if (status != -EDQUOT && status != -ENOMEM)
			break;
		visit->nvuvm->stats.restarts++;
		room = visit_make_room(visit, status == -EDQUOT);
		status = room ? room : -EAGAIN;
	} while (!room && ++tries < BLOCK_TRIES_MAX);
	/* What was made room for is there by now, or is no more. */
	if (visit->nvuvm->held != GVM_NO_CHUNK)
		nvuvm_pmm_release(visit->nvuvm, visit->nvuvm->held);
	visit->nvuvm->held = GVM_NO_CHUNK;
	return status;
}

/* The faults of one block have been serviced, but for those on pages that are throttled. */
static void visit_set_status(const struct block_visit *visit, struct gvm_fault *faults,
			     u32 count, int status)
{
	u32 i;

	gvm_fault_set_status(visit_block(visit), faults, count, status);
	if (status || !visit->throttled)
		return;
	for (i = 0; i < count; i++) {
		if (!(visit->throttled & gvm_fault_page_mask(&faults[i])))
			continue;
		faults[i].status = -EAGAIN;
		visit->nvuvm->stats.throttled++;
	}
}

/* Is it the turn of the block at @va? After those whose turn it is, if none of them has faulted. */
static bool container_takes_turn(struct nvuvm_container *owner, u64 va)
{
	if (va < owner->turn_start)
		return false;
	if (va >= owner->turn_end)
		return !owner->turn_used;
	owner->turn_used = true;
	return true;
}

/*
 * The next batch's turn: if nobody used the last one, it goes to those who have found room behind
 * it, up to the first that has not. Behind the last one it starts all over.
 */
static void container_pass_turn(struct nvuvm_container *owner)
{
	u64 start = owner->turn_end < U64_MAX ? owner->turn_end : 0;

	if (!owner->turn_used) {
		owner->turn_start = start;
		owner->turn_end = owner->deferred_va ? owner->deferred_va : start ? U64_MAX : 0;
	}
	owner->turn_used = false;
	owner->deferred_va = 0;
}

static void service_block(struct block_visit *visit, struct gvm_fault *faults, u32 count)
{
	u64 va = visit->range->va + ((u64)visit->index << GVM_CHUNK_SHIFT);
	struct nvuvm_container *owner = visit_container(visit);
	bool turn = container_takes_turn(owner, va);
	int status = turn ? visit_service(visit) : -EAGAIN;

	if (status == -EAGAIN)
		visit->nvuvm->stats.deferred++;
	if (status == -EAGAIN && turn && !owner->deferred_va)
		owner->deferred_va = va;
	visit_set_status(visit, faults, count, status);
}

void nvuvm_service(struct nvuvm *nvuvm, struct gvm_range *range, struct gvm_fault *faults,
		   u32 count, struct gvm_fence *fence)
{
	struct nvuvm_container *owner = nvuvm_container_get(nvuvm, range->container);
	u32 done, run, blocks = 0;

	gvm_range_enter(range);
	gvm_mutex_lock(&owner->va_space);
	for (done = 0; done < count; done += run) {
		struct block_visit visit = {
			.nvuvm = nvuvm,
			.range = range,
			.index = gvm_fault_block_index(range, &faults[done]),
			.fence = fence,
		};

		visit.faulted = gvm_fault_block_mask(range, faults + done, count - done, &run);
		service_block(&visit, faults + done, run);
		blocks++;
	}
	gvm_mutex_unlock(&owner->va_space);
	if (nvuvm->config.core_policy)
		gvm_evictors_kick(range->container, blocks);
	gvm_range_leave(range);
	nvuvm_container_put(nvuvm, owner);
}

int nvuvm_block_bring_in(struct nvuvm *nvuvm, struct gvm_range *range, u32 index,
			 struct gvm_fence *fence)
{
	struct block_visit visit = {
		.nvuvm = nvuvm,
		.range = range,
		.index = index,
		.faulted = range->blocks[index].valid,
		.advised = true,
		.fence = fence,
	};

	return visit_service(&visit);
}

void nvuvm_batch_end(struct nvuvm *nvuvm)
{
	struct nvuvm_container *owner;

	gvm_spin_lock(&nvuvm->lock);
	nvuvm->batch++;
	list_for_each_entry(owner, &nvuvm->containers, node)
		container_pass_turn(owner);
	gvm_spin_unlock(&nvuvm->lock);
}
