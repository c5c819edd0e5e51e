// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: block. From a chunk to its blocks, over struct gvm_mmu_ops.
 *
 * An eviction has a chunk and looks for its block, or for one block after the other if the
 * chunk has parts (block/part.c). A frame says in which block the chunk was. Whether the chunk
 * is still there is known only under that range's lock. The range cannot go meanwhile, since
 * its destruction waits for the threads inside.
 *
 * A fault has an address space and an address. It finds its range through a balanced tree. A
 * tenant with many ranges makes the search a little longer for all tenants, and moves no other
 * tenant's entries.
 *
 *     frame (memory's lock) -> range (its lock) -> the block still has the chunk, and it is
 *     picked?
 */
#include "gvm/range.h"

int gvm_memory_init(struct gvm_memory *memory, struct gvm_device *device,
		    const struct gvm_mmu_ops *mmu, void *gpu)
{
	memset(memory, 0, sizeof(*memory));
	memory->device = device;
	memory->mmu = mmu;
	memory->gpu = gpu;
	gvm_spin_init(&memory->lock, "gvm memory");
	memory->ranges = RB_ROOT;
	gvm_mutex_init(&memory->parts_lock, "gvm parts");
	if (device->payers) {
		memory->frame_shift = (u32)__ffs(GVM_PAGES_PER_BLOCK);
		memory->roots = gvm_alloc((size_t)device->chunk_count * sizeof(*memory->roots));
		if (!memory->roots)
			return -ENOMEM;
		for (u32 i = 0; i < device->chunk_count; i++)
			INIT_LIST_HEAD(&memory->roots[i].node);
	}
	memory->frames = gvm_alloc(((size_t)device->chunk_count << memory->frame_shift) *
				   sizeof(*memory->frames));
	if (memory->frames)
		return 0;
	gvm_free(memory->roots);
	memory->roots = NULL;
	return -ENOMEM;
}

void gvm_memory_destroy(struct gvm_memory *memory)
{
	GVM_ASSERT(RB_EMPTY_ROOT(&memory->ranges));
	gvm_free(memory->roots);
	gvm_free(memory->frames);
	memory->roots = NULL;
	memory->frames = NULL;
}

void gvm_frame_set(struct gvm_memory *memory, u32 chunk, u32 page, struct gvm_range *range,
		   u32 index)
{
	struct gvm_frame *frame = gvm_frame(memory, chunk, page);

	gvm_spin_lock(&memory->lock);
	frame->range = range;
	frame->index = index;
	gvm_spin_unlock(&memory->lock);
}

void gvm_range_enter(struct gvm_range *range)
{
	struct gvm_memory *memory = range->memory;

	gvm_spin_lock(&memory->lock);
	range->users++;
	gvm_spin_unlock(&memory->lock);
}

struct gvm_range *gvm_frame_enter_range(struct gvm_memory *memory, u32 chunk, u32 *page,
					u32 *ret_index)
{
	struct gvm_range *range = NULL;

	gvm_spin_lock(&memory->lock);
	for (; *page < 1u << memory->frame_shift; ++*page) {
		const struct gvm_frame *frame = gvm_frame(memory, chunk, *page);

		range = frame->range;
		*ret_index = frame->index;
		if (range)
			break;
	}
	if (range)
		range->users++;
	gvm_spin_unlock(&memory->lock);
	return range;
}

/* The range may be gone as soon as the lock is released. */
void gvm_range_leave(struct gvm_range *range)
{
	struct gvm_memory *memory = range->memory;

	gvm_spin_lock(&memory->lock);
	GVM_ASSERT(range->users > 0);
	if (--range->users == 0)
		gvm_wake_up_one(&range->idle);
	gvm_spin_unlock(&memory->lock);
}

static struct gvm_range *range_of_node(struct rb_node *node)
{
	return rb_entry(node, struct gvm_range, node);
}

/* Ranges are in order of address space, then of address. */
static bool range_is_before(const struct gvm_range *range, const void *space, u64 va)
{
	return (size_t)range->space < (size_t)space ||
	       (range->space == space && range->va < va);
}

/* The first range that is not before (@space, @va), or NULL. Memory's lock held. */
static struct gvm_range *ranges_first_locked(const struct gvm_memory *memory, const void *space,
					     u64 va)
{
	struct rb_node *node = memory->ranges.rb_node;
	struct gvm_range *found = NULL;

	while (node) {
		struct gvm_range *range = range_of_node(node);

		if (!range_is_before(range, space, va))
			found = range;
		node = found == range ? node->rb_left : node->rb_right;
	}
	return found;
}

/* The range that covers an address (gvm_range_covers()), or NULL. Memory's lock held. */
static struct gvm_range *ranges_lookup_locked(const struct gvm_memory *memory,
					      const void *space, u64 va)
{
	struct rb_node *node = memory->ranges.rb_node;
	struct gvm_range *found = NULL;

	/* The last one that begins at or before @va. */
	while (node) {
		struct gvm_range *range = range_of_node(node);
		bool begins = range_is_before(range, space, va) ||
			      (range->space == space && range->va == va);

		if (begins)
			found = range;
		node = begins ? node->rb_right : node->rb_left;
	}
	return found && found->space == space && gvm_range_covers(found, va) ? found : NULL;
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

struct gvm_range *gvm_memory_enter_next(struct gvm_memory *memory,
					struct gvm_range_cursor *cursor)
{
	struct gvm_range *range;

	gvm_spin_lock(&memory->lock);
	range = ranges_first_locked(memory, cursor->space, cursor->va);
	if (range) {
		range->users++;
		cursor->space = range->space;
		cursor->va = range->va + 1;
	}
	gvm_spin_unlock(&memory->lock);
	return range;
}

void gvm_range_publish(struct gvm_range *range)
{
	struct gvm_memory *memory = range->memory;
	struct rb_node **link = &memory->ranges.rb_node, *parent = NULL;

	gvm_spin_lock(&memory->lock);
	while (*link) {
		parent = *link;
		link = range_is_before(range_of_node(parent), range->space, range->va) ?
			       &parent->rb_right :
			       &parent->rb_left;
	}
	rb_link_node(&range->node, parent, link);
	rb_insert_color(&range->node, &memory->ranges);
	gvm_spin_unlock(&memory->lock);
}

static void range_hide_locked(struct gvm_memory *memory, struct gvm_range *range)
{
	rb_erase(&range->node, &memory->ranges);
	RB_CLEAR_NODE(&range->node);
}

void gvm_range_hide(struct gvm_range *range)
{
	struct gvm_memory *memory = range->memory;

	gvm_spin_lock(&memory->lock);
	if (!RB_EMPTY_NODE(&range->node))
		range_hide_locked(memory, range);
	gvm_spin_unlock(&memory->lock);
}

/* Releases the lock between two ranges, since a space may have many. */
void gvm_memory_close_space(struct gvm_memory *memory, void *space)
{
	struct gvm_range *range;

	do {
		gvm_spin_lock(&memory->lock);
		range = ranges_first_locked(memory, space, 0);
		if (range && range->space != space)
			range = NULL;
		if (range)
			range_hide_locked(memory, range);
		gvm_spin_unlock(&memory->lock);
	} while (range);
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
