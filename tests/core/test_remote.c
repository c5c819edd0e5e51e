// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * One instruction of a warp that touches more blocks than its container may have chunks: it
 * finishes, with some of its pages mapped in host memory, or its fault is cancelled. Ordinary
 * thrashing maps nothing there.
 */
#include "gvm/control.h"
#include "gvm/swap.h"
#include "runner.h"
#include "toy_gpu.h"

#define CHUNK GVM_CHUNK_BYTES

static struct gvm_container *one;

/* A container that may have @limit chunks, and a range of 8 blocks. */
static struct gvm_range *begin(u64 limit, bool on_host)
{
	toy_init(TOY_CHUNKS);
	one = toy_attach(1);
	gvm_limit_set_high(one, limit * CHUNK);
	return toy_map_range(0, one, 8 * CHUNK, on_host);
}

static void end(void)
{
	toy_unmap_all();
	ck_assert_uint_eq(one->swapped_bytes, 0);
	gvm_container_detach(one);
	toy_destroy();
}

static void expect_tags(u32 first, u32 count, u32 tag)
{
	for (u32 i = first; i < first + count; i++)
		ck_assert(toy_load(0, GVM_PAGES_PER_BLOCK * i, tag + i));
}

static void expect_it_finishes(bool on_host)
{
	begin(2, on_host);
	ck_assert_uint_lt(toy_store_together(0, 0, 5, 100), TOY_REPLAYS_MAX);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 0);
	ck_assert_uint_gt(one->events[GVM_EVENT_REMOTE], 0);
	ck_assert_uint_le(gvm_charged_bytes(one), 2 * CHUNK);
	/* The next one over the same blocks does not start anew. */
	ck_assert_uint_eq(toy_store_together(0, 0, 5, 200), 1);
	expect_tags(0, 5, 200);
	end();
}

START_TEST(an_instruction_over_more_blocks_than_the_limit_finishes)
{
	expect_it_finishes(false);
}
END_TEST

START_TEST(likewise_over_memory_that_begins_on_the_host)
{
	expect_it_finishes(true);
}
END_TEST

/* Even a container that has one chunk. */
START_TEST(one_chunk_is_enough)
{
	begin(1, false);
	ck_assert_uint_lt(toy_store_together(0, 0, 8, 100), TOY_REPLAYS_MAX);
	expect_tags(0, 8, 100);
	end();
}
END_TEST

/*
 * What is in host memory for good counts there: the swapped bytes, and never above the limit.
 */
START_TEST(remote_pages_are_charged_to_hmem_limit)
{
	struct gvm_range *range = begin(2, false);
	u64 remote = 0;

	gvm_limit_set_hmem(one, 6 * CHUNK);
	ck_assert_uint_lt(toy_store_together(0, 0, 5, 100), TOY_REPLAYS_MAX);
	for (u32 i = 0; i < 8; i++) {
		ck_assert_uint_eq(range->blocks[i].remote & ~range->blocks[i].swapped, 0);
		remote += hweight32(range->blocks[i].remote);
	}
	ck_assert_uint_gt(remote, 0);
	ck_assert_uint_ge(one->swapped_bytes, remote * GVM_PAGE_BYTES);
	ck_assert_uint_le(one->swapped_bytes, 6 * CHUNK);
	end();
}
END_TEST

/* Its process gets an error, which is counted, where nothing else is possible. */
START_TEST(without_remote_mappings_the_fault_is_cancelled)
{
	begin(2, false);
	toy.mmu_ops.map_remote = NULL;
	ck_assert_uint_eq(toy_store_together(0, 0, 5, 100), 0);
	ck_assert_uint_eq(one->events[GVM_EVENT_OOM], 1);
	ck_assert_uint_eq(one->events[GVM_EVENT_REMOTE], 0);
	end();
}
END_TEST

START_TEST(a_remote_mapping_that_fails_cancels_the_fault)
{
	begin(2, false);
	toy.fail_remote = -ENOMEM;
	ck_assert_uint_eq(toy_store_together(0, 0, 5, 100), 0);
	ck_assert_uint_eq(one->events[GVM_EVENT_OOM], 1);
	end();
}
END_TEST

/* hmem.limit has no room for the five blocks beside the two on the device. */
START_TEST(a_used_up_hmem_limit_cancels_the_fault)
{
	begin(2, false);
	gvm_limit_set_hmem(one, CHUNK);
	ck_assert_uint_eq(toy_store_together(0, 0, 5, 100), 0);
	ck_assert_uint_ge(one->events[GVM_EVENT_OOM], 1);
	ck_assert_uint_le(one->swapped_bytes, CHUNK);
	end();
}
END_TEST

