// SPDX-License-Identifier: MIT OR GPL-2.0
/* What a rank has of a model, with the numbers of Llama-3.1-8B. */
#include "apps/llm_rank.h"

#include "apps/llm_step.h"
#include "runner.h"

static const struct cfg_llm llama = {
	.tensor_parallel = 1,
	.weights = 16060522496,
	.embeddings = 1050673152,
	.token_bytes = 8192,
	.kv_bytes_per_token = 131072,
	.flops_per_token = 13958643712,
	.head_flops = 1050673152,
	.traffic_per_token = 5767168,
	.attention_flops = 524288,
	.attention_group = 4,
	.attention_tile = 64,
	.efficiency = CFG_PPM,
	.attention_efficiency = CFG_PPM,
	.memory_efficiency = CFG_PPM,
	.kv_bandwidth = CFG_PPM,
	.workspace = 1288490188,
	.gpu_memory_utilization = CFG_PPM / 2,
	.block_tokens = 16,
	.kernels_per_step = 340,
	.weight_matrices = 129,
	.layers = 32,
};

static const struct cfg_gpu gpu = {
	.memory_total = 84987084800,
	.memory_bandwidth = 1000000000,
	.flops_bf16 = 1000000000,
	.kernel_overhead = 100,
	.peer = { .bandwidth = 1000000000, .setup = 1000, .step = 50 },
};

/* What each of @ranks ranks has. */
static struct cfg_llm share_of(u64 ranks)
{
	struct cfg_llm whole = llama, share;

	whole.tensor_parallel = ranks;
	llm_rank_share(&whole, &share);
	return share;
}

START_TEST(one_rank_has_all)
{
	struct cfg_llm share = share_of(1);

	ck_assert_mem_eq(&share, &llama, sizeof(share));
}
END_TEST

START_TEST(two_ranks_have_half_of_what_is_cut)
{
	struct cfg_llm share = share_of(2);

	ck_assert_uint_eq(share.weights, 8030261248);
	ck_assert_uint_eq(share.embeddings, 525336576);
	ck_assert_uint_eq(share.kv_bytes_per_token, 65536);
	ck_assert_uint_eq(share.flops_per_token, 6979321856);
	ck_assert_uint_eq(share.head_flops, 525336576);
	ck_assert_uint_eq(share.attention_flops, 262144);
	/*
	 * Two additions with norm a layer, which read and write four values each, stay whole.
	 */
	ck_assert_uint_eq(share.traffic_per_token, 2097152 + (5767168 - 2097152) / 2);
	ck_assert_uint_eq(share.kernels_per_step, 340 + 64);
	ck_assert_uint_eq(share.workspace, llama.workspace);
	ck_assert_uint_eq(share.weight_matrices, llama.weight_matrices);
}
END_TEST

/*
 * A rank has half of each expert, and adds up what two of them give a token: beside the norms
 * that is 3 x 8192 bytes a layer that are not cut.
 */
START_TEST(two_ranks_have_half_of_each_expert)
{
	struct cfg_llm moe = llama, share;

	moe.tensor_parallel = 2;
	moe.experts = 8;
	moe.experts_per_token = 2;
	moe.expert_weights = 9000000001;
	llm_rank_share(&moe, &share);
	ck_assert_uint_eq(share.expert_weights, 4500000000);
	ck_assert_uint_eq(share.experts, 8);
	ck_assert_uint_eq(share.experts_per_token, 2);
	ck_assert_uint_eq(share.traffic_per_token,
			  2097152 + 786432 + (5767168 - 2097152 - 786432) / 2);
	/* Nothing is left beside table and experts, in no rank. */
	moe.weights = 6;
	moe.embeddings = 3;
	moe.expert_weights = 3;
	llm_rank_share(&moe, &share);
	ck_assert_uint_eq(share.weights, share.embeddings + share.expert_weights);
}
END_TEST

/* The cache is whole, for half of the heads. */
START_TEST(each_rank_has_all_of_a_latent_cache)
{
	struct cfg_llm latent = llama, share;

	latent.tensor_parallel = 2;
	latent.attention_group = 16;
	latent.latent_decode_flops = 940032;
	latent.latent_expand_flops = 113246208;
	llm_rank_share(&latent, &share);
	ck_assert_uint_eq(share.kv_bytes_per_token, 131072);
	ck_assert_uint_eq(share.attention_group, 8);
	ck_assert_uint_eq(share.latent_decode_flops, 470016);
	ck_assert_uint_eq(share.latent_expand_flops, 56623104);
	ck_assert_uint_eq(share.attention_flops, 262144);
}
END_TEST

START_TEST(parts_are_rounded_up)
{
	struct cfg_llm share = share_of(3);

	ck_assert_uint_eq(share.weights, 5353507499);
	ck_assert_uint_eq(share.kv_bytes_per_token, 43691);
}
END_TEST

/*
 * Half of the card is 42493542400 bytes. Weights and workspace leave 33174790964: 494 groups of
 * 64 blocks of 16 tokens, of 64 MiB each. One GPU has 187 groups of 128 MiB.
 */
START_TEST(a_group_of_blocks_takes_half_of_the_memory)
{
	struct cfg_llm share = share_of(2);

	ck_assert_uint_eq(llm_rank_groups(&share, &gpu), 494);
	ck_assert_uint_eq(llm_rank_groups(&llama, &gpu), 187);
}
END_TEST

/* 10 tokens of 8192 bytes: each of 64 all-reduces takes 1000 + 2 * 50 + 81920 ns. */
START_TEST(a_step_has_two_all_reduces_a_layer)
{
	const struct llm_step step = { .sequences = 1, .prefill_tokens = 10 };
	struct cfg_llm share = share_of(2), alone;
	u64 ns = llm_step_work(&share, &gpu, &step).ns;

	alone = share;
	alone.tensor_parallel = 1;
	ck_assert_uint_eq(ns - llm_step_work(&alone, &gpu, &step).ns,
			  64 * (1000 + 100 + 81920 - 100));
}
END_TEST

START_TEST(all_reduces_that_take_years_take_one)
{
	const struct llm_step step = { .sequences = 1, .prefill_tokens = 1 << 20 };
	struct cfg_llm share = share_of(2);
	struct cfg_gpu slow = gpu;

	slow.peer.bandwidth = 1;
	share.layers = 400000;
	share.flops_per_token = share.head_flops = share.attention_flops = 0;
	share.traffic_per_token = 0;
	slow.memory_bandwidth = 1000000000000000;
	ck_assert_uint_ge(llm_step_work(&share, &slow, &step).ns, APP_COST_MAX_NS);
	ck_assert_uint_lt(llm_step_work(&share, &slow, &step).ns, APP_COST_MAX_NS + 1000000);
}
END_TEST

TEST_MAIN("llm_rank", one_rank_has_all, two_ranks_have_half_of_what_is_cut,
	  two_ranks_have_half_of_each_expert, each_rank_has_all_of_a_latent_cache,
	  parts_are_rounded_up, a_group_of_blocks_takes_half_of_the_memory,
	  a_step_has_two_all_reduces_a_layer, all_reduces_that_take_years_take_one)
