// SPDX-License-Identifier: MIT OR GPL-2.0
/* The client of an LLM server: dates of its requests, users, and its end. */
#include "llm_server_fixture.h"

/*
 * Divided by 4, and counted from client.start; the trace's own zero is not its first request.
 */
START_TEST(arrivals_are_replayed_at_their_dates)
{
	init_llm();
	container.start = MS;
	llm.client.trace.divide = 4 * CFG_PPM;
	arrive(8 * MS, 1, 1);
	arrive(16 * MS, 1, 1);
	simulate();
	ck_assert_uint_eq(app_log.records[0].arrival_ns, ZERO + MS + 2 * MS);
	ck_assert_uint_eq(app_log.records[1].arrival_ns, ZERO + MS + 4 * MS);
}
END_TEST

/* The load doubles 2 ms after the first date, and is a quarter from 3 ms on. */
START_TEST(events_change_the_load)
{
	static struct cfg_event events[] = {
		{ .at = ZERO + 2 * MS, .load = 2 * CFG_PPM },
		{ .at = ZERO + 2 * MS, .container = "other", .load = 9 * CFG_PPM },
		{ .at = ZERO + 3 * MS, .load = CFG_PPM / 4 },
	};
	static const u64 dates[] = { MS, 2 * MS, 2 * MS + MS / 2, 3 * MS, 7 * MS };

	init_llm();
	config.events = events;
	config.event_count = ARRAY_SIZE(events);
	for (u64 i = 0; i < ARRAY_SIZE(dates); i++)
		arrive((i + 1) * MS, 1, 1);
	simulate();
	ck_assert_uint_eq(app_log.record_count, ARRAY_SIZE(dates));
	for (u64 i = 0; i < ARRAY_SIZE(dates); i++)
		ck_assert_uint_eq(app_log.records[i].arrival_ns, ZERO + dates[i]);
}
END_TEST

/*
 * The load is a quarter: requests of 1, 2 and 3 ms come at 4, 8 and 12, and the stop is at 9.
 */
START_TEST(a_client_stops_after_its_first_request_under_its_load)
{
	static struct cfg_event event = { .at = ZERO, .load = CFG_PPM / 4 };

	init_llm();
	config.events = &event;
	config.event_count = 1;
	llm.client.stop = 5 * MS;
	for (u64 i = 1; i <= 3; i++)
		arrive(i * MS, 1, 1);
	simulate();
	ck_assert_uint_eq(app_log.record_count, 2);
	ck_assert_uint_eq(app_log.records[1].arrival_ns, ZERO + 8 * MS);
}
END_TEST

/* Copying weights takes 1 ns a page: ready after some hundred ns, and not at 0. */
START_TEST(a_client_waits_for_the_server_to_be_ready)
{
	init_llm();
	llm.client.first_request = 0;
	arrive(0, 1, 1);
	arrive(3 * MS, 1, 1);
	simulate();
	ck_assert_uint_gt(app_log.records[0].arrival_ns, 1000 + 3 * CHUNK);
	ck_assert_uint_eq(app_log.records[1].arrival_ns,
			  app_log.records[0].arrival_ns + 3 * MS);
}
END_TEST

/* Two connections and no more; as soon as one is closed there is room again. */
START_TEST(a_client_holds_so_many_requests_open)
{
	init_llm();
	llm.client.max_open = 2;
	arrive(0, 10, 1);
	arrive(0, 10, 1);
	arrive(0, 10, 1);
	arrive(2449, 10, 1);
	arrive(2451, 10, 1);
	simulate();
	ck_assert_uint_eq(app_log.record_count, 5);
	ck_assert_int_eq(app_log.records[0].outcome, APP_COMPLETED);
	ck_assert_int_eq(app_log.records[1].outcome, APP_COMPLETED);
	expect_refused(2, ZERO, APP_REFUSED);
	expect_refused(3, ZERO + 2449, APP_REFUSED);
	expect_record(4, APP_COMPLETED, ZERO + 2451, 1250, 1250);
}
END_TEST

/*
 * Two users; the trace's dates play no part. The first step computes both prompts: 40 tokens of
 * 100, 420 pairs of 2, and 50 before it: 4890. The first user thinks for 1000 and asks again at
 * 5890. The other one's answer ends at 4890 + 50 + 1000 + 21 * 10 * 2 = 6360. It asks the last
 * request at 7360.
 */
START_TEST(users_of_a_closed_loop_wait_think_and_ask_again)
{
	init_llm();
	llm.client.users = 2;
	llm.client.think = 1000;
	arrive(5 * MS, 20, 1);
	arrive(6 * MS, 20, 2);
	arrive(7 * MS, 20, 1);
	arrive(8 * MS, 20, 1);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_log.record_count, 4);
	expect_record(0, APP_COMPLETED, ZERO, 4890, 4890);
	expect_record(1, APP_COMPLETED, ZERO, 4890, 6360);
	ck_assert_uint_eq(app_log.records[2].arrival_ns, ZERO + 5890);
	ck_assert_uint_eq(app_log.records[3].arrival_ns, ZERO + 7360);
}
END_TEST

