// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * hmem.limit, discarding and unevictable memory end to end, on a GPU of a few chunks with
 * contents. The tests count exactly which container pays when the host takes no more, and that
 * no other container notices.
 */
#include "gvm/clock.h"
#include "gvm/control.h"
#include "runner.h"
#include "toy_pair.h"

static void expect_events(const struct gvm_container *container, u64 high, u64 hmem, u64 oom)
{
	ck_assert_uint_eq(container->events[GVM_EVENT_HIGH], high);
	ck_assert_uint_eq(container->events[GVM_EVENT_HMEM], hmem);
	ck_assert_uint_eq(container->events[GVM_EVENT_OOM], oom);
}

/*
 * Four blocks fit on the device and two on the host. The seventh finds no room. Its fault is
 * cancelled, after one refusal at gmem.limit.high and one at hmem.limit. The other blocks are
 * intact.
 */
START_TEST(who_has_filled_device_and_host_dies_and_nobody_else)
{
	begin(16);
	toy_write_file(one, "gmem.limit.high", "8M");
	toy_write_file(one, "hmem.limit", "4M");
	toy_map_range(0, one, 8 * CHUNK, false);
	toy_map_range(1, two, 8 * CHUNK, false);
	toy_store_blocks(1, 0, 4);
	toy_store_blocks(0, 0, 6);
	expect_events(one, 2, 0, 0);
	ck_assert_uint_eq(one->swapped_bytes, 2 * CHUNK);
	ck_assert(!toy_store(0, 32 * 6, 1));
	expect_events(one, 3, 1, 1);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 1);
	ck_assert_uint_eq(one->swapped_bytes, 2 * CHUNK);
	ck_assert_uint_eq(toy.pages[TOY_OUT], 2 * 32);
	toy_load_blocks(0, 2, 4);
	toy_store_blocks(1, 4, 4);
	toy_load_blocks(1, 0, 8);
	expect_events(two, 0, 0, 0);
	end();
}
END_TEST

START_TEST(zero_switches_swapping_off)
{
	begin(8);
	toy_write_file(one, "hmem.limit", "0");
	toy_write_file(one, "gmem.limit.high", "4M");
	toy_map_range(0, one, 3 * CHUNK, false);
	toy_store_blocks(0, 0, 2);
	ck_assert(!toy_store(0, 64, 1));
	expect_events(one, 1, 1, 1);
	ck_assert_uint_eq(toy.kinds[TOY_OUT], 0);
	ck_assert_uint_eq(one->evicted_chunks, 0);
	toy_load_blocks(0, 0, 2);
	end();
}
END_TEST

/*
 * On a full device, a container that may not swap keeps its chunks, and the other one pays for
 * both.
 */
START_TEST(on_a_full_device_those_with_room_on_the_host_pay)
{
	begin(8);
	toy_write_file(one, "hmem.limit", "0");
	toy_map_range(0, one, 6 * CHUNK, false);
	toy_map_range(1, two, 8 * CHUNK, false);
	toy_store_blocks(0, 0, 4);
	toy_store_blocks(1, 0, 8);
	ck_assert_uint_eq(one->evicted_chunks, 0);
	ck_assert_uint_eq(two->evicted_chunks, 4);
	toy_store_blocks(0, 4, 2);
	ck_assert_uint_eq((one->charged_bytes >> GVM_CHUNK_SHIFT), 6);
	ck_assert_uint_eq((two->charged_bytes >> GVM_CHUNK_SHIFT), 2);
	toy_load_blocks(1, 0, 8);
	toy_load_blocks(0, 0, 6);
	expect_events(one, 0, 0, 0);
	end();
}
END_TEST

START_TEST(on_a_device_full_of_what_may_not_go_the_newcomer_dies)
{
	begin(4);
	toy_write_file(one, "hmem.limit", "0");
	toy_map_range(1, two, CHUNK, false);
	toy_fill(0, one, 4);
	ck_assert(!toy_store(1, 0, 1));
	expect_events(one, 0, 0, 0);
	expect_events(two, 0, 0, 1);
	toy_load_blocks(0, 0, 4);
	end();
}
END_TEST

