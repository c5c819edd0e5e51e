// SPDX-License-Identifier: MIT OR GPL-2.0
/* Sliding windows: groups of layers, what they see, and which KV blocks sequences keep. */
#include "apps/llm_window.h"

#include "apps/llm_config.h"
#include "llm_scheduler_fixture.h"

static void expect_groups(u64 layers, u64 windowed, u32 of, u32 full, u32 with_window)
{
	const struct cfg_llm cfg = { .layers = layers, .window = 9, .window_layers = windowed };
	struct llm_window_groups groups = llm_window_group(&cfg);

	ck_assert_uint_eq(groups.layers, of);
	ck_assert_uint_eq(groups.full, full);
	ck_assert_uint_eq(groups.windowed, with_window);
}

START_TEST(layers_are_grouped_as_in_vllm)
{
	expect_groups(26, 22, 4, 1, 6);	 /* gemma-3-1b */
	expect_groups(62, 52, 10, 1, 6); /* gemma-3-27b */
	expect_groups(24, 12, 12, 1, 1); /* gpt-oss-20b */
	expect_groups(32, 32, 32, 0, 1); /* Mistral-7B-v0.1 */
	expect_groups(24, 14, 14, 1, 1); /* nearly as many: 14 of 10 */
	expect_groups(25, 15, 10, 1, 2); /* 1.5 times as many */
	expect_groups(32, 0, 32, 1, 0);
	expect_groups(0, 0, 1, 1, 0); /* not known */
}
END_TEST

/* 4 of 26 layers with 1024 bytes a token each. */
START_TEST(a_block_has_the_keys_of_one_group)
{
	struct cfg_llm cfg = { .layers = 26,
			       .window = 512,
			       .window_layers = 22,
			       .block_tokens = 16,
			       .kv_bytes_per_token = 26624 };

	ck_assert_uint_eq(llm_window_block_bytes(&cfg), 16 * 4 * 1024);
	cfg.window = cfg.window_layers = 0;
	ck_assert_uint_eq(llm_window_block_bytes(&cfg), 16 * 26624);
}
END_TEST

/* Counted one by one: query number i of a chunk sees the last @window of computed + i keys. */
START_TEST(what_a_window_sees_is_what_counting_gives)
{
	for (u64 window = 1; window < 12; window++) {
		for (u64 computed = 0; computed < 25; computed++) {
			for (u64 tokens = 1; tokens < 25; tokens++) {
				u64 pairs = 0, first = computed + 1;

				for (u64 i = 1; i <= tokens; i++) {
					u64 last = computed + i;
					u64 begin = last < window ? 0 : last - window;

					pairs += last - begin;
					first = begin < first ? begin : first;
				}
				ck_assert_uint_eq(llm_window_pairs(window, computed, tokens),
						  pairs);
				ck_assert_uint_eq(llm_window_read(window, computed, tokens),
						  computed + tokens - first);
				/* Blocks of 4 that end before the first key. */
				ck_assert_uint_eq(llm_window_passed(window, computed, 4),
						  first / 4);
			}
		}
	}
}
END_TEST

/* A window of 8 tokens, blocks of 4; one group of layers without a window, and two with it. */
static void start_windowed(u32 blocks, u32 budget)
{
	struct llm_scheduler_config config = {
		.block_count = blocks + 1,
		.block_tokens = 4,
		.max_batched_tokens = budget,
		.max_sequences = 4,
		.max_model_len = 128,
		.window = 8,
		.full_groups = 1,
		.window_groups = 2,
	};

	ck_assert_int_eq(llm_scheduler_init(&scheduler, &config), 0);
}

static void add(u32 index, u32 prompt, u32 target)
{
	requests[index] =
		(struct llm_request){ .prompt_tokens = prompt, .target_tokens = target };
	ck_assert_int_eq(llm_scheduler_add(&scheduler, &requests[index]), 0);
}

/* A step after which the first request has @full blocks, and @windowed from block @passed on. */
static struct llm_step expect_step(u32 full, u32 windowed, u32 passed)
{
	struct llm_step step;

	llm_scheduler_schedule(&scheduler, &step);
	ck_assert_uint_eq(requests[0].blocks.count, full);
	ck_assert_uint_eq(requests[0].windowed.count, windowed);
	ck_assert_uint_eq(requests[0].passed, passed);
	ck_assert_uint_eq(kv_pool_capacity(&scheduler.pool) - scheduler.pool.free_count,
			  full + windowed);
	llm_scheduler_complete(&scheduler);
	return step;
}

/*
 * A prompt of 20 in chunks of 8. Before the third chunk 16 tokens are computed: the first query
 * sees keys 9 to 16, so two blocks have been passed. When it decodes the 21st token it sees
 * 14 to 21: three blocks.
 */
