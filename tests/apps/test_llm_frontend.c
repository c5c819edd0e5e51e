// SPDX-License-Identifier: MIT OR GPL-2.0
/* The API server and the client's event loop: the dates that a client notes. */
#include "llm_server_fixture.h"

/*
 * The host has twice the reference speed: 15 a step and 50 a token in the API server,
 * 20 a token in the client.
 */
static void init_frontend(void)
{
	init_llm();
	llm.frontend = (struct cfg_frontend){ .per_step = 30, .per_token = 100, .client = 40 };
}

/* The engine's dates are those of a_request_takes_the_time_of_its_steps. */
START_TEST(a_token_takes_the_time_of_both_loops)
{
	init_frontend();
	arrive(0, 20, 3);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 2470 + 85, 2470 + 1470 + 1490 + 85);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_COMPLETED].ns[0], 1470);
	ck_assert_uint_eq(app_end_ns, ZERO + 5430 + 85);
}
END_TEST

/*
 * Two prompts of 10 in one step of max(1000, 20 * 100) + max(200 * 2, 110 pairs * 2), and 50
 * for the first launch. The API server works on both tokens before it sends them. The client
 * notes one after the other.
 */
START_TEST(tokens_of_a_step_leave_together)
{
	init_frontend();
	arrive(0, 10, 1);
	arrive(0, 10, 1);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 2450 + 115 + 20, 2450 + 115 + 20);
	expect_record(1, APP_COMPLETED, ZERO, 2450 + 115 + 40, 2450 + 115 + 40);
}
END_TEST

/* 130 tokens: 15 + 128 * 50 for the first batch, and 2 * 50 more for the second. */
START_TEST(many_tokens_leave_in_batches)
{
	struct llm_frontend frontend = { 0 };
	struct cfg_frontend cfg = { .per_step = 30, .per_token = 100 };

	init_llm();
	ck_assert_uint_eq(llm_frontend_send(&frontend, &cfg, &config.host, 1000, 0,
					    LLM_FRONTEND_BATCH),
			  1000 + 15 + 6400);
	ck_assert_uint_eq(llm_frontend_send(&frontend, &cfg, &config.host, 1000,
					    LLM_FRONTEND_BATCH, 2),
			  1000 + 15 + 6500);
}
END_TEST

/*
 * 100 in the event loop, a wait of 7 and 20 tokens of 10. The second request is in the loop
 * until 200, and tokenized until 407: the engine has begun with the first one.
 */
START_TEST(a_request_passes_the_event_loop_and_the_tokenizer)
{
	init_llm();
	llm.frontend = (struct cfg_frontend){ .per_request = 200,
					      .request_wait = 7,
					      .per_prompt_token = 20 };
	arrive(0, 20, 1);
	arrive(0, 10, 1);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 307 + 2470, 307 + 2470);
	ck_assert_uint_eq(app_log.records[0].start_ns, ZERO + 307);
	ck_assert_uint_eq(app_log.records[1].start_ns, ZERO + 307 + 2470);
	ck_assert_uint_eq(app_log.records[1].arrival_ns, ZERO);
}
END_TEST

/* The client stops while the tokenizer has the second request. */
START_TEST(a_request_that_the_engine_never_gets_is_dropped)
{
	init_llm();
	llm.frontend.per_prompt_token = 2000;
	llm.client.stop = 15000;
	llm.client.drop_in_flight = true;
	arrive(0, 10, 1);
	arrive(0, 20, 1);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 10000 + 1250, 10000 + 1250);
	ck_assert_int_eq(app_log.records[1].outcome, APP_DROPPED);
	ck_assert_uint_eq(app_log.records[1].start_ns, 0);
}
END_TEST

/* The engine emits the token before the client stops, but the client gets it too late. */
START_TEST(a_token_that_is_on_its_way_as_the_client_stops_is_dropped)
{
	init_frontend();
	llm.client.stop = 2500;
	llm.client.drop_in_flight = true;
	arrive(0, 20, 1);
	simulate();
	ck_assert_int_eq(app_log.records[0].outcome, APP_DROPPED);
	ck_assert_uint_eq(app_log.records[0].first_ns, 0);
	ck_assert_uint_eq(app_log.records[0].output_tokens, 0);
	ck_assert_uint_eq(app_log.end_ns, ZERO + 2500);
}
END_TEST

