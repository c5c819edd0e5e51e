// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: block. Bringing blocks in before they are used, for policy/predictor.c.
 *
 * The service of a fault maps pages while their copies are under way: the access that faulted
 * is parked until the replay. Here nothing is parked, and another kernel could touch the pages
 * at any time. So a block that is coming has a chunk and is in service, but is mapped only when
 * its copy has arrived. If it faults meanwhile, the fault's service waits for the same copy
 * (gvm_block_take_coming_locked()) and maps the block itself.
 *
 * Only whole blocks with all their data in host memory come. Parts (block/part.c), blocks that
 * are mapped remotely, and new memory are left to their faults.
 */
#include "gvm/block.h"
#include "gvm/evict.h"
#include "gvm/predictor.h"

/* Chunks that may be evicted for one block that comes. */
#define PREFETCH_TRIES 2u

/* A block on its way in. */
struct prefetch_step {
	struct gvm_range *range; /* entered; NULL: it does not come */
	u32 index;
};

/* All of the block comes, so the fault can ask for no more. */
void gvm_block_take_coming_locked(struct gvm_range *range, u32 index, struct gvm_fence *fence)
{
	struct gvm_block *block = &range->blocks[index];
	u64 *sequence = &fence->sequence[GVM_ENGINE_IN];

	block->coming = false;
	*sequence = max(*sequence, block->in_sequence);
}

static bool prefetch_may_come(const struct gvm_range *range, u32 index)
{
	const struct gvm_block *block = &range->blocks[index];

	return !range->dying && block->chunk == GVM_NO_CHUNK && !block->remote &&
	       block->on_host == block->valid && !gvm_block_is_part(range->memory, block);
}

/* Start one block. Returns 0; -EDQUOT or -ENOMEM: no room; or another reason not to. */
static int prefetch_start(const struct prefetch_step *step,
			  const struct gvm_container *container, struct gvm_fence *fence)
{
	struct gvm_range *range = step->range;
	struct gvm_block *block = &range->blocks[step->index];
	struct gvm_fence own = { 0 };
	int status = -ENOENT;

	gvm_mutex_lock(&range->lock);
	if (range->container == container && prefetch_may_come(range, step->index))
		status = gvm_block_populate_locked(range, step->index);
	if (!status) {
		gvm_cost(GVM_COST_BLOCK, 1);
		status = gvm_block_fill_locked(range, step->index, block->valid, &own);
		/* A block without pages keeps its chunk until an evictor takes it. */
		gvm_block_set_in_service(range->memory, block, !status);
		block->coming = !status;
		block->in_sequence = own.sequence[GVM_ENGINE_IN];
		for (u32 engine = 0; engine < GVM_ENGINES; engine++)
			fence->sequence[engine] =
				max(fence->sequence[engine], own.sequence[engine]);
	}
	gvm_mutex_unlock(&range->lock);
	return status;
}

/* Start one block, and make room for it if there is none. Returns whether it comes. */
static bool prefetch_make_room(const struct prefetch_step *step,
			       struct gvm_container *container, struct gvm_fence *fence)
{
	int status = prefetch_start(step, container, fence);

	for (u32 tries = 0; tries < PREFETCH_TRIES && (status == -EDQUOT || status == -ENOMEM);
	     tries++) {
		if (gvm_evict_ahead(container,
				    status == -EDQUOT ? GVM_NEED_CHARGE : GVM_NEED_MEMORY))
			break;
		status = prefetch_start(step, container, fence);
	}
	return !status;
}

/*
 * Map a block whose copy has @arrived, unless a fault has done so, or it is gone. Without the
 * copy its data stays in host memory.
 */
static bool prefetch_finish(const struct prefetch_step *step, bool arrived, bool probe)
{
	struct gvm_range *range = step->range;
	struct gvm_block *block = &range->blocks[step->index];
	bool came;

	gvm_mutex_lock(&range->lock);
	came = block->coming;
	block->coming = false;
	if (came && !arrived) {
		gvm_block_set_in_service(range->memory, block, false);
	} else if (came) {
		gvm_block_finish_locked(range, step->index, block->valid & ~block->resident,
					GVM_ACCESS_READ);
		if (probe)
			gvm_block_hide_locked(range, step->index);
	}
	gvm_mutex_unlock(&range->lock);
	return came;
}

static struct prefetch_step prefetch_step(struct gvm_memory *memory,
					  const struct gvm_prefetch *wanted)
{
	const struct gvm_fault place = { .va = wanted->va };
	struct prefetch_step step;

	gvm_memory_enter_run(memory, wanted->space, &place, 1, &step.range);
	if (step.range)
		step.index = gvm_fault_block_index(step.range, &place);
	return step;
}

int gvm_memory_prefetch(struct gvm_memory *memory, struct gvm_container *container,
			struct gvm_prefetch *blocks, u32 count)
{
	struct prefetch_step steps[GVM_PREFETCH_BATCH];
	struct gvm_fence fence = { 0 };
	u32 started = 0;
	int status = 0;

	for (u32 i = 0; i < count; i++) {
		steps[i] = prefetch_step(memory, &blocks[i]);
		if (!steps[i].range)
			continue;
		if (prefetch_make_room(&steps[i], container, &fence)) {
			started++;
			continue;
		}
		gvm_range_leave(steps[i].range);
		steps[i].range = NULL;
	}
	if (started)
		status = memory->mmu->fence_wait(memory->gpu, &fence);
	for (u32 i = 0; i < count; i++) {
		if (!steps[i].range)
			continue;
		blocks[i].late = !prefetch_finish(&steps[i], !status, blocks[i].probe);
		blocks[i].done = !status;
		gvm_range_leave(steps[i].range);
	}
	while (started-- && gvm_charge_excess(container)) {
		if (gvm_evict_ahead(container, GVM_NEED_CHARGE))
			break;
	}
	return status;
}
