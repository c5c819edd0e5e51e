// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The way of a chunk out of its block: a model of open-gpu-kernel-modules 575, uvm_pmm_gpu.c
 * (evict_root_chunk_from_va_block, free_root_chunk_lazy of the published GVM). Who goes is
 * decided in driver.c or policy.c.
 *
 * A victim has two marks. In the model's lists it is EVICTING, so it is on none of them. In the
 * core's books it is picked. Both are set before its block is locked. The block may have lost
 * it by then.
 */
#include "nvuvm/evict.h"

#include "gvm/clock.h"
#include "nvuvm/pmm.h"

/*
 * Evict a chunk that is EVICTING here and picked in the core's books. -ENOENT: its owner gave
 * it back meanwhile. The chunk is the evictor's then, too.
 */
static int evict_from_block(struct nvuvm *nvuvm, u32 chunk, struct gvm_eviction *eviction)
{
	bool keep = eviction->keep, stays;
	int status;

	/* nvuvm_pmm_leave_block() leaves an EVICTING chunk with its evictor. */
	eviction->keep = false;
	status = gvm_block_evict(&nvuvm->memory, chunk, eviction);
	eviction->keep = keep;
	stays = status ? status != -ENOENT : eviction->left_bytes > 0;
	if (stays)
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
	if (!status && eviction.left_bytes)
		return -EBUSY;
	return status == -ENOENT ? 0 : status;
}

/* One chunk of a forced take. 0: the device has it. -EBUSY: another thread is at work on it. */
static int evict_by_force(struct nvuvm *nvuvm, u32 chunk, struct gvm_fence *fence)
{
	struct gvm_eviction eviction = { .fence = *fence };
	int status;

	if (nvuvm_pmm_give_back(nvuvm, chunk))
		return 0;
	if (!nvuvm_pmm_take(nvuvm, chunk))
		return -EBUSY;
	if (!gvm_clock_take_range(nvuvm->config.device, chunk, 1)) {
		nvuvm_pmm_putback(nvuvm, chunk);
		return -EBUSY;
	}
	status = evict_from_block(nvuvm, chunk, &eviction);
	if (status && status != -ENOENT)
		return status;
	*fence = eviction.fence;
	if (!status && eviction.left_bytes)
		return -EBUSY;
	nvuvm_pmm_release(nvuvm, chunk);
	return 0;
}

int nvuvm_evict_range(struct nvuvm *nvuvm, u32 first, u32 count, struct gvm_fence *fence)
{
	int status = 0;

	for (u32 chunk = first; chunk < first + count; chunk++) {
		int one = evict_by_force(nvuvm, chunk, fence);

		if (one && one != -EBUSY)
			return one;
		status = one ? one : status;
	}
	return status;
}

/* A picked chunk that cannot be evicted now, or that has left its block since it was picked. */
static int evict_refuse(struct nvuvm *nvuvm, u32 chunk)
{
	struct gvm_range *range;
	u32 page = 0, index;
	bool picked;

	range = gvm_frame_enter_range(&nvuvm->memory, chunk, &page, &index);
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

	if (nvuvm_pmm_is_of_batch(nvuvm, chunk) || !nvuvm_pmm_take(nvuvm, chunk))
		return evict_refuse(nvuvm, chunk);
	status = evict_from_block(nvuvm, chunk, eviction);
	if (status == -ENOENT && nvuvm->chunks[chunk].state == NVUVM_EVICTING)
		nvuvm_pmm_putback(nvuvm, chunk); /* another block's by now */
	else if (status == -ENOENT || (!status && !eviction->keep && !eviction->left_bytes))
		nvuvm_pmm_release(nvuvm, chunk);
	return status;
}

bool nvuvm_chunk_evictable(const struct nvuvm *nvuvm, u32 chunk)
{
	u8 state = READ_ONCE(nvuvm->chunks[chunk].state);

	return (state == NVUVM_USED || state == NVUVM_UNUSED) &&
	       !nvuvm_pmm_is_of_batch(nvuvm, chunk) &&
	       gvm_block_evictable(&nvuvm->memory, chunk);
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