/* The first request never fits: it fails at once, and its user sends the next one. */
START_TEST(a_request_that_fails_at_once_frees_its_user)
{
	init_llm();
	llm.client.users = 1;
	arrive(0, 5000, 1);
	arrive(0, 20, 1);
	simulate();
	ck_assert_uint_eq(app_log.record_count, 2);
	expect_refused(0, ZERO, APP_TOO_LONG);
	expect_record(1, APP_COMPLETED, ZERO, 2470, 2470);
}
END_TEST

/* Stopped at 5000: the first user would ask again at 5890, and does not. */
START_TEST(users_of_a_closed_loop_stop)
{
	init_llm();
	llm.client.users = 2;
	llm.client.think = 1000;
	llm.client.stop = 5000;
	for (int i = 0; i < 4; i++)
		arrive(0, 20, 2);
	simulate();
	ck_assert_uint_eq(app_log.record_count, 2);
	ck_assert_int_eq(app_log.records[1].outcome, APP_COMPLETED);
}
END_TEST

/*
 * The client stops 7000 after its first request, which comes at 500: number 1 is in flight then
 * and dropped, its gaps with it; number 2, at that very date, is not sent. Steps:
 *   500 to 2970: 20 tokens of number 0, as above
 *  2970 to 4740: one of 0, 10 of 1: 1100 + 21 * 10 * 2 + max(10 * 10 * 2, 55 * 2) = 1720, + 50
 *  4740 to 6450: one each: 1000 + 33 * 10 * 2 = 1660, and 50
 *  6450 to 7740: one of 1: 1000 + 12 * 10 * 2 = 1240, and 50; the client leaves meanwhile
 */
START_TEST(what_is_in_flight_at_the_stop_is_dropped)
{
	init_llm();
	llm.client.stop = 7000;
	llm.client.drop_in_flight = true;
	arrive(500, 20, 3);
	arrive(2900, 10, 100);
	arrive(7500, 1, 1);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_log.record_count, 2);
	expect_record(0, APP_COMPLETED, ZERO + 500, 2470, 5950);
	expect_record(1, APP_DROPPED, ZERO + 2900, 1840, 0);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_COMPLETED].count, 2);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_COMPLETED].ns[0], 1770);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_COMPLETED].ns[1], 1710);
	/* Number 1 had tokens at 4740 and 6450, and none up to the stop at 7500. */
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_OTHERS].count, 1);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_OTHERS].ns[0], 1710);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_OPEN].count, 1);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_OPEN].ns[0], 1050);
	ck_assert_uint_eq(app_log.end_ns, ZERO + 7500);
	ck_assert_uint_eq(app_end_ns, ZERO + 7740);
}
END_TEST

START_TEST(what_is_in_flight_at_the_stop_is_awaited)
{
	init_llm();
	llm.client.stop = 7000;
	arrive(500, 20, 3);
	arrive(2900, 10, 100);
	arrive(7500, 1, 1);
	simulate();
	ck_assert_uint_eq(app_log.record_count, 2);
	ck_assert_int_eq(app_log.records[1].outcome, APP_COMPLETED);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_COMPLETED].count, 2 + 99);
	ck_assert_uint_eq(app_end_ns, app_log.records[1].finish_ns);
}
END_TEST

/* It has booted at 20 ms. The run ends at 12 ms, before most of the requests come. */
START_TEST(a_run_that_ends_during_a_boot_has_no_later_requests)
{
	init_llm();
	reopen_ns = 20 * MS;
	interrupt_ns = 12 * MS;
	for (u64 i = 0; i < 4; i++)
		arrive(5 * i * MS, 20, 3);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_end_ns, interrupt_ns);
	ck_assert_uint_eq(app_log.record_count, 1);
	expect_refused(0, ZERO, APP_STOPPED);
}
END_TEST

TEST_MAIN("llm_client", arrivals_are_replayed_at_their_dates, events_change_the_load,
	  a_client_stops_after_its_first_request_under_its_load,
	  a_client_waits_for_the_server_to_be_ready, a_client_holds_so_many_requests_open,
	  users_of_a_closed_loop_wait_think_and_ask_again,
	  a_request_that_fails_at_once_frees_its_user, users_of_a_closed_loop_stop,
	  what_is_in_flight_at_the_stop_is_dropped, what_is_in_flight_at_the_stop_is_awaited,
	  a_run_that_ends_during_a_boot_has_no_later_requests)
