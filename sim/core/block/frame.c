// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: block. From a chunk to its block, over struct gvm_mmu_ops.
 *
 * A fault has an address and finds its block by it. An eviction comes from the other side: it has a
 * chunk and looks for the block. A frame says where the chunk was; only under that range's lock is
 * it known whether it is still there. The range cannot vanish meanwhile, since it waits for those
 * inside it.
 *
 *     frame (memory's lock) -> range (its lock) -> the block still has the chunk, and it is picked?
 */
#include "gvm/block.h"

int gvm_memory_init(struct gvm_memory *memory, struct gvm_device *device,
		    const struct gvm_mmu_ops *mmu, void *gpu)
{
	memset(memory, 0, sizeof(*memory));
	memory->device = device;
	memory->mmu = mmu;
	memory->gpu = gpu;
	gvm_spin_init(&memory->lock, "gvm memory");
	memory->frames = gvm_alloc((size_t)device->chunk_count * sizeof(*memory->frames));
	return memory->frames ? 0 : -ENOMEM;
}

void gvm_memory_destroy(struct gvm_memory *memory)
{
	gvm_free(memory->frames);
	memory->frames = NULL;
}

void gvm_frame_set(struct gvm_memory *memory, u32 chunk, struct gvm_range *range, u32 index)
{
	struct gvm_frame *frame = &memory->frames[chunk];

	gvm_spin_lock(&memory->lock);
	frame->range = range;
	frame->index = index;
	gvm_spin_unlock(&memory->lock);
}

void gvm_frame_pin(struct gvm_memory *memory, u32 chunk, bool pin)
{
	WRITE_ONCE(memory->frames[chunk].pinned, pin);
}

bool gvm_frame_is_pinned(const struct gvm_memory *memory, u32 chunk)
{
	return READ_ONCE(memory->frames[chunk].pinned);
}

void gvm_range_enter(struct gvm_range *range)
{
	struct gvm_memory *memory = range->memory;

	gvm_spin_lock(&memory->lock);
	range->users++;
	gvm_spin_unlock(&memory->lock);
}

struct gvm_range *gvm_frame_enter_range(struct gvm_memory *memory, u32 chunk, u32 *ret_index)
{
	struct gvm_frame *frame = &memory->frames[chunk];
	struct gvm_range *range;

	gvm_spin_lock(&memory->lock);
	range = frame->range;
	*ret_index = frame->index;
	if (range)
		range->users++;
	gvm_spin_unlock(&memory->lock);
	return range;
}

/* The range may be gone as soon as the lock is given up. */
void gvm_range_leave(struct gvm_range *range)
{
	struct gvm_memory *memory = range->memory;

	gvm_spin_lock(&memory->lock);
	GVM_ASSERT(range->users > 0);
	if (--range->users == 0)
		gvm_wake_up_all(&range->idle);
	gvm_spin_unlock(&memory->lock);
}

static bool range_is_idle(struct gvm_range *range)
{
	struct gvm_memory *memory = range->memory;
	bool idle;

	gvm_spin_lock(&memory->lock);
	idle = range->users == 0;
	gvm_spin_unlock(&memory->lock);
	return idle;
}

void gvm_range_wait_idle(struct gvm_range *range)
{
	gvm_wait_event(&range->idle, range_is_idle(range));
}
