// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Making room in the fault path, as NVIDIA's driver does it and as the published GVM driver does
 * (open-gpu-kernel-modules 575, uvm_pmm_gpu.c and uvm_va_block.c; published GVM driver).
 *
 *
 * The stock driver: one victim, here and now
 *
 * A block needs a chunk and none is free. Its lock is dropped, the first chunk in order is taken
 * off the lists, its block is locked, unmapped and its copy to the host started, all in the
 * thread that services faults (pick_and_evict_root_chunk, uvm_va_block_evict_chunks). The CPU
 * does not wait for that copy. The chunk goes to the block, which is serviced again from the
 * beginning. Its copy in starts after the copy out of the same chunk. All resident pages are
 * copied: a read fault maps for writing, so the driver does not know which pages are clean.
 *
 *
 * The published GVM: a limit that is looked at once in 64 chunks
 *
 * A container may have current <= limit before each allocation. Above that its allocation has to
 * evict, but the first thing that an allocation does is to look at the free list, and chunks come
 * from RM 64 at a time. So the limit is enforced when the free list is empty, and until then
 * passed by:
 *
 *     usage - limit, in chunks
 *      64 |     /|     /|     /|      each step up: a chunk from the free list
 *         |   /  |   /  |   /  |      each fall: a refill, and victims at the head of the
 *       0 | /    | /    | /    |      container's own list until current <= limit
 *
 * It can be 63 chunks above it by those and one by the comparison: 128 MB. More still if others
 * refill meanwhile, since the free list is the GPU's: each refill that another container causes
 * puts up to 63 chunks there, which this one may claim. With fast_path a refill is tried first,
 * and what is evicted goes to a thread that waits for the copies and gives the chunks back to RM:
 * the fetch into the fresh chunk need not wait behind any copy out. Once RM has nothing left, the
 * first victim's chunk is the one that the block gets, as in stock. The CPU's part of all these
 * evictions stays in the thread that services faults. When the GPU is full and the container
 * within its limit, the first chunk in global order goes, of any container.
 *
 * How this differs from the published driver:
 *  1. If it finds no victim after a refill has succeeded, it loses the refill's first chunk. Here
 *     the refill goes back, and the fault comes again.
 *  2. It reads usage and limit of the victim's process, before the eviction and without a lock.
 *     Here they are the faulting container's, and current.
 *  3. Without fast_path the first victim's chunk is used, and no refill is tried above the limit;
 *     further victims are waited for on the spot, as NVIDIA's free_root_chunk does.
 *  4. What sleeps while a limit write is at work are the faults of that container, by a lock that
 *     stands for its VA space's. All other faults wait behind these, since one thread serves all.
 */
#include "gvm/clock.h"
#include "nvuvm/parts.h"

/* Blocks that a limit write evicts before it waits for their copies. */
#define LIMIT_BATCH 256u

bool nvuvm_over_limit(const struct nvuvm *nvuvm, const struct nvuvm_container *owner)
{
	return nvuvm->config.limits &&
	       gvm_charged_bytes(owner->container) > owner->container->gmem_high_bytes;
}

/*
 * A chunk that is EVICTING here and picked in the core's books leaves its block. -ENOENT: its
 * owner has given it back meanwhile, and it is the evictor's all the same.
 */
static int evict_from_block(struct nvuvm *nvuvm, u32 chunk, struct gvm_eviction *eviction)
{
	bool keep = eviction->keep;
	int status;

	/*
	 * What an EVICTING chunk's block gives back stays with the evictor:
	 * nvuvm_pmm_leave_block().
	 */
	eviction->keep = false;
	status = gvm_block_evict(&nvuvm->memory, chunk, eviction);
	eviction->keep = keep;
	if (status && status != -ENOENT)
		nvuvm_pmm_putback(nvuvm, chunk);
	else if (!status)
		nvuvm->stats.evictions++;
	return status;
}

int nvuvm_evict_taken(struct nvuvm *nvuvm, u32 chunk, struct gvm_fence *fence)
{
	struct gvm_eviction eviction = { .fence = *fence };
	int status;

	if (!gvm_clock_take(nvuvm->config.device, chunk)) {
		nvuvm_pmm_putback(nvuvm, chunk);
		return -EBUSY;
	}
	status = evict_from_block(nvuvm, chunk, &eviction);
	*fence = eviction.fence;
	return status == -ENOENT ? 0 : status;
}

