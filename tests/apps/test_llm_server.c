// SPDX-License-Identifier: MIT OR GPL-2.0
/* The LLM server and its client. */
#include "apps/llm_server.h"
#include "apps/llm_model.h"
#include "engine/error.h"
#include "llm_server_fixture.h"

/* A request that failed when it was sent. */
static void expect_refused(size_t index, u64 at, enum app_reason reason)
{
	const struct app_record *record = &app_log.records[index];

	ck_assert_int_eq(record->outcome, APP_FAILED);
	ck_assert_int_eq(record->reason, reason);
	ck_assert_uint_eq(record->arrival_ns, at);
	ck_assert_uint_eq(record->first_ns, 0);
	ck_assert_uint_eq(record->finish_ns, at);
}

/*
 * Prefill of 20: max(1000, 20 * 100) + max(20 * 10 * 2, 210 pairs * 2) = 2420, as 10 kernels of
 * 242 that start with the first launch at 50: first token at 2470.
 * Second: max(1000, 100) + 21 * 10 * 2 = 1420, and 50 before it: 1470. Third: 1490.
 */
START_TEST(a_request_takes_the_time_of_its_steps)
{
	init_llm();
	arrive(0, 20, 3);
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_log.record_count, 1);
	expect_record(0, APP_COMPLETED, ZERO, 2470, 2470 + 1470 + 1490);
	ck_assert_uint_eq(app_log.records[0].prompt_tokens, 20);
	ck_assert_uint_eq(app_log.records[0].output_tokens, 3);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_COMPLETED].count, 2);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_COMPLETED].ns[0], 1470);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_COMPLETED].ns[1], 1490);
	ck_assert_uint_eq(app_end_ns, ZERO + 5430);
}
END_TEST

/* Launches of 500 are slower than kernels of 242 and 142: the last kernel starts at 5000. */
START_TEST(an_eager_step_is_bound_by_the_host)
{
	init_llm();
	llm.kernel_launch = 1000;
	arrive(0, 20, 2);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 5000 + 242, 5242 + 5000 + 142);
}
END_TEST

/*
 * A step of one token is a graph, whose one launch takes 500: 50 for each of its kernels. The
 * first is eager.
 */
START_TEST(a_small_step_is_a_graph_with_one_launch)
{
	init_llm();
	llm.kernel_launch = 1000;
	llm.graph_tokens = 19;
	arrive(0, 20, 2);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 5000 + 242, 5242 + 50 + 1420);
}
END_TEST

/* 10 kernels of 7, logits of a sequence 300, traffic of 3 a token: 20 and then 1 of them. */
START_TEST(a_step_has_overhead_logits_and_activations)
{
	init_llm();
	config.gpu.kernel_overhead = 7;
	llm.head_flops = 300;
	llm.traffic_per_token = 3;
	arrive(0, 20, 2);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 2470 + 70 + 300 + 60,
		      2470 + 70 + 300 + 60 + 1470 + 70);
}
END_TEST

/*
 * A sequence with 21 tokens of context, 210 bytes, decodes beside a prompt of 10: 1100 of
 * products, 200 of the prompt's attention, and 50 before it. Reading takes 420, or 3 times 210
 * where three query heads share the keys and 210 bytes fill the L2.
 */
static void read_beside_prefill(u64 l2, u64 group, u64 read_ns)
{
	init_llm();
	config.gpu.l2 = l2;
	llm.attention_group = group;
	arrive(0, 20, 2);
	arrive(2000, 10, 1);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 2470, 2470 + 1350 + read_ns);
}

START_TEST(query_heads_read_their_shared_keys_again_if_the_l2_has_lost_them)
{
	read_beside_prefill(210, 3, 630);
}
END_TEST

START_TEST(keys_that_the_l2_still_has_are_read_once)
{
	read_beside_prefill(840, 3, 420);
}
END_TEST

START_TEST(keys_of_one_query_head_are_read_once)
{
	read_beside_prefill(210, 1, 420);
}
END_TEST

START_TEST(a_part_of_the_keys_is_read_again_as_the_l2_fills)
{
	/* A half of the four other reads misses. */
	read_beside_prefill(336, 5, 210 * 3);
}
END_TEST

START_TEST(a_table_of_embeddings_is_not_read)
{
	init_llm();
	llm.flops_per_token = 1;
	llm.embeddings = 300;
	arrive(0, 20, 1);
	simulate();
	/* 700 of 1000 to read, 400 of KV, and the first launch. */
	expect_record(0, APP_COMPLETED, ZERO, 700 + 420 + 50, 700 + 420 + 50);
}
END_TEST