/* No chunk of container one may go, so one chunk more for it is refused. */
START_TEST(a_container_that_may_not_give_takes_no_protected_chunk)
{
	begin(8);
	toy_write_file(one, "hmem.limit", "2M");
	toy_write_file(two, "gmem.limit.low", "8M");
	toy_map_range(0, one, 8 * CHUNK, false);
	toy_map_range(1, two, 4 * CHUNK, false);
	toy_store_blocks(1, 0, 4);
	toy_store_blocks(0, 0, 5);
	ck_assert_uint_eq(one->swapped_bytes, CHUNK);
	ck_assert(!toy_store(0, 32 * 5, 1));
	ck_assert_uint_eq(one->events[GVM_EVENT_OOM], 1);
	ck_assert_uint_eq(two->evicted_chunks, 0);
	toy_load_blocks(0, 1, 4);
	toy_load_blocks(1, 0, 4);
	end();
}
END_TEST

/*
 * The allocator finds the device full, and no container can give a chunk. By then there is room
 * again.
 */
START_TEST(room_that_came_meanwhile_is_taken_though_nobody_could_give)
{
	begin(4);
	toy_write_file(one, "hmem.limit", "0");
	toy_map_range(1, two, 1 * CHUNK, false);
	toy_fill(0, one, 3);
	toy.refuse_alloc = 1;
	ck_assert(toy_store(1, 0, 7));
	expect_events(two, 0, 0, 0);
	toy_load_blocks(0, 0, 3);
	end();
}
END_TEST

START_TEST(a_lowered_limit_brings_nothing_back_and_reports_reality)
{
	char text[32];
	u64 copied;

	begin(8);
	toy_write_file(one, "gmem.limit.high", "4M");
	toy_fill(0, one, 5);
	copied = toy.pages[TOY_COPY];
	toy_write_file(one, "hmem.limit", "2M");
	ck_assert_int_gt(gvm_control_read(one, "gmem.swap.current", text, sizeof(text)), 0);
	ck_assert_str_eq(text, "6291456\n");
	ck_assert_uint_eq(toy.pages[TOY_COPY], copied);
	/* With more room on the device, the swapped blocks come back when they are used. */
	toy_write_file(one, "gmem.limit.high", "max");
	toy_load_blocks(0, 0, 5);
	ck_assert_uint_eq(one->swapped_bytes, 0);
	expect_events(one, 3, 0, 0);
	end();
}
END_TEST

/*
 * Two chunks are on the device, and two of the three allowed on the host are used. A batch
 * wants both of these back. The victim of the first block takes the third place on the host.
 * The second block waits until the first has come back.
 */
START_TEST(room_that_the_same_batch_will_free_is_waited_for)
{
	begin(8);
	toy_write_file(one, "gmem.limit.high", "4M");
	toy_write_file(one, "hmem.limit", "6M");
	toy_fill(0, one, 4);
	ck_assert_uint_eq(one->swapped_bytes, 2 * CHUNK);
	toy_fault(0, 0, GVM_ACCESS_READ);
	toy_fault(0, 32, GVM_ACCESS_READ);
	toy_service_all();
	ck_assert_uint_eq(toy.handler.stats.deferred, 1);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 0);
	ck_assert(toy_on_device(0, 0) && !toy_on_device(0, 1));
	ck_assert_uint_eq(one->swapped_bytes, 2 * CHUNK);
	toy_load_blocks(0, 0, 4);
	end();
}
END_TEST

static u64 swap_most;

static void watch_swap(u32 chunk)
{
	(void)chunk;
	swap_most = max(swap_most, one->swapped_bytes);
}

/*
 * A ring of seven blocks, four on the device and three on the host: hmem.limit leaves room for
 * just one more.
 */
