// SPDX-License-Identifier: MIT OR GPL-2.0
/* The simulated GMMU; see gmmu.h. */
#include "uvm/gmmu.h"

#include <stdlib.h>

int gmmu_init(struct gmmu *gmmu, u32 entries)
{
	*gmmu = (struct gmmu){ .entries = entries };
	gmmu->buffer = calloc(entries, sizeof(*gmmu->buffer));
	return gmmu->buffer ? 0 : -ENOMEM;
}

void gmmu_destroy(struct gmmu *gmmu)
{
	free(gmmu->buffer);
	gmmu->buffer = NULL;
}

/* By the counters of its range alone. */
static bool touch_may_miss(const struct gmmu_touch *touch)
{
	const struct gvm_range *range = touch->range;

	return range->resident_pages != range->valid_pages || range->hinted_pages ||
	       (touch->access >= GVM_ACCESS_WRITE && range->clean_pages);
}

bool gmmu_all_resident(const struct gmmu_touch *touches, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (touch_may_miss(&touches[i]))
			return false;
	return true;
}

/* The pages that a touch wants of its block number @index. */
static u32 touch_pages(const struct gmmu_touch *touch, u32 index)
{
	u32 valid = touch->range->blocks[touch->first_block + index].valid;

	return touch->masks ? touch->masks[index / touch->blocks_per_mask] & valid : valid;
}

static u32 touch_missing(const struct gmmu_touch *touch, u32 index)
{
	const struct gvm_block *block = &touch->range->blocks[touch->first_block + index];

	return touch_pages(touch, index) & ~gvm_block_accessible(block, touch->access);
}

/* How many of the first @blocks blocks of a touch have touched pages. */
static u64 touch_count_blocks(const struct gmmu_touch *touch, u32 blocks)
{
	u64 count = 0;
	u32 index;

	if (!touch->masks)
		return blocks;
	for (index = 0; index < blocks; index++)
		count += touch_pages(touch, index) != 0;
	return count;
}

u64 gmmu_count_blocks(const struct gmmu_touch *touches, u32 count)
{
	u64 blocks = 0;
	u32 i;

	for (i = 0; i < count; i++)
		blocks += touch_count_blocks(&touches[i], touches[i].block_count);
	return blocks;
}

/* One block on; an ordinal passed if work was done there. */
static void cursor_step(struct gmmu_cursor *cursor, const struct gmmu_touch *touch)
{
	cursor->ordinal += touch_pages(touch, cursor->block) != 0;
	cursor->block++;
}

bool gmmu_find_miss(const struct gmmu_touch *touches, u32 count, struct gmmu_cursor *cursor)
{
	for (; cursor->touch < count; cursor->touch++, cursor->block = 0) {
		const struct gmmu_touch *touch = &touches[cursor->touch];

		for (; cursor->block < touch->block_count; cursor_step(cursor, touch))
			if (touch_missing(touch, cursor->block))
				return true;
	}
	return false;
}

struct gmmu_cursor gmmu_seek(const struct gmmu_touch *touches, u32 count, u64 ordinal)
{
	struct gmmu_cursor cursor = { 0 };
	u64 blocks;

	for (; cursor.touch < count; cursor.touch++) {
		const struct gmmu_touch *touch = &touches[cursor.touch];

		blocks = touch_count_blocks(touch, touch->block_count);
		if (cursor.ordinal + blocks > ordinal)
			break;
		cursor.ordinal += blocks;
	}
	while (cursor.touch < count && cursor.ordinal < ordinal)
		cursor_step(&cursor, &touches[cursor.touch]);
	return cursor;
}

static bool touch_has_block(const struct gmmu_touch *touch, const struct gvm_range *range,
			    u32 index)
{
	return touch->range == range && index >= touch->first_block &&
	       index - touch->first_block < touch->block_count &&
	       touch_pages(touch, index - touch->first_block);
}

