// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: block. Simulator and fake GPU only: NVIDIA's driver maps thrashing pages remotely by a
 * mechanism of its own (uvm_perf_thrashing.c).
 *
 * Remote mappings: an access that needs more chunks than there are
 * =================================================================
 *
 * One instruction of a warp has up to 32 addresses, which may lie in 32 blocks. The warp goes
 * on when all of them are mapped at once. If its container may have fewer chunks than that,
 * each block that comes in evicts another one that the instruction needs:
 *
 *     limit: 2 chunks     a instruction needs blocks 1, 2, 3
 *     fault 1 2 3 -> 1 2 come in -> replay -> fault 3 -> 1 leaves, 3 comes -> replay -> fault 1
 *
 * Every fault is serviced, and the warp never goes on. So the pages that return again and again
 * stay in host memory, and the GPU accesses them there, over the link. The blocks that are left
 * fit into the chunks.
 *
 * A block is stuck when it came in GVM_STUCK_RETURNS times in a row for the same TSG, and this
 * TSG has finished no access in all that time (gvm_gpu_ops.tsg_accesses). A TSG that thrashes
 * in the ordinary way finishes an access between two returns of a block, so it is never stuck.
 *
 * A remote page counts as swapped: its only copy is in host memory. Pages of the block that
 * have data there are mapped as well, since the next instruction most likely needs them. A page
 * that has no data yet gets host memory if hmem.limit has room for it. If a page cannot be
 * mapped remotely and the container is at its gmem.limit.high, the fault is cancelled: its
 * process gets an error in place of a kernel that never ends.
 *
 * Remote pages come to the device with the next fault on another page of their block. A write
 * of gmem.limit.high unmaps all of the container's and its children's, since a higher limit may
 * have room for them.
 *
 * How it differs from NVIDIA's driver: that one takes pages for thrashing that move often
 * between processors, and maps them remotely for 300 ms. Here a page that the device could hold
 * is never mapped remotely.
 */
#include "gvm/block.h"
#include "gvm/swap.h"

/* The TSG's finished accesses. Returns false: the device cannot count them. */
static bool remote_count_accesses(const struct gvm_range *range, u32 tsg, u64 *ret_accesses)
{
	const struct gvm_device *device = range->memory->device;

	if (!device->ops->tsg_accesses)
		return false;
	*ret_accesses = device->ops->tsg_accesses(device->gpu, tsg);
	return true;
}

/* Has the TSG finished no access since it last brought the block in? */
static bool remote_is_same_access(const struct gvm_block *block, u32 tsg, u64 accesses)
{
	return block->in_tsg == tsg && block->in_accesses == accesses;
}

void gvm_block_note_return_locked(struct gvm_range *range, struct gvm_block *block, u32 tsg)
{
	u64 accesses;

	gvm_mutex_assert_held(&range->lock);
	if (!remote_count_accesses(range, tsg, &accesses))
		return;
	if (!remote_is_same_access(block, tsg, accesses))
		block->returns = 0;
	if (block->returns < GVM_STUCK_RETURNS)
		block->returns++;
	block->in_tsg = tsg;
	block->in_accesses = accesses;
}

bool gvm_block_is_stuck_locked(const struct gvm_range *range, const struct gvm_block *block,
			       u32 tsg)
{
	u64 accesses;

	return block->chunk == GVM_NO_CHUNK && block->returns == GVM_STUCK_RETURNS &&
	       remote_count_accesses(range, tsg, &accesses) &&
	       remote_is_same_access(block, tsg, accesses);
}

int gvm_block_wait_for_host(struct gvm_range *range, const struct gvm_block *block)
{
	struct gvm_memory *memory = range->memory;
	struct gvm_fence out = { .sequence = { [GVM_ENGINE_OUT] = block->out_sequence } };

	if (memory->mmu->fence_passed(memory->gpu, &out))
		return 0;
	return memory->mmu->fence_wait(memory->gpu, &out);
}

int gvm_block_map_remote_locked(struct gvm_range *range, u32 index, u32 pages)
{
	const struct gvm_memory *memory = range->memory;
	struct gvm_block *block = &range->blocks[index];
	u32 mapped = (pages | block->on_host) & ~block->remote;
	u32 empty = pages & ~block->on_host;
	u64 empty_bytes = (u64)hweight32(empty) << GVM_PAGE_SHIFT;
	int status;

	gvm_mutex_assert_held(&range->lock);
	if (!memory->mmu->map_remote)
		return -EDQUOT;
	status = gvm_block_wait_for_host(range, block);
	if (status)
		return status;
	status = gvm_swap_reserve(range->container, empty_bytes);
	if (status) {
		gvm_container_count_event(range->container, GVM_EVENT_HMEM);
		return status;
	}
	status = memory->mmu->map_remote(memory->gpu, range, index, mapped, empty);
	if (status) {
		gvm_swap_uncharge(range->container, empty_bytes);
		return status;
	}
	block->swapped |= empty;
	block->on_host |= pages;
	block->remote |= mapped;
	range->remote_pages += hweight32(mapped);
	gvm_container_count_event(range->container, GVM_EVENT_REMOTE);
	return 0;
}

void gvm_block_end_remote_locked(struct gvm_range *range, u32 index, u32 pages)
{
	struct gvm_memory *memory = range->memory;
	struct gvm_block *block = &range->blocks[index];
	u32 remote = block->remote & pages;

	gvm_mutex_assert_held(&range->lock);
	if (!remote)
		return;
	memory->mmu->unmap(memory->gpu, range->space,
			   range->va + ((u64)index << GVM_CHUNK_SHIFT), remote);
	block->remote &= ~remote;
	range->remote_pages -= hweight32(remote);
}

/* The lock is taken for one block at a time, so that faults are served in between. */
void gvm_memory_end_remote(struct gvm_memory *memory, const struct gvm_container *container)
{
	struct gvm_range_cursor cursor = { 0 };
	struct gvm_range *range;

	while ((range = gvm_memory_enter_next(memory, &cursor))) {
		bool is_limited =
			range->container == container || range->container->parent == container;

		for (u32 i = 0; i < range->block_count && is_limited; i++) {
			gvm_mutex_lock(&range->lock);
			gvm_block_end_remote_locked(range, i, GVM_BLOCK_FULL);
			i = range->remote_pages ? i : range->block_count - 1;
			gvm_mutex_unlock(&range->lock);
		}
		gvm_range_leave(range);
	}
}
