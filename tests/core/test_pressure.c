// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Pressure events: which events are posted, what a listener reads, and listeners that misbehave
 * in every way that one thread can (test_pressure_race.c has two threads). Whatever a listener
 * does, the driver makes the same calls to the device as without it.
 */
#include "gvm/clock.h"
#include "gvm/control.h"
#include "gvm/pressure.h"
#include "runner.h"
#include "toy_gpu.h"

#define CHUNK GVM_CHUNK_BYTES

static struct gvm_container *one, *two;
static struct gvm_listener ear, other;

static void begin(u32 chunks)
{
	toy_init(chunks);
	memset(&ear, 0, sizeof(ear));
	memset(&other, 0, sizeof(other));
	one = toy_attach(1);
	two = toy_attach(2);
}

static void end(void)
{
	gvm_listener_close(&ear);
	gvm_listener_close(&other);
	toy_unmap_all();
	gvm_container_detach(one);
	gvm_container_detach(two);
	toy_destroy();
}

static void open_ear(void)
{
	ck_assert_int_eq(gvm_listener_open(&ear, one), 0);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
}

static void expect_event(struct gvm_listener *listener, u64 target_bytes, u64 sequence)
{
	struct gvm_pressure_event event;

	ck_assert(gvm_listener_poll(listener));
	ck_assert_int_eq(gvm_listener_read(listener, &event, sizeof(event), false),
			 (int)sizeof(event));
	ck_assert_uint_eq(event.target_bytes, target_bytes);
	ck_assert_uint_eq(event.sequence, sequence);
}

static void expect_nothing(struct gvm_listener *listener)
{
	struct gvm_pressure_event event;

	ck_assert(!gvm_listener_poll(listener));
	ck_assert_int_eq(gvm_listener_read(listener, &event, sizeof(event), false), -EAGAIN);
}

START_TEST(an_event_is_read_once)
{
	begin(4);
	open_ear();
	expect_nothing(&ear);
	gvm_pressure_post(one, 5 * CHUNK);
	expect_event(&ear, 5 * CHUNK, 1);
	expect_nothing(&ear);
	gvm_pressure_post(one, 0);
	expect_nothing(&ear);
	end();
}
END_TEST

/*
 * A listener that reads late gets the newest event, and a sequence number that counts all
 * events.
 */
START_TEST(the_newest_event_wins_and_nothing_grows)
{
	u32 i;

	begin(4);
	open_ear();
	for (i = 1; i <= 100000; i++)
		gvm_pressure_post(one, i * CHUNK);
	expect_event(&ear, 100000 * CHUNK, 100000);
	expect_nothing(&ear);
	end();
}
END_TEST

START_TEST(a_buffer_that_is_too_small_leaves_the_event)
{
	char small[sizeof(struct gvm_pressure_event) - 1];

	begin(4);
	open_ear();
	ck_assert_int_eq(gvm_listener_read(&ear, small, sizeof(small), true), -EINVAL);
	gvm_pressure_post(one, CHUNK);
	memset(small, 0x5a, sizeof(small));
	ck_assert_int_eq(gvm_listener_read(&ear, small, sizeof(small), true), -EINVAL);
	ck_assert_int_eq(gvm_listener_read(&ear, small, 0, true), -EINVAL);
	ck_assert_int_eq(small[0], 0x5a);
	expect_event(&ear, CHUNK, 1);
	end();
}
END_TEST