/*
 * 20 tokens read all of 4 experts, of which each uses 2: 1 - 2^-20, of 800 that is 799. One
 * token reads half of them, 400.
 */
START_TEST(few_tokens_read_a_part_of_the_experts)
{
	init_llm();
	llm.flops_per_token = 1;
	llm.expert_weights = 800;
	llm.experts = 4;
	llm.experts_per_token = 2;
	arrive(0, 20, 2);
	simulate();
	/* 200 + 799 + 420 of KV, as ten kernels of 141; and 200 + 400 + 420. */
	expect_record(0, APP_COMPLETED, ZERO, 1410 + 50, 1410 + 50 + 1020 + 50);
}
END_TEST

/*
 * Eight experts of a chunk each, and one chunk of other weights. All are loaded. Four chunks
 * are kept, so each step copies in what it touches and does not find. Steps of one token that
 * uses one of eight experts copy less than steps that use all.
 */
static u64 bytes_in_of_steps(u64 experts_per_token)
{
	init_llm();
	limit_bytes = 4 * CHUNK;
	llm.weights = 9 * CHUNK;
	llm.expert_weights = 8 * CHUNK;
	llm.experts = 8;
	llm.experts_per_token = experts_per_token;
	llm.layers = 1;
	llm.gpu_memory_utilization = CFG_PPM;
	arrive(0, 1, 9);
	simulate();
	ck_assert_int_eq(app_log.records[0].outcome, APP_COMPLETED);
	return process.stats.bytes_h2d;
}

START_TEST(a_step_touches_the_experts_that_it_uses)
{
	/* Nine chunks at the start, and twelve in nine steps. */
	ck_assert_uint_eq(bytes_in_of_steps(1), (9 + 12) * CHUNK);
}
END_TEST

START_TEST(a_step_that_uses_all_experts_touches_all)
{
	/* In each step the weights and a chunk of the KV pool. */
	ck_assert_uint_eq(bytes_in_of_steps(8), (9 + 9 * (9 + 1)) * CHUNK);
}
END_TEST

/* Products of layers take a quarter of the time, those of the output layer as long as ever. */
START_TEST(products_in_fp8_have_a_rate_of_their_own)
{
	init_llm();
	llm.quantization = LLM_FP8;
	llm.flops_per_token = 400;
	llm.head_flops = 300;
	arrive(0, 20, 1);
	config.gpu.flops_fp8 = 4 * config.gpu.flops_bf16;
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 2000 + 300 + 420 + 50, 2000 + 300 + 420 + 50);
}
END_TEST

/* Without such a rate the weights are expanded, and computed with in bf16. */
START_TEST(without_fp8_products_take_the_time_of_bf16)
{
	init_llm();
	llm.quantization = LLM_FP8;
	arrive(0, 20, 1);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 2470, 2470);
}
END_TEST

/*
 * The second step of "what_is_in_flight", with tiles of 64: one of 0 counts as 64 pairs with
 * each of 21, so 64 * 21 * 2 = 2688 in place of 420. In the third, without prefill, two query
 * heads share a tile: 33 tokens of context, 33 * 64 * 2 / 2 = 2112 in place of 660.
 */
START_TEST(a_decode_takes_a_tile_which_heads_share_without_prefill)
{
	init_llm();
	llm.attention_tile = 64;
	llm.attention_group = 2;
	arrive(500, 20, 3);
	arrive(2900, 10, 2);
	simulate();
	ck_assert_uint_eq(app_log.records[1].first_ns,
			  ZERO + 2970 + 50 + (1100 + 2688 + 200) / 10 * 10);
	ck_assert_uint_eq(app_log.records[1].finish_ns,
			  app_log.records[1].first_ns + 1710 - 660 + 2112 / 10 * 10);
}
END_TEST

/*
 * Two prompts of 10 in one step, as in "requests_share_steps": before the GPU begins, the host
 * needs 500 for the step, 30 for each of two sequences and 7 for each of 20 tokens. It is twice
 * as fast as the reference.
 */
START_TEST(the_host_works_before_the_gpu)
{
	init_llm();
	llm.host_per_step = 500;
	llm.host_per_sequence = 30;
	llm.host_per_prompt_token = 7;
	arrive(0, 10, 1);
	arrive(0, 10, 1);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 2450 + 350, 2450 + 350);
}
END_TEST

/*
 * Two prompts of 10 in one step: max(1000, 2000) + max(200 * 2, 110 pairs * 2) = 2400. The
 * third, sent meanwhile, waits for the step to end.
 */
