// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Eviction end to end on a GPU of a few chunks with contents. The tests count exactly which
 * container loses which chunks. No byte is lost, shown to another container or charged to the
 * wrong account.
 */
#include "gvm/clock.h"
#include "gvm/control.h"
#include "gvm/evictor.h"
#include "runner.h"
#include "toy_pair.h"

/*
 * Five blocks in a ring through four chunks. The first round brings in blocks 1 to 4, then 5 in
 * place of 1. After that, each next block is the one just evicted. So there are 10 faults in 10
 * batches, and each fault but the first four evicts 32 pages: 6 evictions. The first five
 * faults clear, the five of the second round copy in. F6: the limit holds after each fault, not
 * just once.
 */
START_TEST(a_ring_that_is_one_block_too_long_misses_every_time)
{
	begin(8);
	gvm_limit_set_high(one, 4 * CHUNK + CHUNK / 2);
	toy_fill(0, one, 5);
	toy_load_blocks(0, 0, 5);
	ck_assert_uint_eq(toy.handler.stats.faults, 10);
	ck_assert_uint_eq(toy.handler.stats.batches, 10);
	ck_assert_uint_eq(one->evicted_chunks, 6);
	ck_assert_uint_eq(toy.pages[TOY_OUT], 6 * 32);
	ck_assert_uint_eq(toy.pages[TOY_CLEAR], 5 * 32);
	ck_assert_uint_eq(toy.pages[TOY_COPY], 5 * 32);
	ck_assert_uint_eq((one->charged_bytes >> GVM_CHUNK_SHIFT), 4);
	ck_assert_uint_eq((one->peak_bytes >> GVM_CHUNK_SHIFT), 4);
	ck_assert_uint_eq(one->events[GVM_EVENT_HIGH], 6);
	ck_assert_uint_eq(one->swapped_bytes, CHUNK);
	end();
}
END_TEST

/*
 * F7: a container at its limit evicts its own chunks, even if another container's are colder.
 */
START_TEST(a_container_at_its_limit_evicts_its_own_only)
{
	begin(8);
	toy_fill(1, two, 4);
	toy_write_file(one, "gmem.limit.high", "4M");
	toy_fill(0, one, 6);
	ck_assert_uint_eq(one->evicted_chunks, 4);
	ck_assert_uint_eq(two->evicted_chunks, 0);
	ck_assert_uint_eq((two->charged_bytes >> GVM_CHUNK_SHIFT), 4);
	toy_load_blocks(0, 0, 6);
	toy_load_blocks(1, 0, 4);
	end();
}
END_TEST

/*
 * F8: without limits only the full device evicts, and takes the oldest chunk of all containers.
 */
START_TEST(without_limits_the_coldest_chunk_of_all_goes)
{
	begin(8);
	toy_map_range(0, one, 6 * CHUNK, false);
	toy_map_range(1, two, 6 * CHUNK, false);
	toy_store_blocks(0, 0, 6);
	toy_store_blocks(1, 0, 2);
	ck_assert_uint_eq(one->evicted_chunks, 0);
	/*
	 * All chunks were touched when they came: the hand goes round once, then takes them in
	 * order.
	 */
	toy_store_blocks(1, 2, 3);
	ck_assert_uint_eq(one->evicted_chunks, 3);
	ck_assert_uint_eq(two->evicted_chunks, 0);
	ck_assert(!toy_on_device(0, 0) && !toy_on_device(0, 1) && !toy_on_device(0, 2));
	toy_load_blocks(1, 0, 5);
	toy_load_blocks(0, 0, 6);
	end();
}
END_TEST

/* D24: a newcomer without settings gets no protected memory either. */
START_TEST(a_protected_container_loses_nothing_while_another_has_something)
{
	begin(8);
	toy_write_file(one, "gmem.limit.low", "8M");
	toy_fill(0, one, 4);
	toy_fill(1, two, 12);
	ck_assert_uint_eq(one->evicted_chunks, 0);
	ck_assert_uint_eq(two->evicted_chunks, 8);
	/* Above its low limit, its chunks are victims again. */
	toy_write_file(one, "gmem.limit.low", "6M");
	toy_store_blocks(1, 0, 12);
	ck_assert_uint_gt(one->evicted_chunks, 0);
	toy_load_blocks(0, 0, 4);
	end();
}
END_TEST

