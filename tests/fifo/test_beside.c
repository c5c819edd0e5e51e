// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What kernels that run side by side get of a GPU: small schedules worked out by hand, checked
 * to the nanosecond.
 */
#include "partition_world.h"
#include "runner.h"

/* TSGs a and b join without limits, and each gets one of these. */
static void begin_both(struct fifo_burst *a, struct fifo_burst *b)
{
	join(&tsg_a, 0, FIFO_ALL_PPM);
	join(&tsg_b, 0, FIFO_ALL_PPM);
	fifo_submit(&tsg_a, a);
	fifo_submit(&tsg_b, b);
}

static void begin_three(struct fifo_burst *a, struct fifo_burst *b, struct fifo_burst *c)
{
	begin_both(a, b);
	join(&tsg_c, 0, FIFO_ALL_PPM);
	fifo_submit(&tsg_c, c);
}

static void two_equal(void)
{
	struct fifo_burst a = kernel(1000, 0, 0), b = a, alone = a;

	begin_both(&a, &b);
	expect_end(&a, 2000);
	expect_end(&b, 2000);
	fifo_submit(&tsg_a, &alone);
	expect_end(&alone, 3000);
	ck_assert_uint_eq(tsg_a.busy_ns, 2000);
	ck_assert_uint_eq(fifo.switches, 0);
}

START_TEST(two_that_can_use_all_sms_take_twice_as_long_beside_each_other)
{
	simulate(&everything_in_space, NULL, two_equal);
}
END_TEST

static void two_limited(void)
{
	struct fifo_burst a = kernel(1000, 0, 0), b = a, alone = a;

	/* With half of the SMs it takes twice as long, with or without a neighbour. */
	join(&tsg_a, 0, HALF);
	join(&tsg_b, 0, HALF);
	fifo_submit(&tsg_a, &alone);
	expect_end(&alone, 2000);
	fifo_submit(&tsg_a, &a);
	eng_sleep_until(2500);
	fifo_submit(&tsg_b, &b);
	expect_end(&a, 4000);
	expect_end(&b, 4500);
}

START_TEST(two_that_are_limited_to_half_do_not_disturb_each_other)
{
	simulate(&everything_in_space, NULL, two_limited);
}
END_TEST

static void small_and_large(void)
{
	struct fifo_burst small = kernel(1000, 300000, 0), large = kernel(1000, 700000, 0);

	begin_both(&small, &large);
	expect_end(&small, 1000);
	expect_end(&large, 1000);
}

START_TEST(a_kernel_of_30_percent_runs_at_full_speed_beside_one_of_70)
{
	simulate(&everything_in_space, NULL, small_and_large);
}
END_TEST

static void long_and_short(void)
{
	struct fifo_burst a = kernel(900, 0, 0), b = kernel(100, 0, 0);
	struct fifo_burst small = kernel(1000, 300000, 0), all = kernel(1000, 0, 0);

	/* a's kernel waits for one of b's, and b's for one of a's: three times 1000. */
	a.kernels = b.kernels = 3;
	begin_both(&a, &b);
	expect_end(&a, 3000);
	expect_end(&b, 3000);
	/*
	 * 1000 with all SMs and 1000 with 30 % of them: 1300. Speeds are rounded down, so that
	 * it is 1301.
	 */
	fifo_submit(&tsg_a, &small);
	fifo_submit(&tsg_b, &all);
	expect_end(&small, 4301);
	expect_end(&all, 4301);
}

START_TEST(a_kernel_waits_for_one_kernel_of_its_neighbour_however_long)
{
	simulate(&everything_in_space, NULL, long_and_short);
}
END_TEST

static void less_needed_than_filled(void)
{
	struct fifo_burst light = kernel(1000, 0, 0), gaps = kernel(1000, 0, 0);
	struct fifo_burst other = kernel(1000, 0, 0);

	join(&tsg_a, 0, HALF);
	join(&tsg_b, 0, FIFO_ALL_PPM);
	/* It fills all SMs, and half of them suffice. */
	light.sm_need_ppm = HALF;
	fifo_submit(&tsg_a, &light);
	expect_end(&light, 1000);
	/*
	 * Half of its time is on the SMs, and becomes twice as long. Its speed is rounded down.
	 */
	gaps.sm_busy_ppm = HALF;
	fifo_submit(&tsg_a, &gaps);
	expect_end(&gaps, 2501);
	/*
	 * Two such kernels without limits fill each other's gaps. Half of their time they pause,
	 * and come at any time: in half of the cases the other one runs for 250 more. 62.5.
	 */
	fifo_tsg_destroy(&tsg_a);
	join(&tsg_a, 0, FIFO_ALL_PPM);
	gaps = kernel(1000, 0, 0);
	gaps.sm_busy_ppm = other.sm_busy_ppm = HALF;
	fifo_submit(&tsg_a, &gaps);
	fifo_submit(&tsg_b, &other);
	expect_end(&gaps, 3564);
	expect_end(&other, 3564);
}