START_TEST(swap_never_passes_the_limit_in_a_thousand_turns)
{
	u32 turn;

	begin(8);
	swap_most = 0;
	toy.on_evict = watch_swap;
	toy_write_file(one, "gmem.limit.high", "8M");
	toy_write_file(one, "hmem.limit", "8M");
	toy_fill(0, one, 7);
	for (turn = 0; turn < 1000; turn++) {
		toy_load_blocks(0, turn % 7, 1);
		ck_assert_uint_le(one->swapped_bytes, 4 * CHUNK);
	}
	ck_assert_uint_eq(swap_most, 3 * CHUNK);
	expect_events(one, one->events[GVM_EVENT_HIGH], 0, 0);
	end();
}
END_TEST

START_TEST(a_lowered_gmem_limit_takes_what_the_host_may_have)
{
	begin(8);
	toy_fill(0, one, 6);
	toy_write_file(one, "hmem.limit", "4M");
	toy_write_file(one, "gmem.limit.high", "2M");
	ck_assert_uint_eq(gvm_charged_bytes(one), 4 * CHUNK);
	ck_assert_uint_eq(one->swapped_bytes, 2 * CHUNK);
	expect_events(one, 0, 1, 0);
	end();
}
END_TEST

/*
 * With no room on the host, the reclaim for gmem.limit.high took nothing. A higher hmem.limit
 * lets it go on.
 */
START_TEST(a_raised_limit_takes_what_gmem_could_not)
{
	begin(8);
	toy_fill(0, one, 8);
	toy_write_file(one, "hmem.limit", "0");
	toy_write_file(one, "gmem.limit.high", "4194304");
	ck_assert_uint_eq((one->charged_bytes >> GVM_CHUNK_SHIFT), 8);
	toy_write_file(one, "hmem.limit", "8388608");
	ck_assert_uint_eq((one->charged_bytes >> GVM_CHUNK_SHIFT), 4);
	toy_write_file(one, "hmem.limit", "max");
	ck_assert_uint_eq((one->charged_bytes >> GVM_CHUNK_SHIFT), 2);
	toy_load_blocks(0, 0, 8);
	end();
}
END_TEST

/* Discarding. */

START_TEST(a_discarded_chunk_is_free_at_once_and_crosses_no_link)
{
	struct gvm_range *range;

	begin(8);
	range = toy_map_range(0, one, 4 * CHUNK, false);
	toy_store_blocks(0, 0, 4);
	ck_assert_uint_eq(gvm_range_discard(range, CHUNK, 2 * CHUNK), 2 * CHUNK);
	ck_assert_uint_eq(gvm_charged_bytes(one), 2 * CHUNK);
	ck_assert_uint_eq(toy.free_count, 6);
	ck_assert_uint_eq(toy.kinds[TOY_OUT], 0);
	ck_assert_uint_eq(one->evicted_chunks, 0);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	/* Discarded pages read as if never written. */
	ck_assert(toy_load(0, 32, 0) && toy_load(0, 64, 0));
	ck_assert_uint_eq(toy.kinds[TOY_COPY], 0);
	toy_load_blocks(0, 0, 1);
	toy_load_blocks(0, 3, 1);
	end();
}
END_TEST

START_TEST(what_was_swapped_out_can_be_discarded_as_well)
{
	struct gvm_range *range;

	begin(8);
	toy_write_file(one, "gmem.limit.high", "4M");
	range = toy_map_range(0, one, 5 * CHUNK, false);
	toy_store_blocks(0, 0, 5);
	ck_assert_uint_eq(one->swapped_bytes, 3 * CHUNK);
	ck_assert_uint_eq(gvm_range_discard(range, 0, 3 * CHUNK), 0);
	ck_assert_uint_eq(one->swapped_bytes, 0);
	ck_assert(toy_load(0, 0, 0));
	ck_assert_uint_eq(toy.kinds[TOY_COPY], 0);
	toy_load_blocks(0, 4, 1);
	end();
}
END_TEST