/* A picked chunk that cannot be evicted now, or that has left its block since it was picked. */
static int evict_refuse(struct nvuvm *nvuvm, u32 chunk)
{
	struct gvm_range *range;
	bool picked;
	u32 index;

	range = gvm_frame_enter_range(&nvuvm->memory, chunk, &index);
	if (!range)
		return -ENOENT;
	gvm_mutex_lock(&range->lock);
	picked = range->blocks[index].chunk == chunk &&
		 gvm_clock_is_picked(nvuvm->config.device, chunk);
	if (picked)
		gvm_clock_putback(nvuvm->config.device, chunk);
	gvm_mutex_unlock(&range->lock);
	gvm_range_leave(range);
	return picked ? -EBUSY : -ENOENT;
}

int nvuvm_evict_chunk(struct nvuvm *nvuvm, u32 chunk, struct gvm_eviction *eviction)
{
	int status;

	if (nvuvm->config.core_policy && nvuvm_policy_keeps(nvuvm, chunk))
		return evict_refuse(nvuvm, chunk);
	if (!nvuvm_pmm_take(nvuvm, chunk))
		return evict_refuse(nvuvm, chunk);
	status = evict_from_block(nvuvm, chunk, eviction);
	if (status == -ENOENT && nvuvm->chunks[chunk].state == NVUVM_EVICTING)
		nvuvm_pmm_putback(nvuvm, chunk); /* another block's by now */
	else if (status == -ENOENT || (!status && !eviction->keep))
		nvuvm_pmm_release(nvuvm, chunk);
	return status;
}

bool nvuvm_chunk_evictable(const struct nvuvm *nvuvm, u32 chunk)
{
	u8 state = READ_ONCE(nvuvm->chunks[chunk].state);

	if (nvuvm->config.core_policy && nvuvm_policy_keeps(nvuvm, chunk))
		return false;
	return (state == NVUVM_USED || state == NVUVM_UNUSED) &&
	       gvm_block_evictable(&nvuvm->memory, chunk);
}

/* There is no victim. Wait for a chunk that is being freed, or else leave it to another batch. */
static int room_nobody(struct nvuvm *nvuvm)
{
	u64 freed = nvuvm->stats.lazy_returned;

	if (nvuvm->stats.lazy_given > freed)
		return gvm_wait_event_interruptible(&nvuvm->lazy_freed,
						    nvuvm->stats.lazy_returned > freed);
	/*
	 * Chunks in the hands of a limit write are charged to no container, but become free soon.
	 */
	return nvuvm->config.device->bound_chunks || nvuvm->in_hands ? -EAGAIN : -ENOENT;
}

/*
 * The device is full: take a free chunk if there is one now, else evict the first in global
 * order.
 */
static int room_global(struct nvuvm *nvuvm)
{
	struct gvm_fence fence = { 0 };
	u32 tries = nvuvm->config.device->chunk_count;
	int status = -EBUSY;
	u32 chunk;

	while (tries-- && status == -EBUSY) {
		chunk = nvuvm_pmm_claim(nvuvm);
		if (chunk == GVM_NO_CHUNK)
			chunk = nvuvm_pmm_refill(nvuvm);
		if (chunk != GVM_NO_CHUNK) {
			nvuvm->held = chunk;
			return 0;
		}
		chunk = nvuvm_pmm_pick(nvuvm, NULL);
		if (chunk == GVM_NO_CHUNK)
			return room_nobody(nvuvm);
		status = nvuvm_evict_taken(nvuvm, chunk, &fence);
		if (!status)
			nvuvm->held = chunk;
	}
	return status == -EBUSY ? -EAGAIN : status;
}

/* A victim that the block does not need goes back to RM after its copy out. */
static int room_dispose(struct nvuvm *nvuvm, u32 chunk, const struct gvm_fence *fence)
{
	const struct nvuvm_config *config = &nvuvm->config;
	int status = 0;

	if (config->fast_path) {
		nvuvm_pmm_release_lazily(nvuvm, chunk, fence->sequence[GVM_ENGINE_OUT]);
		return 0;
	}
	status = config->mmu->fence_wait(config->gpu, fence);
	nvuvm_pmm_release(nvuvm, chunk);
	return status;
}

