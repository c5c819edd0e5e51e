// SPDX-License-Identifier: MIT OR GPL-2.0
/* The simulated GMMU: it finds misses and reports them in the ring of the fault buffer. */
#include "runner.h"
#include "uvm/gmmu.h"

#define VA 0x700000000000ull

/* Six blocks; the last has four pages. Nothing is mapped. */
static struct page_table table;

static void set_up_range(void)
{
	page_table_init(&table, NULL);
	ck_assert_int_eq(
		page_table_reserve(&table, VA, 5 * GVM_CHUNK_BYTES + 4 * GVM_PAGE_BYTES), 0);
}

static void map(u32 block, u32 pages)
{
	page_table_map(&table, VA + block * GVM_CHUNK_BYTES, block, 0, pages, true);
}

/* A walk over @count touches in the address space of the test. */
#define WALK(touches_, count_) \
	(&(struct gmmu_walk){ .table = &table, .touches = touches_, .count = count_ })

START_TEST(a_miss_is_found_at_the_first_block_that_lacks_a_touched_page)
{
	static const u32 masks[] = { 0x1, 0x0, 0x8 };
	static const u64 groups[] = { 0x5 };
	struct gmmu_touch touch = { .va = VA,
				    .block_count = 6,
				    .masks = masks,
				    .groups = groups,
				    .blocks_per_mask = 2 };
	struct gmmu_cursor cursor = { 0 };

	/* Touched: page 0 of blocks 0 and 1, nothing of 2 and 3, page 3 of 4 and 5. */
	set_up_range();
	ck_assert_uint_eq(gmmu_count_blocks(WALK(&touch, 1)), 4);
	map(0, 0x1);
	map(1, 0xff);
	map(4, 0x8);
	ck_assert(!gmmu_all_resident(WALK(&touch, 1)));
	ck_assert(gmmu_find_miss(WALK(&touch, 1), &cursor));
	ck_assert_uint_eq(cursor.block, 5);
	ck_assert_uint_eq(cursor.ordinal, 3);
	map(5, 0x8);
	ck_assert(!gmmu_find_miss(WALK(&touch, 1), &cursor));
}
END_TEST

/* First, pages of block 1 are read-only. Then block 2 lacks a page. */
START_TEST(what_the_ptes_do_not_permit_is_a_miss)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 2 };
	struct gmmu_cursor cursor = { 0 };

	set_up_range();
	for (u32 i = 0; i < 6; i++)
		map(i, i < 5 ? GVM_BLOCK_FULL : 0xf);
	page_table_map(&table, VA + GVM_CHUNK_BYTES, 1, 0, 0xff, false);
	touch.access = GVM_ACCESS_READ;
	ck_assert(gmmu_all_resident(WALK(&touch, 1)));
	ck_assert(!gmmu_find_miss(WALK(&touch, 1), &cursor));
	touch.access = GVM_ACCESS_WRITE;
	cursor = (struct gmmu_cursor){ 0 };
	ck_assert(!gmmu_all_resident(WALK(&touch, 1)));
	ck_assert(gmmu_find_miss(WALK(&touch, 1), &cursor));
	ck_assert_uint_eq(cursor.block, 1);
	page_table_unmap(&table, VA + 2 * GVM_CHUNK_BYTES, 1);
	touch = (struct gmmu_touch){ .va = VA, .block_count = 6, .access = GVM_ACCESS_READ };
	cursor = (struct gmmu_cursor){ 0 };
	ck_assert(!gmmu_all_resident(WALK(&touch, 1)));
	ck_assert(gmmu_find_miss(WALK(&touch, 1), &cursor));
	ck_assert_uint_eq(cursor.block, 2);
}
END_TEST

START_TEST(what_was_resident_is_looked_at_again_once_pages_are_lost)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 2, .access = GVM_ACCESS_WRITE };
	struct gmmu_walk walk = { .table = &table, .touches = &touch, .count = 1 };

	set_up_range();
	for (u32 i = 0; i < 6; i++)
		map(i, i < 5 ? GVM_BLOCK_FULL : 0xf);
	ck_assert(gmmu_all_resident(&walk));
	page_table_unmap(&table, VA, 1);
	ck_assert(!gmmu_all_resident(&walk));
	map(0, 1);
	ck_assert(gmmu_all_resident(&walk));
	page_table_map(&table, VA, 0, 0, 1, false);
	ck_assert(!gmmu_all_resident(&walk));
	map(0, 1);
	ck_assert(gmmu_all_resident(&walk));
	page_table_release(&table, VA);
	ck_assert(!gmmu_all_resident(&walk));
}
END_TEST