START_TEST(a_chunk_goes_with_its_last_page_and_halves_of_pages_stay)
{
	struct gvm_range *range;
	u32 page;

	begin(8);
	range = toy_map_range(0, one, CHUNK + CHUNK / 2, false);
	for (page = 0; page < 48; page++)
		ck_assert(toy_store(0, page, 100 + page));
	/* Only pages 1 to 30 are covered as a whole. */
	ck_assert_uint_eq(gvm_range_discard(range, 1, CHUNK - 2), 0);
	ck_assert_uint_eq(range->blocks[0].resident, 0x80000001u);
	ck_assert_uint_eq(range->resident_pages, 2 + 16);
	ck_assert_uint_eq(gvm_range_discard(range, 0, GVM_PAGE_BYTES), 0);
	ck_assert_uint_eq(gvm_range_discard(range, CHUNK - GVM_PAGE_BYTES, GVM_PAGE_BYTES),
			  CHUNK);
	/* To the end of the range and beyond. */
	ck_assert_uint_eq(gvm_range_discard(range, CHUNK, U64_MAX), CHUNK);
	ck_assert_uint_eq(gvm_range_discard(range, U64_MAX, U64_MAX), 0);
	ck_assert_uint_eq(range->resident_pages, 0);
	ck_assert_uint_eq(gvm_charged_bytes(one), 0);
	end();
}
END_TEST

START_TEST(a_block_in_service_is_not_discarded)
{
	struct gvm_range *range;

	begin(8);
	range = toy_map_range(0, one, CHUNK, false);
	toy_store_blocks(0, 0, 1);
	gvm_block_set_in_service(&toy.memory, &range->blocks[0], true);
	ck_assert_uint_eq(gvm_range_discard(range, 0, CHUNK), 0);
	gvm_block_set_in_service(&toy.memory, &range->blocks[0], false);
	toy_load_blocks(0, 0, 1);
	end();
}
END_TEST

static void discard_victim(u32 chunk)
{
	(void)chunk;
	toy.on_evict = NULL;
	gvm_range_discard(&toy.spaces[0].range, 0, U64_MAX);
}

/* The owner discards a picked victim before the evictor has the lock. It counts as evicted. */
START_TEST(a_victim_that_is_discarded_meanwhile_is_gone)
{
	begin(4);
	toy_map_range(1, two, CHUNK, false);
	toy_fill(0, one, 4);
	toy.on_evict = discard_victim;
	toy_store_blocks(1, 0, 1);
	ck_assert_uint_eq(toy.kinds[TOY_OUT], 0);
	ck_assert_uint_eq(gvm_charged_bytes(one), 0);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	end();
}
END_TEST

START_TEST(what_is_discarded_gives_its_room_on_the_host_back)
{
	struct gvm_range *range;

	begin(8);
	toy_write_file(one, "gmem.limit.high", "4M");
	toy_write_file(one, "hmem.limit", "2M");
	range = toy_map_range(0, one, 4 * CHUNK, false);
	toy_store_blocks(0, 0, 3);
	ck_assert(one->is_swap_full);
	gvm_range_discard(range, 0, CHUNK);
	toy_store_blocks(0, 3, 1);
	expect_events(one, 2, 0, 0);
	toy_load_blocks(0, 2, 2);
	end();
}
END_TEST

/* Pinned memory. */

START_TEST(pinned_memory_takes_whole_chunks_and_stays)
{
	struct gvm_unevictable pinned;

	begin(8);
	gvm_unevictable_init(&pinned, one);
	ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, 0), 0);
	ck_assert_uint_eq(gvm_charged_bytes(one), 0);
	ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, 1), 0);
	ck_assert_uint_eq(gvm_charged_bytes(one), CHUNK);
	ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, CHUNK - 1), 0);
	ck_assert_uint_eq(gvm_charged_bytes(one), CHUNK);
	ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, 2 * CHUNK), 0);
	ck_assert_uint_eq(gvm_charged_bytes(one), 3 * CHUNK);
	ck_assert_uint_eq(toy.free_count, 5);
	/* Other containers fill the device, and take none of the unevictable chunks. */
	toy_fill(1, two, 12);
	ck_assert_uint_eq(gvm_charged_bytes(one), 3 * CHUNK);
	ck_assert_uint_eq(two->evicted_chunks, 7);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	gvm_unevictable_release(&toy.memory, &pinned);
	ck_assert_uint_eq(gvm_charged_bytes(one), 0);
	toy_load_blocks(1, 0, 12);
	end();
}
END_TEST

