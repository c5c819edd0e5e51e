// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * TGS: its rate controller step by step, and what its two processes may launch, to the kernel.
 */
#include "library_fixture.h"
#include "systems/tgs_rate.h"

#define SECOND (1000 * MS)
#define BLOCKS 100u

static struct {
	u64 blocks_per_kernel;
	bool rate_limit;
	bool advice;
} keys = { BLOCKS, true, true };

/* The highest rate is known, and the first limit is set. */
static struct tgs_rate controlled(u64 max_rate)
{
	struct tgs_rate rate = { 0 };

	tgs_rate_connect(&rate, max_rate);
	for (u32 i = 0; i < TGS_WINDOW; i++)
		rate.rates[i] = max_rate;
	rate.mode = TGS_CONTROL;
	tgs_rate_message(&rate, max_rate, 0);
	return rate;
}

START_TEST(the_highest_mean_of_two_leaves_the_newest_rate_out)
{
	u64 rates[TGS_WINDOW] = { 10, 30, 50, 20, 90 };

	ck_assert_uint_eq(tgs_shift_window(rates, 1000), 55);
	ck_assert_uint_eq(rates[0], 1000);
	ck_assert_uint_eq(rates[4], 20);
	ck_assert_uint_eq(tgs_shift_window(rates, 0), 505);
}
END_TEST

/* The public code measures an idle process for ever, and its neighbour's limit stays 0. */
START_TEST(an_idle_process_is_measured_for_ever)
{
	struct tgs_rate rate = { 0 };

	tgs_rate_connect(&rate, 0);
	for (u32 i = 0; i < 40; i++)
		tgs_rate_message(&rate, 0, 1);
	ck_assert_int_eq(rate.mode, TGS_PROFILE);
	ck_assert_uint_eq(rate.limit, 0);
}
END_TEST

/* Five messages, and on as long as the highest rate is the window's. */
START_TEST(a_profile_lasts_until_the_highest_rate_is_known)
{
	struct tgs_rate rate = { 0 };

	tgs_rate_connect(&rate, 0);
	ck_assert_uint_eq(rate.limit, 0);
	/* Of the first rates no mean is known; then it is a half, then all, of 97.5 %. */
	tgs_rate_message(&rate, 1000000, 0);
	ck_assert_uint_eq(rate.max_rate, 0);
	tgs_rate_message(&rate, 1000000, 0);
	ck_assert_uint_eq(rate.max_rate, 487500);
	tgs_rate_message(&rate, 1000000, 0);
	ck_assert_uint_eq(rate.max_rate, 975000);
	/* Within 5 % the highest is taken as it is, and the profile goes on at a tie. */
	tgs_rate_message(&rate, 990000, 0);
	ck_assert_uint_eq(rate.max_rate, 1000000);
	tgs_rate_message(&rate, 990000, 0);
	tgs_rate_message(&rate, 990000, 0);
	ck_assert_int_eq(rate.mode, TGS_PROFILE);
	/* The last mean of 1,000,000 leaves the window. */
	tgs_rate_message(&rate, 990000, 0);
	ck_assert_int_eq(rate.mode, TGS_PROFILE);
	tgs_rate_message(&rate, 990000, 0);
	ck_assert_int_eq(rate.mode, TGS_CONTROL);
	ck_assert_uint_eq(rate.max_rate, 1000000);
	ck_assert_uint_eq(rate.limit, 0);
	tgs_rate_message(&rate, 990000, 0);
	ck_assert_uint_eq(rate.limit, 20000);
	ck_assert_int_eq(rate.state, TGS_SLOW_START);
}
END_TEST

/* A kernel each ns for 5 s, of the most blocks that system.blocks_per_kernel allows. */
START_TEST(the_highest_rate_that_a_scenario_can_have_is_followed)
{
	const u64 most = 5 * SECOND * 1000000;
	struct tgs_rate rate = { 0 };

	tgs_rate_connect(&rate, 0);
	for (u32 i = 0; i < 3; i++)
		tgs_rate_message(&rate, most, 0);
	ck_assert_uint_eq(rate.max_rate, most / 1000 * 975);
}
END_TEST