/* Regression: pages whose data was on the host already asked hmem.limit for room. */
START_TEST(pages_with_data_on_the_host_need_no_room_there)
{
	struct gvm_range *range = begin(2, false);

	ck_assert(toy_store(0, 0, 7));
	ck_assert_int_eq(gvm_control_write(one, "gmem.limit.high", "0", 1), 0);
	ck_assert_uint_eq(one->swapped_bytes, CHUNK);
	gvm_limit_set_hmem(one, CHUNK - 1);
	gvm_mutex_lock(&range->lock);
	ck_assert_int_eq(gvm_block_map_remote_locked(range, 0, 1), 0);
	ck_assert_int_eq(gvm_block_map_remote_locked(range, 1, 1), -EDQUOT);
	gvm_mutex_unlock(&range->lock);
	ck_assert_uint_eq(one->events[GVM_EVENT_HMEM], 1);
	ck_assert(toy_load(0, 0, 7));
	ck_assert_uint_eq(one->swapped_bytes, CHUNK);
	end();
}
END_TEST

START_TEST(as_many_blocks_as_the_limit_has_chunks_need_nothing)
{
	begin(5, false);
	for (u32 i = 0; i < 100; i++) {
		ck_assert_uint_le(toy_store_together(0, 0, 5, i), 4);
		ck_assert_uint_le(toy_store_together(0, 3, 5, i), 4);
	}
	ck_assert_uint_eq(one->events[GVM_EVENT_REMOTE], 0);
	end();
}
END_TEST

/* 8 blocks in turn through 2 chunks: each access finishes before the next one starts. */
START_TEST(ordinary_thrashing_maps_nothing_remote)
{
	begin(2, false);
	for (u32 i = 0; i < 200; i++)
		toy_store_blocks(0, i % 8, 1);
	ck_assert_uint_eq(one->events[GVM_EVENT_REMOTE], 0);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 0);
	end();
}
END_TEST

/* A higher limit brings the pages back to the device with their next accesses. */
START_TEST(remote_pages_end_with_a_write_of_the_limit)
{
	struct gvm_range *range = begin(2, false);

	ck_assert_uint_lt(toy_store_together(0, 0, 5, 100), TOY_REPLAYS_MAX);
	toy_write_file(one, "gmem.limit.high", "16M");
	for (u32 i = 0; i < 8; i++)
		ck_assert_uint_eq(range->blocks[i].remote, 0);
	ck_assert_uint_le(toy_store_together(0, 0, 5, 200), 2);
	for (u32 i = 0; i < 5; i++)
		ck_assert(toy_on_device(0, i));
	expect_tags(0, 5, 200);
	ck_assert_uint_eq(one->swapped_bytes, 0);
	end();
}
END_TEST

/* A block in part remote comes to the device as a whole with a fault on another page. */
START_TEST(a_fault_beside_remote_pages_brings_the_whole_block)
{
	struct gvm_range *range = begin(8, false);

	gvm_mutex_lock(&range->lock);
	ck_assert_int_eq(gvm_block_map_remote_locked(range, 0, 3), 0);
	gvm_mutex_unlock(&range->lock);
	ck_assert_uint_eq(one->swapped_bytes, 2 * GVM_PAGE_BYTES);
	ck_assert(toy_store(0, 0, 100));
	ck_assert(!toy_on_device(0, 0));
	ck_assert(toy_load(0, 2, 0));
	ck_assert(toy_on_device(0, 0));
	ck_assert_uint_eq(range->blocks[0].remote, 0);
	ck_assert_uint_eq(one->swapped_bytes, 0);
	ck_assert(toy_load(0, 0, 100));
	end();
}
END_TEST

START_TEST(a_discarded_remote_page_reads_zero)
{
	struct gvm_range *range = begin(2, false);

	ck_assert_uint_lt(toy_store_together(0, 0, 5, 100), TOY_REPLAYS_MAX);
	gvm_range_discard(range, 0, 8 * CHUNK);
	for (u32 i = 0; i < 5; i++) {
		ck_assert_uint_eq(range->blocks[i].remote, 0);
		ck_assert(toy_load(0, GVM_PAGES_PER_BLOCK * i, 0));
	}
	end();
}
END_TEST

TEST_MAIN("remote", an_instruction_over_more_blocks_than_the_limit_finishes,
	  likewise_over_memory_that_begins_on_the_host, one_chunk_is_enough,
	  remote_pages_are_charged_to_hmem_limit,
	  without_remote_mappings_the_fault_is_cancelled,
	  a_remote_mapping_that_fails_cancels_the_fault, a_used_up_hmem_limit_cancels_the_fault,
	  pages_with_data_on_the_host_need_no_room_there,
	  as_many_blocks_as_the_limit_has_chunks_need_nothing,
	  ordinary_thrashing_maps_nothing_remote, remote_pages_end_with_a_write_of_the_limit,
	  a_fault_beside_remote_pages_brings_the_whole_block,
	  a_discarded_remote_page_reads_zero)
