// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A lowered gmem.limit.high: the memory above it leaves, the coldest chunks first, while faults
 * go on. The tests count the chunks that stay, and no byte is lost.
 */
#include "gvm/clock.h"
#include "gvm/control.h"
#include "runner.h"
#include "toy_pair.h"

/* F5, D25: the limit holds first, then memory is taken, and the container lives on. */
START_TEST(a_lowered_limit_takes_the_coldest_and_keeps_every_byte)
{
	begin(8);
	toy_fill(0, one, 8);
	toy_write_file(one, "gmem.limit.high", "6291456");
	ck_assert_uint_eq((one->charged_bytes >> GVM_CHUNK_SHIFT), 3);
	ck_assert_uint_eq(one->evicted_chunks, 5);
	ck_assert_uint_eq(one->swapped_bytes, 5 * CHUNK);
	ck_assert(!toy_on_device(0, 0) && !toy_on_device(0, 4));
	ck_assert(toy_on_device(0, 5) && toy_on_device(0, 7));
	toy_load_blocks(0, 0, 8);
	ck_assert_uint_eq((one->charged_bytes >> GVM_CHUNK_SHIFT), 3);
	end();
}
END_TEST

static void fault_during_reclaim(u32 chunk)
{
	(void)chunk;
	toy.on_evict = NULL;
	/* The first victim is still there. The new limit holds already, so there is no room. */
	ck_assert_int_eq(gvm_charge_reserve(one), -EDQUOT);
}

/* F5: no charge slips in between the new limit and the reclaim. */
START_TEST(a_fault_in_the_middle_of_a_reclaim_is_held_to_the_new_limit)
{
	begin(8);
	toy_fill(0, one, 4);
	toy.on_evict = fault_during_reclaim;
	toy_write_file(one, "gmem.limit.high", "2M");
	ck_assert_ptr_null(toy.on_evict);
	ck_assert_uint_eq((one->charged_bytes >> GVM_CHUNK_SHIFT), 1);
	end();
}
END_TEST

START_TEST(a_limit_of_nothing_takes_everything_and_the_next_fault_is_cancelled)
{
	begin(8);
	toy_fill(0, one, 4);
	toy_write_file(one, "gmem.limit.high", "0");
	ck_assert_uint_eq((one->charged_bytes >> GVM_CHUNK_SHIFT), 0);
	ck_assert(!toy_store(0, 0, 1));
	ck_assert_uint_eq(one->events[GVM_EVENT_OOM], 1);
	toy_write_file(one, "gmem.limit.high", "max");
	toy_load_blocks(0, 0, 4);
	end();
}
END_TEST

static void lower_limit(u32 chunk)
{
	(void)chunk;
	toy.on_evict = NULL;
	toy_write_file(one, "gmem.limit.high", "2M");
	ck_assert_uint_gt(gvm_charge_excess(one), 0);
}

/*
 * F5: the reclaim of a limit write found chunks in service. They go when their batch ends,
 * without another fault.
 */
START_TEST(a_limit_lowered_in_the_middle_of_a_batch_holds_after_it)
{
	u32 i;

	begin(8);
	gvm_limit_set_high(one, 4 * CHUNK);
	toy_map_range(0, one, 8 * CHUNK, false);
	toy_store_blocks(0, 0, 1);
	for (i = 4; i < 8; i++)
		toy_fault(0, 32 * i, GVM_ACCESS_WRITE);
	toy.on_evict = lower_limit;
	toy_service_all();
	ck_assert_ptr_null(toy.on_evict);
	ck_assert_uint_eq((one->charged_bytes >> GVM_CHUNK_SHIFT), 1);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 0);
	end();
}
END_TEST

static void quiesce_the_device(u32 chunk)
{
	(void)chunk;
	toy.on_evict = NULL;
	WRITE_ONCE(toy.device.stopped[GVM_ACTIVITY_WRITERS], true);
}

/*
 * A suspend does not wait for a long reclaim. The writer's error says that the reclaim is not
 * done.
 */
START_TEST(a_limit_write_that_a_quiesce_ends_says_so_and_can_be_repeated)
{
	begin(8);
	toy_fill(0, one, 8);
	toy.on_evict = quiesce_the_device;
	ck_assert_int_eq(gvm_control_write(one, "gmem.limit.high", "4M", 2), -EAGAIN);
	ck_assert_uint_eq(one->gmem_high_bytes, 2 * CHUNK);
	ck_assert_uint_eq(gvm_charge_excess(one), 5);
	WRITE_ONCE(toy.device.stopped[GVM_ACTIVITY_WRITERS], false);
	toy_write_file(one, "gmem.limit.high", "4M");
	ck_assert_uint_eq(gvm_charge_excess(one), 0);
	end();
}
END_TEST

/* The victim stays, and the books break. */
static int evict_and_break(void *memory, u32 chunk, struct gvm_eviction *eviction)
{
	(void)memory;
	(void)eviction;
	gvm_clock_putback(&toy.device, chunk);
	gvm_device_set_dead(&toy.device);
	return -EBUSY;
}

/* Regression: such a write said that all was well, or that the GPU was lost. */
START_TEST(a_limit_write_whose_books_break_answers_eio)
{
	begin(8);
	toy_fill(0, one, 8);
	toy.memory_ops.evict = evict_and_break;
	ck_assert_int_eq(gvm_control_write(one, "gmem.limit.high", "4M", 2), -EIO);
	ck_assert_uint_eq(one->evicted_chunks, 0);
	/* The tear-down needs a live device. */
	toy.device.dead = false;
	end();
}
END_TEST

static void kill_the_writer(u32 chunk)
{
	(void)chunk;
	toy.on_evict = NULL;
	toy_kill();
}

/*
 * D25: a process that is killed during the reclaim of its write dies at once. This test is the
 * last one, because a killed thread stays killed. In the kernel the thread is not killed.
 */
START_TEST(a_limit_write_that_is_killed_leaves_the_rest)
{
	begin(8);
	toy_fill(0, one, 8);
	toy.on_evict = kill_the_writer;
	ck_assert_int_eq(gvm_control_write(one, "gmem.limit.high", "2M", 2),
			 TOY_CAN_KILL ? -EINTR : 0);
	ck_assert_uint_eq(one->gmem_high_bytes, CHUNK);
	ck_assert_uint_eq((one->charged_bytes >> GVM_CHUNK_SHIFT), TOY_CAN_KILL ? 7 : 1);
	/* The next fault finishes the reclaim. */
	toy_fault(0, 0, GVM_ACCESS_READ);
	toy_service_all();
	ck_assert_uint_eq((one->charged_bytes >> GVM_CHUNK_SHIFT), 1);
	end();
}
END_TEST

TEST_MAIN("reclaim", a_lowered_limit_takes_the_coldest_and_keeps_every_byte,
	  a_fault_in_the_middle_of_a_reclaim_is_held_to_the_new_limit,
	  a_limit_of_nothing_takes_everything_and_the_next_fault_is_cancelled,
	  a_limit_lowered_in_the_middle_of_a_batch_holds_after_it,
	  a_limit_write_that_a_quiesce_ends_says_so_and_can_be_repeated,
	  a_limit_write_whose_books_break_answers_eio,
	  a_limit_write_that_is_killed_leaves_the_rest)