START_TEST(protection_gives_way_when_all_are_protected)
{
	begin(4);
	toy_write_file(one, "gmem.limit.low", "max");
	toy_write_file(two, "gmem.limit.low", "max");
	toy_fill(0, one, 4);
	toy_fill(1, two, 1);
	ck_assert_uint_eq(one->evicted_chunks, 1);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 0);
	toy_load_blocks(0, 0, 4);
	end();
}
END_TEST

/* An unprotected newcomer is refused: it gets no chunk of a protected container. */
START_TEST(a_newcomer_without_protection_gets_no_protected_chunk)
{
	begin(4);
	toy_write_file(one, "gmem.limit.low", "8M");
	toy_map_range(1, two, 3 * CHUNK, false);
	toy_fill(0, one, 4);
	ck_assert(!toy_store(1, 0, 1));
	ck_assert_uint_eq(two->events[GVM_EVENT_OOM], 1);
	/* Container two is promised 4 MB and asks for more: it gets these 4 MB. */
	toy_write_file(two, "gmem.limit.low", "4M");
	toy_store_blocks(1, 0, 2);
	ck_assert_uint_eq(one->evicted_chunks, 2);
	/* Its third chunk is above its promise, so it evicts its own coldest chunk. */
	toy_store_blocks(1, 2, 1);
	ck_assert_uint_eq(one->evicted_chunks, 2);
	ck_assert_uint_eq(two->evicted_chunks, 1);
	end();
}
END_TEST

/* Of 7 MB no byte is lost: a victim would leave 6 MB of the 4 chunks. */
START_TEST(a_low_that_is_no_multiple_of_a_chunk_is_kept_to_the_byte)
{
	begin(8);
	toy_write_file(one, "gmem.limit.low", "7M");
	toy_fill(0, one, 4);
	toy_fill(1, two, 12);
	ck_assert_uint_eq(one->evicted_chunks, 0);
	end();
}
END_TEST

/* A container that is promised 3 MB gets a second chunk, also where all are protected. */
START_TEST(a_promise_within_a_chunk_is_worth_the_chunk)
{
	begin(4);
	toy_write_file(one, "gmem.limit.low", "max");
	toy_write_file(two, "gmem.limit.low", "3M");
	toy_map_range(0, one, 4 * CHUNK, false);
	toy_map_range(1, two, 3 * CHUNK, false);
	toy_store_blocks(0, 0, 4);
	toy_store_blocks(1, 0, 2);
	ck_assert_uint_eq(one->evicted_chunks, 2);
	toy_store_blocks(1, 2, 1);
	ck_assert_uint_eq(one->evicted_chunks, 2);
	ck_assert_uint_eq(two->evicted_chunks, 1);
	end();
}
END_TEST

/* Containers without chunks cost a fault nothing, however many there are. */
START_TEST(empty_containers_cost_a_fault_no_replay)
{
	static struct gvm_container *crowd[20000];
	u32 looks;

	begin(4);
	toy_write_file(one, "gmem.limit.low", "max");
	toy_write_file(two, "gmem.limit.low", "max");
	toy_map_range(0, one, 4 * CHUNK, false);
	toy_map_range(1, two, CHUNK, false);
	for (u32 i = 0; i < ARRAY_SIZE(crowd); i++)
		ck_assert_int_eq(gvm_container_create(&toy.device, 0, &crowd[i]), 0);
	toy_store_blocks(0, 0, 4);
	looks = toy.looks;
	toy_fault(1, 0, GVM_ACCESS_WRITE);
	toy_service_all();
	ck_assert_uint_eq(toy.handler.stats.deferred, 0);
	ck_assert_uint_eq(toy.looks - looks, 1);
	ck_assert_uint_eq(one->evicted_chunks, 1);
	for (u32 i = 0; i < ARRAY_SIZE(crowd); i++)
		gvm_container_detach(crowd[i]);
	end();
}
END_TEST