START_TEST(a_limit_slows_down_only_what_needs_more_and_only_while_blocks_run)
{
	simulate(&everything_in_space, NULL, less_needed_than_filled);
}
END_TEST

/* As two with pauses of half of their time, and each for more than a day. */
static void long_with_pauses(void)
{
	struct fifo_burst a = kernel(100000000000000, 0, 0), b = a;

	a.sm_busy_ppm = b.sm_busy_ppm = HALF;
	begin_both(&a, &b);
	/* A wait of a sixteenth: 941176 ppm. */
	expect_end(&a, 106250053125027);
	expect_end(&b, 106250053125027);
}

START_TEST(a_kernel_of_a_day_waits_as_a_short_one)
{
	simulate(&everything_in_space, NULL, long_with_pauses);
}
END_TEST

static void bound_by_memory_in_turns(void)
{
	struct fifo_burst light = kernel(1000, 0, FIFO_ALL_PPM), other = kernel(1000, 0, 0);
	struct fifo_burst same;

	/*
	 * Half of the SMs would suffice for it, all of the time. It has all
	 * of them half of the time.
	 */
	light.sm_need_ppm = HALF;
	begin_both(&light, &other);
	expect_end(&light, 2000);
	expect_end(&other, 2000);
	/* So two of them do not meet at the memory. */
	light = kernel(1000, 0, FIFO_ALL_PPM);
	light.sm_need_ppm = HALF;
	same = light;
	fifo_submit(&tsg_a, &light);
	fifo_submit(&tsg_b, &same);
	expect_end(&light, 4000);
	expect_end(&same, 4000);
}

START_TEST(kernels_that_take_turns_do_not_run_on_fewer_sms_nor_meet_at_the_memory)
{
	simulate(&everything_in_space, NULL, bound_by_memory_in_turns);
}
END_TEST

static void half_a_turn(void)
{
	struct fifo_burst small = kernel(500, 0, 0), large = kernel(1000, 0, 0);

	/*
	 * Two kernels of 500, of which one finds a place: 1000 in its one turn, as the other.
	 */
	small.kernels = 2;
	small.sm_turns_ppm = HALF;
	large.sm_open_ppm = FIFO_ALL_PPM;
	begin_both(&small, &large);
	expect_end(&small, 2000);
	expect_end(&large, 2000);
	/*
	 * Without room beside the other one both of them wait for a turn. So the other one has
	 * two thirds of the SMs and ends after 1500. Speeds are rounded down.
	 */
	small = kernel(500, 0, 0);
	large = kernel(1000, 0, 0);
	small.kernels = 2;
	small.sm_turns_ppm = HALF;
	fifo_submit(&tsg_a, &small);
	fifo_submit(&tsg_b, &large);
	expect_end(&large, 3501);
	expect_end(&small, 4001);
}

START_TEST(a_small_kernel_takes_no_turn_where_blocks_leave_room)
{
	simulate(&everything_in_space, NULL, half_a_turn);
}
END_TEST

/* The weight of @small would need more than 64 bits, whose last ones are nearly 0. */
static void hardly_a_turn(void)
{
	struct fifo_burst small = kernel(18446744073710, 0, 0), large = small;

	small.sm_turns_ppm = 1;
	large.sm_open_ppm = FIFO_ALL_PPM;
	begin_both(&small, &large);
	/* It has 999,999 ppm of the SMs. Speeds are rounded down. */
	expect_end(&small, 18446762520473);
	expect_end(&large, 36893488147421);
}

START_TEST(a_long_kernel_of_a_millionth_of_a_turn_takes_nearly_all_sms)
{
	simulate(&everything_in_space, NULL, hardly_a_turn);
}
END_TEST

