// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * GPUs that contexts share in space, and GPUs in partitions: small schedules worked out by
 * hand, checked to the nanosecond. The timeslice is 100 and a context switch takes 10 where a
 * partition is shared in time.
 */
#include "partition_world.h"
#include "runner.h"

static void gaps(void)
{
	struct fifo_burst a = { .kernels = 2, .kernel_ns = 100, .launch_ns = 300 };
	struct fifo_burst b = { .kernels = 10, .kernel_ns = 100 };

	/*
	 * a's kernels are launched at 300 and 600, and take 200 each beside b. b has done 300
	 * by 300, 400 by 500, 500 by 600, 600 by 800. The last 400 run alone.
	 */
	join(&tsg_a, 0, FIFO_ALL_PPM);
	join(&tsg_b, 0, FIFO_ALL_PPM);
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	expect_end(&a, 800);
	expect_end(&b, 1200);
	ck_assert_uint_eq(tsg_a.busy_ns, 200);
}

START_TEST(one_in_space_gets_all_sms_in_the_gaps_of_another)
{
	simulate(&everything_in_space, NULL, gaps);
}
END_TEST

static void stalled_in_space(void)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 1 };
	struct fifo_burst a = kernel(1000, 0, 0), b = a;

	/*
	 * a stalls until 500 and holds half of the SMs. By then b has done 250. b ends at 2000.
	 */
	join(&tsg_a, 0, FIFO_ALL_PPM);
	join(&tsg_b, 0, FIFO_ALL_PPM);
	a.touches = &touch;
	a.touch_count = 1;
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	eng_sleep_until(500);
	ck_assert(tsg_a.stalled);
	map_page();
	expect_end(&b, 2000);
	expect_end(&a, 2250);
	ck_assert_uint_eq(fifo_stall_ns(&tsg_a.stall), 500);
	ck_assert_uint_eq(tsg_b.blocked_ns, 0);
}

START_TEST(one_that_waits_for_faults_in_space_keeps_its_sms)
{
	simulate(&everything_in_space, NULL, stalled_in_space);
}
END_TEST

static void stalled_in_a_partition(void)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 1 };
	struct fifo_burst a = kernel(100, 0, 0), b = kernel(1000, 0, 0),
			  c = kernel(100, HALF, 0);

	/*
	 * a and c share one half, b has the other and takes twice its time. a stalls at 10, and
	 * c waits for it. From the replay at 5000 on, a needs 200. Its slice was over long ago,
	 * so it is switched out at once.
	 */
	join(&tsg_a, 0, FIFO_ALL_PPM);
	join(&tsg_b, 1, FIFO_ALL_PPM);
	join(&tsg_c, 0, FIFO_ALL_PPM);
	a.touches = &touch;
	a.touch_count = 1;
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	eng_sleep_until(100);
	fifo_submit(&tsg_c, &c);
	expect_end(&b, 2010);
	eng_sleep_until(5000);
	ck_assert_uint_eq(tsg_b.blocked_ns, 0);
	ck_assert_uint_eq(tsg_c.busy_ns, 0);
	map_page();
	ck_assert_uint_eq(tsg_c.blocked_ns, 4900);
	/* c 5010-5110; a 5120-5320 */
	expect_end(&c, 5110);
	expect_end(&a, 5320);
}

START_TEST(a_stall_in_one_partition_blocks_no_other)
{
	simulate(&half_in_time, &half_in_time, stalled_in_a_partition);
}
END_TEST

static void stalled_for_a_week(void)
{
	const u64 week_ns = 7 * 24 * 3600 * 1000000000ull;
	struct gmmu_touch touch = { .va = VA, .block_count = 1 };
	struct fifo_burst a = kernel(100, 0, 0);

	/* A week in ns times a million has 70 bits. Half of the SMs wait. */
	join(&tsg_a, 0, FIFO_ALL_PPM);
	a.touches = &touch;
	a.touch_count = 1;
	fifo_submit(&tsg_a, &a);
	eng_sleep_until(10 + week_ns);
	map_page();
	ck_assert_uint_eq(fifo_stall_ns(&tsg_a.stall), week_ns);
	ck_assert_uint_eq(fifo_usage(&fifo).stalled_ns, week_ns / 2);
	expect_end(&a, 10 + week_ns + 200);
}

START_TEST(a_week_of_stalls_counts_as_a_week)
{
	simulate(&half_in_time, &half_in_time, stalled_for_a_week);
}
END_TEST

static void slices_in_a_partition(void)
{
	struct fifo_burst a = kernel(250, HALF, 0), b = kernel(150, HALF, 0);
	struct fifo_burst c = kernel(1000, HALF, 0);

	/*
	 * a 10-110, b 120-220, a 230-330, b 340-390, a 400-450. c has the other half to itself.
	 */
	join(&tsg_a, 0, FIFO_ALL_PPM);
	join(&tsg_b, 0, FIFO_ALL_PPM);
	join(&tsg_c, 1, FIFO_ALL_PPM);
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	fifo_submit(&tsg_c, &c);
	expect_end(&b, 390);
	expect_end(&a, 450);
	expect_end(&c, 1010);
	ck_assert_uint_eq(fifo.switches, 6);
}

START_TEST(a_partition_slices_time_among_its_own)
{
	simulate(&half_in_time, &half_in_time, slices_in_a_partition);
}
END_TEST

static void random_load(void)
{
	u64 work[3] = { 0 };

	join(&tsg_a, 0, FIFO_ALL_PPM);
	join(&tsg_b, 0, FIFO_ALL_PPM);
	join(&tsg_c, 0, FIFO_ALL_PPM);
	run_random_load(7, work);
	/* Each of them can use all SMs. Together they never do more than one at full speed. */
	ck_assert_uint_le(work[0] + work[1] + work[2], eng_now());
}

START_TEST(all_work_is_done_in_space_and_no_more_than_one_gpu_can_do)
{
	simulate(&everything_in_space, NULL, random_load);
}
END_TEST

static void killed_in_space(void)
{
	struct fifo_burst a = kernel(1000, 0, 0), b = a;

	/* b has done 250 when a is killed. From then on b has all SMs. */
	join(&tsg_a, 0, FIFO_ALL_PPM);
	join(&tsg_b, 0, FIFO_ALL_PPM);
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	eng_sleep_until(500);
	fifo_kill(&fifo, tsg_a.id);
	ck_assert_int_eq(fifo_wait(&a), -EIO);
	fifo_tsg_destroy(&tsg_a);
	expect_end(&b, 1250);
}

START_TEST(one_that_is_killed_in_space_leaves_its_sms_to_others)
{
	simulate(&everything_in_space, NULL, killed_in_space);
}
END_TEST

TEST_MAIN("partitions", one_in_space_gets_all_sms_in_the_gaps_of_another,
	  one_that_waits_for_faults_in_space_keeps_its_sms,
	  a_stall_in_one_partition_blocks_no_other, a_week_of_stalls_counts_as_a_week,
	  a_partition_slices_time_among_its_own,
	  all_work_is_done_in_space_and_no_more_than_one_gpu_can_do,
	  one_that_is_killed_in_space_leaves_its_sms_to_others)
