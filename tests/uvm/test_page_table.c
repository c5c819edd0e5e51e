// SPDX-License-Identifier: MIT OR GPL-2.0
/* Page tables: regions, their entries, and the search for holes by words of bitmaps. */
#include "draw.h"
#include "runner.h"
#include "uvm/gmmu.h"

#define VA     0x700000000000ull
#define CHUNK  GVM_CHUNK_BYTES
#define BLOCKS 9000u /* the summary has three words; one word is 4096 blocks */

static struct page_table table;

START_TEST(regions_lie_where_they_are_reserved_and_never_overlap)
{
	page_table_init(&table, NULL);
	ck_assert_int_eq(page_table_reserve(&table, VA + 4 * CHUNK, 2 * CHUNK), 0);
	ck_assert_int_eq(page_table_reserve(&table, VA, 1), 0);
	ck_assert_int_eq(page_table_reserve(&table, VA + CHUNK, 3 * CHUNK), 0);
	ck_assert_int_eq(page_table_reserve(&table, VA + 8 * CHUNK, CHUNK + 1), 0);
	ck_assert_int_eq(page_table_reserve(&table, VA + 5 * CHUNK, CHUNK), -EINVAL);
	ck_assert_int_eq(page_table_reserve(&table, VA + 6 * CHUNK, 2 * CHUNK + 1), -EINVAL);
	ck_assert_int_eq(page_table_reserve(&table, VA + 9 * CHUNK, CHUNK), -EINVAL);
	ck_assert_int_eq(page_table_reserve(&table, VA + 20 * CHUNK + 1, CHUNK), -EINVAL);
	ck_assert_int_eq(page_table_reserve(&table, VA + 20 * CHUNK, 0), -EINVAL);
	ck_assert_int_eq(page_table_reserve(&table, 0 - CHUNK, 2 * CHUNK), -EINVAL);
	ck_assert_int_eq(page_table_reserve(&table, VA + 6 * CHUNK, 2 * CHUNK), 0);
	ck_assert_uint_eq(table.region_count, 5);
	ck_assert_ptr_null(page_table_find(&table, VA - 1));
	ck_assert_uint_eq(page_table_find(&table, VA + CHUNK - 1)->va, VA);
	ck_assert_uint_eq(page_table_find(&table, VA + CHUNK)->va, VA + CHUNK);
	ck_assert_uint_eq(page_table_find(&table, VA + 10 * CHUNK - 1)->va, VA + 8 * CHUNK);
	ck_assert_ptr_null(page_table_find(&table, VA + 10 * CHUNK));
	page_table_release(&table, VA + CHUNK);
	ck_assert_ptr_null(page_table_find(&table, VA + CHUNK));
	ck_assert_uint_eq(page_table_find(&table, VA + 4 * CHUNK)->va, VA + 4 * CHUNK);
	page_table_destroy(&table);
	ck_assert_ptr_null(page_table_find(&table, VA));
}
END_TEST

START_TEST(an_entry_says_what_was_mapped_last)
{
	const struct page_table_region *region;

	/* Two blocks; the second has three pages. */
	page_table_init(&table, NULL);
	ck_assert_int_eq(page_table_reserve(&table, VA, CHUNK + 2 * GVM_PAGE_BYTES + 1), 0);
	region = page_table_find(&table, VA);
	ck_assert_uint_eq(page_table_covered(region, 0), GVM_BLOCK_FULL);
	ck_assert_uint_eq(page_table_covered(region, 1), 7);
	ck_assert_uint_eq(region->reads.pages, 35);
	page_table_map(&table, VA + CHUNK, 9, 0, 7, true);
	ck_assert_uint_eq(region->entries[1].chunk, 9);
	ck_assert_uint_eq(region->reads.pages, 32);
	ck_assert_uint_eq(region->writes.pages, 32);
	/* Map pages again for reads only, and then one page for writes. */
	page_table_map(&table, VA + CHUNK, 9, 0, 3, false);
	ck_assert_uint_eq(page_table_accessible(region, 1, GVM_ACCESS_READ), 7);
	ck_assert_uint_eq(page_table_accessible(region, 1, GVM_ACCESS_WRITE), 4);
	ck_assert_uint_eq(region->writes.pages, 34);
	page_table_map(&table, VA + CHUNK, 9, 0, 1, true);
	ck_assert_uint_eq(page_table_accessible(region, 1, GVM_ACCESS_ATOMIC), 5);
	page_table_unmap(&table, VA + CHUNK, 5);
	ck_assert_uint_eq(region->entries[1].valid, 2);
	ck_assert_uint_eq(region->entries[1].writable, 0);
	page_table_destroy(&table);
}
END_TEST

