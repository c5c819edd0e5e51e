// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Fixed turns: small schedules worked out by hand, checked to the nanosecond. A turn lasts 100
 * and a context switch takes 10.
 */
#include "fifo_world.h"
#include "runner.h"

#define VA   0x700000000000ull
#define TURN 100

static struct fifo_tsg tsg_a, tsg_b, tsg_c;

/*
 * @length: of a turn; 0: turns are not fixed. @count: of turns in a round; 0: one for each
 * entry.
 */
static void simulate(u64 length, u32 count, void (*body)(void))
{
	struct fifo_config config = small_config;

	config.turns = (struct fifo_turns){ length, count };
	world_run(&config, 64, VA, 1, body);
}

static void join(struct fifo_tsg *tsg)
{
	ck_assert_int_eq(fifo_tsg_init(&fifo, tsg, &table), 0);
}

/* One kernel, launched at once. */
static struct fifo_burst kernel(u64 kernel_ns)
{
	return (struct fifo_burst){ .kernels = 1, .kernel_ns = kernel_ns };
}

/* The GPU's time up to now, and switches. The rest of the time it is idle. */
static void expect_usage(u64 busy_ns, u64 switches)
{
	struct fifo_usage usage;

	fifo_update(&fifo);
	usage = fifo_usage(&fifo);
	ck_assert_uint_eq(usage.busy_ns, busy_ns);
	ck_assert_uint_eq(usage.switching_ns, switches * 10);
	ck_assert_uint_eq(usage.switches, switches);
	ck_assert_uint_eq(usage.stalled_ns, 0);
}

/*
 * a runs in [10, 100), [210, 300) and [410, 430), b in [110, 200), [310, 400) and [510, 530).
 */
static void two_busy(void)
{
	struct fifo_burst a = kernel(200), b = kernel(200);

	join(&tsg_a);
	join(&tsg_b);
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	expect_end(&a, 430);
	expect_end(&b, 530);
	expect_usage(400, 6);
	ck_assert_uint_eq(tsg_a.switching_ns, 30);
	ck_assert_uint_eq(tsg_a.waited_ns, 200);
	ck_assert_uint_eq(tsg_b.waited_ns, 300);
}

START_TEST(two_that_are_busy_have_turns_one_after_the_other)
{
	simulate(TURN, 0, two_busy);
}
END_TEST

START_TEST(as_many_turns_as_entries_are_the_same_as_one_for_each)
{
	simulate(TURN, 2, two_busy);
}
END_TEST

/* b has no work: [100, 200) and [300, 400) pass in idleness. */
static void one_idle(void)
{
	struct fifo_burst a = kernel(200), alone = kernel(200);

	join(&tsg_a);
	join(&tsg_b);
	fifo_submit(&tsg_a, &a);
	expect_end(&a, 430);
	expect_usage(200, 3);
	/* b goes in a's turn, [400, 500). So all turns are a's, and it is loaded. */
	fifo_tsg_destroy(&tsg_b);
	fifo_submit(&tsg_a, &alone);
	expect_end(&alone, 630);
	expect_usage(400, 3);
}

START_TEST(the_turn_of_an_idle_entry_is_not_given_away)
{
	simulate(TURN, 0, one_idle);
}
END_TEST

static void one_idle_in_slices(void)
{
	struct fifo_burst a = kernel(200);

	join(&tsg_a);
	join(&tsg_b);
	fifo_submit(&tsg_a, &a);
	expect_end(&a, 210);
	expect_usage(200, 1);
}

START_TEST(without_fixed_turns_a_busy_entry_has_all_of_the_time)
{
	simulate(0, 0, one_idle_in_slices);
}
END_TEST

/* Of four turns in a round, a has the first one: [10, 100), [410, 500) and [810, 830). */
static void one_of_four(void)
{
	struct fifo_burst a = kernel(200), b = kernel(30), c = kernel(30);

	join(&tsg_a);
	fifo_submit(&tsg_a, &a);
	expect_end(&a, 830);
	expect_usage(200, 3);
	/* b comes in a's turn and has the next number, also when a has gone. c has a's then. */
	join(&tsg_b);
	fifo_submit(&tsg_b, &b);
	expect_end(&b, 940);
	fifo_tsg_destroy(&tsg_a);
	join(&tsg_c);
	fifo_submit(&tsg_c, &c);
	expect_end(&c, 1240);
	expect_usage(260, 5);
}