static void starts_and_ends(void)
{
	struct fifo_burst fixed = kernel(1000, 0, 0), streams = kernel(1000, 0, FIFO_ALL_PPM);

	join(&tsg_a, 0, HALF);
	join(&tsg_b, 0, HALF);
	/* A limit of half of the SMs lengthens only the work: 400 + 2 x 600. */
	fixed.sm_fixed_ppm = 400000;
	fifo_submit(&tsg_a, &fixed);
	expect_end(&fixed, 1600);
	/*
	 * Beside one that uses the memory all of the time the 400 take 800. So half of it is done
	 * when that one ends, and the rest takes 800.
	 */
	fixed = kernel(1000, 0, 0);
	fixed.sm_fixed_ppm = 400000;
	streams.sm_need_ppm = HALF;
	fifo_submit(&tsg_a, &fixed);
	fifo_submit(&tsg_b, &streams);
	expect_end(&streams, 2600);
	expect_end(&fixed, 3400);
}

START_TEST(latencies_do_not_depend_on_limits_but_on_the_memory_beside)
{
	simulate(&everything_in_space, NULL, starts_and_ends);
}
END_TEST

static void beside_two_that_stream(void)
{
	struct fifo_burst fixed = kernel(1000, 250000, 0),
			  one = kernel(9000, 250000, FIFO_ALL_PPM);
	struct fifo_burst other = one;

	/* The memory is busy all of the time, with one of them or with both: 800 + 600. */
	fixed.sm_fixed_ppm = 400000;
	begin_three(&fixed, &one, &other);
	expect_end(&fixed, 1401);
}

START_TEST(latencies_are_twice_as_long_beside_any_number_that_use_the_memory)
{
	simulate(&everything_in_space, NULL, beside_two_that_stream);
}
END_TEST

static void limited_beside_others(void)
{
	struct fifo_burst a = kernel(1000, 0, 0), b = a, alone = a;

	fifo.config.limited_speed_ppm = 800000;
	join(&tsg_a, 0, HALF);
	join(&tsg_b, 0, HALF);
	fifo_submit(&tsg_a, &alone);
	expect_end(&alone, 2000);
	/* Both take 2000 / 0.8. */
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	expect_end(&a, 4500);
	expect_end(&b, 4500);
}

START_TEST(a_limited_kernel_is_slower_beside_others)
{
	simulate(&everything_in_space, NULL, limited_beside_others);
}
END_TEST

/*
 * One limit of two. a may have half of the SMs, and they are all that it needs. Its kernels of
 * 1000 run on that half, and b's of 1500 does a third of its work on the other half meanwhile.
 * Then b has all SMs for the rest of its kernel, and a's next one waits for that. So both have
 * one kernel in 2000.
 */
static void one_limited(void)
{
	struct fifo_burst a = kernel(1000, 0, 0), b = kernel(1500, 0, 0);

	a.sm_need_ppm = HALF;
	a.kernels = b.kernels = 4;
	join(&tsg_a, 0, HALF);
	join(&tsg_b, 0, FIFO_ALL_PPM);
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	expect_end(&a, 8000);
	expect_end(&b, 8000);
}

START_TEST(a_kernel_with_a_limit_counts_with_the_sms_that_it_may_have)
{
	simulate(&everything_in_space, NULL, one_limited);
}
END_TEST

/* b needs half of the SMs, and a's limit leaves them at all times. */
static void beside_one_limited(void)
{
	struct fifo_burst a = kernel(1000, 0, 0), b = a;

	b.sm_need_ppm = HALF;
	join(&tsg_a, 0, HALF);
	join(&tsg_b, 0, FIFO_ALL_PPM);
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	expect_end(&b, 1000);
	expect_end(&a, 2000);
}

START_TEST(what_a_limit_leaves_belongs_to_the_others_at_all_times)
{
	simulate(&everything_in_space, NULL, beside_one_limited);
}
END_TEST

/*
 * Two streams of kernels of 1000 that draw all of the memory and need half of the SMs. With one
 * limited to half both run side by side: each takes twice as long, as without limits.
 */
static void one_limited_that_streams(void)
{
	struct fifo_burst a = kernel(1000, 0, FIFO_ALL_PPM), b = a;

	a.sm_need_ppm = b.sm_need_ppm = HALF;
	join(&tsg_a, 0, HALF);
	join(&tsg_b, 0, FIFO_ALL_PPM);
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	expect_end(&a, 2000);
	expect_end(&b, 2000);
}