START_TEST(a_rate_near_the_highest_raises_the_limit_by_half)
{
	struct tgs_rate rate = controlled(1000000);

	tgs_rate_message(&rate, 1000000, 0);
	ck_assert_uint_eq(rate.limit, 30001);
	tgs_rate_message(&rate, 970000, 0);
	ck_assert_uint_eq(rate.limit, 45002);
	/* 3.1 % less: two thirds, and congestion avoidance. */
	tgs_rate_message(&rate, 969000, 0);
	ck_assert_uint_eq(rate.limit, 30001);
	ck_assert_int_eq(rate.state, TGS_CONGESTION_AVOIDANCE);
}
END_TEST

START_TEST(congestion_avoidance_adds_little_and_takes_a_part)
{
	struct tgs_rate rate = controlled(8000000);

	rate.state = TGS_CONGESTION_AVOIDANCE;
	/* max(8,000,000 / 4000, 1000) */
	tgs_rate_message(&rate, 8000000, 0);
	ck_assert_uint_eq(rate.limit, 22000);
	/* At 3 % exactly it falls after it rose, and rises after it fell. */
	tgs_rate_message(&rate, 7760000, 0);
	ck_assert_uint_eq(rate.limit, 22000 - 1760);
	tgs_rate_message(&rate, 7760000, 0);
	ck_assert_uint_eq(rate.limit, 22240);
	/* 9 % and more: a tenth of what is left, and slow start. */
	tgs_rate_message(&rate, 7280000, 0);
	ck_assert_uint_eq(rate.limit, (22240 - 1779) / 10);
	ck_assert_int_eq(rate.state, TGS_SLOW_START);
}
END_TEST

START_TEST(a_limit_never_falls_below_nothing)
{
	struct tgs_rate rate = controlled(8000000);

	rate.state = TGS_CONGESTION_AVOIDANCE;
	rate.limit = 500;
	tgs_rate_message(&rate, 7600000, 0);
	ck_assert_uint_eq(rate.limit, 0);
}
END_TEST

/* More than two of the last five rates are nothing: no limit, from the 15th message on. */
START_TEST(beside_one_that_launches_nothing_there_is_no_limit_after_15_messages)
{
	struct tgs_rate rate = controlled(1000000);

	rate.controlled = 20;
	rate.rates[0] = rate.rates[1] = 1;
	rate.rates[3] = rate.rates[2] = 1000000;
	tgs_rate_message(&rate, 1, 0);
	ck_assert_uint_eq(rate.limit, 1ull << 32);
	/* Two of them are nothing: it starts anew. */
	rate = controlled(1000000);
	rate.controlled = 20;
	rate.rates[0] = 1;
	tgs_rate_message(&rate, 1, 0);
	ck_assert_uint_eq(rate.limit, 20000);
}
END_TEST

/* Twenty messages in a row that are 12 % off: the highest rate is taken for a mistake. */
START_TEST(a_highest_rate_that_is_never_reached_is_given_up)
{
	struct tgs_rate rate = controlled(1000000);

	for (u32 i = 0; i < 19; i++) {
		rate.rates[3] = rate.rates[2] = 1000000;
		tgs_rate_message(&rate, 850000, 0);
		ck_assert_uint_eq(rate.max_rate, 1000000);
	}
	rate.rates[3] = rate.rates[2] = 1000000;
	tgs_rate_message(&rate, 850000, 0);
	ck_assert_uint_eq(rate.max_rate, 800000);
	ck_assert_int_eq(rate.state, TGS_SLOW_START);
}
END_TEST

/*
 * Of a kernel each millisecond the other may launch one in 50 ms, from the connection on: 100
 * blocks are more than 0. It connects at 5 s, when 5000 were launched. The window ends at 5.05
 * s; the host thread stands before its launch since 5.001 s, sleeps 10 ms at a time and wakes
 * up at 5.051 s.
 */