/* The engine emits the token at 2470, and the client would note it at 2555: the run ends before. */
static void end_on_the_way(u32 tokens)
{
	init_frontend();
	interrupt_ns = ZERO + 2500;
	arrive(0, 20, tokens);
	simulate();
	expect_record(0, APP_DROPPED, ZERO, 0, 0);
	ck_assert_uint_eq(app_log.records[0].output_tokens, 0);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_OPEN].count, 0);
}

START_TEST(a_token_on_its_way_at_the_end_of_the_run_is_not_received)
{
	end_on_the_way(3);
}
END_TEST

START_TEST(a_request_whose_last_token_is_on_its_way_has_not_ended)
{
	end_on_the_way(1);
}
END_TEST

/* An event of the date @at stops the server at @stop_ns, which has a request. */
static void stop_server(u64 at, u64 stop_ns, u32 tokens)
{
	static struct cfg_event stop = { .stop = true };

	init_frontend();
	interrupt_ns = stop_ns;
	event_stops = true;
	stop.at = at;
	strcpy(stop.container, container.name);
	config.events = &stop;
	config.event_count = 1;
	arrive(0, 20, tokens);
	simulate();
}

/* Likewise, and an event stops the server before. The answer fails with it. */
static void stop_on_the_way(u32 tokens)
{
	stop_server(ZERO + 2500, ZERO + 2500, tokens);
	expect_record(0, APP_FAILED, ZERO, 0, 2500);
	ck_assert_int_eq(app_log.records[0].reason, APP_STOPPED);
	ck_assert_uint_eq(app_log.records[0].output_tokens, 0);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_COMPLETED].count, 0);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_OPEN].count, 0);
}

START_TEST(a_token_on_its_way_as_an_event_stops_the_server_is_not_received)
{
	stop_on_the_way(3);
}
END_TEST

START_TEST(a_request_whose_last_token_is_on_its_way_fails_with_the_stop)
{
	stop_on_the_way(1);
}
END_TEST

/* An event before the stop takes long, so the server answers on after the stop's date. */
START_TEST(a_late_stop_takes_no_answer_that_came_before_it)
{
	stop_server(ZERO - 1, ZERO + 10000, 1);
	expect_record(0, APP_COMPLETED, ZERO, 2555, 2555);
}
END_TEST

START_TEST(a_request_does_not_fail_before_its_last_token)
{
	init_frontend();
	kill_ns = ZERO + 2500;
	arrive(0, 20, 3);
	simulate();
	expect_record(0, APP_FAILED, ZERO, 2555, 2555);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_OPEN].count, 0);
}
END_TEST

/* A user thinks from the date on which the answer is there. */
START_TEST(a_user_of_a_closed_loop_waits_for_the_frontend)
{
	init_frontend();
	llm.client.users = 1;
	llm.client.think = 1000;
	arrive(0, 20, 1);
	arrive(0, 20, 1);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 2555, 2555);
	expect_record(1, APP_COMPLETED, ZERO + 3555, 2555, 2555);
}
END_TEST

TEST_MAIN("llm_frontend", a_token_takes_the_time_of_both_loops, tokens_of_a_step_leave_together,
	  many_tokens_leave_in_batches, a_request_passes_the_event_loop_and_the_tokenizer,
	  a_request_that_the_engine_never_gets_is_dropped,
	  a_token_that_is_on_its_way_as_the_client_stops_is_dropped,
	  a_token_on_its_way_at_the_end_of_the_run_is_not_received,
	  a_request_whose_last_token_is_on_its_way_has_not_ended,
	  a_token_on_its_way_as_an_event_stops_the_server_is_not_received,
	  a_request_whose_last_token_is_on_its_way_fails_with_the_stop,
	  a_late_stop_takes_no_answer_that_came_before_it,
	  a_request_does_not_fail_before_its_last_token,
	  a_user_of_a_closed_loop_waits_for_the_frontend)
