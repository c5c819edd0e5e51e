// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: block. The block layer as a memory manager: struct gvm_memory_ops over the other files
 * of this folder. gvm/memory.h has the contracts.
 */
#include "gvm/block.h"

static int memory_range_init(void *data, struct gvm_range *range,
			     const struct gvm_range_config *config)
{
	return gvm_range_init(data, range, config);
}

static void memory_range_destroy(void *data, struct gvm_range *range)
{
	(void)data;
	gvm_range_destroy(range);
}

static void memory_space_close(void *data, void *space)
{
	gvm_memory_close_space(data, space);
}

static void memory_service(void *data, void *space, struct gvm_fault *faults, u32 count,
			   struct gvm_fence *fence)
{
	struct gvm_range *range;
	u32 run;

	for (u32 done = 0; done < count; done += run) {
		run = gvm_memory_enter_run(data, space, faults + done, count - done, &range);
		if (!range) {
			faults[done].status = -EFAULT;
			continue;
		}
		gvm_range_service(range, faults + done, run, fence);
		gvm_range_leave(range);
	}
}

static bool memory_evictable(void *data, u32 chunk)
{
	return gvm_block_evictable(data, chunk);
}

static void memory_evict_begin(struct gvm_memory *memory)
{
	if (memory->mmu->evict_begin)
		memory->mmu->evict_begin(memory->gpu);
}

static int memory_evict(void *data, u32 chunk, struct gvm_eviction *eviction)
{
	memory_evict_begin(data);
	return gvm_block_evict(data, chunk, eviction);
}

static void memory_release(void *data, u32 chunk)
{
	struct gvm_memory *memory = data;

	memory->mmu->chunk_free(memory->gpu, chunk);
}

static int memory_hint(void *data, u32 chunk)
{
	memory_evict_begin(data);
	return gvm_block_hint(data, chunk);
}

static int memory_prefetch(void *data, struct gvm_container *container,
			   struct gvm_prefetch *blocks, u32 count)
{
	memory_evict_begin(data);
	return gvm_memory_prefetch(data, container, blocks, count);
}

static int memory_unevictable_add(void *data, struct gvm_unevictable *taken, u64 bytes)
{
	return gvm_unevictable_add(data, taken, bytes);
}

static void memory_unevictable_remove(void *data, struct gvm_unevictable *taken, u64 bytes)
{
	gvm_unevictable_remove(data, taken, bytes);
}

static void memory_remote_end(void *data, const struct gvm_container *container)
{
	gvm_memory_end_remote(data, container);
}

static int memory_advise(void *data, struct gvm_range *range, enum gvm_advice advice)
{
	(void)data;
	return gvm_range_advise(range, advice);
}

static u64 memory_discard(void *data, struct gvm_range *range, u64 offset, u64 bytes)
{
	(void)data;
	return gvm_range_discard(range, offset, bytes);
}

static int memory_check(void *data)
{
	return gvm_memory_check(data);
}

const struct gvm_memory_ops gvm_block_memory_ops = {
	.range_init = memory_range_init,
	.range_destroy = memory_range_destroy,
	.space_close = memory_space_close,
	.service = memory_service,
	.evictable = memory_evictable,
	.evict = memory_evict,
	.release = memory_release,
	.hint = memory_hint,
	.prefetch = memory_prefetch,
	.unevictable_add = memory_unevictable_add,
	.unevictable_remove = memory_unevictable_remove,
	.remote_end = memory_remote_end,
	.advise = memory_advise,
	.discard = memory_discard,
	.check = memory_check,
};