static void high_app(void)
{
	eng_sleep_until(5 * SECOND);
	library_launch(0, 1000000, 10 * US, 100 * US);
	eng_sleep_until(6 * SECOND);
}

static void low_app(void)
{
	library_launch(1, 20000, 10 * US, MS);
	eng_sleep_until(5 * SECOND - 1);
	ck_assert_uint_eq(library_launched(1), 4999);
	eng_sleep_until(5 * SECOND + 51 * MS + MS - 1);
	ck_assert_uint_eq(library_launched(1), 5001);
	eng_sleep_until(5 * SECOND + 51 * MS + MS);
	ck_assert_uint_eq(library_launched(1), 5002);
	eng_sleep_until(5 * SECOND + 999 * MS);
	ck_assert_uint_eq(library_launched(1), 5020);
	/* The high-priority process exits at 6 s: there is no limit. */
	eng_sleep_until(7 * SECOND + 999 * MS);
	ck_assert_uint_ge(library_launched(1), 5020 + 1990);
}

START_TEST(one_kernel_a_window_is_launched_while_the_highest_rate_is_measured)
{
	library_simulate(&system_tgs, &keys, 0, (const char *const[]){ "2", "10", NULL },
			 (void (*const[])(void)){ high_app, low_app });
}
END_TEST

/* Two of the same priority are both high-priority: nothing is withheld. */
static void equal_first(void)
{
	library_launch(0, 1000, 10 * US, 100 * US);
	ck_assert_int_eq(cuda_synchronize(&contexts[0]), 0);
}

static void equal_second(void)
{
	library_launch(1, 1000, 10 * US, 100 * US);
	ck_assert_int_eq(cuda_synchronize(&contexts[1]), 0);
	ck_assert_uint_eq(library_launched(1), 1000);
	ck_assert_uint_lt(eng_now(), 101 * MS);
}

START_TEST(containers_of_one_priority_hold_each_other_up_by_nothing)
{
	library_simulate(&system_tgs, &keys, 0, (const char *const[]){ "2", "2", NULL },
			 (void (*const[])(void)){ equal_first, equal_second });
}
END_TEST

/* However long it is withheld, each window launches a kernel. */
static void busy_high(void)
{
	library_launch(0, 400000, 90 * US, 100 * US);
	eng_sleep_until(30 * SECOND);
}

static void held_low(void)
{
	library_launch(1, 20000, 10 * US, 100 * US);
	for (u64 second = 1; second < 20; second++) {
		eng_sleep_until(second * SECOND);
		ck_assert_uint_ge(library_launched(1), 16 * second);
		ck_assert_uint_le(library_launched(1), 21 * second + 1);
	}
}

START_TEST(a_process_that_is_held_launches_a_kernel_a_window)
{
	library_simulate(&system_tgs, &keys, 0, (const char *const[]){ "2", "10", NULL },
			 (void (*const[])(void)){ busy_high, held_low });
}
END_TEST

TEST_MAIN("tgs", the_highest_mean_of_two_leaves_the_newest_rate_out,
	  a_profile_lasts_until_the_highest_rate_is_known,
	  the_highest_rate_that_a_scenario_can_have_is_followed,
	  a_rate_near_the_highest_raises_the_limit_by_half,
	  congestion_avoidance_adds_little_and_takes_a_part, a_limit_never_falls_below_nothing,
	  beside_one_that_launches_nothing_there_is_no_limit_after_15_messages,
	  an_idle_process_is_measured_for_ever,
	  a_highest_rate_that_is_never_reached_is_given_up,
	  one_kernel_a_window_is_launched_while_the_highest_rate_is_measured,
	  containers_of_one_priority_hold_each_other_up_by_nothing,
	  a_process_that_is_held_launches_a_kernel_a_window)