START_TEST(others_are_evicted_for_pinned_memory_as_for_a_page)
{
	struct gvm_unevictable pinned;

	begin(4);
	toy_fill(1, two, 4);
	gvm_unevictable_init(&pinned, one);
	ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, 2 * CHUNK), 0);
	ck_assert_uint_eq(two->evicted_chunks, 2);
	gvm_unevictable_release(&toy.memory, &pinned);
	toy_load_blocks(1, 0, 4);
	end();
}
END_TEST

START_TEST(at_its_limit_a_container_pays_for_its_pinned_memory_itself)
{
	struct gvm_unevictable pinned;

	begin(8);
	toy_write_file(one, "gmem.limit.high", "6M");
	toy_fill(0, one, 3);
	gvm_unevictable_init(&pinned, one);
	ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, 2 * CHUNK), 0);
	ck_assert_uint_eq(gvm_charged_bytes(one), 3 * CHUNK);
	ck_assert_uint_eq(one->evicted_chunks, 2);
	/*
	 * The last bound chunk goes for the first of two more chunks. The second one is above
	 * the limit.
	 */
	ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, 2 * CHUNK), -EDQUOT);
	ck_assert_uint_eq(gvm_charged_bytes(one), 2 * CHUNK);
	ck_assert_uint_eq(one->peak_bytes, 3 * CHUNK);
	toy_load_blocks(0, 0, 1);
	expect_events(one, one->events[GVM_EVENT_HIGH], 0, 0);
	gvm_unevictable_release(&toy.memory, &pinned);
	end();
}
END_TEST

/* A container beside one that asks for context after context, on a full device. */
START_TEST(pinned_memory_above_the_limit_is_refused_and_costs_no_neighbour_a_chunk)
{
	struct gvm_unevictable pinned;
	u32 refused = 0;

	begin(16);
	toy_write_file(one, "gmem.limit.high", "8M");
	toy_write_file(two, "gmem.limit.low", "24M");
	toy_fill(1, two, 12);
	gvm_unevictable_init(&pinned, one);
	for (u32 context = 0; context < 31; context++)
		refused += gvm_unevictable_add(&toy.memory, &pinned, CHUNK) == -EDQUOT;
	ck_assert_uint_eq(refused, 27);
	ck_assert_uint_eq(gvm_charged_bytes(one), 4 * CHUNK);
	ck_assert_uint_eq(two->evicted_chunks, 0);
	gvm_unevictable_release(&toy.memory, &pinned);
	toy_load_blocks(1, 0, 12);
	end();
}
END_TEST

START_TEST(pinned_memory_is_credited_as_it_is_removed)
{
	struct gvm_unevictable pinned;

	begin(8);
	toy_write_file(one, "gmem.limit.high", "6M");
	gvm_unevictable_init(&pinned, one);
	ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, 1), 0);
	for (u32 turn = 0; turn < 100; turn++) {
		ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, CHUNK), 0);
		ck_assert_uint_eq(gvm_charged_bytes(one), 2 * CHUNK);
		gvm_unevictable_remove(&toy.memory, &pinned, CHUNK);
		ck_assert_uint_eq(gvm_charged_bytes(one), CHUNK);
	}
	/* A refused request leaves nothing behind, however often it is repeated. */
	for (u32 turn = 0; turn < 100; turn++)
		ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, 3 * CHUNK), -EDQUOT);
	ck_assert_uint_eq(gvm_charged_bytes(one), CHUNK);
	ck_assert_uint_eq(toy.free_count, 7);
	gvm_unevictable_remove(&toy.memory, &pinned, 1);
	ck_assert_uint_eq(gvm_charged_bytes(one), 0);
	end();
}
END_TEST

