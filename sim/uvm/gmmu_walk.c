// SPDX-License-Identifier: MIT OR GPL-2.0
/* Walks of kernels over the page tables; see gmmu_walk.h. */
#include "uvm/gmmu_walk.h"

#include "gvm/port.h"

#define WORD_BITS 64u

void gmmu_index_masks(const u32 *masks, u32 count, u64 *ret_groups)
{
	memset(ret_groups, 0, GMMU_GROUP_WORDS(count) * sizeof(*ret_groups));
	for (u32 i = 0; i < count; i++)
		if (masks[i])
			ret_groups[i / WORD_BITS] |= 1ull << (i % WORD_BITS);
}

struct gmmu_view gmmu_view(const struct gmmu_walk *walk, u32 index)
{
	const struct gmmu_touch *touch = &walk->touches[index];
	const struct page_table_region *region = page_table_find(walk->table, touch->va);
	struct gmmu_view view = { .touch = touch, .region = region };

	if (region) {
		view.first = (u32)((touch->va - region->va) >> GVM_CHUNK_SHIFT);
		view.mapped_end = min(touch->block_count, region->block_count - view.first);
	}
	return view;
}

bool gmmu_all_resident(struct gmmu_walk *walk)
{
	if (walk->resident == walk->table->losses + 1)
		return true;
	for (u32 i = 0; i < walk->count; i++) {
		struct gmmu_view view = gmmu_view(walk, i);

		if (view.mapped_end < view.touch->block_count ||
		    (view.region && page_table_holes(view.region, view.touch->access)->pages))
			return false;
	}
	walk->resident = walk->table->losses + 1;
	return true;
}

/* The pages of block number @index that a touch wants. */
static u32 touch_pages(const struct gmmu_view *view, u32 index)
{
	const struct gmmu_touch *touch = view->touch;
	u32 pages =
		touch->masks ? touch->masks[index / touch->blocks_per_mask] : GVM_BLOCK_FULL;

	return index < view->mapped_end ?
		       pages & page_table_covered(view->region, view->first + index) :
		       pages;
}

u32 gmmu_view_missing(const struct gmmu_view *view, u32 index)
{
	u32 pages = touch_pages(view, index);

	if (index >= view->mapped_end)
		return pages;
	return pages &
	       ~page_table_accessible(view->region, view->first + index, view->touch->access);
}

/* Set bits before bit @bit, with the ranks of the words. */
static u32 rank_bit(const u64 *words, const u32 *ranks, u32 bit)
{
	u32 word = bit / WORD_BITS, rest = bit % WORD_BITS;

	if (!rest)
		return ranks[word];
	return ranks[word] + (u32)__builtin_popcountll(words[word] << (WORD_BITS - rest));
}

/* Count the set bits from bit @from on, before bit @end. */
static u32 count_bits(const u64 *words, u32 from, u32 end)
{
	u32 count = 0;

	while (from < end) {
		u64 word = words[from / WORD_BITS] >> (from % WORD_BITS);
		u32 bits = min(WORD_BITS - from % WORD_BITS, end - from);

		if (bits < WORD_BITS)
			word &= (1ull << bits) - 1;
		count += (u32)__builtin_popcountll(word);
		from += bits;
	}
	return count;
}

/*
 * Count the blocks of a touch, from @from on and before @to, that have touched pages. The work
 * is proportional to groups, not to blocks; with ranks it is constant.
 */
static u64 touch_count_blocks(const struct gmmu_view *view, u32 from, u32 to)
{
	const struct gmmu_touch *touch = view->touch;
	u32 per_mask = touch->blocks_per_mask;
	u32 first, last;
	u64 count;

	if (!touch->masks || from >= to)
		return to - min(from, to);
	first = from / per_mask;
	last = (to - 1) / per_mask;
	count = touch->ranks ? rank_bit(touch->groups, touch->ranks, last + 1) -
				       rank_bit(touch->groups, touch->ranks, first) :
			       count_bits(touch->groups, first, last + 1);
	count *= per_mask;
	/* Subtract the blocks of the first and the last group that lie outside. */
	if (touch->masks[first])
		count -= from - first * per_mask;
	if (touch->masks[last])
		count -= (last + 1) * (u64)per_mask - to;
	/* A region may end within its last block, before all pages of the mask. */
	if (view->mapped_end && from < view->mapped_end && view->mapped_end <= to &&
	    touch->masks[(view->mapped_end - 1) / per_mask] &&
	    !touch_pages(view, view->mapped_end - 1))
		count--;
	return count;
}

