// SPDX-License-Identifier: MIT OR GPL-2.0
/* An LLM server that sleeps and wakes. */
#include "llm_server_fixture.h"

/* At @at the server goes to sleep at @level, or wakes: 0. */
static void sleep_at(u64 at, u64 level)
{
	static struct cfg_event events[2];

	config.events = events;
	events[config.event_count++] =
		(struct cfg_event){ .at = at, .sleep = level, .wake = !level };
}

/*
 * Awake it has a chunk of weights and three of the pool, and asleep nothing. The link moves a
 * byte a ns. The server sleeps after the copy of its weights, which takes @out_ns.
 */
static void expect_sleep(u64 level, u64 out_ns, u64 bytes_in)
{
	init_llm();
	config.gpu.link.bandwidth = 1000000000;
	config.gpu.link.bandwidth_both = 2000000000;
	sleep_at(ZERO, level);
	sleep_at(ZERO + 2 * MS, 0);
	watch_ns[0] = ZERO + out_ns - 1;
	watch_ns[1] = ZERO + out_ns + 1;
	watch_ns[2] = ZERO + 2 * MS - 1;
	watch_ns[3] = ZERO + 20 * MS;
	arrive(21 * MS, 20, 3);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(charged_at[0], 4 * CHUNK);
	ck_assert_uint_eq(charged_at[1], 0);
	ck_assert_uint_eq(charged_at[2], 0);
	ck_assert_uint_eq(charged_at[3], 4 * CHUNK);
	ck_assert_uint_eq(process.range_count, 2);
	ck_assert_uint_eq(process.stats.bytes_d2h, 0);
	ck_assert_uint_eq(process.stats.bytes_h2d, bytes_in);
	expect_record(0, APP_COMPLETED, ZERO + 21 * MS, 2470, 5430);
}

/* A copy of the application is no paging: only the start pages the weights in. */
START_TEST(a_server_sleeps_when_the_host_has_its_weights)
{
	expect_sleep(1, 1000, GVM_PAGE_BYTES);
}
END_TEST

START_TEST(a_server_that_sleeps_deeply_loads_its_weights_again)
{
	expect_sleep(2, 0, 2 * GVM_PAGE_BYTES);
}
END_TEST

/*
 * The wake copies 1000 bytes to a page of weights, which faults and is cleared before: 1002 ns.
 * Its pass over the pool is launched in 50 ns, clears 3 chunks of 32 pages in 1 ns each, and
 * takes a ns a byte.
 */
START_TEST(a_request_waits_for_the_wake)
{
	init_llm();
	config.gpu.link.bandwidth = 1000000000;
	config.gpu.link.bandwidth_both = 2000000000;
	sleep_at(ZERO, 1);
	sleep_at(ZERO + 2 * MS, 0);
	arrive(MS, 20, 3);
	simulate();
	ck_assert_uint_eq(app_log.records[0].start_ns,
			  ZERO + 2 * MS + 1002 + 50 + 3 * 32 + 3 * CHUNK);
}
END_TEST

/*
 * The first request's second step is in flight when the sleep is due, and ends. Its last token
 * and the second request come after the wake: 22 tokens are computed again beside 20 new ones.
 */
START_TEST(requests_wait_while_a_server_sleeps)
{
	const struct app_record *first, *second;

	init_llm();
	sleep_at(ZERO + 3000, 1);
	sleep_at(ZERO + 2 * MS, 0);
	arrive(0, 20, 3);
	arrive(MS, 20, 1);
	simulate();
	ck_assert_int_eq(app_status, 0);
	first = &app_log.records[0];
	second = &app_log.records[1];
	ck_assert_int_eq(first->outcome, APP_COMPLETED);
	ck_assert_uint_eq(first->first_ns, ZERO + 2470);
	ck_assert_uint_eq(first->preemptions, 1);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_COMPLETED].ns[0], 1470);
	ck_assert_uint_gt(second->start_ns, ZERO + 2 * MS);
	ck_assert_uint_eq(second->first_ns, first->finish_ns);
	ck_assert_uint_eq(second->arrival_ns, ZERO + MS);
	ck_assert_uint_eq(second->preemptions, 0);
}
END_TEST

