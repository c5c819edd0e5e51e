// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Launches that are withheld: schedules worked out by hand and checked to the nanosecond. A
 * context switch takes 10, a timeslice 100.
 */
#include "fifo_world.h"
#include "runner.h"

#define VA 0x700000000000ull

static struct fifo_tsg tsg, other;
static void (*simulated)(void);

static void join_and_run(void)
{
	ck_assert_int_eq(fifo_tsg_init(&fifo, &tsg, &table), 0);
	ck_assert_int_eq(fifo_tsg_init(&fifo, &other, &table), 0);
	simulated();
	fifo_tsg_destroy(&other);
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

static void expect_launched(u64 count)
{
	fifo_update(&fifo);
	ck_assert_uint_eq(fifo_ended_kernels(&tsg) + fifo_pending_kernels(&tsg), count);
}

/*
 * Kernels are there at 10 and 20; the context at 20. So they run in [20, 120) and [120, 220).
 * The host stands still from 20 to 300, launches the third until 310 and stands still again.
 */
static void host_waits(void)
{
	struct fifo_burst a = kernels(4, 100, 10), b = kernels(1, 5, 10);

	fifo_allow(&tsg, 2, true);
	fifo_submit(&tsg, &a);
	fifo_submit(&tsg, &b);
	ck_assert_uint_eq(fifo_withheld_since(&tsg), ENG_NEVER);
	eng_sleep_until(300);
	ck_assert_uint_eq(fifo_withheld_since(&tsg), 20);
	expect_launched(2);
	ck_assert_uint_eq(tsg.busy_ns, 200);
	fifo_allow(&tsg, 3, true);
	ck_assert_uint_eq(fifo_withheld_since(&tsg), ENG_NEVER);
	eng_sleep_until(500);
	ck_assert_uint_eq(fifo_withheld_since(&tsg), 310);
	expect_launched(3);
	ck_assert_uint_eq(tsg.busy_ns, 300);
	/* The last of a is launched until 510, and b's only one after it. */
	fifo_allow(&tsg, FIFO_ALLOW_ALL, true);
	expect_end(&a, 610);
	expect_end(&b, 615);
	expect_launched(5);
}

START_TEST(a_host_that_waits_launches_the_rest_from_then_on)
{
	simulate(host_waits);
}
END_TEST

/* The host has launched all four by 40. */
static void host_goes_on(void)
{
	struct fifo_burst a = kernels(4, 100, 10);

	fifo_allow(&tsg, 2, false);
	fifo_submit(&tsg, &a);
	eng_sleep_until(300);
	expect_launched(2);
	fifo_allow(&tsg, FIFO_ALLOW_ALL, false);
	expect_launched(4);
	expect_end(&a, 500);
}

START_TEST(a_host_that_goes_on_has_launched_them_meanwhile)
{
	simulate(host_goes_on);
}
END_TEST

/*
 * All four are there when the context is, at 10. At 150 the second is in execution: it runs to
 * its end at 210, the others are withheld until 400.
 */
static void taken_back(void)
{
	struct fifo_burst a = kernels(4, 100, 0);

	fifo_submit(&tsg, &a);
	eng_sleep_until(150);
	fifo_allow(&tsg, 0, false);
	eng_sleep_until(400);
	expect_launched(2);
	ck_assert_uint_eq(tsg.first->done_ns, 200);
	fifo_allow(&tsg, FIFO_ALLOW_ALL, false);
	expect_end(&a, 600);
}

START_TEST(kernels_that_have_not_begun_can_be_withheld_again)
{
	simulate(taken_back);
}
END_TEST

/*
 * a's two kernels run from 10 to 210; then it has nothing to execute and gives way: b's, which
 * comes at 230, runs from 240 to 340. a comes back at 350 with what it may launch from 250 on.
 */
static void gives_way(void)
{
	struct fifo_burst a = kernels(3, 100, 0), b = kernels(1, 100, 0);

	fifo_allow(&tsg, 2, true);
	fifo_submit(&tsg, &a);
	eng_sleep_until(230);
	fifo_submit(&other, &b);
	eng_sleep_until(250);
	fifo_allow(&tsg, 3, true);
	expect_end(&b, 340);
	expect_end(&a, 450);
	ck_assert_uint_eq(fifo.switches, 3);
}

START_TEST(a_context_whose_launches_are_withheld_gives_way)
{
	simulate(gives_way);
}
END_TEST

/* Withheld kernels die with their context, and were never launched. */
static void dies(void)
{
	struct fifo_burst a = kernels(3, 100, 0);

	fifo_allow(&tsg, 1, true);
	fifo_submit(&tsg, &a);
	eng_sleep_until(50);
	fifo_kill(&fifo, tsg.id);
	ck_assert_int_eq(fifo_wait(&a), -EIO);
	ck_assert_uint_eq(fifo_ended_kernels(&tsg), 1);
	ck_assert_uint_eq(fifo_withheld_since(&tsg), ENG_NEVER);
}

START_TEST(withheld_kernels_die_with_their_context)
{
	simulate(dies);
}
END_TEST

TEST_MAIN("allow", a_host_that_waits_launches_the_rest_from_then_on,
	  a_host_that_goes_on_has_launched_them_meanwhile,
	  kernels_that_have_not_begun_can_be_withheld_again,
	  a_context_whose_launches_are_withheld_gives_way,
	  withheld_kernels_die_with_their_context)
