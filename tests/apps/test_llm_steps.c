// SPDX-License-Identifier: MIT OR GPL-2.0
/* What the steps of an LLM server cost. */
#include "apps/llm_model.h"
#include "llm_server_fixture.h"

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

/* A GPU's rate of fp8 is of no use for weights in 4 bits, which are expanded. */
START_TEST(products_in_4_bits_take_the_time_of_bf16)
{
	init_llm();
	llm.quantization = LLM_INT4;
	arrive(0, 20, 1);
	config.gpu.flops_fp8 = 4 * config.gpu.flops_bf16;
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 2470, 2470);
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
 * The same by FlashAttention 3, which computes at gpu.flops_bf16 here: beside prefill a tile has
 * 128 rows and both heads, 128 * 21 * 2 / 2 = 2688 again; without prefill it is as above.
 */
START_TEST(flash_attention_3_packs_heads_beside_prefill)
{
	init_llm();
	llm.attention_tile = 64;
	llm.attention_group = 2;
	llm.attention_efficiency = CFG_PPM / 1000;
	llm.attention_wgmma = CFG_PPM / 2;
	config.gpu.wgmma = true;
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
 * 4 products a layer and one of the output layer. 20 tokens of one sequence: 5 new shapes of
 * 100 on a host twice as fast as the reference. Then 1 token: 4 new ones. Then none.
 */
START_TEST(a_product_of_a_new_shape_costs_the_host_once)
{
	init_llm();
	llm.layers = 2;
	llm.weight_matrices = 9;
	llm.host_per_new_shape = 200;
	arrive(0, 20, 3);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 2470 + 500, 2970 + 1470 + 400 + 1490);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_COMPLETED].ns[0], 1470 + 400);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_COMPLETED].ns[1], 1490);
}
END_TEST

/* Steps of one token are graphs: only the prompt's 5 shapes are chosen for. */
START_TEST(a_graph_has_no_new_shapes)
{
	init_llm();
	llm.layers = 2;
	llm.weight_matrices = 9;
	llm.host_per_new_shape = 200;
	llm.graph_tokens = 19;
	arrive(0, 20, 2);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 2470 + 500, 2970 + 5 + 1420);
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

/*
 * One of two layers looks back at 10 tokens. Prefill: products 2000; 100 bytes * 2 or 210 pairs
 * of the layer that sees all, and 100 bytes * 2 or 155 pairs of the other one. Decode with a
 * context of 21: 1000, 105 bytes * 2 and 50 bytes * 2.
 */
START_TEST(a_layer_with_a_window_reads_no_more_than_it)
{
	init_llm();
	llm.layers = 2;
	llm.window = 10;
	llm.window_layers = 1;
	arrive(0, 20, 2);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 50 + 2000 + 210 + 200,
		      50 + 2410 + 50 + 1000 + 210 + 100);
}
END_TEST

/*
 * Two chunks of a prompt of 100. The first one: products 6400 and 2080 pairs * 2. The second one:
 * 3600, 64 * 36 + 666 pairs * 2, and 64 tokens of the cache that are expanded. Then four query
 * heads of a sequence that decodes lie in one tile: 101 tokens of context at 100 FLOP.
 */
START_TEST(a_latent_cache_is_expanded_for_prompts_alone)
{
	init_llm();
	llm.attention_group = 4;
	llm.latent_decode_flops = 100;
	llm.latent_expand_flops = 30;
	arrive(0, 100, 2);
	simulate();
	expect_record(0, APP_COMPLETED, ZERO, 50 + 6400 + 4160 + 50 + 3600 + 5940 + 1920,
		      22120 + 50 + 1000 + 10100);
}
END_TEST

TEST_MAIN("llm_steps", a_request_takes_the_time_of_its_steps,
	  an_eager_step_is_bound_by_the_host, a_small_step_is_a_graph_with_one_launch,
	  a_step_has_overhead_logits_and_activations,
	  query_heads_read_their_shared_keys_again_if_the_l2_has_lost_them,
	  keys_that_the_l2_still_has_are_read_once, keys_of_one_query_head_are_read_once,
	  a_part_of_the_keys_is_read_again_as_the_l2_fills, a_table_of_embeddings_is_not_read,
	  few_tokens_read_a_part_of_the_experts, a_step_touches_the_experts_that_it_uses,
	  a_step_that_uses_all_experts_touches_all, products_in_fp8_have_a_rate_of_their_own,
	  products_in_4_bits_take_the_time_of_bf16, without_fp8_products_take_the_time_of_bf16,
	  a_decode_takes_a_tile_which_heads_share_without_prefill,
	  flash_attention_3_packs_heads_beside_prefill, the_host_works_before_the_gpu,
	  a_product_of_a_new_shape_costs_the_host_once, a_graph_has_no_new_shapes,
	  requests_share_steps, a_cached_prefix_is_not_computed_again,
	  a_layer_with_a_window_reads_no_more_than_it,
	  a_latent_cache_is_expanded_for_prompts_alone)
