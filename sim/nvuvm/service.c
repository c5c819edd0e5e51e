// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Servicing the faults of a batch block by block, as NVIDIA's driver does it: a model of
 * open-gpu-kernel-modules 575, uvm_gpu_replayable_faults.c (service_fault_batch_block_locked)
 * and uvm_va_block.c (block_alloc_gpu_chunk, uvm_va_block_service_locked).
 *
 *
 * Begin again
 *
 *     block 1: masks, chunk, copy, PTEs -> block 2: masks, chunk? none is free!
 *                                            drop the lock, evict, take the lock
 *                                          block 2: masks, chunk, copy, PTEs -> block 3 ...
 *
 * One block after the other gets its chunk, its copies and its PTEs. The chunk is a whole one
 * of 2 MB; only with sub_chunks a block of less than 2 MB gets a sub-chunk (pmm.c). Without a
 * free chunk, the driver drops the block's lock, because it needs the victim's lock. The plan
 * is then out of date, so the block is serviced again from its beginning
 * (UVM_VA_BLOCK_RETRY_LOCKED), now with the victim's chunk. Masks and plan are made twice.
 * Copies and PTEs cost most and are made once. The next block's copy starts only after the
 * whole eviction.
 *
 *
 * A batch larger than memory
 *
 * If a batch has more blocks than there are chunks, the stock driver evicts blocks that the
 * same batch has brought in. A warp continues if its own page is resident at the replay. The
 * simulated GMMU has one cursor for all warps, so its page would have to survive. Therefore
 * chunks that the batch in service has migrated to are never evicted (pmm.c), and blocks take
 * turns: blocks that found room are serviced until they no longer fault, which takes several
 * batches. Then the next blocks in order of address have their turn. All other blocks fault
 * again.
 */
#include "nvuvm/service.h"

#include "nvuvm/advice.h"
#include "nvuvm/container.h"
#include "nvuvm/hooks.h"
#include "nvuvm/mmu.h"
#include "nvuvm/pmm.h"

/* Times that one block may be begun again before it is left to fault again. */
#define BLOCK_TRIES_MAX 64u