START_TEST(a_limit_on_one_of_two_that_stream_speeds_up_neither)
{
	simulate(&everything_in_space, NULL, one_limited_that_streams);
}
END_TEST

/*
 * Thread blocks in the order in which their kernels came, to the part of a ns: two streams of
 * kernels of 10000 that need 60 % of the SMs. The older kernel has them, the younger one the
 * other 40 % and so two thirds of its speed. *ret_first and *ret_second: when the first kernel
 * of each ends. Returns when kernel number @count of the first stream ends.
 */
static double leftover_ends(u32 count, double *ret_first, double *ret_second)
{
	double left[2] = { 10000, 10000 }, now = 0, ends[2] = { 0, 0 };
	u32 older = 0, ended[2] = { 0, 0 };

	while (ended[0] < count) {
		u32 younger = 1 - older;
		double older_ns = left[older], younger_ns = left[younger] * 3 / 2;
		u32 next = younger_ns < older_ns ? younger : older;
		double passed = next == older ? older_ns : younger_ns;

		now += passed;
		left[older] -= passed;
		left[younger] -= passed * 2 / 3;
		left[next] = 10000;
		if (!ended[next]++)
			ends[next] = now;
		/* What comes next is the younger one. */
		older = 1 - next;
	}
	*ret_first = ends[0];
	*ret_second = ends[1];
	return now;
}

static void two_of_60_percent(void)
{
	struct fifo_burst a = kernel(10000, 600000, 0), b = a;
	struct fifo_burst small = kernel(10000, 300000, 0), other = small;

	/*
	 * By the order of thread blocks alone the first one would end at 10000 and the second
	 * one, with 40 % of the SMs until then, at 13333. The model shares at once, by lengths:
	 * half for each, where both need 60 %. leftover_ends() is the other schedule: of more
	 * and more such kernels each takes 12000 in it, too.
	 */
	begin_both(&a, &b);
	expect_end(&a, 12001);
	expect_end(&b, 12001);
	/* What fits side by side waits for nothing. */
	fifo_submit(&tsg_a, &small);
	fifo_submit(&tsg_b, &other);
	expect_end(&small, 22001);
	expect_end(&other, 22001);
}

START_TEST(two_that_need_60_percent_each_share_from_the_first_block_on)
{
	double first, second, last = leftover_ends(1000, &first, &second);

	ck_assert_double_eq_tol(first, 10000, 0.001);
	ck_assert_double_eq_tol(second, 40000.0 / 3, 0.001);
	ck_assert_double_eq_tol(last / 1000, 12000, 12);
	simulate(&everything_in_space, NULL, two_of_60_percent);
}
END_TEST

static void below_normal(void)
{
	struct fifo_burst high = kernel(1000, 600000, 0), low = kernel(1000, 0, 0);

	/* low gets the 40 % that high leaves: 400 by 1000. Then the last 600 have all SMs. */
	join(&tsg_a, 0, FIFO_ALL_PPM);
	join(&tsg_b, 0, FIFO_ALL_PPM);
	fifo_set_sm_priority(&tsg_b, 1);
	fifo_submit(&tsg_b, &low);
	fifo_submit(&tsg_a, &high);
	expect_end(&high, 1000);
	expect_end(&low, 1600);
}

START_TEST(a_client_below_normal_gets_the_sms_that_others_leave)
{
	simulate(&everything_in_space, NULL, below_normal);
}
END_TEST

static void starved(void)
{
	struct fifo_burst high = { .kernels = 1000, .kernel_ns = 100 };
	struct fifo_burst low = kernel(1000, 0, 0);

	/* b gets 1 ppm of full speed: a tenth of a ns of work by 100,000. It is never idle. */
	join(&tsg_a, 0, FIFO_ALL_PPM);
	join(&tsg_b, 0, FIFO_ALL_PPM);
	fifo_set_sm_priority(&tsg_b, 1);
	fifo_submit(&tsg_b, &low);
	fifo_submit(&tsg_a, &high);
	while (eng_now() < 99990) {
		eng_sleep_until(eng_now() + 10);
		fifo_update(&fifo);
	}
	expect_end(&high, 100000);
	ck_assert_uint_eq(tsg_b.busy_ns, 0);
	ck_assert_uint_eq(tsg_b.slow_ns, 100000);
	ck_assert_uint_eq(tsg_a.slow_ns, 0);
}