/* One of the container's own chunks. */
static int room_evict_own(struct nvuvm *nvuvm, struct nvuvm_container *owner)
{
	struct gvm_fence fence = { 0 };
	u32 chunk = nvuvm_pmm_pick(nvuvm, owner);
	int status;

	if (chunk == GVM_NO_CHUNK)
		return -EAGAIN;
	status = nvuvm_evict_taken(nvuvm, chunk, &fence);
	if (status)
		return status == -EBUSY ? -EAGAIN : status;
	nvuvm->stats.evictions_own++;
	if (nvuvm->held == GVM_NO_CHUNK) {
		nvuvm->held = chunk;
		return 0;
	}
	return room_dispose(nvuvm, chunk, &fence);
}

/* The container is above its limit. */
static int room_own(struct nvuvm *nvuvm, struct nvuvm_container *owner)
{
	int status = 0;

	/*
	 * A block of this batch has found no room, so later ones may not pass the limit either.
	 */
	if (owner->deferred_va)
		return -EAGAIN;
	nvuvm->held = nvuvm_pmm_claim(nvuvm);
	if (nvuvm->held != GVM_NO_CHUNK)
		return 0;
	if (nvuvm->config.fast_path)
		nvuvm->held = nvuvm_pmm_refill(nvuvm);
	while (!status && nvuvm_over_limit(nvuvm, owner))
		status = room_evict_own(nvuvm, owner);
	if (!status)
		return 0;
	/* There was no victim: the refill goes back to RM. */
	if (nvuvm->held != GVM_NO_CHUNK)
		nvuvm_pmm_release(nvuvm, nvuvm->held);
	nvuvm->held = GVM_NO_CHUNK;
	nvuvm_pmm_trim(nvuvm);
	return status;
}

int nvuvm_make_room(struct nvuvm *nvuvm, struct nvuvm_container *owner, bool forced)
{
	if (nvuvm->config.core_policy)
		return nvuvm_policy_make_room(nvuvm, owner->container,
					      forced ? GVM_NEED_CHARGE : GVM_NEED_MEMORY);
	return forced ? room_own(nvuvm, owner) : room_global(nvuvm);
}

void nvuvm_lazy_worker(void *data)
{
	struct nvuvm *nvuvm = data;
	const struct nvuvm_config *config = &nvuvm->config;
	int status = 0;

	while (!status && !gvm_worker_should_stop()) {
		struct gvm_fence fence = { 0 };
		u32 chunk;

		status = gvm_wait_event_interruptible(&nvuvm->lazy_wait, nvuvm->lazy.count > 0);
		if (status)
			break;
		chunk = nvuvm_pmm_take_lazy(nvuvm, &fence.sequence[GVM_ENGINE_OUT]);
		status = config->mmu->fence_wait(config->gpu, &fence);
		nvuvm_pmm_release(nvuvm, chunk);
		nvuvm->stats.lazy_returned++;
		gvm_wake_up_all(&nvuvm->lazy_freed);
	}
}

/* Evict a chunk for RM: the first in global order, or with the core's policy its victim. */
static int rm_evict(struct nvuvm *nvuvm, struct gvm_container *container)
{
	struct gvm_eviction eviction = { 0 };
	struct gvm_fence fence = { 0 };
	int status;
	u32 chunk;

	if (nvuvm->config.core_policy) {
		status = gvm_evict_for(container, GVM_NEED_MEMORY, &eviction);
		return gvm_evict_found_nobody(status) ? -ENOMEM :
		       status == -EAGAIN	      ? -EBUSY :
							status;
	}
	chunk = nvuvm_pmm_pick(nvuvm, NULL);

	if (chunk == GVM_NO_CHUNK)
		return -ENOMEM;
	status = nvuvm_evict_taken(nvuvm, chunk, &fence);
	if (!status)
		nvuvm_pmm_release(nvuvm, chunk);
	return status;
}

static int rm_alloc(struct nvuvm *nvuvm, struct gvm_container *container, u32 *ret_chunk)
{
	const struct nvuvm_config *config = &nvuvm->config;
	u32 tries = config->device->chunk_count;
	int status = config->mmu->chunk_alloc(config->gpu, ret_chunk);

	if (status)
		nvuvm_pmm_trim(nvuvm);
	while (status && tries--) {
		status = config->mmu->chunk_alloc(config->gpu, ret_chunk);
		if (!status)
			break;
		status = rm_evict(nvuvm, container);
		if (status && status != -EBUSY)
			return status;
		status = -ENOMEM;
	}
	return status;
}