/* The first place at or after ordinal @first, before @end, where a block is touched. */
static bool find(const struct gmmu_walk *walk, u32 block, u64 first, u64 end,
		 struct gmmu_cursor *ret_cursor)
{
	const struct gmmu_span span = { .first = first, .end = end };

	return gmmu_find_block(walk, VA + block * GVM_CHUNK_BYTES, &span, ret_cursor);
}

/* A window over all blocks and their pages, for up to @pages faults. */
static const struct gmmu_window *window(u32 pages)
{
	static struct gmmu_window all;

	all = (struct gmmu_window){ .end_ordinal = U64_MAX,
				    .faults = pages,
				    .pages_per_block = GVM_PAGES_PER_BLOCK,
				    .faults_per_page = 1 };
	return &all;
}

START_TEST(reported_misses_look_ahead_up_to_the_outstanding_pages)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 6, .access = GVM_ACCESS_WRITE };
	struct gvm_fault faults[64];
	struct gmmu gmmu;

	/*
	 * Block 0 lacks 2 pages, block 5 has only 4, the others lack all. The first four rounds
	 * report 6, 6, 5 and 5 pages, later rounds 4. The last 2 of the 40 are page 8 of blocks
	 * 1 and 2.
	 */
	set_up_range();
	map(0, 0x3fffffff);
	ck_assert_int_eq(gmmu_init(&gmmu, 64), 0);
	ck_assert_uint_eq(gmmu_report(&gmmu, 9, WALK(&touch, 1), (struct gmmu_cursor){ 0 },
				      window(40)),
			  40);
	ck_assert_uint_eq(gmmu_fetch(&gmmu, faults, 64), 40);
	ck_assert_uint_eq(faults[0].va, VA + 30 * GVM_PAGE_BYTES);
	ck_assert_uint_eq(faults[1].va, VA + GVM_CHUNK_BYTES);
	ck_assert_uint_eq(faults[6].va, VA + 31 * GVM_PAGE_BYTES);
	ck_assert_uint_eq(faults[7].va, VA + GVM_CHUNK_BYTES + GVM_PAGE_BYTES);
	ck_assert_uint_eq(faults[39].va, VA + 2 * GVM_CHUNK_BYTES + 8 * GVM_PAGE_BYTES);
	ck_assert_uint_eq(faults[39].tsg, 9);
	ck_assert_uint_eq(faults[39].access, GVM_ACCESS_WRITE);
	gmmu_destroy(&gmmu);
}
END_TEST

START_TEST(a_page_that_many_threads_miss_is_reported_as_often_as_there_is_room)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 6 };
	struct gmmu_window four_threads = {
		.end_ordinal = U64_MAX, .faults = 30, .pages_per_block = 1, .faults_per_page = 4
	};
	struct gvm_fault faults[64];
	struct gmmu gmmu;

	set_up_range();
	ck_assert_int_eq(gmmu_init(&gmmu, 22), 0);
	ck_assert_uint_eq(gmmu_report(&gmmu, 9, WALK(&touch, 1), (struct gmmu_cursor){ 0 },
				      &four_threads),
			  22);
	ck_assert_uint_eq(gmmu_fetch(&gmmu, faults, 64), 22);
	for (u32 i = 0; i < 22; i++)
		ck_assert_uint_eq(faults[i].va, VA + i / 4 * GVM_CHUNK_BYTES);
	gmmu_destroy(&gmmu);
}
END_TEST