START_TEST(one_that_is_starved_of_sms_is_slow_and_not_idle)
{
	simulate(&everything_in_space, NULL, starved);
}
END_TEST

static void bound_by_memory(void)
{
	struct fifo_burst a = kernel(900, HALF, 800000), b = kernel(900, HALF, 400000);
	struct fifo_burst low = kernel(1000, 0, 400000), high = low;

	/*
	 * Of a's 80 % with memory 40 % are beside b's, and of b's 40 % 80 % beside a's: both
	 * take 1.32 times as long, 1188, by rounded speeds 1189.
	 */
	begin_both(&a, &b);
	expect_end(&b, 1189);
	expect_end(&a, 1189);
	/*
	 * With half of the SMs each both need 2000, of which 800 with half of the bandwidth at
	 * a time. That is there for both.
	 */
	fifo_tsg_destroy(&tsg_a);
	fifo_tsg_destroy(&tsg_b);
	join(&tsg_a, 0, HALF);
	join(&tsg_b, 0, HALF);
	fifo_submit(&tsg_a, &low);
	fifo_submit(&tsg_b, &high);
	expect_end(&low, 3189);
	expect_end(&high, 3189);
}

START_TEST(kernels_use_memory_in_turns_unless_both_draw_little)
{
	simulate(&everything_in_space, NULL, bound_by_memory);
}
END_TEST

static void three_bound_by_memory(void)
{
	struct fifo_burst a = kernel(900, 300000, 800000), b = a, c = a;

	/* By turns each would draw 0.8 / (1 + 0.8 * 1.6), together 105 %. Each gets a third. */
	begin_three(&a, &b, &c);
	expect_end(&a, 2161);
	expect_end(&b, 2161);
	expect_end(&c, 2161);
}

START_TEST(all_together_draw_no_more_than_the_bandwidth)
{
	simulate(&everything_in_space, NULL, three_bound_by_memory);
}
END_TEST

static void thirds(void)
{
	struct fifo_burst a = kernel(1000, 0, 0), b = a, c = a;

	/* 333,333 ppm each: 1000 ns of work end at 3000.003. The next whole ns is 3001. */
	begin_three(&a, &b, &c);
	while (eng_now() < 2900) {
		eng_sleep_until(eng_now() + 7);
		fifo_update(&fifo);
	}
	expect_end(&a, 3001);
	expect_end(&b, 3001);
	expect_end(&c, 3001);
}

START_TEST(what_is_less_than_a_ns_of_work_is_not_lost_between_looks)
{
	simulate(&everything_in_space, NULL, thirds);
}
END_TEST

TEST_MAIN("kernels side by side", two_that_can_use_all_sms_take_twice_as_long_beside_each_other,
	  two_that_are_limited_to_half_do_not_disturb_each_other,
	  a_kernel_of_30_percent_runs_at_full_speed_beside_one_of_70,
	  a_kernel_waits_for_one_kernel_of_its_neighbour_however_long,
	  a_limit_slows_down_only_what_needs_more_and_only_while_blocks_run,
	  a_kernel_of_a_day_waits_as_a_short_one,
	  kernels_that_take_turns_do_not_run_on_fewer_sms_nor_meet_at_the_memory,
	  a_small_kernel_takes_no_turn_where_blocks_leave_room,
	  a_long_kernel_of_a_millionth_of_a_turn_takes_nearly_all_sms,
	  latencies_do_not_depend_on_limits_but_on_the_memory_beside,
	  latencies_are_twice_as_long_beside_any_number_that_use_the_memory,
	  a_limited_kernel_is_slower_beside_others,
	  a_kernel_with_a_limit_counts_with_the_sms_that_it_may_have,
	  what_a_limit_leaves_belongs_to_the_others_at_all_times,
	  a_limit_on_one_of_two_that_stream_speeds_up_neither,
	  two_that_need_60_percent_each_share_from_the_first_block_on,
	  a_client_below_normal_gets_the_sms_that_others_leave,
	  one_that_is_starved_of_sms_is_slow_and_not_idle,
	  kernels_use_memory_in_turns_unless_both_draw_little,
	  all_together_draw_no_more_than_the_bandwidth,
	  what_is_less_than_a_ns_of_work_is_not_lost_between_looks)