/* Compares the search with a look at every block. */
START_TEST(the_next_hole_is_the_first_block_that_lacks_a_page)
{
	u64 random_state = runner_seed();
	const struct page_table_region *region;

	page_table_init(&table, NULL);
	ck_assert_int_eq(page_table_reserve(&table, VA, BLOCKS * CHUNK), 0);
	region = page_table_find(&table, VA);
	for (u32 i = 0; i < BLOCKS; i++)
		page_table_map(&table, VA + i * CHUNK, i, 0, GVM_BLOCK_FULL, true);
	for (u32 round = 0; round < 2000; round++) {
		u32 block = draw_below(&random_state, BLOCKS);
		u32 from = draw_below(&random_state, BLOCKS);
		u32 end = from + draw_below(&random_state, BLOCKS - from + 1);
		u8 access = draw_below(&random_state, 2) ? GVM_ACCESS_READ : GVM_ACCESS_WRITE;
		u32 expected = from;

		/*
		 * Few holes most of the time, so the search skips words of blocks and words of
		 * the summary.
		 */
		if (draw_below(&random_state, 4))
			page_table_map(&table, VA + block * CHUNK, block, 0, GVM_BLOCK_FULL,
				       true);
		else if (draw_below(&random_state, 2))
			page_table_map(&table, VA + block * CHUNK, block, 0, 1u << block % 32,
				       false);
		else
			page_table_unmap(&table, VA + block * CHUNK, 1u << block % 32);
		while (expected < end &&
		       page_table_accessible(region, expected, access) == GVM_BLOCK_FULL)
			expected++;
		ck_assert_uint_eq(page_table_next_hole(region, access, from, end), expected);
	}
	page_table_destroy(&table);
}
END_TEST

/*
 * Walks over touches of all kinds, compared with a walk over every block. Touches have masks or
 * none, and reach over a region's last block, which is not whole, and past its end.
 */

#define SMALL	300u /* blocks of the region; the last has two pages */
#define TOUCHES 4u

static struct gmmu_touch touches[TOUCHES];
static u32 masks[TOUCHES][SMALL + 8];
static u64 groups[TOUCHES][GMMU_GROUP_WORDS(SMALL + 8)];
static struct gmmu_walk walk = { .table = &table, .touches = touches, .count = TOUCHES };

static void draw_touches(u64 *state)
{
	for (u32 i = 0; i < TOUCHES; i++) {
		u32 first = draw_below(state, SMALL), sparse = draw_below(state, 2);

		for (u32 j = 0; j < SMALL + 8; j++)
			masks[i][j] = draw_below(state, sparse ? 20 : 3) ?
					      0 :
					      1u << draw_below(state, 32);
		gmmu_index_masks(masks[i], SMALL + 8, groups[i]);
		touches[i] = (struct gmmu_touch){
			.va = VA + first * CHUNK,
			.block_count = draw_below(state, SMALL - first + 8),
			.masks = draw_below(state, 3) ? masks[i] : NULL,
			.groups = groups[i],
			.blocks_per_mask = 1 + draw_below(state, 70),
			.access = draw_below(state, 2) ? GVM_ACCESS_READ : GVM_ACCESS_WRITE,
		};
	}
}

/* The pages of block @index that a touch wants. */
static u32 wanted(const struct gmmu_touch *touch, u32 index)
{
	u32 block = (u32)((touch->va - VA) >> GVM_CHUNK_SHIFT) + index;
	u32 mask = touch->masks ? touch->masks[index / touch->blocks_per_mask] : GVM_BLOCK_FULL;

	return block == SMALL - 1 ? mask & 3 : mask;
}

/* The pages of block @index that a touch wants and that are missing. */
static u32 missing(const struct gmmu_touch *touch, u32 index)
{
	const struct page_table_region *region = page_table_find(&table, VA);
	u32 block = (u32)((touch->va - VA) >> GVM_CHUNK_SHIFT) + index;

	if (block >= SMALL)
		return wanted(touch, index);
	return wanted(touch, index) & ~page_table_accessible(region, block, touch->access);
}