START_TEST(a_stall_reports_one_kernel_and_so_many_pages_of_a_block)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 6 };
	struct gmmu_window three_blocks = {
		.end_ordinal = 4, .faults = 100, .pages_per_block = 2, .faults_per_page = 1
	};
	struct gvm_fault faults[64];
	struct gmmu gmmu;

	/*
	 * Block 0 is mapped, and block 1 lacks one page. The kernel at block 1 ends with block
	 * 3.
	 */
	set_up_range();
	map(0, GVM_BLOCK_FULL);
	map(1, 0x7fffffff);
	ck_assert_int_eq(gmmu_init(&gmmu, 64), 0);
	ck_assert_uint_eq(gmmu_report(&gmmu, 9, WALK(&touch, 1), (struct gmmu_cursor){ 0 },
				      &three_blocks),
			  5);
	ck_assert_uint_eq(gmmu_fetch(&gmmu, faults, 64), 5);
	ck_assert_uint_eq(faults[0].va, VA + 63 * GVM_PAGE_BYTES);
	ck_assert_uint_eq(faults[1].va, VA + 64 * GVM_PAGE_BYTES);
	ck_assert_uint_eq(faults[2].va, VA + 96 * GVM_PAGE_BYTES);
	ck_assert_uint_eq(faults[3].va, VA + 65 * GVM_PAGE_BYTES);
	ck_assert_uint_eq(faults[4].va, VA + 97 * GVM_PAGE_BYTES);
	gmmu_destroy(&gmmu);
}
END_TEST

/*
 * A page has two addresses that miss: so 70 records are all pages of block
 * 0 and three of block 1.
 */
START_TEST(a_kernel_in_order_reports_all_pages_of_a_block_before_the_next)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 6 };
	struct gmmu_window in_order = { .end_ordinal = U64_MAX,
					.faults = 70,
					.pages_per_block = GVM_PAGES_PER_BLOCK,
					.faults_per_page = 2,
					.in_order = true };
	struct gvm_fault faults[80];
	struct gmmu gmmu;

	set_up_range();
	ck_assert_int_eq(gmmu_init(&gmmu, 80), 0);
	ck_assert_uint_eq(gmmu_report(&gmmu, 9, WALK(&touch, 1), (struct gmmu_cursor){ 0 },
				      &in_order),
			  70);
	ck_assert_uint_eq(gmmu_fetch(&gmmu, faults, 80), 70);
	for (u32 i = 0; i < 70; i++)
		ck_assert_uint_eq(faults[i].va, VA + i / 2 * GVM_PAGE_BYTES);
	gmmu_destroy(&gmmu);
}
END_TEST

/* Block 0 is of a matrix with three rows in a page, block 1 is none of one. */
START_TEST(a_matrix_misses_in_a_page_once_for_each_row)
{
	struct gmmu_touch touches[] = { { .va = VA, .block_count = 1, .rows_per_page = 3 },
					{ .va = VA + GVM_CHUNK_BYTES, .block_count = 1 } };
	struct gmmu_window window = { .end_ordinal = U64_MAX,
				      .faults = 19,
				      .pages_per_block = GVM_PAGES_PER_BLOCK,
				      .faults_per_page = 16 };
	struct gvm_fault faults[32];
	struct gmmu gmmu;

	set_up_range();
	ck_assert_int_eq(gmmu_init(&gmmu, 32), 0);
	ck_assert_uint_eq(gmmu_report(&gmmu, 9, WALK(touches, 2), (struct gmmu_cursor){ 0 },
				      &window),
			  19);
	ck_assert_uint_eq(gmmu_fetch(&gmmu, faults, 32), 19);
	for (u32 i = 0; i < 19; i++)
		ck_assert_uint_eq(faults[i].va, VA + (i < 3 ? 0 : GVM_CHUNK_BYTES));
	gmmu_destroy(&gmmu);
}
END_TEST

/* Report, and expect so many faults on these pages, each @rows times. */
static void expect_product(struct gmmu *gmmu, const struct gmmu_walk *walk,
			   const struct gmmu_window *window, u32 rows, const u32 *pages,
			   u32 count)
{
	struct gmmu_cursor cursor = { 0 };
	struct gvm_fault faults[64];

	ck_assert(gmmu_find_miss(walk, &cursor));
	ck_assert_uint_eq(gmmu_report(gmmu, 9, walk, cursor, window), rows * count);
	ck_assert_uint_eq(gmmu_fetch(gmmu, faults, 64), rows * count);
	for (u32 i = 0; i < rows * count; i++)
		ck_assert_uint_eq(faults[i].va, VA + pages[i / rows] * GVM_PAGE_BYTES);
}

/*
 * A matrix of two blocks with four rows in a page: each of four SMs has 64 rows, 16 pages. A
 * report of eight has two rows of each of them. In the next one half of the faults come again,
 * and two SMs have new ones.
 */
