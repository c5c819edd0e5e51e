// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Clean drop on a GPU of a few chunks with contents and PTEs: pages that were not written leave
 * without a copy, written pages never do, and the books are right to the page.
 */
#include "gvm/clock.h"
#include "gvm/control.h"
#include "gvm/shield.h"
#include "gvm/swap.h"
#include "runner.h"
#include "toy_gpu.h"

#define CHUNK GVM_CHUNK_BYTES
#define PAGE  GVM_PAGE_BYTES

static struct gvm_container *one;

/* A range of @blocks that the CPU has filled: page p holds 5000 + p. */
static struct gvm_range *begin(u32 chunks, u32 blocks)
{
	struct gvm_range *range;
	u32 page;

	toy_init_with(chunks, GVM_CLEAN_DROP);
	one = toy_attach(1);
	range = toy_map_range(0, one, blocks * CHUNK, true);
	for (page = 0; page < 32 * blocks; page++)
		toy.spaces[0].host[page / 32][page % 32] = 5000 + page;
	return range;
}

static void end(void)
{
	toy_unmap_all();
	ck_assert_uint_eq(one->swapped_bytes, 0);
	ck_assert_uint_eq(one->clean_bytes, 0);
	gvm_container_detach(one);
	toy_destroy();
}

static void expect_file(const char *file, u64 bytes)
{
	char text[GVM_CONTROL_TEXT_MAX], expected[32];

	ck_assert_int_gt(gvm_control_read(one, file, text, sizeof(text)), 0);
	scnprintf(expected, sizeof(expected), "%llu\n", bytes);
	ck_assert_str_eq(text, expected);
}

/* Evict all that the container has. */
static void evict_all(void)
{
	gvm_limit_set_high(one, 0);
	ck_assert_int_eq(gvm_reclaim(one), 0);
	ck_assert_uint_eq((one->charged_bytes >> GVM_CHUNK_SHIFT), 0);
	gvm_limit_set_high(one, GVM_NO_LIMIT);
}

START_TEST(what_was_read_leaves_without_a_copy_and_reads_the_same_again)
{
	struct gvm_range *range = begin(4, 2);

	ck_assert(toy_load(0, 3, 5003));
	ck_assert(toy_load(0, 40, 5040));
	ck_assert_uint_eq(range->clean_pages, 64);
	expect_file("gmem.clean.current", 2 * CHUNK);
	expect_file("gmem.swap.current", 0);
	evict_all();
	ck_assert_uint_eq(toy.kinds[TOY_OUT], 0);
	ck_assert_uint_eq(range->clean_pages, 0);
	expect_file("gmem.clean.current", 0);
	expect_file("gmem.swap.current", 2 * CHUNK);
	ck_assert(toy_load(0, 3, 5003));
	ck_assert(toy_load(0, 63, 5063));
	ck_assert_uint_eq(toy.pages[TOY_COPY], 128);
	expect_file("gmem.swap.current", 0);
	end();
}
END_TEST

/* The feature is off by default: a read leaves no copy on the host, and an eviction copies. */
START_TEST(without_the_feature_all_is_copied_out)
{
	struct gvm_range *range;

	toy_init(4);
	one = toy_attach(1);
	range = toy_map_range(0, one, CHUNK, true);
	ck_assert(toy_load(0, 3, 0));
	ck_assert_uint_eq(range->blocks[0].on_host, 0);
	ck_assert_uint_eq(range->clean_pages, 0);
	ck_assert_uint_eq(toy.spaces[0].writable[0], GVM_BLOCK_FULL);
	evict_all();
	ck_assert_uint_eq(toy.pages[TOY_OUT], 32);
	end();
}
END_TEST

/* Advice does for one range what the feature does for all: the other one is copied out. */
START_TEST(a_range_that_is_read_mostly_needs_no_feature)
{
	struct gvm_range *advised, *other;

	toy_init(4);
	one = toy_attach(1);
	advised = toy_map_range(0, one, CHUNK, true);
	other = toy_map_range(1, one, CHUNK, true);
	ck_assert_int_eq(gvm_range_advise(advised, GVM_ADVICE_PREFER_CPU), -EOPNOTSUPP);
	ck_assert_int_eq(gvm_range_advise(advised, GVM_ADVICE_READ_MOSTLY), 0);
	ck_assert(toy_load(0, 3, 0));
	ck_assert(toy_load(1, 3, 0));
	ck_assert_uint_eq(advised->clean_pages, 32);
	ck_assert_uint_eq(other->clean_pages, 0);
	expect_file("gmem.clean.current", CHUNK);
	evict_all();
	ck_assert_uint_eq(toy.pages[TOY_OUT], 32);
	end();
}
END_TEST

/*
 * D23: the write to page 3 causes a second fault without a copy, and the whole block counts as
 * written.
 */
