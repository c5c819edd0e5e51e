// SPDX-License-Identifier: MIT OR GPL-2.0
#include "case_remote.h"
#include "reference_model.h"

static struct {
	struct gvm_memory memory;
	struct gvm_range ranges[MODEL_CONTAINERS];
	bool fails; /* the next remote mapping */
} remote;

static int remote_map_remote(void *gpu, struct gvm_range *range, u32 index, u32 page_mask,
			     u32 empty_mask)
{
	(void)gpu;
	GVM_ASSERT(index < MODEL_BLOCKS && page_mask && !(empty_mask & ~page_mask));
	GVM_ASSERT(!(range->blocks[index].remote & page_mask));
	return remote.fails ? -ENOMEM : 0;
}

static void remote_unmap(void *gpu, void *space, u64 va, u32 page_mask)
{
	(void)gpu;
	(void)space;
	(void)va;
	GVM_ASSERT(page_mask);
}

static bool remote_fence_passed(void *gpu, const struct gvm_fence *fence)
{
	(void)gpu;
	(void)fence;
	return true;
}

static const struct gvm_mmu_ops remote_mmu_ops = {
	.map_remote = remote_map_remote,
	.unmap = remote_unmap,
	.fence_passed = remote_fence_passed,
};

void case_remote_init(struct gvm_device *device)
{
	GVM_ASSERT(gvm_memory_init(&remote.memory, device, &remote_mmu_ops, NULL) == 0);
}

void case_remote_destroy(void)
{
	gvm_memory_destroy(&remote.memory);
}

int case_remote_map(u32 slot, struct gvm_container *container)
{
	struct gvm_range_config config = {
		.container = container,
		.space = &remote.ranges[slot],
		.bytes = MODEL_BLOCKS * GVM_CHUNK_BYTES,
	};

	return gvm_range_init(&remote.memory, &remote.ranges[slot], &config);
}

void case_remote_unmap(u32 slot)
{
	gvm_range_destroy(&remote.ranges[slot]);
}

void case_remote_return(u32 slot, u32 block, u32 tsg, u32 times)
{
	struct gvm_range *range = &remote.ranges[slot];

	gvm_mutex_lock(&range->lock);
	while (times--)
		gvm_block_note_return_locked(range, &range->blocks[block], tsg);
	gvm_mutex_unlock(&range->lock);
}

bool case_remote_is_stuck(u32 slot, u32 block, u32 tsg)
{
	struct gvm_range *range = &remote.ranges[slot];
	bool stuck;

	gvm_mutex_lock(&range->lock);
	stuck = gvm_block_is_stuck_locked(range, &range->blocks[block], tsg);
	gvm_mutex_unlock(&range->lock);
	return stuck;
}

int case_remote_map_pages(u32 slot, u32 block, u32 pages, bool fails)
{
	struct gvm_range *range = &remote.ranges[slot];
	int status;

	remote.fails = fails;
	gvm_mutex_lock(&range->lock);
	status = gvm_block_map_remote_locked(range, block, pages);
	gvm_mutex_unlock(&range->lock);
	return status;
}

void case_remote_end(const struct gvm_container *container)
{
	gvm_memory_end_remote(&remote.memory, container);
}

const struct gvm_block *case_remote_block(u32 slot, u32 block)
{
	return &remote.ranges[slot].blocks[block];
}
