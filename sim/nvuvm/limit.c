// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A limit write of the published GVM driver (uvm_va_space_evict_size): evict by address, then
 * set the limit. It has to evict the difference between usage and limit. It goes by batches
 * of 256 blocks, 512 MB: start all copies of a batch, wait for all of them, and only then
 * ask whether that is enough.
 *
 *     range   | 256 blocks | 256 blocks | ...    each is emptied as a whole, until
 *             '--- batch --'                     counted >= usage - limit
 *
 * It counts each block that has a record of the GPU (uvm_va_block_gpu_state_t). An eviction
 * leaves that record behind, so blocks that were evicted before count as if they were evicted
 * now. The write takes all records away. So usage may end far below the limit, or above it. In
 * that case the next allocation that has to refill evicts the rest (driver.c).
 *
 * How this differs from the published driver:
 *  1. It holds up to 256 block locks at once, here one. Faults of the container wait for the
 *     whole write either way, by a lock that stands for its VA space's.
 */
#include "nvuvm/limit.h"

#include "gvm/charge.h"
#include "nvuvm/container.h"
#include "nvuvm/evict.h"
#include "nvuvm/pmm.h"

/* Blocks of a batch. */
#define LIMIT_BATCH 256u

/* Evicted chunks whose copies are not yet waited for. */
struct limit_batch {
	u32 *chunks; /* LIMIT_BATCH of them */
	u32 count;
	struct gvm_fence fence;
};

/* The second pass over a batch: wait for the copies, and give the chunks back. */
static int limit_finish(struct nvuvm *nvuvm, struct limit_batch *batch)
{
	const struct nvuvm_config *config = &nvuvm->config;
	int status = config->mmu->fence_wait(config->gpu, &batch->fence);

	while (batch->count)
		nvuvm_pmm_release(nvuvm, batch->chunks[--batch->count]);
	return status;
}

/*
 * Start the eviction of a block's chunk, if it has one. Returns the bytes
 * that the driver counts.
 */
static u64 limit_evict_block(struct nvuvm *nvuvm, struct gvm_range *range, u32 index,
			     struct limit_batch *batch)
{
	struct nvuvm_block *entry = nvuvm_block_of(range, index);
	const struct gvm_block *block = &range->blocks[index];
	bool had_state, taken;
	u32 chunk;

	gvm_mutex_lock(&range->lock);
	had_state = entry->gpu_state;
	entry->gpu_state = false;
	chunk = block->chunk;
	taken = chunk != GVM_NO_CHUNK && nvuvm_pmm_take(nvuvm, chunk);
	gvm_mutex_unlock(&range->lock);
	if (taken && !nvuvm_evict_taken(nvuvm, chunk, &batch->fence)) {
		nvuvm->stats.evictions_limit++;
		batch->chunks[batch->count++] = chunk;
	} else if (chunk != GVM_NO_CHUNK) {
		/* Failures are skipped, as in the published driver. */
		entry->gpu_state = true;
		return 0;
	}
	return had_state ? (u64)hweight32(block->valid) << GVM_PAGE_SHIFT : 0;
}

/* Adds the bytes that the driver counts to @ret_bytes. */
static int limit_evict_batch(struct nvuvm *nvuvm, struct gvm_range *range, u32 first,
			     struct limit_batch *batch, u64 *ret_bytes)
{
	u32 end = min(first + LIMIT_BATCH, range->block_count);

	for (u32 i = first; i < end; i++)
		*ret_bytes += limit_evict_block(nvuvm, range, i, batch);
	return limit_finish(nvuvm, batch);
}

static int limit_evict_range(struct nvuvm *nvuvm, struct gvm_range *range, u64 target_bytes,
			     struct limit_batch *batch, u64 *ret_bytes)
{
	int status = 0;

	for (u32 first = 0; first < range->block_count && !status; first += LIMIT_BATCH) {
		status = limit_evict_batch(nvuvm, range, first, batch, ret_bytes);
		if (*ret_bytes >= target_bytes)
			break;
	}
	return status;
}

int nvuvm_limit_write(struct nvuvm *nvuvm, struct gvm_container *container, u64 bytes)
{
	struct nvuvm_container *owner = nvuvm_container_get(nvuvm, container);
	u64 usage = gvm_charged_bytes(container), evicted = 0;
	u32 chunks[LIMIT_BATCH];
	struct limit_batch batch = { .chunks = chunks };
	struct nvuvm_range *entry;
	int status = 0;

	if (!owner)
		return 0;
	gvm_mutex_lock(&owner->va_space);
	if (usage > bytes)
		list_for_each_entry(entry, &owner->ranges, node) {
			status = limit_evict_range(nvuvm, entry->range, usage - bytes, &batch,
						   &evicted);
			if (status || evicted >= usage - bytes)
				break;
		}
	gvm_mutex_unlock(&owner->va_space);
	nvuvm_container_put(nvuvm, owner);
	return status;
}