START_TEST(sms_of_a_product_miss_in_rows_of_their_own_and_some_faults_come_again)
{
	struct gmmu_touch matrix = {
		.va = VA, .block_count = 2, .kernels = 1, .rows_per_page = 4
	};
	struct gmmu_window window = {
		.end_ordinal = U64_MAX, .faults = 8, .sms = 4, .faults_per_sm = 2
	};
	const u32 all[] = { 0, 16, 32, 48 };
	const u32 turn[] = { 1, 17, 33, 48 };
	const u32 again[] = { 1, 17, 2, 18 };
	struct gmmu gmmu;

	set_up_range();
	ck_assert_int_eq(gmmu_init(&gmmu, 64), 0);
	expect_product(&gmmu, WALK(&matrix, 1), &window, 2, all, 4);
	map(0, 1 | 1 << 16);
	map(1, 1);
	expect_product(&gmmu, WALK(&matrix, 1), &window, 2, turn, 4);
	/* Half of it are the first two of the report before. */
	window.again_ppm = 500000;
	map(0, 3 | 3 << 16);
	map(1, 3);
	expect_product(&gmmu, WALK(&matrix, 1), &window, 2, again, 4);
	gmmu_destroy(&gmmu);
}
END_TEST

/* Memory may be freed between two products: faults on it would end the context. */
START_TEST(faults_on_freed_memory_do_not_come_again)
{
	struct gmmu_touch matrix = {
		.va = VA, .block_count = 2, .kernels = 1, .rows_per_page = 4
	};
	struct gmmu_window window = { .end_ordinal = U64_MAX,
				      .faults = 8,
				      .sms = 4,
				      .faults_per_sm = 2,
				      .again_ppm = 500000 };
	const u32 first[] = { 0, 16 };
	const u32 second[] = { 32, 48 };
	struct gmmu gmmu;

	set_up_range();
	ck_assert_int_eq(gmmu_init(&gmmu, 64), 0);
	expect_product(&gmmu, WALK(&matrix, 1), &window, 2, first, 2);
	page_table_release(&table, VA);
	expect_product(&gmmu, WALK(&matrix, 1), &window, 2, second, 2);
	gmmu_destroy(&gmmu);
}
END_TEST

/* Block 0 alone: only SMs 0 and 1 have rows in it. */
START_TEST(a_product_that_is_stuck_reports_one_block)
{
	struct gmmu_touch matrix = {
		.va = VA, .block_count = 2, .kernels = 1, .rows_per_page = 4
	};
	struct gmmu_window window = {
		.end_ordinal = 1, .faults = 8, .sms = 4, .faults_per_sm = 2
	};
	const u32 pages[] = { 0, 16 };
	struct gmmu gmmu;

	set_up_range();
	ck_assert_int_eq(gmmu_init(&gmmu, 64), 0);
	expect_product(&gmmu, WALK(&matrix, 1), &window, 2, pages, 2);
	gmmu_destroy(&gmmu);
}
END_TEST

START_TEST(places_in_a_list_are_found_by_ordinal_and_by_block)
{
	static const u32 masks[] = { 1, 0, 1 };
	static const u64 groups[] = { 0x5 };
	struct gmmu_touch touches[] = {
		{ .va = VA + 4 * GVM_CHUNK_BYTES, .block_count = 2 },
		/* Blocks 0 to 5 by two: 0, 1, 4 and 5 are touched. */
		{ .va = VA,
		  .block_count = 6,
		  .masks = masks,
		  .groups = groups,
		  .blocks_per_mask = 2 },
	};
	struct gmmu_cursor cursor, start = { 0 };

	set_up_range();
	ck_assert_uint_eq(gmmu_count_blocks(WALK(touches, 2)), 6);
	cursor = gmmu_seek(WALK(touches, 2), 1);
	ck_assert(cursor.touch == 0 && cursor.block == 1 && cursor.ordinal == 1);
	cursor = gmmu_seek(WALK(touches, 2), 4);
	ck_assert(cursor.touch == 1 && cursor.ordinal == 4);
	ck_assert(cursor.block == 2 || cursor.block == 4);
	cursor = gmmu_seek(WALK(touches, 2), 6);
	ck_assert_uint_eq(cursor.ordinal, 6);
	/* From where the last look-up was, forward and back, every place is the same. */
	for (u64 i = 0; i < 14; i++) {
		static const u64 places[] = { 0, 1, 4, 5, 6, 3, 2 };
		u64 place = places[i % ARRAY_SIZE(places)];
		struct gmmu_cursor wanted = gmmu_seek(WALK(touches, 2), place);

		cursor = gmmu_seek_from(WALK(touches, 2), &start, place);
		ck_assert_uint_eq(cursor.touch, wanted.touch);
		ck_assert_uint_eq(cursor.block, wanted.block);
		ck_assert_uint_eq(cursor.ordinal, wanted.ordinal);
		ck_assert_uint_eq(start.block, 0);
	}
	/* Block 4 is touched as the first block, and again as the fifth. */
	ck_assert(find(WALK(touches, 2), 4, 0, U64_MAX, &cursor));
	ck_assert(cursor.touch == 0 && cursor.block == 0 && cursor.ordinal == 0);
	ck_assert(find(WALK(touches, 2), 4, 1, U64_MAX, &cursor));
	ck_assert(cursor.touch == 1 && cursor.block == 4 && cursor.ordinal == 4);
	ck_assert(!find(WALK(touches, 2), 4, 1, 4, &cursor));
	ck_assert(!find(WALK(touches, 2), 4, 5, U64_MAX, &cursor));
	ck_assert(!find(WALK(touches, 2), 2, 0, U64_MAX, &cursor));
}
END_TEST

