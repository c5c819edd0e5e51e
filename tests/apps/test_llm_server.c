// SPDX-License-Identifier: MIT OR GPL-2.0
/* The life of an LLM server: its memory, its failures, its end and its answer to pressure. */
#include "engine/error.h"
#include "llm_server_fixture.h"

/* The trace has hashes for its first blocks only; no block needs the others. */
START_TEST(a_prompt_that_is_refused_has_no_keys)
{
	static u64 hashes[] = { 1 };

	init_llm();
	llm.prefix_caching = true;
	trace.hashes = hashes;
	trace.hash_tokens = 16;
	arrive(0, UINT32_MAX, 1);
	simulate();
	ck_assert_uint_eq(app_log.record_count, 1);
	expect_refused(0, ZERO, APP_TOO_LONG);
}
END_TEST

START_TEST(prompts_that_never_fit_fail)
{
	init_llm();
	arrive(0, 257, 1);
	arrive(0, 256, 9);
	simulate();
	expect_refused(0, ZERO, APP_TOO_LONG);
	ck_assert_int_eq(app_log.records[1].outcome, APP_COMPLETED);
	ck_assert_uint_eq(app_log.records[1].output_tokens, 1);
}
END_TEST

/*
 * Killed 1000 into the first step: the requests that are open fail then, later ones when they
 * are sent; the server reports the death when the client has stopped.
 */
START_TEST(a_dead_context_fails_open_and_later_requests)
{
	init_llm();
	kill_ns = ZERO + 1000;
	llm.client.stop = 1 * MS;
	arrive(0, 10, 5);
	arrive(10, 10, 5);
	arrive(MS / 2, 10, 5);
	arrive(2 * MS, 10, 5);
	simulate();
	ck_assert_int_eq(app_status, -EIO);
	ck_assert_uint_eq(app_log.record_count, 3);
	expect_record(0, APP_FAILED, ZERO, 0, 1000);
	expect_record(1, APP_FAILED, ZERO + 10, 0, 990);
	expect_refused(2, ZERO + MS / 2, APP_KILLED);
	ck_assert_uint_eq(app_end_ns, ZERO + MS / 2);
}
END_TEST

/* Death of an idle server is noticed with the next request. */
START_TEST(an_idle_server_dies_with_its_next_request)
{
	init_llm();
	kill_ns = ZERO - 1;
	arrive(0, 10, 5);
	simulate();
	ck_assert_int_eq(app_status, -EIO);
	expect_refused(0, ZERO, APP_KILLED);
}
END_TEST

/* Weights of 17 chunks, of which the container may have none. */
START_TEST(a_server_that_cannot_load_dies_and_refuses)
{
	init_llm();
	config.gpu.memory_total = 20 * CHUNK;
	llm.gpu_memory_utilization = CFG_PPM;
	llm.weights = 17 * CHUNK;
	limit_bytes = 0;
	arrive(0, 10, 5);
	simulate();
	ck_assert_int_eq(app_status, -EIO);
	ck_assert(process.killed);
	ck_assert(!process.running);
	ck_assert_uint_eq(app_log.record_count, 1);
	expect_refused(0, ZERO, APP_OUT_OF_MEMORY);
}
END_TEST

START_TEST(a_server_without_room_for_a_pool_does_not_start)
{
	init_llm();
	llm.weights = 3 * CHUNK + 1;
	arrive(0, 10, 5);
	simulate();
	ck_assert_int_eq(app_status, -ENOMEM);
	ck_assert_uint_eq(app_log.record_count, 0);
}
END_TEST

/* Is the server refused for want of memory? Without a trace it is refused in any case. */
static bool has_no_room(void)
{
	struct app_log log = { 0 };
	struct app_env env = { .config = &config, .container = &container, .log = &log };
	struct sim_error err = { 0 };

	ck_assert_int_eq(llm_server_app.prepare(&env, &err), -SIM_EXIT_USER);
	llm_server_app.discard(&env);
	return strstr(err.text, "does not hold weights and workspace");
}

/* 8 MiB a token: a group of blocks covers more bytes than 32 bits count. */
START_TEST(a_group_of_blocks_may_be_larger_than_four_gigabytes)
{
	init_llm();
	llm.kv_bytes_per_token = 8 << 20;
	llm.block_tokens = 16;
	ck_assert(has_no_room());
	config.gpu.memory_total = 64ull << 30;
	llm.gpu_memory_utilization = CFG_PPM;
	ck_assert(!has_no_room());
}
END_TEST

