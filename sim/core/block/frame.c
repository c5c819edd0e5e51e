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
#include "gvm/range.h"

/* Ranges that faults can find before the array of them has to grow. */
#define MEMORY_RANGES_FIRST 16u

int gvm_memory_init(struct gvm_memory *memory, struct gvm_device *device,
		    const struct gvm_mmu_ops *mmu, void *gpu)
{
	memset(memory, 0, sizeof(*memory));
	memory->device = device;
	memory->mmu = mmu;
	memory->gpu = gpu;
	gvm_spin_init(&memory->lock, "gvm memory");
	memory->frames = gvm_alloc((size_t)device->chunk_count * sizeof(*memory->frames));
	memory->ranges = gvm_alloc(MEMORY_RANGES_FIRST * sizeof(struct gvm_range *));
	memory->range_room = MEMORY_RANGES_FIRST;
	if (memory->frames && memory->ranges)
		return 0;
	gvm_memory_destroy(memory);
	return -ENOMEM;
}

void gvm_memory_destroy(struct gvm_memory *memory)
{
	GVM_ASSERT(!memory->range_count);
	gvm_free(memory->ranges);
	gvm_free(memory->frames);
	memory->ranges = NULL;
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

void gvm_frame_set_in_service(struct gvm_memory *memory, u32 chunk, bool in_service)
{
	WRITE_ONCE(memory->frames[chunk].in_service, in_service);
}

bool gvm_frame_in_service(const struct gvm_memory *memory, u32 chunk)
{
	return READ_ONCE(memory->frames[chunk].in_service);
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
		gvm_wake_up_one(&range->idle);
	gvm_spin_unlock(&memory->lock);
}

/* The place of the first range that is not before (@space, @va). Memory's lock held. */
static u32 ranges_find_locked(const struct gvm_memory *memory, const void *space, u64 va)
{
	u32 low = 0, high = memory->range_count;

	while (low < high) {
		u32 middle = low + (high - low) / 2;
		const struct gvm_range *range = memory->ranges[middle];

		if ((size_t)range->space < (size_t)space ||
		    (range->space == space && range->va < va))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The range that an address is in, blocks counted whole, or NULL. Memory's lock held. */
static struct gvm_range *ranges_lookup_locked(const struct gvm_memory *memory,
					      const void *space, u64 va)
{
	/* The last one that begins at or before @va. */
	u32 after = va == U64_MAX ? 0 : ranges_find_locked(memory, space, va + 1);
	struct gvm_range *range = after ? memory->ranges[after - 1] : NULL;

	return range && range->space == space && gvm_range_covers(range, va) ? range : NULL;
}

u32 gvm_memory_enter_run(struct gvm_memory *memory, void *space, const struct gvm_fault *faults,
			 u32 count, struct gvm_range **ret_range)
{
	struct gvm_range *range;
	u32 run = 1;

	gvm_spin_lock(&memory->lock);
	range = ranges_lookup_locked(memory, space, faults[0].va);
	if (range)
		range->users++;
	gvm_spin_unlock(&memory->lock);
	while (range && run < count && gvm_range_covers(range, faults[run].va))
		run++;
	*ret_range = range;
	return run;
}

/* Room for one range more. Returns with the memory's lock held on 0; else -ENOMEM. */
static int ranges_reserve_and_lock(struct gvm_memory *memory)
{
	gvm_spin_lock(&memory->lock);
	while (memory->range_count == memory->range_room) {
		u32 room = 2 * memory->range_room;
		struct gvm_range **larger, **former;

		gvm_spin_unlock(&memory->lock);
		larger = gvm_alloc((size_t)room * sizeof(struct gvm_range *));
		if (!larger)
			return -ENOMEM;
		gvm_spin_lock(&memory->lock);
		former = larger;
		if (room > memory->range_room) {
			for (u32 i = 0; i < memory->range_count; i++)
				larger[i] = memory->ranges[i];
			former = memory->ranges;
			memory->ranges = larger;
			memory->range_room = room;
		}
		gvm_spin_unlock(&memory->lock);
		gvm_free(former);
		gvm_spin_lock(&memory->lock);
	}
	return 0;
}

int gvm_range_publish(struct gvm_range *range)
{
	struct gvm_memory *memory = range->memory;
	u32 place;

	if (ranges_reserve_and_lock(memory))
		return -ENOMEM;
	place = ranges_find_locked(memory, range->space, range->va);
	for (u32 i = memory->range_count++; i > place; i--)
		memory->ranges[i] = memory->ranges[i - 1];
	memory->ranges[place] = range;
	gvm_spin_unlock(&memory->lock);
	return 0;
}

/* Take @count ranges out from @first on. Memory's lock held. */
static void ranges_remove_locked(struct gvm_memory *memory, u32 first, u32 count)
{
	memory->range_count -= count;
	for (u32 i = first; i < memory->range_count; i++)
		memory->ranges[i] = memory->ranges[i + count];
}

void gvm_range_hide(struct gvm_range *range)
{
	struct gvm_memory *memory = range->memory;
	u32 place;

	gvm_spin_lock(&memory->lock);
	place = ranges_find_locked(memory, range->space, range->va);
	if (place < memory->range_count && memory->ranges[place] == range)
		ranges_remove_locked(memory, place, 1);
	gvm_spin_unlock(&memory->lock);
}

void gvm_memory_close_space(struct gvm_memory *memory, void *space)
{
	u32 first, count = 0;

	gvm_spin_lock(&memory->lock);
	first = ranges_find_locked(memory, space, 0);
	while (first + count < memory->range_count &&
	       memory->ranges[first + count]->space == space)
		count++;
	ranges_remove_locked(memory, first, count);
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