int nvuvm_rm_take(struct nvuvm *nvuvm, struct gvm_unevictable *taken, u64 bytes)
{
	int status = 0;
	u32 chunk;

	taken->bytes += bytes;
	while ((u64)taken->chunks << GVM_CHUNK_SHIFT < taken->bytes) {
		status = rm_alloc(nvuvm, taken->container, &chunk);
		if (status)
			break;
		gvm_frame_set(&nvuvm->memory, chunk, NULL, taken->first_chunk);
		taken->first_chunk = chunk;
		taken->chunks++;
	}
	return status;
}

void nvuvm_rm_release(struct nvuvm *nvuvm, struct gvm_unevictable *taken)
{
	const struct nvuvm_config *config = &nvuvm->config;

	for (; taken->chunks; taken->chunks--) {
		u32 chunk = taken->first_chunk;

		taken->first_chunk = nvuvm->memory.frames[chunk].index;
		config->mmu->chunk_free(config->gpu, chunk);
	}
	taken->bytes = 0;
}

/* A limit write. */

/* Evicted chunks whose copies are not yet waited for. */
struct limit_batch {
	u32 *chunks; /* LIMIT_BATCH of them */
	u32 count;
	struct gvm_fence fence;
};

/* Take the chunk of a block, EVICTING then, if it has one that can be taken. */
static u32 limit_take(struct nvuvm *nvuvm, struct gvm_range *range, u32 index)
{
	u32 chunk;

	gvm_mutex_lock(&range->lock);
	chunk = range->blocks[index].chunk;
	if (chunk != GVM_NO_CHUNK && !nvuvm_pmm_take(nvuvm, chunk))
		chunk = GVM_NO_CHUNK;
	gvm_mutex_unlock(&range->lock);
	return chunk;
}

/* The second pass: wait for the copies, and give the chunks back. */
static int limit_finish(struct nvuvm *nvuvm, struct limit_batch *batch)
{
	const struct nvuvm_config *config = &nvuvm->config;
	int status = config->mmu->fence_wait(config->gpu, &batch->fence);

	while (batch->count)
		nvuvm_pmm_release(nvuvm, batch->chunks[--batch->count]);
	return status;
}

static int limit_evict_block(struct nvuvm *nvuvm, struct gvm_range *range, u32 index,
			     struct limit_batch *batch)
{
	u32 chunk = limit_take(nvuvm, range, index);

	/* Failures are skipped, as in the published driver. */
	if (chunk == GVM_NO_CHUNK || nvuvm_evict_taken(nvuvm, chunk, &batch->fence))
		return 0;
	nvuvm->stats.evictions_limit++;
	batch->chunks[batch->count++] = chunk;
	return batch->count == LIMIT_BATCH ? limit_finish(nvuvm, batch) : 0;
}

static int limit_evict_range(struct nvuvm *nvuvm, struct nvuvm_range *entry, u64 bytes,
			     struct limit_batch *batch)
{
	struct gvm_range *range = entry->range;
	int status = 0;

	for (u32 i = 0; i < range->block_count && !status; i++) {
		if (gvm_charged_bytes(range->container) <= bytes)
			break;
		status = limit_evict_block(nvuvm, range, i, batch);
	}
	return status;
}

/* VA space locked. */
static int limit_evict_all(struct nvuvm *nvuvm, struct nvuvm_container *owner, u64 bytes,
			   struct limit_batch *batch)
{
	struct nvuvm_range *entry;
	int status = 0;
	int waited;

	list_for_each_entry(entry, &owner->ranges, node) {
		status = limit_evict_range(nvuvm, entry, bytes, batch);
		if (status)
			break;
	}
	waited = limit_finish(nvuvm, batch);
	return status ? status : waited;
}

int nvuvm_limit_write(struct nvuvm *nvuvm, struct gvm_container *container, u64 bytes)
{
	struct nvuvm_container *owner;
	u32 chunks[LIMIT_BATCH];
	struct limit_batch batch = { .chunks = chunks };
	int status;

	owner = nvuvm_container_get(nvuvm, container);
	if (!owner)
		return 0;
	gvm_mutex_lock(&owner->va_space);
	status = limit_evict_all(nvuvm, owner, bytes, &batch);
	gvm_mutex_unlock(&owner->va_space);
	nvuvm_container_put(nvuvm, owner);
	return status;
}
