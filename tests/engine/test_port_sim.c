// SPDX-License-Identifier: MIT OR GPL-2.0
/* Waits of the port in simulated time, with a condition that takes time to evaluate. */
#include "gvm/port.h"
#include "runner.h"

static struct gvm_waitqueue queue;
static bool open_now;
static int waited;

/* The value is 100 ns old when it is returned. */
static bool was_open(void)
{
	bool was = open_now;

	eng_sleep_until(eng_now() + 100);
	return was;
}

static void simulate(void (*function)(void *data))
{
	gvm_waitqueue_init(&queue);
	waited = -1;
	ck_assert_int_eq(eng_init(), 0);
	eng_spawn("main", function, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
}

static void wait_for_open(void *data)
{
	(void)data;
	waited = gvm_wait_event_interruptible(&queue, was_open());
}

static void open_in_between(void *data)
{
	struct gvm_worker worker;

	(void)data;
	ck_assert_int_eq(gvm_worker_start(&worker, "wait", wait_for_open, NULL), 0);
	eng_sleep_until(eng_now() + 50);
	open_now = true;
	gvm_wake_up_all(&queue);
	eng_sleep_until(eng_now() + 1000);
	ck_assert_int_eq(waited, 0);
	gvm_worker_stop(&worker);
}

START_TEST(a_wake_up_between_a_condition_and_its_sleep_is_not_lost)
{
	simulate(open_in_between);
}
END_TEST

/*
 * The condition turns true before the stop. A stopped wait evaluates it once more, as in the
 * kernel.
 */
static void stop_when_open(void *data)
{
	struct gvm_worker worker;

	(void)data;
	ck_assert_int_eq(gvm_worker_start(&worker, "wait", wait_for_open, NULL), 0);
	eng_sleep_until(eng_now() + 1000);
	open_now = true;
	gvm_worker_stop(&worker);
}

START_TEST(what_is_true_counts_before_an_interruption)
{
	simulate(stop_when_open);
	ck_assert_int_eq(waited, 0);
}
END_TEST

static void never(void *data)
{
	u64 start = eng_now();

	(void)data;
	ck_assert_int_eq(gvm_wait_event_timeout_ns(&queue, open_now, 500), -ETIMEDOUT);
	ck_assert_uint_eq(eng_now(), start + 500);
}

START_TEST(a_wait_ends_at_its_time)
{
	simulate(never);
}
END_TEST

TEST_MAIN("port in simulated time", a_wake_up_between_a_condition_and_its_sleep_is_not_lost,
	  what_is_true_counts_before_an_interruption, a_wait_ends_at_its_time)