/* One block in service. */
struct block_visit {
	struct nvuvm *nvuvm;
	struct gvm_range *range;
	u32 index;
	u32 faulted;	 /* pages, of those that can be serviced */
	u32 written;	 /* of the faulted pages: to be written, if the range is read mostly */
	u32 throttled;	 /* of the faulted pages: these wait for a later batch */
	bool stays;	 /* some faulted pages stay in host memory, by advice */
	bool found_none; /* the last search for a victim found none */
	bool advised;	 /* no faults: the application prefetches these pages */
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

/* The faulted pages that wait. A pin to the CPU is ignored (thrash.c). */
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

static int visit_populate_locked(const struct block_visit *visit)
{
	struct nvuvm *nvuvm = visit->nvuvm;
	const struct nvuvm_hooks *hooks = nvuvm->config.hooks;
	struct nvuvm_container *owner = visit_container(visit);
	int status;
	u32 chunk;

	if (visit_block(visit)->chunk != GVM_NO_CHUNK) {
		gvm_block_set_in_service(visit->range->memory, visit_block(visit), true);
		return 0;
	}
	/* A sub-chunk is charged by bytes when the block layer finds its place. */
	if (gvm_block_is_part(visit->range->memory, visit_block(visit)))
		return gvm_part_populate_locked(visit->range, visit->index);
	status = hooks->alloc_begin(nvuvm, owner);
	if (status)
		return status;
	status = nvuvm_mmu_ops.chunk_alloc(nvuvm, &chunk);
	hooks->alloc_end(nvuvm, owner, !status);
	if (status)
		return status;
	gvm_block_attach_locked(visit->range, visit->index, chunk);
	visit_entry(visit)->gpu_state = true;
	return 0;
}

/*
 * Map the pages that have come in. In a range that is read mostly, pages without a write keep
 * their copies on the host (uvm_va_block_make_resident_read_duplicate).
 */
static void visit_finish_locked(const struct block_visit *visit, u32 pages)
{
	struct gvm_range *range = visit->range;
	u32 duplicates = range->read_mostly ? pages & ~visit->written : 0;

	if (duplicates)
		gvm_block_finish_locked(range, visit->index, duplicates, GVM_ACCESS_READ);
	if (pages & ~duplicates)
		gvm_block_finish_locked(range, visit->index, pages & ~duplicates,
					GVM_ACCESS_ATOMIC);
}

/*
 * @faulted: pages that are not on the GPU. @upgraded: read-only pages there, which become
 * writable and lose their copies on the host.
 */
static int visit_migrate_locked(const struct block_visit *visit, u32 faulted, u32 upgraded)
{
	struct gvm_range *range = visit->range;
	struct gvm_block *block = visit_block(visit);
	struct nvuvm *nvuvm = visit->nvuvm;
	u32 wanted = faulted;
	bool promoted;
	int status;

	/*
	 * A fault looks up the policy of each page that it brings in or makes writable, and
	 * copies run by run; a prefetch and a promotion look it up once.
	 */
	gvm_cost(GVM_COST_PAGE, hweight32(upgraded));
	if (faulted && !visit->advised && !visit->stays) {
		wanted = nvuvm->config.hooks->service_block_pages(nvuvm, range, visit->index,
								  faulted, &promoted);
		nvuvm->stats.pages_prefetched += hweight32(wanted & ~faulted);
		if (!promoted)
			gvm_cost(GVM_COST_PAGE, hweight32(wanted & block->on_host));
	}
	/* A write to a remote page after the start of its copy would be lost. */
	gvm_block_end_remote_locked(range, visit->index, wanted);
	status = gvm_block_fill_locked(range, visit->index, wanted, visit->fence);
	visit_entry(visit)->staged &= ~wanted;
	if (status)
		gvm_block_set_in_service(range->memory, block, false);
	else
		visit_finish_locked(visit, wanted | upgraded);
	nvuvm_pmm_mark_used(nvuvm, visit_container(visit), block->chunk,
			    visit->advised ? 0 : nvuvm->batch);
	if (!status)
		nvuvm_thrash_migrated(&visit_entry(visit)->thrash, wanted, NVUVM_GPU,
				      gvm_ktime_ns());
	return status;
}

/*
 * The faulted pages that advice keeps in host memory are mapped there. Returns 0
 * with the others in *faulted.
 */
static int visit_map_host_locked(struct block_visit *visit, u32 *faulted)
{
	u32 stays = nvuvm_advice_stays(visit->range, visit->index, *faulted);
	int status;

	if (!stays)
		return 0;
	status = nvuvm_map_host_locked(visit->nvuvm, visit->range, visit->index, stays,
				       visit->fence);
	if (status)
		return status;
	visit->stays = true;
	*faulted &= ~stays;
	return 0;
}

/* One attempt; -EDQUOT or -ENOMEM: it needs room. */
static int visit_try_locked(struct block_visit *visit)
{
	const struct gvm_block *block = visit_block(visit);
	u32 faulted = visit->faulted & block->valid & ~block->resident;
	u32 upgraded = visit->written & block->clean;
	int status;

	if (visit->range->dying)
		return -EFAULT;
	if (!visit->advised) {
		faulted &= ~block->remote;
		status = visit_map_host_locked(visit, &faulted);
		if (status)
			return status;
	}
	visit->throttled = visit_throttle(visit, faulted);
	faulted &= ~visit->throttled;
	/*
	 * A prefetch of resident pages moves nothing, but it marks the chunk as used
	 * (uvm_va_block_make_resident_finish).
	 */
	if (!faulted && visit->advised && block->resident)
		nvuvm_pmm_mark_used(visit->nvuvm, visit_container(visit), block->chunk, 0);
	if (!faulted && !upgraded)
		return 0;
	visit->nvuvm->stats.rounds++;
	status = visit_populate_locked(visit);
	if (status)
		return status;
	gvm_cost(GVM_COST_BLOCK, 1);
	return visit_migrate_locked(visit, faulted, upgraded);
}

/*
 * Memory may have been freed meanwhile: a full device without a victim is tried once more.
 * Without room the context of the container dies.
 */
static int visit_make_room(struct block_visit *visit, enum gvm_need need)
{
	const struct nvuvm_hooks *hooks = visit->nvuvm->config.hooks;
	int status = hooks->make_room(visit->nvuvm, visit_container(visit), need);
	bool again = need == GVM_NEED_MEMORY && !visit->found_none;

	visit->found_none = gvm_evict_found_none(status);
	if (!visit->found_none)
		return status;
	return again ? 0 : -ENOMEM;
}

static int visit_service(struct block_visit *visit)
{
	u32 tries = 0;
	int status, room;

	do {
		gvm_mutex_lock(&visit->range->lock);
		status = visit_try_locked(visit);
		gvm_mutex_unlock(&visit->range->lock);
		if (status != -EDQUOT && status != -ENOMEM)
			break;
		visit->nvuvm->stats.restarts++;
		room = visit_make_room(visit,
				       status == -EDQUOT ? GVM_NEED_CHARGE : GVM_NEED_MEMORY);
		status = room ? room : -EAGAIN;
	} while (!room && ++tries < BLOCK_TRIES_MAX);
	/* The block no longer needs the victim's chunk. */
	if (visit->nvuvm->held != GVM_NO_CHUNK)
		nvuvm_pmm_release(visit->nvuvm, visit->nvuvm->held);
	visit->nvuvm->held = GVM_NO_CHUNK;
	return status;
}

/* Set the status of the faults of a block. Faults on throttled pages come again. */
static void visit_set_status(const struct block_visit *visit, struct gvm_fault *faults,
			     u32 count, int status)
{
	gvm_fault_set_status(visit_block(visit), faults, count, status);
	if (status || !visit->throttled)
		return;
	for (u32 i = 0; i < count; i++) {
		if (!(visit->throttled & gvm_fault_page_mask(&faults[i])))
			continue;
		faults[i].status = -EAGAIN;
		visit->nvuvm->stats.throttled++;
	}
}

/*
 * Is it the turn of the block at @va? Later blocks may go if no block of the turn has faulted.
 */
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
 * Set the turn of the next batch. If no block used the last turn, the next one goes to the
 * blocks after it, up to the first one without room. After the last block it starts again.
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
		if (range->read_mostly)
			visit.written = gvm_fault_written_mask(faults + done, run);
		service_block(&visit, faults + done, run);
		blocks++;
	}
	gvm_mutex_unlock(&owner->va_space);
	if (nvuvm->config.hooks->space_end)
		nvuvm->config.hooks->space_end(nvuvm, owner, blocks);
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
	if (nvuvm->config.hooks->batch_end)
		nvuvm->config.hooks->batch_end(nvuvm);
}