/* 192 groups fill three words, 200 begin a fourth. A third of them are touched. */
START_TEST(ranks_of_groups_change_no_place)
{
	static u32 masks[200];
	static u64 groups[4];
	static u32 ranks[5];
	struct gmmu_touch touch = { .va = VA + (1ull << 40),
				    .kernels = 7,
				    .masks = masks,
				    .groups = groups,
				    .blocks_per_mask = 1 };

	set_up_range();
	for (u32 i = 0; i < 200; i++)
		masks[i] = i * 7 % 11 < 4;
	gmmu_index_masks(masks, 200, groups);
	for (u32 i = 0; i < 4; i++)
		ranks[i + 1] = ranks[i] + (u32)__builtin_popcountll(groups[i]);
	for (u32 count = 190; count <= 200; count++) {
		struct gmmu_touch ranked = touch;

		touch.block_count = ranked.block_count = count;
		ranked.ranks = ranks;
		for (u64 i = 0; i <= gmmu_count_blocks(WALK(&touch, 1)); i++) {
			struct gmmu_cursor plain = gmmu_seek(WALK(&touch, 1), i);
			struct gmmu_cursor fast = gmmu_seek(WALK(&ranked, 1), i);
			struct gmmu_footprint wanted =
				gmmu_kernel_footprint(WALK(&touch, 1), &plain);
			struct gmmu_footprint found =
				gmmu_kernel_footprint(WALK(&ranked, 1), &fast);

			ck_assert_uint_eq(fast.block, plain.block);
			ck_assert_uint_eq(fast.ordinal, plain.ordinal);
			ck_assert_uint_eq(found.first, wanted.first);
			ck_assert_uint_eq(found.end, wanted.end);
		}
	}
}
END_TEST

/* By ordinal: 3 and 2 of five blocks, none of the next run, and one by one of four. */
START_TEST(kernels_touch_equal_parts_of_a_run)
{
	static const u32 masks[] = { 0x1, 0x0, 0x8 };
	static const u64 groups[] = { 0x5 };
	struct gmmu_touch touches[] = {
		{ .va = VA, .block_count = 5, .kernels = 2 },
		{ .va = VA, .block_count = 3 },
		{ .va = VA,
		  .block_count = 6,
		  .kernels = 9,
		  .masks = masks,
		  .groups = groups,
		  .blocks_per_mask = 2 },
	};
	static const struct gmmu_footprint expected[] = {
		{ 0, 3 }, { 0, 3 }, { 0, 3 },  { 3, 5 },   { 3, 5 },   { 5, 5 },   { 6, 6 },
		{ 7, 7 }, { 8, 9 }, { 9, 10 }, { 10, 11 }, { 11, 12 }, { 12, 12 },
	};
	const struct gmmu_walk *walk = WALK(touches, 3);

	set_up_range();
	for (u64 i = 0; i < ARRAY_SIZE(expected); i++) {
		struct gmmu_cursor cursor = gmmu_seek(walk, i);
		struct gmmu_footprint footprint = gmmu_kernel_footprint(walk, &cursor);

		ck_assert_uint_eq(footprint.first, expected[i].first);
		ck_assert_uint_eq(footprint.end, expected[i].end);
	}
}
END_TEST