/* Blocks with touched pages of a whole touch. Without masks these are all: no look-up. */
static u64 touch_count_all(const struct gmmu_walk *walk, u32 index)
{
	const struct gmmu_touch *touch = &walk->touches[index];
	struct gmmu_view view;

	if (!touch->masks)
		return touch->block_count;
	view = gmmu_view(walk, index);
	return touch_count_blocks(&view, 0, touch->block_count);
}

u64 gmmu_count_blocks(const struct gmmu_walk *walk)
{
	u64 blocks = 0;

	for (u32 i = 0; i < walk->count; i++)
		blocks += touch_count_all(walk, i);
	return blocks;
}

/*
 * The first block of a touch, from @from on, whose group has touched pages; else its block
 * count.
 */
static u32 touch_next_touched(const struct gmmu_touch *touch, u32 from)
{
	u32 per_mask = touch->blocks_per_mask;
	u32 groups, group;

	if (!touch->masks || from >= touch->block_count || touch->masks[from / per_mask])
		return from;
	groups = (touch->block_count - 1) / per_mask + 1;
	group = page_table_next_bit(touch->groups, from / per_mask, groups);
	return group == groups ? touch->block_count : group * per_mask;
}

/*
 * The first block of a touch, from @from on, with a missing page; else its block count. Skips
 * groups without touched pages, and blocks without missing pages.
 */
static u32 touch_next_miss(const struct gmmu_view *view, u32 from)
{
	const struct gmmu_touch *touch = view->touch;

	for (u32 index = from;; index++) {
		u32 touched = touch_next_touched(touch, index);

		if (touched >= touch->block_count)
			return touch->block_count;
		index = touched;
		if (index < view->mapped_end)
			index = page_table_next_hole(view->region, touch->access,
						     view->first + index,
						     view->first + view->mapped_end) -
				view->first;
		if (index < touch->block_count && gmmu_view_missing(view, index))
			return index;
	}
}

/*
 * Move the cursor forward to the block that @next finds, which returns a touch's block count if
 * there is none. False: no touch has one.
 */
static bool cursor_forward(const struct gmmu_walk *walk, struct gmmu_cursor *cursor,
			   u32 (*next)(const struct gmmu_view *view, u32 from))
{
	for (; cursor->touch < walk->count; cursor->touch++, cursor->block = 0) {
		struct gmmu_view view = gmmu_view(walk, cursor->touch);
		u32 found = next(&view, cursor->block);

		cursor->ordinal += touch_count_blocks(&view, cursor->block, found);
		cursor->block = found;
		if (found < view.touch->block_count)
			return true;
	}
	return false;
}

bool gmmu_find_miss(const struct gmmu_walk *walk, struct gmmu_cursor *cursor)
{
	return cursor_forward(walk, cursor, touch_next_miss);
}

/*
 * The touched pages in host memory of block number @index of a touch, which lies in a region.
 */
static u32 touch_remote(const struct gmmu_view *view, u32 index)
{
	return touch_pages(view, index) & view->region->entries[view->first + index].remote;
}

/*
 * The first block of a touch, from @from on, with a touched page in host memory; else its block
 * count.
 */
static u32 touch_next_remote(const struct gmmu_view *view, u32 from)
{
	const struct gmmu_touch *touch = view->touch;

	if (!view->region || !view->region->remote_pages)
		return touch->block_count;
	for (u32 index = from;; index++) {
		index = touch_next_touched(touch, index);
		if (index >= view->mapped_end)
			return touch->block_count;
		if (touch_remote(view, index))
			return index;
	}
}

bool gmmu_find_remote(const struct gmmu_walk *walk, struct gmmu_cursor *cursor)
{
	return cursor_forward(walk, cursor, touch_next_remote);
}

