// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * XSched: small schedules worked out by hand, checked to the nanosecond. A timeslice is 1 ms, a
 * context switch takes no time, four commands are in flight in batches of two, a message takes
 * 20 us and a wait 10 us.
 */
#include "library_fixture.h"

static struct {
	u64 level;
	u64 threshold;
	u64 batch;
	u64 sync;
	u64 ipc;
} keys = { 1, 4, 2, 10 * US, 20 * US };

static const char *const two[] = { "2", "10", NULL };

static void expect_end(u32 index, u64 date)
{
	ck_assert_int_eq(cuda_synchronize(&contexts[index]), 0);
	ck_assert_uint_eq(eng_now(), date);
}

/* The other has 100 kernels of 100 us from 0 on. This one has one of 50 us at 1.01 ms. */
static u64 high_end;

static void high_app(void)
{
	eng_sleep_until(1010 * US);
	library_launch(0, 1, 50 * US, 0);
	expect_end(0, high_end);
	eng_sleep_until(20 * MS);
}

static void low_app(void)
{
	library_launch(1, 100, 100 * US, 0);
	expect_end(1, 10100 * US);
}

static void simulate_level(u64 level, u64 end)
{
	keys.level = level;
	high_end = end;
	library_simulate(&system_xsched, &keys, 0, two,
			 (void (*const[])(void)){ high_app, low_app });
}

/*
 * The suspension comes at 1.05 ms. Ten kernels have ended, four are in flight and
 * end at 1.4. The other runs until 1.45, is idle at 1.46, and the resumption comes
 * at 1.5. 86 kernels are left.
 */
START_TEST(level_1_lets_end_what_is_in_flight)
{
	simulate_level(1, 1450 * US);
}
END_TEST

/* The eleventh kernel ends at 1.1 ms. The resumption comes at 1.2, and 89 kernels are left. */
START_TEST(level_2_lets_end_the_kernel_in_execution)
{
	simulate_level(2, 1150 * US);
}
END_TEST

/* The eleventh kernel is half done at 1.05. The resumption comes at 1.15. */
START_TEST(level_3_takes_the_gpu_at_once)
{
	simulate_level(3, 1100 * US);
}
END_TEST

/* Nothing of low priority runs while the other has work: here for a second, and for ever. */
static void never_idle(void)
{
	library_launch(0, 10000, 90 * US, 100 * US);
	expect_end(0, 1000090 * US);
	eng_sleep_until(2000 * MS);
}

static void stuck(void)
{
	library_launch(1, 1000, 100 * US, 0);
	eng_sleep_until(10 * MS);
	ck_assert_uint_eq(library_ended(1), 4);
	eng_sleep_until(1000 * MS);
	ck_assert_uint_eq(library_ended(1), 4);
	/* The other has ended at 1000.09 ms, which is known here at 1000.14 ms. */
	expect_end(1, 1000140 * US + 996 * 100 * US);
}

START_TEST(strict_priority_starves)
{
	keys.level = 1;
	library_simulate(&system_xsched, &keys, 0, two,
			 (void (*const[])(void)){ never_idle, stuck });
}
END_TEST

/* An end that a launch follows within 10 us is no idleness: the other stays suspended. */
static void short_gaps(void)
{
	for (u32 i = 0; i < 100; i++) {
		library_launch(0, 1, 100 * US, 0);
		ck_assert_int_eq(cuda_synchronize(&contexts[0]), 0);
		eng_sleep_until(eng_now() + 9 * US);
	}
}

static void short_gaps_low(void)
{
	eng_sleep_until(50 * US);
	library_launch(1, 4, 100 * US, 0);
	eng_sleep_until(10 * MS);
	ck_assert_uint_eq(library_ended(1), 0);
}

START_TEST(gaps_that_the_worker_does_not_see_are_not_used)
{
	keys.level = 2;
	library_simulate(&system_xsched, &keys, 0, two,
			 (void (*const[])(void)){ short_gaps, short_gaps_low });
	keys.level = 1;
}
END_TEST

/* Of one priority: work-conserving turns of the hardware. */
static void equal_first(void)
{
	library_launch(0, 20, 100 * US, 0);
	expect_end(0, 3000 * US);
}

static void equal_second(void)
{
	library_launch(1, 20, 100 * US, 0);
	expect_end(1, 4000 * US);
}

START_TEST(containers_of_one_priority_take_turns)
{
	library_simulate(&system_xsched, &keys, 0, (const char *const[]){ "2", "2", NULL },
			 (void (*const[])(void)){ equal_first, equal_second });
}
END_TEST

/*
 * A worker that has nothing in flight after the event loses 10 us in two kernels: one every
 * 105 us. With two after it, it loses nothing.
 */
static u64 alone_kernel_ns, alone_end;

static void alone(void)
{
	library_launch(0, 10, alone_kernel_ns, 0);
	expect_end(0, alone_end);
}

static void simulate_alone(u64 threshold, u64 kernel_ns, u64 end)
{
	keys.threshold = threshold;
	alone_kernel_ns = kernel_ns;
	alone_end = end;
	library_simulate(&system_xsched, &keys, 0, (const char *const[]){ "2", NULL },
			 (void (*const[])(void)){ alone });
	keys.threshold = 4;
}

START_TEST(a_worker_that_waits_for_all_leaves_the_gpu_idle)
{
	simulate_alone(2, 100 * US, 1150 * US);
}
END_TEST

START_TEST(a_worker_with_commands_in_flight_does_not)
{
	simulate_alone(4, 100 * US, 1000 * US);
}
END_TEST

/* 2^19 kernels of 2^45 ns are in flight, which are 2^64 ns. */
START_TEST(a_worker_with_years_of_commands_in_flight_does_not)
{
	simulate_alone(2 + (1 << 19), 1ull << 45, 10 * (1ull << 45));
}
END_TEST

TEST_MAIN("xsched", level_1_lets_end_what_is_in_flight,
	  level_2_lets_end_the_kernel_in_execution, level_3_takes_the_gpu_at_once,
	  strict_priority_starves, gaps_that_the_worker_does_not_see_are_not_used,
	  containers_of_one_priority_take_turns,
	  a_worker_that_waits_for_all_leaves_the_gpu_idle,
	  a_worker_with_commands_in_flight_does_not,
	  a_worker_with_years_of_commands_in_flight_does_not)