START_TEST(turns_of_entries_that_do_not_exist_pass_too)
{
	simulate(TURN, 4, one_of_four);
}
END_TEST

/* b has the turns [100, 200) and [300, 400). */
static void late_work(void)
{
	struct fifo_burst early = kernel(20), b = kernel(20), late = kernel(50);

	join(&tsg_a);
	join(&tsg_b);
	fifo_submit(&tsg_a, &early);
	fifo_submit(&tsg_b, &b);
	expect_end(&early, 30);
	expect_end(&b, 130);
	/* Its context is loaded, 20 of 50 are left at the end of the turn. */
	eng_sleep_until(170);
	fifo_submit(&tsg_b, &late);
	expect_end(&late, 330);
	expect_usage(90, 3);
}

START_TEST(work_that_comes_within_a_turn_has_the_rest_of_it)
{
	simulate(TURN, 0, late_work);
}
END_TEST

/* Turn number 10,000 is a's, the next one b's. */
static void after_a_long_time(void)
{
	struct fifo_burst a = kernel(30), b = kernel(30);

	join(&tsg_a);
	join(&tsg_b);
	eng_sleep_until(10000 * TURN + 50);
	fifo_submit(&tsg_b, &b);
	fifo_submit(&tsg_a, &a);
	expect_end(&a, 10000 * TURN + 90);
	expect_end(&b, 10001 * TURN + 40);
	expect_usage(60, 2);
}

START_TEST(turns_pass_while_nothing_happens)
{
	simulate(TURN, 0, after_a_long_time);
}
END_TEST

/*
 * a stalls at 10, and cannot leave before the replay at 150. Then b has the rest of its turn.
 */
static void stalled_past_its_turn(void)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 1 };
	struct fifo_burst a = kernel(50), b = kernel(50);

	join(&tsg_a);
	join(&tsg_b);
	a.touches = &touch;
	a.touch_count = 1;
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	eng_sleep_until(150);
	ck_assert(tsg_a.stalled);
	ck_assert_uint_eq(tsg_b.busy_ns, 0);
	page_table_map(&table, VA, 0, 0, GVM_BLOCK_FULL, true);
	fifo_replay(&fifo);
	/* b in [160, 200) and [310, 320), a in [210, 260). */
	expect_end(&a, 260);
	expect_end(&b, 320);
}

START_TEST(a_stall_beyond_a_turn_is_missing_in_the_next_one)
{
	simulate(TURN, 0, stalled_past_its_turn);
}
END_TEST

/* Three entries have a third each, whatever one of them does; here for 90 turns. */
static void three_shares(void)
{
	struct fifo_burst a = kernel(100000), b = kernel(100000), c[30];

	join(&tsg_a);
	join(&tsg_b);
	join(&tsg_c);
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		eng_sleep_until(i * 300 + 7 * i);
		c[i] = kernel(1 + i);
		fifo_submit(&tsg_c, &c[i]);
	}
	eng_sleep_until(9000);
	fifo_update(&fifo);
	ck_assert_uint_eq(tsg_a.busy_ns, 30 * 90);
	ck_assert_uint_eq(tsg_b.busy_ns, 30 * 90);
	fifo_tsg_destroy(&tsg_a);
	fifo_tsg_destroy(&tsg_b);
	fifo_tsg_destroy(&tsg_c);
}

START_TEST(no_entry_has_more_or_less_than_its_turns)
{
	simulate(TURN, 0, three_shares);
}
END_TEST

TEST_MAIN("turns", two_that_are_busy_have_turns_one_after_the_other,
	  as_many_turns_as_entries_are_the_same_as_one_for_each,
	  the_turn_of_an_idle_entry_is_not_given_away,
	  without_fixed_turns_a_busy_entry_has_all_of_the_time,
	  turns_of_entries_that_do_not_exist_pass_too,
	  work_that_comes_within_a_turn_has_the_rest_of_it, turns_pass_while_nothing_happens,
	  a_stall_beyond_a_turn_is_missing_in_the_next_one,
	  no_entry_has_more_or_less_than_its_turns)
