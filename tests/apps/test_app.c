// SPDX-License-Identifier: MIT OR GPL-2.0
/* Rounds of an application that the end of the run, or a stop, does not interrupt. */
#include "apps_fixture.h"

/* How the round ends, at 12 ms. */
static int round_status;

static int run_one_round(const struct app_env *env)
{
	struct eng_waitq nothing = { 0 };
	struct app_record *record;

	ck_assert_int_eq(app_begin(env, 0, &record), 0);
	eng_wait(&nothing, 12 * MS, false);
	app_log_end(env, record, round_status);
	return 0;
}

static const struct sim_app one_round_app = { .keys = { .name = "test" },
					      .run = run_one_round };

/* The run ends at @end_ns, or an event stops the application then. */
static void play_round(int status, u64 end_ns, bool stops)
{
	init_machine(&one_round_app, NULL);
	round_status = status;
	interrupt_ns = end_ns;
	event_stops = stops;
	simulate();
}

START_TEST(a_round_ends_up_to_the_end_of_the_run)
{
	play_round(0, 12 * MS, false);
	expect_record(0, APP_COMPLETED, 0, 0, 12 * MS);
}
END_TEST

START_TEST(a_round_that_ends_behind_the_run_has_not_ended)
{
	play_round(0, 10 * MS, false);
	expect_record(0, APP_DROPPED, 0, 0, 0);
}
END_TEST

START_TEST(a_round_that_fails_behind_the_run_has_not_failed)
{
	play_round(-EIO, 10 * MS, false);
	expect_record(0, APP_DROPPED, 0, 0, 0);
}
END_TEST

START_TEST(a_round_that_a_stop_interrupts_fails)
{
	play_round(-EINTR, 10 * MS, true);
	expect_record(0, APP_FAILED, 0, 0, 12 * MS);
	ck_assert_int_eq(app_log.records[0].reason, APP_STOPPED);
}
END_TEST

/* The run, of twice 5 ms, ends in the stop. */
START_TEST(a_round_that_a_stop_ends_behind_the_run_fails_with_the_run)
{
	play_round(0, 5 * MS, true);
	expect_record(0, APP_FAILED, 0, 0, 10 * MS);
	ck_assert_int_eq(app_log.records[0].reason, APP_STOPPED);
}
END_TEST

TEST_MAIN("app", a_round_ends_up_to_the_end_of_the_run,
	  a_round_that_ends_behind_the_run_has_not_ended,
	  a_round_that_fails_behind_the_run_has_not_failed,
	  a_round_that_a_stop_interrupts_fails,
	  a_round_that_a_stop_ends_behind_the_run_fails_with_the_run)
