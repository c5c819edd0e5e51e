// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Hosts that wait for room in a channel's ring: schedules worked out by hand and checked to the
 * nanosecond. A context switch takes 10; rings have two places.
 */
#include "fifo/burst.h"
#include "fifo_world.h"
#include "runner.h"

#define VA     0x700000000000ull
#define PLACES 2

static struct fifo_tsg tsg;
static void (*simulated)(void);

static void join_and_run(void)
{
	ck_assert_int_eq(fifo_tsg_init(&fifo, &tsg, &table), 0);
	fifo_set_ring(&tsg, PLACES);
	simulated();
	fifo_tsg_destroy(&tsg);
}

static void simulate(void (*body)(void))
{
	simulated = body;
	world_run(&small_config, 64, VA, 1, join_and_run);
}

static struct fifo_burst kernels(u32 count, u64 kernel_ns, u64 launch_ns)
{
	return (struct fifo_burst){ .kernels = count,
				    .kernel_ns = kernel_ns,
				    .launch_ns = launch_ns };
}

static void expect_at(u64 date, u64 ended, u64 pending)
{
	ck_assert_int_eq(eng_sleep_until(date), 0);
	fifo_update(&fifo);
	ck_assert_uint_eq(fifo_ended_kernels(&tsg), ended);
	ck_assert_uint_eq(fifo_pending_kernels(&tsg), pending);
}

/*
 * The context is there at 20, so kernels run in [20, 120), [120, 220) and so on. The third is
 * launched when the first one ends, at 120, and the fourth at 220.
 */
static void one_for_each_that_ends(void)
{
	struct fifo_burst a = kernels(5, 100, 10);

	fifo_submit(&tsg, &a);
	expect_at(15, 0, 1);
	expect_at(100, 0, 2);
	expect_at(130, 1, 2);
	expect_at(250, 2, 2);
	expect_at(450, 4, 1);
	expect_end(&a, 520);
}

START_TEST(a_launch_waits_until_one_of_its_channel_ends)
{
	simulate(one_for_each_that_ends);
}
END_TEST

/*
 * a's kernels run in [20, 120), [120, 220), [220, 320). b's are launched at 220 and
 * 320, as a's end, and then every 50, at 370 and 420. A host that does not wait has
 * launched all by 230: b ends at 340.
 */
static void short_kernels_behind_long_ones(void)
{
	struct fifo_burst a = kernels(3, 100, 10), b = kernels(4, 5, 50);

	fifo_submit(&tsg, &a);
	fifo_submit(&tsg, &b);
	expect_end(&a, 320);
	expect_end(&b, 425);
}

static void short_kernels_without_bound(void)
{
	struct fifo_burst a = kernels(3, 100, 10), b = kernels(4, 5, 50);

	fifo_set_ring(&tsg, 0);
	fifo_submit(&tsg, &a);
	fifo_submit(&tsg, &b);
	expect_end(&a, 320);
	expect_end(&b, 340);
}

START_TEST(a_host_that_waited_launches_later)
{
	simulate(short_kernels_behind_long_ones);
}
END_TEST

START_TEST(a_host_without_bound_never_waits)
{
	simulate(short_kernels_without_bound);
}
END_TEST

/*
 * As above, but b has two kernels, for which there is room in the end. They are launched at
 * 620, which is 500 after a's third one, and at 1120.
 */
static void slow_launches_behind_long_kernels(void)
{
	struct fifo_burst a = kernels(3, 100, 10), b = kernels(2, 5, 500);

	fifo_submit(&tsg, &a);
	fifo_submit(&tsg, &b);
	expect_end(&b, 1125);
}

START_TEST(a_wait_delays_all_later_launches)
{
	simulate(slow_launches_behind_long_kernels);
}
END_TEST

/*
 * Both graphs are in the ring at 10, with 20 kernels; the kernel after
 * them is launched when one ends.
 */