START_TEST(blocks_that_a_window_has_passed_are_given_back)
{
	struct llm_step step;

	start_windowed(30, 8);
	add(0, 20, 6);
	step = expect_step(2, 4, 0);
	ck_assert_uint_eq(step.window_tokens_read, 8);
	ck_assert_uint_eq(step.window_pairs, 36);
	step = expect_step(4, 8, 0);
	ck_assert_uint_eq(step.window_tokens_read, 7 + 8);
	ck_assert_uint_eq(step.window_pairs, 64);
	step = expect_step(5, 6, 2);
	ck_assert_uint_eq(step.kv_tokens_read, 20);
	ck_assert_uint_eq(step.window_tokens_read, 7 + 4);
	ck_assert_uint_eq(step.window_decode_context, 0);
	step = expect_step(6, 6, 3);
	ck_assert_uint_eq(step.decode_context, 21);
	ck_assert_uint_eq(step.window_decode_context, 8);
	ck_assert_uint_eq(step.window_tokens_read, 8);
	expect_step(6, 6, 3);
	expect_step(6, 6, 3);
	/* Key 17 is the first that token 24 sees. */
	expect_step(6, 4, 4);
	expect_step(7, 6, 4);
	ck_assert_int_eq(requests[0].state, LLM_FINISHED);
	ck_assert_uint_eq(scheduler.pool.free_count, 30);
	llm_scheduler_destroy(&scheduler);
}
END_TEST

/*
 * Blocks of 4 positions, two of each: 1 to 2, 3 to 4, 5 to 6 and 7 to 8. The two oldest
 * positions go, and stand in the queue after the free ones, newest first, as in vLLM.
 */
START_TEST(the_oldest_blocks_are_given_back_newest_first)
{
	struct kv_pool pool;
	struct kv_blocks blocks = { 0 };
	u32 block, i = 0;
	static const u32 queue[] = { 9, 4, 3, 2, 1 };

	ck_assert_int_eq(kv_pool_init(&pool, 10, false), 0);
	ck_assert(kv_pool_grow(&pool, &blocks, 8));
	kv_pool_give_oldest(&pool, &blocks, 4);
	for (block = pool.queue_next[0]; block; block = pool.queue_next[block])
		ck_assert_uint_eq(block, queue[i++]);
	ck_assert_uint_eq(i, 5);
	ck_assert_uint_eq(blocks.count, 4);
	kv_pool_release(&pool, &blocks);
	ck_assert_uint_eq(pool.free_count, 9);
	ck_assert_uint_eq(pool.masks[0], 0);
	kv_pool_destroy(&pool);
}
END_TEST

/* 100 tokens have 25 blocks a group, 75 in all. With the window they need 25 and 2 x 5. */
START_TEST(a_sequence_needs_no_more_than_its_window_has)
{
	struct llm_request longest = { .prompt_tokens = 90, .target_tokens = 11 };

	start_windowed(35, 8);
	ck_assert(llm_scheduler_can_finish(&scheduler, &longest));
	llm_scheduler_destroy(&scheduler);
	start_windowed(34, 8);
	ck_assert(!llm_scheduler_can_finish(&scheduler, &longest));
	llm_scheduler_destroy(&scheduler);
}
END_TEST

/* The second one finds no blocks in mid-answer, is preempted, and begins with no block passed. */
START_TEST(a_preempted_sequence_gives_all_its_blocks_back)
{
	struct llm_step step;
	u32 steps = 0;

	start_windowed(30, 16);
	add(0, 12, 40);
	add(1, 12, 40);
	while (!scheduler.preemptions) {
		ck_assert_uint_lt(steps++, 100);
		llm_scheduler_schedule(&scheduler, &step);
		llm_scheduler_complete(&scheduler);
	}
	ck_assert_int_eq(requests[1].state, LLM_WAITING);
	ck_assert_uint_eq(requests[1].windowed.count + requests[1].blocks.count, 0);
	ck_assert_uint_eq(requests[1].passed, 0);
	while (llm_scheduler_busy(&scheduler)) {
		ck_assert_uint_lt(steps++, 1000);
		llm_scheduler_schedule(&scheduler, &step);
		llm_scheduler_complete(&scheduler);
	}
	ck_assert_uint_eq(requests[1].generated, 40);
	ck_assert_uint_eq(scheduler.pool.free_count, 30);
	llm_scheduler_destroy(&scheduler);
}
END_TEST

TEST_MAIN("llm_window", layers_are_grouped_as_in_vllm, a_block_has_the_keys_of_one_group,
	  what_a_window_sees_is_what_counting_gives,
	  blocks_that_a_window_has_passed_are_given_back,
	  the_oldest_blocks_are_given_back_newest_first,
	  a_sequence_needs_no_more_than_its_window_has,
	  a_preempted_sequence_gives_all_its_blocks_back)