bool gmmu_find_block(const struct gmmu_touch *touches, u32 count, const struct gvm_range *range,
		     u32 index, u64 ordinal, struct gmmu_cursor *ret_cursor)
{
	u64 before = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		const struct gmmu_touch *touch = &touches[i];
		u32 block = index - touch->first_block;

		if (touch_has_block(touch, range, index)) {
			u64 at = before + touch_count_blocks(touch, block);

			*ret_cursor = (struct gmmu_cursor){ i, block, at };
			if (at >= ordinal)
				return true;
		}
		before += touch_count_blocks(touch, touch->block_count);
	}
	return false;
}

static void gmmu_push(struct gmmu *gmmu, const struct gvm_fault *fault)
{
	gmmu->buffer[gmmu->put++ % gmmu->entries] = *fault;
}

/* The bit of the missing page number @nth of a block, from 0; 0: not so many are missing. */
static u32 nth_missing(u32 missing, u32 nth)
{
	while (nth-- && missing)
		missing &= missing - 1;
	return missing & -missing;
}

/* One page of one block, by as many faults as find room. Returns their number. */
static u32 gmmu_report_page(struct gmmu *gmmu, const struct gmmu_touch *touch, u32 index,
			    u32 page, struct gvm_fault *fault, u32 most)
{
	u32 i;

	fault->va = touch->range->va + ((u64)(touch->first_block + index) << GVM_CHUNK_SHIFT) +
		    ((u64)__ffs(page) << GVM_PAGE_SHIFT);
	fault->access = touch->access;
	for (i = 0; i < most; i++)
		gmmu_push(gmmu, fault);
	return most;
}

/* Missing page number @nth of each block of the window. Returns the number of faults. */
static u32 gmmu_report_round(struct gmmu *gmmu, struct gvm_fault *fault,
			     const struct gmmu_touch *touches, u32 count,
			     struct gmmu_cursor cursor, const struct gmmu_window *window,
			     u32 nth, u32 most)
{
	u32 reported = 0;

	while (reported < most && gmmu_find_miss(touches, count, &cursor) &&
	       cursor.ordinal < window->end_ordinal) {
		const struct gmmu_touch *touch = &touches[cursor.touch];
		u32 page = nth_missing(touch_missing(touch, cursor.block), nth);

		if (page)
			reported +=
				gmmu_report_page(gmmu, touch, cursor.block, page, fault,
						 min(window->faults_per_page, most - reported));
		cursor_step(&cursor, touch);
	}
	return reported;
}

u32 gmmu_report(struct gmmu *gmmu, void *space, u32 tsg, const struct gmmu_touch *touches,
		u32 count, struct gmmu_cursor cursor, const struct gmmu_window *window)
{
	struct gvm_fault fault = { .space = space, .tsg = tsg };
	u32 room = gmmu->entries - (u32)(gmmu->put - gmmu->get);
	u32 most = min(room, window->faults);
	u32 reported = 0;
	u32 nth, more;

	for (nth = 0; nth < window->pages_per_block && reported < most; nth++) {
		more = gmmu_report_round(gmmu, &fault, touches, count, cursor, window, nth,
					 most - reported);
		if (!more)
			break;
		reported += more;
	}
	eng_wake_one(&gmmu->waitq);
	return reported;
}

u32 gmmu_fetch(struct gmmu *gmmu, struct gvm_fault *faults, u32 max)
{
	u32 count = min((u32)(gmmu->put - gmmu->get), max);
	u32 i;

	for (i = 0; i < count; i++)
		faults[i] = gmmu->buffer[gmmu->get++ % gmmu->entries];
	return count;
}

void gmmu_flush(struct gmmu *gmmu)
{
	gmmu->get = gmmu->put;
}

void gmmu_drop(struct gmmu *gmmu, const void *space)
{
	u64 kept = gmmu->get;
	u64 i;

	for (i = gmmu->get; i != gmmu->put; i++) {
		struct gvm_fault fault = gmmu->buffer[i % gmmu->entries];

		if (fault.space != space)
			gmmu->buffer[kept++ % gmmu->entries] = fault;
	}
	gmmu->put = kept;
}

bool gmmu_pending(const struct gmmu *gmmu)
{
	return gmmu->put != gmmu->get;
}