static u32 pinned_victim;

/* The victim comes into service before the eviction can lock its range. */
static void pin_victim(u32 chunk)
{
	toy.on_evict = NULL;
	pinned_victim = chunk;
	gvm_frame(&toy.memory, chunk, 0)->in_service = true;
}

/*
 * D8: no context dies because a victim is in service, even where all containers are protected.
 */
START_TEST(a_protected_victim_that_is_in_service_is_passed_over)
{
	begin(4);
	toy_write_file(one, "gmem.limit.low", "max");
	toy_write_file(two, "gmem.limit.low", "max");
	toy_map_range(1, two, 1 * CHUNK, false);
	toy_fill(0, one, 4);
	toy.on_evict = pin_victim;
	toy_store_blocks(1, 0, 1);
	ck_assert_ptr_null(toy.on_evict);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 0);
	ck_assert_uint_eq(one->evicted_chunks, 1);
	ck_assert_ptr_eq(toy.device.chunks[pinned_victim].owner, one);
	gvm_frame(&toy.memory, pinned_victim, 0)->in_service = false;
	toy_load_blocks(0, 0, 4);
	end();
}
END_TEST

/* D3, D8: a victim whose copy out fails stays where it was: mapped, charged and intact. */
START_TEST(a_failed_eviction_leaves_the_victim_and_takes_another)
{
	begin(8);
	toy_map_range(1, two, 1 * CHUNK, false);
	toy_fill(0, one, 8);
	toy.fail_out = 1;
	toy_store_blocks(1, 0, 1);
	ck_assert_uint_eq(toy.fail_out, 0);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 0);
	ck_assert_uint_eq(one->evicted_chunks, 1);
	ck_assert(toy_on_device(0, 0) && !toy_on_device(0, 1));
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	toy_load_blocks(0, 0, 8);
	end();
}
END_TEST

START_TEST(when_every_victim_fails_the_fault_is_cancelled_and_all_is_where_it_was)
{
	begin(4);
	toy_map_range(0, one, 6 * CHUNK, false);
	toy_store_blocks(0, 0, 4);
	toy.fail_out = U32_MAX;
	ck_assert(!toy_store(0, 32 * 4, 1));
	ck_assert_uint_eq(toy.handler.stats.cancelled, 1);
	ck_assert_uint_eq(one->events[GVM_EVENT_OOM], 1);
	ck_assert_uint_eq((one->charged_bytes >> GVM_CHUNK_SHIFT), 4);
	ck_assert_uint_eq(one->evicted_chunks, 0);
	ck_assert_uint_eq(one->swapped_bytes, 0);
	ck_assert_uint_eq(toy.spaces[0].range.resident_pages, 128);
	toy_load_blocks(0, 0, 4);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	/* A reclaim also gives up, and the write returns the error. The limit holds. */
	ck_assert_int_eq(gvm_control_write(one, "gmem.limit.high", "2M", 2), -EIO);
	ck_assert_uint_eq(gvm_charge_excess(one), 3);
	toy.fail_out = 0;
	toy_write_file(one, "gmem.limit.high", "2M");
	ck_assert_uint_eq((one->charged_bytes >> GVM_CHUNK_SHIFT), 1);
	end();
}
END_TEST

/* F10: an interrupted eviction loses nothing, and the access that needed it faults again. */
START_TEST(an_interrupted_eviction_changes_nothing)
{
	begin(2);
	toy_map_range(0, one, 3 * CHUNK, false);
	toy_store_blocks(0, 0, 2);
	toy.fail_out = 1;
	toy.out_error = -EINTR;
	toy_fault(0, 64, GVM_ACCESS_WRITE);
	toy_service_all();
	ck_assert_uint_eq(toy.handler.stats.deferred, 1);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 0);
	ck_assert_uint_eq((one->charged_bytes >> GVM_CHUNK_SHIFT), 2);
	ck_assert_uint_eq((one->reserved_bytes >> GVM_CHUNK_SHIFT), 0);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	toy_load_blocks(0, 0, 2);
	toy_store_blocks(0, 2, 1);
	toy_load_blocks(0, 0, 3);
	end();
}
END_TEST

