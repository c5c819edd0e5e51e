// SPDX-License-Identifier: MIT OR GPL-2.0
/* The engine over SimGrid: order of equal dates, waits, interruption, debt, deadlock. */
#include <errno.h>

#include "engine/engine.h"
#include "runner.h"

static char order[64];
static size_t order_length;

static void note(char what)
{
	order[order_length++] = what;
}

static void fire_a(struct eng_timer *timer)
{
	(void)timer;
	note('a');
}

static void fire_b(struct eng_timer *timer)
{
	(void)timer;
	note('b');
}

static void fire_c(struct eng_timer *timer)
{
	(void)timer;
	note('c');
}

static void sleep_1s(void *data)
{
	(void)data;
	ck_assert_int_eq(eng_sleep_until(1000000000), 0);
}

START_TEST(equal_dates_fire_in_the_order_in_which_they_were_set)
{
	static struct eng_timer a = { .fire = fire_a };
	static struct eng_timer b = { .fire = fire_b };
	static struct eng_timer c = { .fire = fire_c };

	ck_assert_int_eq(eng_init(), 0);
	eng_timer_set(&a, 5);
	eng_timer_set(&b, 7);
	eng_timer_set(&c, 5);
	eng_timer_set(&b, 5); /* set again: now behind c */
	eng_spawn("sleeper", sleep_1s, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	ck_assert_str_eq(order, "acb");
	ck_assert_uint_eq(eng_now(), 1000000000);
}
END_TEST

static void sleep_to(void *data)
{
	const uint64_t *date = data;

	eng_sleep_until(*date);
	note(eng_actor_name(eng_self())[0]);
}

START_TEST(sleepers_of_one_date_wake_in_the_order_in_which_they_went_to_sleep)
{
	static const uint64_t date = 123456789;
	int i;
	char name[2] = "1";

	ck_assert_int_eq(eng_init(), 0);
	for (i = 0; i < 5; i++, name[0]++)
		eng_spawn(name, sleep_to, (void *)&date);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	ck_assert_str_eq(order, "12345");
	ck_assert_uint_eq(eng_now(), date);
}
END_TEST

static void many_odd_sleeps(void *data)
{
	uint64_t date = 0;
	int i;

	(void)data;
	for (i = 0; i < 20000; i++) {
		date += (uint64_t)(1 + i % 7) * 100003 + 1;
		ck_assert_int_eq(eng_sleep_until(date), 0);
		ck_assert_uint_eq(eng_now(), date);
	}
}

START_TEST(dates_stay_exact_to_the_nanosecond_over_many_sleeps)
{
	ck_assert_int_eq(eng_init(), 0);
	eng_spawn("sleeper", many_odd_sleeps, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 100), ENG_END_DONE);
}
END_TEST

static struct eng_waitq waitq;

static void waiter(void *data)
{
	const uint64_t *date = data;

	note(eng_wait(&waitq, *date, true) == -ETIMEDOUT ? 't' : 'w');
}

static void waker(void *data)
{
	(void)data;
	eng_sleep_until(100);
	eng_wake_one(&waitq);
	eng_sleep_until(200);
	eng_wake_all(&waitq);
}

START_TEST(waits_end_by_wake_or_by_date_and_wakes_are_in_order)
{
	static const uint64_t soon = 50, never = ENG_NEVER;

	ck_assert_int_eq(eng_init(), 0);
	eng_spawn("soon", waiter, (void *)&soon);
	eng_spawn("one", waiter, (void *)&never);
	eng_spawn("two", waiter, (void *)&never);
	eng_spawn("waker", waker, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	ck_assert_str_eq(order, "tww");
	ck_assert_uint_eq(eng_now(), 200);
}
END_TEST

static void interruptible(void *data)
{
	(void)data;
	ck_assert_int_eq(eng_sleep_until(ENG_NEVER), -EINTR);
	ck_assert_int_eq(eng_wait(&waitq, ENG_NEVER, true), -EINTR);
	ck_assert(eng_interrupted());
	note('i');
}

static void interrupter(void *data)
{
	struct eng_actor *victim = data;

	eng_sleep_until(10);
	eng_interrupt(victim);
	eng_join(victim);
	note('j');
}

START_TEST(interruption_ends_this_wait_and_all_later_ones)
{
	struct eng_actor *victim;

	ck_assert_int_eq(eng_init(), 0);
	victim = eng_spawn("victim", interruptible, NULL);
	eng_spawn("interrupter", interrupter, victim);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	ck_assert_str_eq(order, "ij");
	ck_assert_uint_eq(eng_now(), 10);
}
END_TEST

static void indebted(void *data)
{
	(void)data;
	eng_add_debt(30);
	eng_add_debt(12);
	ck_assert_uint_eq(eng_now(), 0);
	ck_assert_uint_eq(eng_now_busy(), 42);
	eng_pay_debt();
	ck_assert_uint_eq(eng_now(), 42);
	eng_add_debt(8);
	/* A wait with a debt pays first and lets the caller look again. */
	ck_assert_int_eq(eng_wait(&waitq, ENG_NEVER, true), 0);
	ck_assert_uint_eq(eng_now(), 50);
}

START_TEST(debt_is_paid_in_one_sleep_before_others_can_see_an_effect)
{
	ck_assert_int_eq(eng_init(), 0);
	eng_spawn("indebted", indebted, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	ck_assert_uint_eq(eng_events(), 2);
}
END_TEST

static void wait_for_ever(void *data)
{
	(void)data;
	eng_wait(&waitq, ENG_NEVER, false);
}

START_TEST(a_deadlock_is_told_and_not_taken_for_an_end)
{
	ck_assert_int_eq(eng_init(), 0);
	eng_spawn("stuck", wait_for_ever, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DEADLOCK);
}
END_TEST

TEST_MAIN("engine", equal_dates_fire_in_the_order_in_which_they_were_set,
	  sleepers_of_one_date_wake_in_the_order_in_which_they_went_to_sleep,
	  dates_stay_exact_to_the_nanosecond_over_many_sleeps,
	  waits_end_by_wake_or_by_date_and_wakes_are_in_order,
	  interruption_ends_this_wait_and_all_later_ones,
	  debt_is_paid_in_one_sleep_before_others_can_see_an_effect,
	  a_deadlock_is_told_and_not_taken_for_an_end)