START_TEST(requests_share_steps)
{
	init_llm();
	arrive(0, 10, 1);
	arrive(0, 10, 1);
	arrive(100, 10, 1);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 2450, 2450);
	expect_record(1, APP_COMPLETED, ZERO, 2450, 2450);
	/* max(1000, 1000) + max(100 * 2, 55 * 2) = 1200, and 50 before it. */
	expect_record(2, APP_COMPLETED, ZERO + 100, 2350 + 1250, 2350 + 1250);
	ck_assert(app_log.has_server);
	ck_assert_uint_eq(app_log.records[1].start_ns, ZERO);
	ck_assert_uint_eq(app_log.records[2].start_ns, ZERO + 2450);
	ck_assert_uint_eq(app_log.end_ns, ZERO + 2450 + 1250);
}
END_TEST

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

/* The load is a quarter: requests of 1, 2 and 3 ms come at 4, 8 and 12, and the stop is at 9. */
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
 * The second prompt shares the first 16 of its 20 tokens with the first one: it computes 4
 * tokens, for which it reads 20. Products 1000 > 4 * 100, context 20 * 10 * 2 > 74 pairs * 2,
 * and 50: 1450 instead of 2470.
 */
START_TEST(a_cached_prefix_is_not_computed_again)
{
	static u64 hashes[] = { 1, 2, 1, 3 };

	init_llm();
	llm.prefix_caching = true;
	trace.hashes = hashes;
	trace.hash_tokens = 16;
	arrive(0, 20, 1);
	arrive(MS, 20, 1);
	arrivals[1].first_hash = 2;
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 2470, 2470);
	expect_record(1, APP_COMPLETED, ZERO + MS, 1450, 1450);
	ck_assert_uint_eq(app_log.records[0].cached_tokens, 0);
	ck_assert_uint_eq(app_log.records[1].cached_tokens, 16);
	ck_assert(app_log.has_prefix_cache);
}
END_TEST

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

START_TEST(or_it_is_awaited)
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

/* Two of its three groups were parked. Asleep it has none to give, and the wake brings all back. */
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

TEST_MAIN("llm_server", a_server_sleeps_when_the_host_has_its_weights,
	  a_request_waits_for_the_wake, a_server_that_sleeps_deeply_loads_its_weights_again,
	  requests_wait_while_a_server_sleeps, a_server_sleeps_when_its_client_has_gone,
	  a_sleep_forgets_prefixes, a_server_that_is_awake_does_not_wake,
	  a_server_that_sleeps_does_not_go_to_sleep, a_server_that_wakes_listens_again,
	  a_server_may_die_asleep, a_request_takes_the_time_of_its_steps,
	  query_heads_read_their_shared_keys_again_if_the_l2_has_lost_them,
	  keys_that_the_l2_still_has_are_read_once, keys_of_one_query_head_are_read_once,
	  a_part_of_the_keys_is_read_again_as_the_l2_fills, an_eager_step_is_bound_by_the_host,
	  a_small_step_is_a_graph_with_one_launch, a_step_has_overhead_logits_and_activations,
	  a_table_of_embeddings_is_not_read, few_tokens_read_a_part_of_the_experts,
	  a_step_touches_the_experts_that_it_uses, a_step_that_uses_all_experts_touches_all,
	  products_in_fp8_have_a_rate_of_their_own, without_fp8_products_take_the_time_of_bf16,
	  a_decode_takes_a_tile_which_heads_share_without_prefill, requests_share_steps,
	  the_host_works_before_the_gpu, arrivals_are_replayed_at_their_dates,
	  events_change_the_load, a_client_stops_after_its_first_request_under_its_load,
	  a_prompt_that_is_refused_has_no_keys, a_client_waits_for_the_server_to_be_ready,
	  a_client_holds_so_many_requests_open, a_cached_prefix_is_not_computed_again,
	  users_of_a_closed_loop_wait_think_and_ask_again,
	  a_request_that_fails_at_once_frees_its_user, users_of_a_closed_loop_stop,
	  what_is_in_flight_at_the_stop_is_dropped, or_it_is_awaited,
	  prompts_that_never_fit_fail, a_dead_context_fails_open_and_later_requests,
	  an_idle_server_dies_with_its_next_request, a_server_that_cannot_load_dies_and_refuses,
	  a_server_without_room_for_a_pool_does_not_start,
	  a_group_of_blocks_may_be_larger_than_four_gigabytes,
	  a_server_takes_its_whole_share_at_the_start, the_end_of_the_run_drops_open_requests,
	  an_idle_server_ends_with_the_run, a_loading_server_ends_with_the_run,
	  a_server_that_listens_gives_free_groups_back,
	  a_parked_group_comes_back_when_it_is_needed, who_does_not_listen_gives_nothing)