/* Its share is 4 of 16 chunks, less half a one and 1000 bytes: 3 whole groups of one chunk. */
START_TEST(a_server_takes_its_whole_share_at_the_start)
{
	init_llm();
	llm.workspace = CHUNK / 2;
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(process.range_count, 3);
	ck_assert_uint_eq(process.stats.bytes_h2d, GVM_PAGE_BYTES);
	ck_assert_uint_eq(process.stats.block.pages_copied_in, 1);
	ck_assert_uint_eq(process.stats.block.pages_cleared, 16 + 3 * 32);
}
END_TEST

/* End of the run in mid-step, and between requests. */
START_TEST(the_end_of_the_run_drops_open_requests)
{
	init_llm();
	interrupt_ns = ZERO + 3000;
	arrive(0, 20, 3);
	arrive(MS, 20, 3);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_end_ns, ZERO + 3000);
	ck_assert_uint_eq(app_log.record_count, 1);
	expect_record(0, APP_DROPPED, ZERO, 2470, 0);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_COMPLETED].count, 0);
}
END_TEST

START_TEST(an_idle_server_ends_with_the_run)
{
	init_llm();
	interrupt_ns = ZERO - 1;
	arrive(0, 20, 3);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_end_ns, ZERO - 1);
	ck_assert_uint_eq(app_log.record_count, 0);
}
END_TEST

START_TEST(a_loading_server_ends_with_the_run)
{
	init_llm();
	interrupt_ns = 60;
	arrive(0, 20, 3);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_end_ns, 60);
}
END_TEST

/*
 * Blocks 1 to 191 in three groups of a chunk, all free; the one freed last is 191. For two
 * chunks the last two groups go, and the first request finds its block in the first. Weights: a
 * chunk.
 */
START_TEST(a_server_that_listens_gives_free_groups_back)
{
	init_llm();
	listens = true;
	post_ns = ZERO - MS; /* loaded, and idle */
	post_bytes = CHUNK + 1;
	interrupt_ns = ZERO + 100000;
	arrive(0, 20, 3);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_int_eq(app_log.records[0].outcome, APP_COMPLETED);
	ck_assert_uint_eq(process.stats.bytes_d2h, 0);
	ck_assert_uint_eq(process.stats.block.pages_cleared, 3 * 32);
	ck_assert_uint_eq(resident_at_end, 2 * CHUNK);
}
END_TEST

/* All of it was given; what comes back is the group that the request needs, as fresh memory. */
START_TEST(a_parked_group_comes_back_when_it_is_needed)
{
	init_llm();
	listens = true;
	post_ns = ZERO - MS; /* loaded, and idle */
	post_bytes = U64_MAX;
	interrupt_ns = ZERO + 100000;
	arrive(0, 20, 3);
	simulate();
	ck_assert_int_eq(app_log.records[0].outcome, APP_COMPLETED);
	ck_assert_uint_eq(process.stats.bytes_d2h, 0);
	ck_assert_uint_eq(process.stats.block.pages_cleared, 4 * 32);
	ck_assert_uint_eq(resident_at_end, 2 * CHUNK);
}
END_TEST

START_TEST(who_does_not_listen_gives_nothing)
{
	init_llm();
	post_ns = ZERO - MS; /* loaded, and idle */
	post_bytes = U64_MAX;
	interrupt_ns = ZERO + 100000;
	arrive(0, 20, 3);
	simulate();
	ck_assert_uint_eq(resident_at_end, 4 * CHUNK);
}
END_TEST

TEST_MAIN("llm_server", a_prompt_that_is_refused_has_no_keys, prompts_that_never_fit_fail,
	  a_dead_context_fails_open_and_later_requests,
	  an_idle_server_dies_with_its_next_request, a_server_that_cannot_load_dies_and_refuses,
	  a_server_without_room_for_a_pool_does_not_start,
	  a_group_of_blocks_may_be_larger_than_four_gigabytes,
	  a_server_takes_its_whole_share_at_the_start, the_end_of_the_run_drops_open_requests,
	  an_idle_server_ends_with_the_run, a_loading_server_ends_with_the_run,
	  a_server_that_listens_gives_free_groups_back,
	  a_parked_group_comes_back_when_it_is_needed, who_does_not_listen_gives_nothing)