void gmmu_count_remote(const struct gmmu_walk *walk, struct gmmu_cursor cursor, u64 end_ordinal,
		       u64 *ret_reads, u64 *ret_writes)
{
	*ret_reads = 0;
	*ret_writes = 0;
	while (gmmu_find_remote(walk, &cursor) && cursor.ordinal < end_ordinal) {
		struct gmmu_view view = gmmu_view(walk, cursor.touch);
		u64 pages = hweight32(touch_remote(&view, cursor.block));

		if (view.touch->access >= GVM_ACCESS_WRITE)
			*ret_writes += pages;
		else
			*ret_reads += pages * max(view.touch->remote_reads, 1u);
		cursor.block++;
		cursor.ordinal++;
	}
}

/* The place in a touch right after its first @count blocks with touched pages, which it has. */
static u32 touch_seek(const struct gmmu_view *view, u64 count)
{
	const struct gmmu_touch *touch = view->touch;
	u32 low = 0, high = touch->block_count;

	if (!touch->masks)
		return (u32)count;
	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (touch_count_blocks(view, 0, middle) >= count)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

struct gmmu_cursor gmmu_seek_from(const struct gmmu_walk *walk, struct gmmu_cursor *start,
				  u64 ordinal)
{
	struct gmmu_cursor cursor;

	if (start->ordinal > ordinal)
		*start = (struct gmmu_cursor){ 0 };
	for (; start->touch < walk->count; start->touch++) {
		u64 blocks = touch_count_all(walk, start->touch);

		if (start->ordinal + blocks > ordinal) {
			struct gmmu_view view = gmmu_view(walk, start->touch);

			cursor = *start;
			cursor.block = touch_seek(&view, ordinal - cursor.ordinal);
			cursor.ordinal = ordinal;
			return cursor;
		}
		start->ordinal += blocks;
	}
	return *start;
}

struct gmmu_cursor gmmu_seek(const struct gmmu_walk *walk, u64 ordinal)
{
	struct gmmu_cursor start = { 0 };

	return gmmu_seek_from(walk, &start, ordinal);
}

struct gmmu_footprint gmmu_kernel_footprint(const struct gmmu_walk *walk,
					    const struct gmmu_cursor *cursor)
{
	struct gmmu_footprint none = { cursor->ordinal, cursor->ordinal };
	struct gmmu_view view;
	u64 before, blocks, kernels, kernel;

	if (cursor->touch >= walk->count || !walk->touches[cursor->touch].kernels)
		return none;
	view = gmmu_view(walk, cursor->touch);
	before = touch_count_blocks(&view, 0, cursor->block);
	blocks = touch_count_blocks(&view, 0, view.touch->block_count);
	if (before >= blocks)
		return none;
	kernels = min((u64)view.touch->kernels, blocks);
	/* Kernel k touches the blocks from ceil(k * blocks / kernels) on. */
	kernel = before * kernels / blocks;
	return (struct gmmu_footprint){
		.first = cursor->ordinal - before + (kernel * blocks + kernels - 1) / kernels,
		.end = cursor->ordinal - before +
		       ((kernel + 1) * blocks + kernels - 1) / kernels,
	};
}

bool gmmu_find_block(const struct gmmu_walk *walk, u64 va, const struct gmmu_span *span,
		     struct gmmu_cursor *ret_cursor)
{
	bool starts = span->start.ordinal <= span->first;
	u64 before = starts ? span->start.ordinal : 0;

	for (u32 i = starts ? span->start.touch : 0; i < walk->count && before < span->end;
	     i++) {
		const struct gmmu_touch *touch = &walk->touches[i];
		u64 block = (va - touch->va) >> GVM_CHUNK_SHIFT;

		if (va >= touch->va && block < touch->block_count) {
			struct gmmu_view view = gmmu_view(walk, i);
			u64 at = before + touch_count_blocks(&view, 0, (u32)block);

			if (at >= span->first && at < span->end &&
			    touch_pages(&view, (u32)block)) {
				*ret_cursor = (struct gmmu_cursor){ i, (u32)block, at };
				return true;
			}
		}
		/* The masks of the last touch are the most work, and no ordinal follows it. */
		if (i + 1 < walk->count)
			before += touch_count_all(walk, i);
	}
	return false;
}