/* Its reader could not be given it. */
START_TEST(an_event_that_is_given_back_is_read_again_unless_a_newer_one_came)
{
	struct gvm_pressure_event event;
	struct gvm_container *three;

	begin(4);
	open_ear();
	gvm_pressure_post(one, CHUNK);
	gvm_pressure_post(one, 2 * CHUNK);
	ck_assert_int_gt(gvm_listener_read(&ear, &event, sizeof(event), false), 0);
	gvm_listener_give_back(&ear, &event);
	expect_event(&ear, 2 * CHUNK, 2);
	expect_nothing(&ear);

	/* A newer one came, and was read or not. */
	gvm_pressure_post(one, 3 * CHUNK);
	gvm_listener_give_back(&ear, &event);
	expect_event(&ear, 3 * CHUNK, 3);
	gvm_listener_give_back(&ear, &event);
	expect_nothing(&ear);

	/* The last process went meanwhile: the event is read, and then the end. */
	three = toy_attach(3);
	ck_assert_int_eq(gvm_listener_open(&other, three), 0);
	gvm_pressure_post(three, CHUNK);
	ck_assert_int_gt(gvm_listener_read(&other, &event, sizeof(event), false), 0);
	gvm_container_detach(three);
	gvm_listener_give_back(&other, &event);
	expect_event(&other, CHUNK, 1);
	ck_assert_int_eq(gvm_listener_read(&other, &event, sizeof(event), false), 0);
	end();
}
END_TEST

START_TEST(a_listener_opens_once_and_closes_as_often_as_one_likes)
{
	begin(4);
	open_ear();
	ck_assert_int_eq(gvm_listener_open(&ear, one), -EBUSY);
	ck_assert_int_eq(gvm_listener_open(&ear, two), -EBUSY);
	ck_assert_uint_eq(one->listener_count, 1);
	gvm_listener_close(&ear);
	gvm_listener_close(&ear);
	ck_assert_uint_eq(one->listener_count, 0);
	gvm_pressure_post(one, CHUNK);
	open_ear();
	expect_nothing(&ear);
	end();
}
END_TEST

START_TEST(one_container_has_so_many_listeners_and_takes_nobody_elses_place)
{
	static struct gvm_listener many[GVM_LISTENERS_MAX];
	u32 i;

	begin(4);
	for (i = 0; i < GVM_LISTENERS_MAX; i++)
		ck_assert_int_eq(gvm_listener_open(&many[i], one), 0);
	ck_assert_int_eq(gvm_listener_open(&ear, one), -ENOSPC);
	ck_assert_int_eq(gvm_listener_open(&other, two), 0);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	gvm_pressure_post(one, CHUNK);
	for (i = 0; i < GVM_LISTENERS_MAX; i++)
		expect_event(&many[i], CHUNK, 1);
	expect_nothing(&other);
	gvm_listener_close(&many[0]);
	open_ear();
	expect_nothing(&ear);
	for (i = 1; i < GVM_LISTENERS_MAX; i++)
		gvm_listener_close(&many[i]);
	end();
}
END_TEST

/* The process ended and the listener is still open: it reads the last event, then the end. */
START_TEST(a_listener_outlives_its_container_and_reads_the_end)
{
	struct gvm_pressure_event event;
	struct gvm_container *three;

	begin(4);
	three = toy_attach(3);
	ck_assert_int_eq(gvm_listener_open(&ear, three), 0);
	gvm_pressure_post(three, CHUNK);
	ck_assert(!gvm_listener_is_at_end(&ear));
	gvm_container_detach(three);
	ck_assert(gvm_listener_is_at_end(&ear));
	expect_event(&ear, CHUNK, 1);
	ck_assert(gvm_listener_poll(&ear));
	ck_assert_int_eq(gvm_listener_read(&ear, &event, sizeof(event), true), 0);
	ck_assert_int_eq(gvm_listener_read(&ear, &event, sizeof(event), false), 0);
	/* A reference keeps the container, so a post is still legal. It does no harm. */
	gvm_pressure_post(three, CHUNK);
	ck_assert_int_eq(gvm_listener_open(&other, three), -ENODEV);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	end();
}
END_TEST

START_TEST(pressure_on_the_device_reaches_those_who_could_pay)
{
	begin(4);
	open_ear();
	ck_assert_int_eq(gvm_listener_open(&other, two), 0);
	gvm_pressure_post_device(&toy.device, 3 * CHUNK);
	expect_event(&ear, 3 * CHUNK, 1);
	expect_event(&other, 3 * CHUNK, 1);
	toy_write_file(one, "gmem.limit.low", "2M");
	toy_write_file(two, "hmem.limit", "0");
	gvm_pressure_post_device(&toy.device, 3 * CHUNK);
	expect_nothing(&ear);
	expect_nothing(&other);
	toy_write_file(two, "hmem.limit", "max");
	gvm_pressure_post_device(&toy.device, 4 * CHUNK);
	expect_nothing(&ear);
	expect_event(&other, 4 * CHUNK, 2);
	end();
}
END_TEST