START_TEST(a_full_buffer_takes_no_more_and_its_ring_wraps)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 6 };
	struct gvm_fault faults[16];
	struct gmmu gmmu;

	set_up_range();
	ck_assert_int_eq(gmmu_init(&gmmu, 10), 0);
	for (int i = 0; i < 5; i++) {
		ck_assert_uint_eq(gmmu_report(&gmmu, 1, WALK(&touch, 1),
					      (struct gmmu_cursor){ 0 }, window(7)),
				  7);
		ck_assert_uint_eq(gmmu_report(&gmmu, 1, WALK(&touch, 1),
					      (struct gmmu_cursor){ 0 }, window(7)),
				  3);
		ck_assert_uint_eq(gmmu_fetch(&gmmu, faults, 6), 6);
		ck_assert_uint_eq(gmmu_fetch(&gmmu, faults, 16), 4);
		ck_assert(!gmmu_pending(&gmmu));
	}
	gmmu_report(&gmmu, 1, WALK(&touch, 1), (struct gmmu_cursor){ 0 }, window(7));
	gmmu_flush(&gmmu);
	ck_assert(!gmmu_pending(&gmmu));
	gmmu_destroy(&gmmu);
}
END_TEST

START_TEST(the_ring_goes_on_past_four_billion_records)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 1 };
	struct gvm_fault faults[16];
	struct gmmu gmmu;

	set_up_range();
	ck_assert_int_eq(gmmu_init(&gmmu, 10), 0);
	gmmu.get = gmmu.put = 0xfffffffd;
	ck_assert_uint_eq(gmmu_report(&gmmu, 1, WALK(&touch, 1), (struct gmmu_cursor){ 0 },
				      window(9)),
			  9);
	ck_assert_uint_eq(gmmu_fetch(&gmmu, faults, 16), 9);
	for (u32 i = 0; i < 9; i++)
		ck_assert_uint_eq(faults[i].va, VA + i * GVM_PAGE_BYTES);
	gmmu_destroy(&gmmu);
}
END_TEST

START_TEST(a_space_that_goes_away_takes_its_records_and_no_others)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 6 };
	struct gvm_fault faults[16];
	struct gmmu gmmu;
	int here, gone;

	set_up_range();
	ck_assert_int_eq(gmmu_init(&gmmu, 16), 0);
	table.space = &here;
	gmmu_report(&gmmu, 1, WALK(&touch, 1), (struct gmmu_cursor){ 0 }, window(3));
	table.space = &gone;
	gmmu_report(&gmmu, 2, WALK(&touch, 1), (struct gmmu_cursor){ 0 }, window(5));
	table.space = &here;
	gmmu_report(&gmmu, 1, WALK(&touch, 1), (struct gmmu_cursor){ 0 }, window(2));
	gmmu_drop(&gmmu, &gone);
	ck_assert_uint_eq(gmmu_fetch(&gmmu, faults, 16), 5);
	for (u32 i = 0; i < 5; i++)
		ck_assert_ptr_eq(faults[i].space, &here);
	gmmu_destroy(&gmmu);
}
END_TEST

TEST_MAIN("gmmu", a_miss_is_found_at_the_first_block_that_lacks_a_touched_page,
	  what_the_ptes_do_not_permit_is_a_miss,
	  what_was_resident_is_looked_at_again_once_pages_are_lost,
	  reported_misses_look_ahead_up_to_the_outstanding_pages,
	  a_stall_reports_one_kernel_and_so_many_pages_of_a_block,
	  a_page_that_many_threads_miss_is_reported_as_often_as_there_is_room,
	  a_kernel_in_order_reports_all_pages_of_a_block_before_the_next,
	  a_matrix_misses_in_a_page_once_for_each_row,
	  sms_of_a_product_miss_in_rows_of_their_own_and_some_faults_come_again,
	  faults_on_freed_memory_do_not_come_again, a_product_that_is_stuck_reports_one_block,
	  places_in_a_list_are_found_by_ordinal_and_by_block, ranks_of_groups_change_no_place,
	  kernels_touch_equal_parts_of_a_run, a_full_buffer_takes_no_more_and_its_ring_wraps,
	  the_ring_goes_on_past_four_billion_records,
	  a_space_that_goes_away_takes_its_records_and_no_others)