START_TEST(a_write_to_a_clean_block_costs_a_fault_and_is_copied_out)
{
	struct gvm_range *range = begin(4, 1);

	ck_assert(toy_load(0, 3, 5003));
	ck_assert_uint_eq(toy.handler.stats.faults, 1);
	ck_assert(toy_store(0, 3, 77));
	ck_assert_uint_eq(toy.handler.stats.faults, 2);
	ck_assert_uint_eq(toy.pages[TOY_COPY], 32);
	ck_assert_uint_eq(range->clean_pages, 0);
	ck_assert_uint_eq(range->blocks[0].on_host, 0);
	expect_file("gmem.clean.current", 0);
	ck_assert(toy_store(0, 31, 78));
	ck_assert_uint_eq(toy.handler.stats.faults, 2);
	evict_all();
	ck_assert_uint_eq(toy.pages[TOY_OUT], 32);
	ck_assert(toy_load(0, 3, 77));
	ck_assert(toy_load(0, 31, 78));
	ck_assert(toy_load(0, 4, 5004));
	/* Read again, the block is clean again: no further copy out. */
	evict_all();
	ck_assert_uint_eq(toy.pages[TOY_OUT], 32);
	ck_assert(toy_load(0, 3, 77));
	end();
}
END_TEST

START_TEST(a_first_touch_that_writes_is_mapped_writable_at_once)
{
	struct gvm_range *range = begin(4, 1);

	ck_assert(toy_store(0, 9, 1));
	ck_assert_uint_eq(toy.handler.stats.faults, 1);
	ck_assert_uint_eq(toy.spaces[0].writable[0], GVM_BLOCK_FULL);
	ck_assert_uint_eq(range->clean_pages, 0);
	end();
}
END_TEST

/* A read and a write of one block in one batch: the block counts as written. */
START_TEST(the_most_intrusive_access_of_a_batch_decides)
{
	struct gvm_range *range = begin(4, 2);

	toy_fault(0, 1, GVM_ACCESS_READ);
	toy_fault(0, 2, GVM_ACCESS_ATOMIC);
	toy_fault(0, 33, GVM_ACCESS_PREFETCH);
	toy_service_all();
	ck_assert_uint_eq(range->blocks[0].clean, 0);
	ck_assert_uint_eq(range->blocks[1].clean, GVM_BLOCK_FULL);
	end();
}
END_TEST

/*
 * The host has 12 pages of a block. The other 20 exist nowhere. A read promotes the block: 12
 * pages are clean, 20 are cleared. The cleared pages have no other copy, so they are copied
 * out.
 */
START_TEST(of_a_mixture_only_what_is_dirty_is_copied_out)
{
	struct gvm_range *range = begin(4, 1);
	u32 page;

	range->blocks[0].on_host = 0x000fff00;
	ck_assert(toy_load(0, 0, 0));
	ck_assert_uint_eq(range->blocks[0].resident, GVM_BLOCK_FULL);
	ck_assert_uint_eq(range->blocks[0].clean, 0x000fff00);
	ck_assert_uint_eq(toy.spaces[0].readable[0], GVM_BLOCK_FULL);
	ck_assert_uint_eq(toy.spaces[0].writable[0], 0xfff000ff);
	ck_assert(toy_store(0, 31, 9)); /* its PTE permits writes already */
	ck_assert_uint_eq(toy.handler.stats.faults, 1);
	evict_all();
	ck_assert_uint_eq(toy.pages[TOY_OUT], 20);
	ck_assert_uint_eq(toy.kinds[TOY_OUT], 2);
	ck_assert_uint_eq(range->blocks[0].swapped, GVM_BLOCK_FULL);
	for (page = 0; page < 31; page++)
		ck_assert(toy_load(0, page, page >= 8 && page < 20 ? 5000 + page : 0));
	ck_assert(toy_load(0, 31, 9));
	end();
}
END_TEST

/* The victim was clean when picked. It is written before the eviction has the block's lock. */
static void write_to_the_victim(u32 chunk)
{
	(void)chunk;
	toy.on_evict = NULL;
	ck_assert(toy_store(0, 5, 4711));
}

START_TEST(a_write_between_pick_and_eviction_is_not_lost)
{
	begin(4, 1);
	ck_assert(toy_load(0, 5, 5005));
	toy.on_evict = write_to_the_victim;
	evict_all();
	ck_assert_uint_eq(toy.pages[TOY_OUT], 32);
	ck_assert(toy_load(0, 5, 4711));
	end();
}
END_TEST

/* The copy out of the dirty pages fails: all pages are mapped again, each as before. */
START_TEST(an_eviction_that_fails_leaves_clean_pages_clean)
{
	struct gvm_eviction eviction = { 0 };
	struct gvm_range *range = begin(4, 1);
	u32 chunk;

	range->blocks[0].on_host = 0x0000ffff;
	ck_assert(toy_load(0, 0, 5000));
	ck_assert(toy_store(0, 20, 6));
	toy.fail_out = 1;
	chunk = gvm_clock_pick_own(one);
	if (chunk == GVM_NO_CHUNK) /* the first turn clears its bit */
		chunk = gvm_clock_pick_own(one);
	ck_assert_int_eq(toy.device.memory_ops->evict(&toy.memory, chunk, &eviction), -EIO);
	ck_assert_uint_eq(range->blocks[0].clean, 0x0000ffff);
	ck_assert_uint_eq(range->clean_pages, 16);
	ck_assert_uint_eq(toy.spaces[0].readable[0], GVM_BLOCK_FULL);
	ck_assert_uint_eq(toy.spaces[0].writable[0], 0xffff0000);
	expect_file("gmem.clean.current", 16 * PAGE);
	expect_file("gmem.swap.current", 0);
	ck_assert(toy_load(0, 0, 5000));
	ck_assert(toy_load(0, 20, 6));
	end();
}
END_TEST