/* The second prompt shares its first block with the first one, which a sleep forgets. */
START_TEST(a_sleep_forgets_prefixes)
{
	static u64 hashes[] = { 1, 2, 1, 3 };

	init_llm();
	llm.prefix_caching = true;
	trace.hashes = hashes;
	trace.hash_tokens = 16;
	sleep_at(ZERO + MS, 1);
	sleep_at(ZERO + 2 * MS, 0);
	arrive(0, 20, 1);
	arrive(20 * MS, 20, 1);
	arrivals[1].first_hash = 2;
	simulate();
	expect_record(1, APP_COMPLETED, ZERO + 20 * MS, 2470, 2470);
	ck_assert_uint_eq(app_log.records[1].cached_tokens, 0);
}
END_TEST

/* The client is done long before the sleep. */
START_TEST(a_server_sleeps_when_its_client_has_gone)
{
	init_llm();
	sleep_at(ZERO + 5 * MS, 2);
	arrive(0, 20, 1);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_log.end_ns, ZERO + 2470);
	ck_assert_uint_eq(app_end_ns, ZERO + 5 * MS);
	ck_assert_uint_eq(resident_at_end, 0);
}
END_TEST

/* The wake changes nothing. */
START_TEST(a_server_that_is_awake_does_not_wake)
{
	init_llm();
	sleep_at(ZERO, 0);
	sleep_at(ZERO + MS, 0);
	watch_ns[0] = ZERO + 2 * MS;
	arrive(3 * MS, 20, 3);
	simulate();
	ck_assert_uint_eq(charged_at[0], 4 * CHUNK);
	ck_assert_uint_eq(process.stats.bytes_h2d, GVM_PAGE_BYTES);
	expect_record(0, APP_COMPLETED, ZERO + 3 * MS, 2470, 5430);
}
END_TEST

START_TEST(a_server_that_sleeps_does_not_go_to_sleep)
{
	init_llm();
	sleep_at(ZERO, 1);
	sleep_at(ZERO + MS, 2);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(resident_at_end, 0);
}
END_TEST

/*
 * Two of its three groups were parked. Asleep it has none to give, and the
 * wake brings all back.
 */
START_TEST(a_server_that_wakes_listens_again)
{
	init_llm();
	listens = true;
	post_ns = ZERO - MS;
	post_bytes = 2 * CHUNK;
	sleep_at(ZERO, 1);
	sleep_at(ZERO + MS, 0);
	watch_ns[0] = ZERO - 1;
	watch_ns[1] = ZERO + MS - 1;
	watch_ns[2] = ZERO + 20 * MS;
	arrive(21 * MS, 20, 3);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(charged_at[0], 2 * CHUNK);
	ck_assert_uint_eq(charged_at[1], 0);
	ck_assert_uint_eq(charged_at[2], 4 * CHUNK);
	expect_record(0, APP_COMPLETED, ZERO + 21 * MS, 2470, 5430);
}
END_TEST

/* Its context is killed meanwhile: the wake finds that. */
START_TEST(a_server_may_die_asleep)
{
	init_llm();
	sleep_at(ZERO, 1);
	sleep_at(ZERO + 2 * MS, 0);
	kill_ns = ZERO + MS;
	arrive(3 * MS, 20, 3);
	simulate();
	ck_assert_int_eq(app_status, -EIO);
	expect_refused(0, ZERO + 3 * MS, APP_KILLED);
}
END_TEST

TEST_MAIN("llm_sleep", a_server_sleeps_when_the_host_has_its_weights,
	  a_server_that_sleeps_deeply_loads_its_weights_again, a_request_waits_for_the_wake,
	  requests_wait_while_a_server_sleeps, a_sleep_forgets_prefixes,
	  a_server_sleeps_when_its_client_has_gone, a_server_that_is_awake_does_not_wake,
	  a_server_that_sleeps_does_not_go_to_sleep, a_server_that_wakes_listens_again,
	  a_server_may_die_asleep)