/* Compare every miss and every ordinal of the walk. Returns how many blocks are touched. */
static u64 compare_misses(void)
{
	struct gmmu_cursor cursor = { 0 };
	u64 ordinal = 0;

	for (u32 i = 0; i < TOUCHES; i++) {
		for (u32 j = 0; j < touches[i].block_count; j++) {
			if (missing(&touches[i], j)) {
				ck_assert(gmmu_find_miss(&walk, &cursor));
				ck_assert_uint_eq(cursor.touch, i);
				ck_assert_uint_eq(cursor.block, j);
				ck_assert_uint_eq(cursor.ordinal, ordinal);
				cursor.block++;
				cursor.ordinal++;
			}
			ordinal += wanted(&touches[i], j) != 0;
		}
	}
	ck_assert(!gmmu_find_miss(&walk, &cursor));
	ck_assert_uint_eq(cursor.ordinal, ordinal);
	ck_assert_uint_eq(gmmu_count_blocks(&walk), ordinal);
	return ordinal;
}

/*
 * Proves that exactly @target blocks with touched pages lie before the place that gmmu_seek()
 * finds.
 */
static void compare_seek(u64 target)
{
	struct gmmu_cursor cursor = gmmu_seek(&walk, target);
	u64 ordinal = 0;

	ck_assert_uint_eq(cursor.ordinal, target);
	for (u32 i = 0; i < TOUCHES; i++)
		for (u32 j = 0; j < touches[i].block_count; j++)
			if (i < cursor.touch || (i == cursor.touch && j < cursor.block))
				ordinal += wanted(&touches[i], j) != 0;
	ck_assert_uint_eq(ordinal, target);
}

static void compare_find(u32 block, u64 from, u64 end)
{
	struct gmmu_cursor cursor, start = { 0 };
	struct gmmu_span span = { .first = from, .end = end };
	bool found;
	u64 ordinal = 0;

	/* With some of the ordinals the search starts at a later touch. */
	if (from % 2)
		gmmu_seek_from(&walk, &start, from - from % 3);
	span.start = start;
	found = gmmu_find_block(&walk, VA + block * CHUNK, &span, &cursor);
	for (u32 i = 0; i < TOUCHES; i++) {
		u32 first = (u32)((touches[i].va - VA) >> GVM_CHUNK_SHIFT);

		for (u32 j = 0; j < touches[i].block_count; j++) {
			if (first + j == block && wanted(&touches[i], j) && ordinal >= from &&
			    ordinal < end) {
				ck_assert(found);
				ck_assert_uint_eq(cursor.touch, i);
				ck_assert_uint_eq(cursor.block, j);
				ck_assert_uint_eq(cursor.ordinal, ordinal);
				return;
			}
			ordinal += wanted(&touches[i], j) != 0;
		}
	}
	ck_assert(!found);
}

START_TEST(walks_agree_with_a_look_at_every_block)
{
	u64 state = runner_seed();

	page_table_init(&table, NULL);
	ck_assert_int_eq(
		page_table_reserve(&table, VA, (SMALL - 1) * CHUNK + 2 * GVM_PAGE_BYTES), 0);
	for (u32 round = 0; round < 400; round++) {
		u32 holes = draw_below(&state, 40);
		u64 count;

		for (u32 i = 0; i < SMALL; i++) {
			u64 va = VA + i * CHUNK;
			u32 all = page_table_covered(page_table_find(&table, VA), i);

			page_table_map(&table, va, i, 0, all, true);
			if (draw_below(&state, 40) < holes)
				page_table_unmap(&table, va, all & draw_below(&state, U32_MAX));
			else if (draw_below(&state, 40) < holes)
				page_table_map(&table, va, i, 0, all & 5, false);
		}
		draw_touches(&state);
		count = compare_misses();
		for (u32 i = 0; i < 20; i++) {
			compare_seek(draw_below(&state, (u32)count + 1));
			compare_find(draw_below(&state, SMALL),
				     draw_below(&state, (u32)count + 1),
				     draw_below(&state, 2 * (u32)count + 1));
		}
	}
	page_table_destroy(&table);
}
END_TEST

TEST_MAIN("page tables", regions_lie_where_they_are_reserved_and_never_overlap,
	  an_entry_says_what_was_mapped_last,
	  the_next_hole_is_the_first_block_that_lacks_a_page,
	  walks_agree_with_a_look_at_every_block)