/* D8: the device was full, but when the fault looks for a victim, no container has a chunk. */
START_TEST(room_that_came_by_itself_is_taken)
{
	begin(2);
	toy_map_range(0, one, 1 * CHUNK, false);
	toy.refuse_alloc = 1;
	toy_store_blocks(0, 0, 1);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 0);
	ck_assert_uint_eq(one->events[GVM_EVENT_OOM], 0);
	/* No container has a chunk, and still there is no room. */
	toy_map_range(1, two, 1 * CHUNK, false);
	toy_unmap_range(0);
	toy.refuse_alloc = 1000;
	ck_assert(!toy_store(1, 0, 1));
	ck_assert_uint_eq(two->events[GVM_EVENT_OOM], 1);
	toy.refuse_alloc = 0;
	end();
}
END_TEST

/* D8: a reservation without a chunk yet takes up all of the limit. */
START_TEST(a_charge_on_its_way_to_a_chunk_is_no_reason_to_die)
{
	begin(4);
	toy_map_range(0, one, 1 * CHUNK, false);
	gvm_limit_set_high(one, CHUNK);
	ck_assert_int_eq(gvm_charge_reserve(one), 0);
	toy_fault(0, 0, GVM_ACCESS_WRITE);
	toy_service_all();
	ck_assert_uint_eq(toy.handler.stats.deferred, 1);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 0);
	gvm_charge_cancel(one);
	toy_store_blocks(0, 0, 1);
	end();
}
END_TEST

/* D8: only a fault that needs a chunk evicts. */
START_TEST(a_copy_that_finds_no_memory_evicts_nobody)
{
	begin(4);
	toy_map_range(0, one, 1 * CHUNK, true);
	toy_fill(1, two, 2);
	toy.fail_copy = 1;
	toy.copy_error = -ENOMEM;
	ck_assert(!toy_load(0, 0, 0));
	ck_assert_uint_eq(one->evicted_chunks, 0);
	ck_assert_uint_eq(two->evicted_chunks, 0);
	/* The host has no memory for the copy, so the context dies. */
	ck_assert_uint_eq(one->events[GVM_EVENT_OOM], 1);
	end();
}
END_TEST

/*
 * D6, D7: a fault that evicts another container's chunk, and a limit write, lock one range at a
 * time.
 */
START_TEST(nobody_locks_two_ranges_at_once)
{
	begin(4);
	toy_fill(0, one, 4);
	toy_fill(1, two, 4);
	ck_assert_uint_gt(one->evicted_chunks, 0);
	toy_write_file(two, "gmem.limit.high", "2M");
	toy_load_blocks(0, 0, 4);
	ck_assert_uint_eq(toy.locks_most, 1);
	end();
}
END_TEST

/* F12, D16: swap counts evicted pages only, until they are back or their range is gone. */
START_TEST(swap_counts_evicted_pages_until_they_are_back_or_gone)
{
	begin(4);
	gvm_limit_set_high(one, 2 * CHUNK);
	/*
	 * Two blocks and three pages that the CPU wrote: they are on the host and do not count
	 * as swapped.
	 */
	toy_map_range(0, one, 2 * CHUNK + 3 * GVM_PAGE_BYTES, true);
	ck_assert_uint_eq(one->swapped_bytes, 0);
	ck_assert(toy_load(0, 0, 0) && toy_load(0, 32, 0));
	ck_assert_uint_eq(one->swapped_bytes, 0);
	ck_assert(toy_load(0, 64, 0));
	ck_assert_uint_eq(one->swapped_bytes, CHUNK);
	ck_assert(toy_load(0, 0, 0));
	ck_assert_uint_eq(one->swapped_bytes, CHUNK);
	ck_assert(toy_load(0, 32, 0));
	ck_assert_uint_eq(one->swapped_bytes, 3 * GVM_PAGE_BYTES);
	toy_unmap_range(0);
	ck_assert_uint_eq(one->swapped_bytes, 0);
	end();
}
END_TEST

