// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The channels of one TSG: turns, gaps, and bursts that wait for a release. Schedules are
 * worked out by hand and checked to the nanosecond. The first context switch takes 10.
 */
#include "fifo_world.h"
#include "runner.h"

#define VA 0x700000000000ull

static struct fifo_tsg tsg;
static struct fifo_channel second;
static void (*simulated)(void);

static void join_and_run(void)
{
	ck_assert_int_eq(fifo_tsg_init(&fifo, &tsg, &table), 0);
	fifo_channel_init(&second, &tsg);
	simulated();
	/* Channels are turns within the TSG's turn. */
	ck_assert_uint_eq(fifo.switches, 1);
	fifo_channel_destroy(&second);
	fifo_tsg_destroy(&tsg);
}

static void simulate(void (*body)(void))
{
	simulated = body;
	world_run(&small_config, 64, VA, 4, join_and_run);
}

static struct fifo_burst kernels(u32 count, u64 kernel_ns, u64 launch_ns)
{
	return (struct fifo_burst){ .kernels = count,
				    .kernel_ns = kernel_ns,
				    .launch_ns = launch_ns };
}

static void take_turns(void)
{
	struct fifo_burst a = kernels(3, 50, 0), b = kernels(1, 50, 0), c = b;

	fifo_submit(&tsg, &a);
	fifo_submit(&tsg, &b);
	fifo_submit_to(&second, &c);
	expect_end(&a, 160);
	expect_end(&c, 210);
	expect_end(&b, 260);
	ck_assert_uint_eq(tsg.busy_ns, 250);
}

START_TEST(the_next_channel_has_its_turn_when_a_burst_has_ended)
{
	simulate(take_turns);
}
END_TEST

/* The host launches one burst after the other. The kernels of c come at 100, 200 and 300. */
static void fill_gaps(void)
{
	struct fifo_burst a = kernels(1, 60, 0), b = kernels(2, 60, 0), c = kernels(3, 20, 100);

	fifo_submit(&tsg, &a);
	fifo_submit(&tsg, &b);
	fifo_submit_to(&second, &c);
	expect_end(&a, 70);
	expect_end(&b, 190);
	/* The first kernel waits for b. Then c has caught up with the host. */
	expect_end(&c, 320);
	ck_assert_uint_eq(tsg.busy_ns, 240);
}

START_TEST(a_channel_works_in_the_gaps_between_launches_of_another)
{
	simulate(fill_gaps);
}
END_TEST

static void wait_and_release(void)
{
	struct fifo_burst a = kernels(1, 20, 0), behind = a, other = kernels(1, 50, 0);

	a.waits = true;
	fifo_submit_to(&second, &a);
	fifo_submit_to(&second, &behind);
	fifo_submit(&tsg, &other);
	expect_end(&other, 60);
	eng_sleep_until(100);
	ck_assert(!a.finished && !behind.finished && fifo_busy(&tsg));
	fifo_release(&second, &a);
	expect_end(&a, 120);
	expect_end(&behind, 140);
	ck_assert_uint_eq(tsg.busy_ns, 90);
}

START_TEST(a_burst_that_waits_holds_up_its_own_channel_until_its_release)
{
	simulate(wait_and_release);
}
END_TEST

static void release_early(void)
{
	struct fifo_burst a = kernels(1, 50, 0), b = kernels(1, 20, 0);

	b.waits = true;
	fifo_submit_to(&second, &a);
	fifo_submit_to(&second, &b);
	fifo_release(&second, &b);
	expect_end(&a, 60);
	expect_end(&b, 80);
}

START_TEST(a_release_before_its_turn_keeps_the_order_of_the_channel)
{
	simulate(release_early);
}
END_TEST

static void die_waiting(void)
{
	struct fifo_burst a = kernels(1, 500, 0), b = kernels(1, 20, 0), late = b;

	b.waits = true;
	fifo_submit(&tsg, &a);
	fifo_submit_to(&second, &b);
	eng_sleep_until(50);
	fifo_kill(&fifo, tsg.id);
	ck_assert_int_eq(fifo_wait(&a), -EIO);
	ck_assert_int_eq(fifo_wait(&b), -EIO);
	fifo_submit_to(&second, &late);
	ck_assert_int_eq(fifo_wait(&late), -EIO);
	ck_assert_uint_eq(late.finished_ns, 50);
	ck_assert(!fifo_busy(&tsg));
}

START_TEST(the_bursts_of_all_channels_fail_when_their_tsg_dies)
{
	simulate(die_waiting);
}
END_TEST

TEST_MAIN("channel", the_next_channel_has_its_turn_when_a_burst_has_ended,
	  a_channel_works_in_the_gaps_between_launches_of_another,
	  a_burst_that_waits_holds_up_its_own_channel_until_its_release,
	  a_release_before_its_turn_keeps_the_order_of_the_channel,
	  the_bursts_of_all_channels_fail_when_their_tsg_dies)