static void graphs(void)
{
	struct fifo_burst a = kernels(10, 100, 1), b = a, c = kernels(1, 100, 10);

	a.graph = b.graph = true;
	a.launch_ns = b.launch_ns = 1;
	fifo_submit(&tsg, &a);
	fifo_submit(&tsg, &b);
	fifo_submit(&tsg, &c);
	expect_at(100, 0, 20);
	expect_at(1000, 9, 11);
	expect_at(1012, 10, 10);
	expect_at(1030, 10, 11);
	expect_end(&c, 2111);
}

START_TEST(a_graph_takes_one_place)
{
	simulate(graphs);
}
END_TEST

/*
 * The second channel has room, but the thread stands before a's third launch until 120, the
 * fourth until 220 and the fifth until 320.
 */
static void other_channel(void)
{
	struct fifo_channel second;
	struct fifo_burst a = kernels(5, 100, 10), b = kernels(3, 5, 10);

	fifo_channel_init(&second, &tsg);
	fifo_submit(&tsg, &a);
	fifo_submit_to(&second, &b);
	expect_at(250, 2, 2);
	expect_at(320, 3, 2);
	expect_at(335, 3, 3);
	/* All of a is launched, and b has filled its ring. */
	expect_at(419, 3, 4);
	expect_end(&b, 535);
	fifo_channel_destroy(&second);
}

START_TEST(one_thread_waits_for_all_channels)
{
	simulate(other_channel);
}
END_TEST

/* It waits for its turn after a long kernel: its first kernel is there since 60. */
static void beside_a_long_kernel(void)
{
	struct fifo_burst a = kernels(5, 100, 10), b = kernels(1, 1000, 10);
	struct fifo_tsg other;

	ck_assert_int_eq(fifo_tsg_init(&fifo, &other, &table), 0);
	fifo_set_timeslice(&other, 2000);
	fifo_submit(&other, &b);
	ck_assert_int_eq(eng_sleep_until(50), 0);
	fifo_submit(&tsg, &a);
	expect_at(200, 0, 2);
	expect_at(500, 0, 2);
	ck_assert_uint_eq(burst_ready_since(&a), 60);
	expect_end(&b, 1020);
	expect_end(&a, 1530);
	fifo_tsg_destroy(&other);
}

START_TEST(who_waits_for_a_turn_is_ready_since_its_first_launch)
{
	simulate(beside_a_long_kernel);
}
END_TEST

/* Each burst takes ten years to launch, which is the most. Nothing that follows ever begins. */
static void years_of_launches(void)
{
	static struct fifo_burst bursts[100];
	u64 end, launched_ns;

	for (u32 i = 0; i < ARRAY_SIZE(bursts); i++) {
		bursts[i] = kernels(1, 100, FIFO_BURST_MAX_NS);
		fifo_submit(&tsg, &bursts[i]);
	}
	expect_at(1000000, 0, 0);
	ck_assert(fifo_next_burst(&tsg, ARRAY_SIZE(bursts) - 1, &end, &launched_ns));
	ck_assert_uint_eq(end, ARRAY_SIZE(bursts));
	ck_assert_uint_eq(launched_ns, FIFO_BURST_MAX_NS);
	fifo_allow(&tsg, 0, true);
	fifo_allow(&tsg, FIFO_ALLOW_ALL, true);
	expect_at(2000000, 0, 0);
}

START_TEST(years_of_launches_in_a_queue_stay_dates)
{
	simulate(years_of_launches);
}
END_TEST

TEST_MAIN("ring", a_launch_waits_until_one_of_its_channel_ends,
	  a_host_that_waited_launches_later, a_host_without_bound_never_waits,
	  a_wait_delays_all_later_launches, a_graph_takes_one_place,
	  one_thread_waits_for_all_channels,
	  who_waits_for_a_turn_is_ready_since_its_first_launch,
	  years_of_launches_in_a_queue_stay_dates)
