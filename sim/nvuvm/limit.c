// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A limit write of the published GVM driver (uvm_va_space_evict_size): evict by address, then
 * set the limit. Two passes over batches of 256 blocks: start all copies, wait for all of them.
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

/* Blocks that a limit write evicts before it waits for their copies. */
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

/* Start the eviction of a block's chunk. A full batch is finished. */
static int limit_evict_block(struct nvuvm *nvuvm, struct gvm_range *range, u32 index,
			     struct limit_batch *batch)
{
	u32 chunk;
	bool taken;

	gvm_mutex_lock(&range->lock);
	chunk = range->blocks[index].chunk;
	taken = chunk != GVM_NO_CHUNK && nvuvm_pmm_take(nvuvm, chunk);
	gvm_mutex_unlock(&range->lock);
	/* Failures are skipped, as in the published driver. */
	if (!taken || nvuvm_evict_taken(nvuvm, chunk, &batch->fence))
		return 0;
	nvuvm->stats.evictions_limit++;
	batch->chunks[batch->count++] = chunk;
	return batch->count == LIMIT_BATCH ? limit_finish(nvuvm, batch) : 0;
}

int nvuvm_limit_write(struct nvuvm *nvuvm, struct gvm_container *container, u64 bytes)
{
	struct nvuvm_container *owner = nvuvm_container_get(nvuvm, container);
	u32 chunks[LIMIT_BATCH];
	struct limit_batch batch = { .chunks = chunks };
	struct nvuvm_range *entry;
	int status = 0, waited;

	if (!owner)
		return 0;
	gvm_mutex_lock(&owner->va_space);
	list_for_each_entry(entry, &owner->ranges, node) {
		struct gvm_range *range = entry->range;

		for (u32 i = 0; i < range->block_count && !status; i++) {
			if (gvm_charged_bytes(container) <= bytes)
				break;
			status = limit_evict_block(nvuvm, range, i, &batch);
		}
		if (status)
			break;
	}
	waited = limit_finish(nvuvm, &batch);
	gvm_mutex_unlock(&owner->va_space);
	nvuvm_container_put(nvuvm, owner);
	return status ? status : waited;
}