/* F4: a read wants the block back while its copy out is still in flight. */
START_TEST(what_is_not_on_the_host_yet_is_waited_for)
{
	begin(4);
	gvm_limit_set_high(one, CHUNK);
	toy_fill(0, one, 2);
	ck_assert_uint_eq(toy.host_waits, 0);
	toy_load_blocks(0, 0, 1);
	ck_assert_uint_eq(toy.host_waits, 0);
	toy.out_in_flight = true;
	toy_load_blocks(0, 1, 1);
	ck_assert_uint_eq(toy.host_waits, 1);
	end();
}
END_TEST

/*
 * F4: the block gets a chunk, and loses it before the chunk is filled. The earlier copy out is
 * still in flight, and the next fault waits for it.
 */
START_TEST(what_left_an_empty_chunk_is_still_on_its_way)
{
	begin(4);
	gvm_limit_set_high(one, CHUNK);
	toy_fill(0, one, 2);
	toy.out_in_flight = true;
	toy.wait_error = -EINTR;
	toy_fault(0, 0, GVM_ACCESS_READ);
	toy_service_all();
	toy.wait_error = 0;
	ck_assert_uint_eq(toy.handler.stats.deferred, 1);
	ck_assert_uint_eq(toy.host_waits, 1);
	toy_load_blocks(0, 1, 1);
	ck_assert_uint_eq(toy.host_waits, 2);
	toy_load_blocks(0, 0, 1);
	ck_assert_uint_eq(toy.host_waits, 3);
	end();
}
END_TEST

/* GVM 5.1: fresh memory reads zero, whatever an earlier owner left in the chunk. */
START_TEST(a_reused_chunk_shows_nothing_of_its_former_owner)
{
	u32 page;

	begin(2);
	toy_map_range(0, one, 2 * CHUNK, false);
	for (page = 0; page < 64; page++)
		ck_assert(toy_store(0, page, 0xdead));
	toy_map_range(1, two, 2 * CHUNK, false);
	for (page = 0; page < 64; page++)
		ck_assert(toy_load(1, page, 0));
	for (page = 0; page < 64; page++)
		ck_assert(toy_load(0, page, 0xdead));
	end();
}
END_TEST

/* F11: the owner frees a picked victim before the eviction has its lock. */
START_TEST(a_victim_that_its_owner_gave_back_is_gone)
{
	struct gvm_eviction eviction = { 0 };
	u32 chunk, other;

	begin(2);
	toy_fill(0, one, 2);
	do
		chunk = gvm_clock_pick_own(one);
	while (chunk == GVM_NO_CHUNK);
	toy_unmap_range(0);
	ck_assert_int_eq(gvm_block_evict(&toy.memory, chunk, &eviction), -ENOENT);
	/* The same holds when the chunk has been charged again, to whichever container. */
	toy_fill(1, two, 2);
	ck_assert_int_eq(gvm_block_evict(&toy.memory, chunk, &eviction), -ENOENT);
	ck_assert_uint_eq((two->charged_bytes >> GVM_CHUNK_SHIFT), 2);
	/* When it is picked again, it goes, once. */
	do
		other = gvm_clock_pick_own(two);
	while (other != chunk);
	ck_assert_int_eq(gvm_block_evict(&toy.memory, chunk, &eviction), 0);
	ck_assert_int_eq(gvm_block_evict(&toy.memory, chunk, &eviction), -ENOENT);
	ck_assert_uint_eq(two->evicted_chunks, 1);
	if (toy.device.chunks[1 - chunk].state == GVM_CHUNK_EVICTING)
		gvm_clock_putback(&toy.device, 1 - chunk);
	toy_load_blocks(1, 0, 2);
	end();
}
END_TEST