START_TEST(an_error_of_an_eviction_charges_nothing_past_the_limit)
{
	struct gvm_unevictable pinned;

	begin(8);
	toy_write_file(one, "gmem.limit.high", "4M");
	toy_fill(0, one, 2);
	gvm_unevictable_init(&pinned, one);
	toy.fail_out = U32_MAX;
	ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, CHUNK), -EIO);
	ck_assert_uint_eq(gvm_charged_bytes(one), 2 * CHUNK);
	ck_assert_uint_eq(one->peak_bytes, 2 * CHUNK);
	toy.fail_out = 0;
	ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, CHUNK), 0);
	ck_assert_uint_eq(gvm_charged_bytes(one), 2 * CHUNK);
	gvm_unevictable_release(&toy.memory, &pinned);
	toy_load_blocks(0, 0, 2);
	end();
}
END_TEST

/* All chunks are in service in a batch of faults, which ends soon. */
START_TEST(pinned_memory_waits_for_chunks_in_service)
{
	struct gvm_unevictable pinned;

	begin(4);
	toy_fill(1, two, 4);
	gvm_unevictable_init(&pinned, one);
	toy.refuse_looks = 1000;
	ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, CHUNK), 0);
	toy_write_file(one, "gmem.limit.high", "4M");
	toy_fill(0, one, 1);
	toy.refuse_looks = 1000;
	ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, CHUNK), 0);
	ck_assert_uint_eq(gvm_charged_bytes(one), 2 * CHUNK);
	/* The chunks stay in service: the request gives up after a second. */
	toy.refuse_looks = U32_MAX;
	ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, CHUNK), -EDQUOT);
	toy_write_file(one, "gmem.limit.high", "max");
	ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, CHUNK), -EAGAIN);
	toy.refuse_looks = 0;
	ck_assert_uint_eq(gvm_charged_bytes(one), 2 * CHUNK);
	gvm_unevictable_release(&toy.memory, &pinned);
	toy_load_blocks(1, 0, 4);
	end();
}
END_TEST

START_TEST(pinned_memory_that_nobody_can_give_is_refused_and_leaks_nothing)
{
	struct gvm_unevictable pinned;

	begin(4);
	toy_write_file(two, "hmem.limit", "0");
	toy_fill(1, two, 3);
	gvm_unevictable_init(&pinned, one);
	ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, 2 * CHUNK), -ENOMEM);
	ck_assert_uint_eq(gvm_charged_bytes(one), 0);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	gvm_unevictable_release(&toy.memory, &pinned);
	toy_load_blocks(1, 0, 3);
	end();
}
END_TEST

TEST_MAIN("hmem limit, discarding, pinned memory",
	  who_has_filled_device_and_host_dies_and_nobody_else, zero_switches_swapping_off,
	  on_a_full_device_those_with_room_on_the_host_pay,
	  on_a_device_full_of_what_may_not_go_the_newcomer_dies,
	  a_container_that_may_not_give_takes_no_protected_chunk,
	  room_that_came_meanwhile_is_taken_though_nobody_could_give,
	  a_lowered_limit_brings_nothing_back_and_reports_reality,
	  room_that_the_same_batch_will_free_is_waited_for,
	  swap_never_passes_the_limit_in_a_thousand_turns,
	  a_lowered_gmem_limit_takes_what_the_host_may_have,
	  a_raised_limit_takes_what_gmem_could_not,
	  a_discarded_chunk_is_free_at_once_and_crosses_no_link,
	  what_was_swapped_out_can_be_discarded_as_well,
	  a_chunk_goes_with_its_last_page_and_halves_of_pages_stay,
	  a_block_in_service_is_not_discarded, a_victim_that_is_discarded_meanwhile_is_gone,
	  what_is_discarded_gives_its_room_on_the_host_back,
	  pinned_memory_takes_whole_chunks_and_stays,
	  others_are_evicted_for_pinned_memory_as_for_a_page,
	  at_its_limit_a_container_pays_for_its_pinned_memory_itself,
	  pinned_memory_above_the_limit_is_refused_and_costs_no_neighbour_a_chunk,
	  pinned_memory_is_credited_as_it_is_removed,
	  an_error_of_an_eviction_charges_nothing_past_the_limit,
	  pinned_memory_waits_for_chunks_in_service,
	  pinned_memory_that_nobody_can_give_is_refused_and_leaks_nothing)