#define TENANTS 70u

/* More listeners than one post reaches: the next post goes on from there. */
START_TEST(pressure_on_the_device_goes_round_when_there_are_too_many)
{
	static struct gvm_container *tenants[TENANTS];
	static struct gvm_listener ears[TENANTS];
	u64 heard = 0;
	u32 i;

	begin(4);
	memset(ears, 0, sizeof(ears));
	for (i = 0; i < TENANTS; i++) {
		tenants[i] = toy_attach(100 + i);
		ck_assert_int_eq(gvm_listener_open(&ears[i], tenants[i]), 0);
	}
	gvm_pressure_post_device(&toy.device, CHUNK);
	for (i = 0; i < TENANTS; i++)
		heard += gvm_listener_poll(&ears[i]);
	ck_assert_uint_eq(heard, 64);
	gvm_pressure_post_device(&toy.device, CHUNK);
	for (i = 0; i < TENANTS; i++) {
		ck_assert(gvm_listener_poll(&ears[i]));
		gvm_listener_close(&ears[i]);
		gvm_container_detach(tenants[i]);
	}
	end();
}
END_TEST

START_TEST(a_lowered_limit_tells_its_excess_before_it_takes_it)
{
	begin(8);
	toy_map_range(0, one, 8 * CHUNK, false);
	open_ear();
	toy_store_blocks(0, 0, 8);
	expect_nothing(&ear);
	toy_write_file(one, "gmem.limit.high", "6M");
	expect_event(&ear, 5 * CHUNK, 1);
	ck_assert_uint_eq(one->evicted_chunks, 5);
	/* No excess, so no event. */
	toy_write_file(one, "gmem.limit.high", "16M");
	expect_nothing(&ear);
	end();
}
END_TEST

START_TEST(a_limit_that_is_set_without_waiting_tells_its_excess_and_takes_nothing)
{
	begin(8);
	toy_map_range(0, one, 8 * CHUNK, false);
	open_ear();
	toy_store_blocks(0, 0, 8);
	ck_assert_int_eq(gvm_control_set(one, "gmem.limit.high", "6M", 2), 0);
	expect_event(&ear, 5 * CHUNK, 1);
	ck_assert_uint_eq(one->evicted_chunks, 0);
	/* The limit holds at once. */
	ck_assert_int_eq(gvm_charge_reserve(one), -EDQUOT);
	end();
}
END_TEST

/*
 * The work of a run: two tenants on a full device, a cut of the first one's limit, then all is
 * read again.
 */
static void work(void)
{
	u32 i;

	toy_fill(0, one, 8);
	toy_fill(1, two, 8);
	toy_write_file(one, "gmem.limit.high", "4M");
	for (i = 0; i < 8; i++) {
		ck_assert(toy_load(0, 32 * i, 1000 + i));
		ck_assert(toy_load(1, 32 * i, 2000 + i));
	}
	toy_write_file(one, "gmem.limit.high", "2M");
}

/* Ways to misbehave. Each is called when a victim of any container is about to go. */

static void misbehave_never(u32 chunk)
{
	(void)chunk;
}

static void misbehave_lie(u32 chunk)
{
	struct gvm_pressure_event event;

	(void)chunk;
	/* The application claims that it dropped everything, but only reads the event. */
	gvm_listener_read(&ear, &event, sizeof(event), false);
}

static void misbehave_small(u32 chunk)
{
	char byte;

	(void)chunk;
	ck_assert_int_eq(gvm_listener_read(&ear, &byte, 1, false), -EINVAL);
}

static void misbehave_reopen(u32 chunk)
{
	(void)chunk;
	ck_assert_int_eq(gvm_listener_open(&ear, one), -EBUSY);
	gvm_listener_close(&ear);
	ck_assert_int_eq(gvm_listener_open(&ear, one), 0);
}