/* A dropped page is on the host already, even while another copy out is in flight. */
START_TEST(what_was_dropped_is_not_waited_for)
{
	begin(4, 1);
	ck_assert(toy_load(0, 0, 5000));
	toy.out_in_flight = true;
	evict_all();
	ck_assert(toy_load(0, 0, 5000));
	ck_assert_uint_eq(toy.host_waits, 0);
	/* A page that was copied out is waited for. */
	ck_assert(toy_store(0, 0, 1));
	evict_all();
	ck_assert(toy_load(0, 0, 1));
	ck_assert_uint_eq(toy.host_waits, 1);
	end();
}
END_TEST

START_TEST(a_range_that_goes_takes_its_clean_copies_along)
{
	begin(4, 3);
	ck_assert(toy_load(0, 0, 5000));
	ck_assert(toy_load(0, 70, 5070));
	expect_file("gmem.clean.current", 2 * CHUNK);
	toy_unmap_range(0);
	expect_file("gmem.clean.current", 0);
	end();
}
END_TEST

/* The third copy does not fit, so its page is written out later, as without the feature. */
START_TEST(copies_count_against_hmem_limit)
{
	begin(4, 3);
	gvm_limit_set_hmem(one, 2 * CHUNK);
	for (u32 i = 0; i < 3; i++)
		ck_assert(toy_load(0, 32 * i, 5000 + 32 * i));
	ck_assert_uint_eq(one->clean_bytes, 2 * CHUNK);
	ck_assert_uint_eq(one->swapped_bytes, 0);
	ck_assert(one->is_swap_full);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	/* A write gives its copy's place back. */
	ck_assert(toy_store(0, 0, 1));
	ck_assert_uint_eq(one->clean_bytes, CHUNK);
	ck_assert(!one->is_swap_full);
	end();
}
END_TEST

/* Copies never keep a container from making room: its clean chunks go without a copy. */
START_TEST(copies_that_fill_the_limit_cost_no_fault)
{
	begin(4, 4);
	gvm_limit_set_hmem(one, 2 * CHUNK);
	gvm_limit_set_high(one, 2 * CHUNK);
	for (u32 i = 0; i < 4; i++) {
		ck_assert(toy_load(0, 32 * (i % 3), 5000 + 32 * (i % 3)));
		ck_assert_uint_le(one->clean_bytes + one->swapped_bytes, 2 * CHUNK);
	}
	ck_assert_uint_eq(toy.handler.stats.cancelled, 0);
	ck_assert_uint_eq(toy.kinds[TOY_OUT], 0);
	ck_assert_uint_eq(one->events[GVM_EVENT_HMEM], 0);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	end();
}
END_TEST

/*
 * A page that becomes dirty after its chunk was picked has its place on the host all the same.
 */
START_TEST(a_write_to_a_picked_chunk_keeps_its_place)
{
	struct gvm_eviction eviction = { 0 };
	u32 chunk;

	begin(4, 2);
	gvm_limit_set_hmem(one, CHUNK);
	ck_assert(toy_load(0, 0, 5000));
	ck_assert(one->is_swap_full);
	chunk = gvm_clock_pick_own(one);
	ck_assert(chunk != GVM_NO_CHUNK);
	ck_assert_uint_eq(gvm_container_host_bytes(one), CHUNK);
	ck_assert(toy_store(0, 0, 1));
	ck_assert_uint_eq(gvm_container_host_bytes(one), CHUNK);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	ck_assert_int_eq(gvm_block_evict(&toy.memory, chunk, &eviction), 0);
	ck_assert_uint_eq(one->swapped_bytes, CHUNK);
	ck_assert_uint_eq(one->evicting_clean_bytes, 0);
	ck_assert(toy_load(0, 0, 1));
	end();
}
END_TEST

TEST_MAIN("clean drop", copies_count_against_hmem_limit,
	  copies_that_fill_the_limit_cost_no_fault, a_write_to_a_picked_chunk_keeps_its_place,
	  what_was_read_leaves_without_a_copy_and_reads_the_same_again,
	  without_the_feature_all_is_copied_out, a_range_that_is_read_mostly_needs_no_feature,
	  a_write_to_a_clean_block_costs_a_fault_and_is_copied_out,
	  a_first_touch_that_writes_is_mapped_writable_at_once,
	  the_most_intrusive_access_of_a_batch_decides,
	  of_a_mixture_only_what_is_dirty_is_copied_out,
	  a_write_between_pick_and_eviction_is_not_lost,
	  an_eviction_that_fails_leaves_clean_pages_clean, what_was_dropped_is_not_waited_for,
	  a_range_that_goes_takes_its_clean_copies_along)