/* A batch as large as the limit evicts older chunks, and none that it brought in itself. */
START_TEST(a_batch_does_not_evict_what_it_brings)
{
	u32 i;

	begin(8);
	gvm_limit_set_high(one, 4 * CHUNK);
	toy_map_range(0, one, 8 * CHUNK, false);
	toy_store_blocks(0, 0, 4);
	for (i = 4; i < 8; i++)
		toy_fault(0, 32 * i, GVM_ACCESS_WRITE);
	toy_service_all();
	ck_assert_uint_eq(toy.handler.stats.deferred, 0);
	for (i = 0; i < 8; i++)
		ck_assert_int_eq(toy_on_device(0, i), i >= 4);
	ck_assert_uint_eq(one->evicted_chunks, 4);
	end();
}
END_TEST

/* D3: a second start of a running evictor must not forget its thread. */
START_TEST(an_evictor_is_started_once)
{
	struct gvm_evictor evictor, other;

	begin(4);
	ck_assert_int_eq(gvm_evictor_start(&evictor, &toy.device), 0);
	ck_assert_int_eq(gvm_evictor_start(&evictor, &toy.device), -EBUSY);
	ck_assert_int_eq(gvm_evictor_start(&other, &toy.device), -EBUSY);
	gvm_evictor_stop(&other);
	ck_assert_ptr_eq(toy.device.evictor, &evictor);
	gvm_evictor_stop(&evictor);
	ck_assert_ptr_null(toy.device.evictor);
	ck_assert_int_eq(gvm_evictor_start(&other, &toy.device), 0);
	gvm_evictor_stop(&other);
	end();
}
END_TEST

/* A container's evictor lives until the last process puts it, in whichever order they do. */
START_TEST(a_container_keeps_its_evictor_until_its_last_process_leaves)
{
	struct gvm_evictor *first;

	begin(4);
	ck_assert_int_eq(gvm_container_evictor_get(one), 0);
	first = one->evictor;
	ck_assert_ptr_nonnull(first);
	ck_assert_int_eq(gvm_container_evictor_get(one), 0);
	ck_assert_int_eq(gvm_container_evictor_restart(one), 0);
	gvm_container_evictor_put(one);
	ck_assert_ptr_eq(one->evictor, first);
	ck_assert_ptr_null(two->evictor);
	gvm_container_evictor_put(one);
	ck_assert_ptr_null(one->evictor);
	ck_assert_int_eq(gvm_container_evictor_get(one), 0);
	ck_assert_ptr_nonnull(one->evictor);
	gvm_container_evictor_put(one);
	end();
}
END_TEST

TEST_MAIN("evict", a_ring_that_is_one_block_too_long_misses_every_time,
	  a_container_at_its_limit_evicts_its_own_only,
	  without_limits_the_coldest_chunk_of_all_goes,
	  a_protected_container_loses_nothing_while_another_has_something,
	  protection_gives_way_when_all_are_protected,
	  a_newcomer_without_protection_gets_no_protected_chunk,
	  a_low_that_is_no_multiple_of_a_chunk_is_kept_to_the_byte,
	  a_promise_within_a_chunk_is_worth_the_chunk, empty_containers_cost_a_fault_no_replay,
	  a_protected_victim_that_is_in_service_is_passed_over,
	  a_failed_eviction_leaves_the_victim_and_takes_another,
	  when_every_victim_fails_the_fault_is_cancelled_and_all_is_where_it_was,
	  an_interrupted_eviction_changes_nothing, room_that_came_by_itself_is_taken,
	  a_charge_on_its_way_to_a_chunk_is_no_reason_to_die,
	  a_copy_that_finds_no_memory_evicts_nobody, nobody_locks_two_ranges_at_once,
	  swap_counts_evicted_pages_until_they_are_back_or_gone,
	  what_is_not_on_the_host_yet_is_waited_for,
	  what_left_an_empty_chunk_is_still_on_its_way,
	  a_reused_chunk_shows_nothing_of_its_former_owner,
	  a_victim_that_its_owner_gave_back_is_gone, a_batch_does_not_evict_what_it_brings,
	  an_evictor_is_started_once,
	  a_container_keeps_its_evictor_until_its_last_process_leaves)