static void misbehave_crowd(u32 chunk)
{
	static struct gvm_listener crowd[GVM_LISTENERS_MAX];
	u32 i;

	(void)chunk;
	for (i = 0; i < GVM_LISTENERS_MAX - 1; i++)
		ck_assert_int_eq(gvm_listener_open(&crowd[i], one), 0);
	ck_assert_int_eq(gvm_listener_open(&crowd[i], one), -ENOSPC);
	while (i--)
		gvm_listener_close(&crowd[i]);
}

static void misbehave_die(u32 chunk)
{
	(void)chunk;
	gvm_listener_close(&ear);
}

static void (*const misbehaviours[])(u32 chunk) = {
	misbehave_never,  misbehave_lie,   misbehave_small,
	misbehave_reopen, misbehave_crowd, misbehave_die,
};

struct outcome {
	struct toy_call calls[4096];
	u32 call_count;
	u64 evicted[2];
	u64 events[2][GVM_EVENTS];
	struct gvm_fault_stats stats;
};

static void save_outcome(struct outcome *outcome)
{
	memset(outcome, 0, sizeof(*outcome));
	memcpy(outcome->calls, toy.calls, sizeof(toy.calls));
	outcome->call_count = toy.call_count;
	outcome->evicted[0] = one->evicted_chunks;
	outcome->evicted[1] = two->evicted_chunks;
	memcpy(outcome->events[0], one->events, sizeof(one->events));
	memcpy(outcome->events[1], two->events, sizeof(two->events));
	outcome->stats = toy.handler.stats;
}

/* Every call to the device is the same as in a run without a listener. */
START_TEST(whatever_a_listener_does_the_driver_does_the_same)
{
	static struct outcome without, with;
	u32 i;

	begin(8);
	work();
	save_outcome(&without);
	end();
	ck_assert_uint_gt(without.evicted[0], 0);
	ck_assert_uint_gt(without.evicted[1], 0);
	for (i = 0; i < ARRAY_SIZE(misbehaviours); i++) {
		begin(8);
		open_ear();
		toy.on_evict = misbehaviours[i];
		work();
		ck_assert_int_eq(gvm_check(&toy.device), 0);
		save_outcome(&with);
		end();
		ck_assert_msg(memcmp(&with, &without, sizeof(with)) == 0, "misbehaviour %u", i);
	}
}
END_TEST

static void cooperate(u32 chunk)
{
	struct gvm_pressure_event event;

	(void)chunk;
	if (gvm_listener_read(&ear, &event, sizeof(event), false) > 0)
		gvm_range_discard(&toy.spaces[0].range, 0, event.target_bytes);
}

/* Five chunks are above the limit and the first is picked already. The listener drops five. */
START_TEST(a_listener_that_keeps_its_word_ends_the_eviction)
{
	begin(8);
	toy_map_range(0, one, 8 * CHUNK, false);
	open_ear();
	toy_store_blocks(0, 0, 8);
	toy.on_evict = cooperate;
	toy_write_file(one, "gmem.limit.high", "6M");
	ck_assert_uint_eq(gvm_charged_bytes(one), 3 * CHUNK);
	ck_assert_uint_eq(toy.kinds[TOY_OUT], 0);
	ck_assert_uint_eq(one->swapped_bytes, 0);
	end();
}
END_TEST

TEST_MAIN("pressure", an_event_is_read_once, the_newest_event_wins_and_nothing_grows,
	  a_buffer_that_is_too_small_leaves_the_event,
	  an_event_that_is_given_back_is_read_again_unless_a_newer_one_came,
	  a_listener_opens_once_and_closes_as_often_as_one_likes,
	  one_container_has_so_many_listeners_and_takes_nobody_elses_place,
	  a_listener_outlives_its_container_and_reads_the_end,
	  pressure_on_the_device_reaches_those_who_could_pay,
	  pressure_on_the_device_goes_round_when_there_are_too_many,
	  a_lowered_limit_tells_its_excess_before_it_takes_it,
	  a_limit_that_is_set_without_waiting_tells_its_excess_and_takes_nothing,
	  whatever_a_listener_does_the_driver_does_the_same,
	  a_listener_that_keeps_its_word_ends_the_eviction)
