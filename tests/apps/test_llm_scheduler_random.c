// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The LLM scheduler: invariants under random load: plain, with prefix caching, and with layers
 * that have a window.
 */
#include "llm_scheduler_fixture.h"

#include <stdio.h>
#include <stdlib.h>

/* Of each request: the keys of its prompt's blocks, and the blocks that it shares. */
static u64 keys[REQUESTS_MAX][128];
static u32 shared[REQUESTS_MAX][128];

/* xorshift64: the same numbers everywhere. */
static u64 seed;

static u32 dice(u32 sides)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (u32)(seed % sides);
}

/*
 * Every block is free or has owners, one unless it is shared; masks and bits
 * agree with who owns what.
 */
static void check_pool(void)
{
	struct kv_pool *pool = &scheduler.pool;
	u8 owners[256] = { 0 }, queued[256] = { 0 };
	u32 i, n, block, own;

	GVM_ASSERT(pool->block_count <= ARRAY_SIZE(owners));
	for (block = pool->queue_next[0]; block; block = pool->queue_next[block])
		queued[block]++;
	for (i = 0; i < 2 * REQUESTS_MAX; i++) {
		const struct llm_request *request = &requests[i / 2];
		const struct kv_blocks *blocks = i % 2 ? &request->windowed : &request->blocks;

		own = blocks->newest;
		GVM_ASSERT(request->state == LLM_RUNNING || !blocks->count);
		for (n = blocks->count; n--;) {
			block = n < blocks->shared_count ? blocks->shared[n] : own;
			if (block == own)
				own = pool->previous[own];
			owners[block]++;
			GVM_ASSERT(pool->used[block / 64] & 1ull << block % 64);
			GVM_ASSERT(pool->masks[block / 64] & 1u << block % 64 / 2);
		}
	}
	GVM_ASSERT(queued[0] + owners[0] == 0);
	for (block = 1; block < pool->block_count; block++) {
		GVM_ASSERT(queued[block] == !owners[block]);
		GVM_ASSERT(owners[block] == (scheduler.config.prefix_caching ?
						     pool->prefix.users[block] :
						     !queued[block]));
	}
	for (u32 group = 0; group < pool->group_count; group++)
		GVM_ASSERT((pool->present[group / 64] >> group % 64 & 1) ==
			   (pool->masks[group] != 0));
}

/* No bit without a block. Slow, so only where the pool should be empty. */
static void check_pool_empty(void)
{
	u32 group;

	GVM_ASSERT(scheduler.pool.free_count == kv_pool_capacity(&scheduler.pool));
	for (group = 0; group < scheduler.pool.group_count; group++)
		GVM_ASSERT(!scheduler.pool.masks[group] && !scheduler.pool.used[group]);
}

/* The step is within its bounds, and what it says is the sum over its requests. */
static void check_step(const struct llm_step *step)
{
	const struct llm_scheduler_config *config = &scheduler.config;
	u32 sequences = 0;
	u32 tokens = 0;
	u32 i;

	for (i = 0; i < scheduler.running_count; i++) {
		const struct llm_request *request = scheduler.running[i];
		u32 groups = config->window ? config->full_groups : 1;
		u64 room = (u64)request->blocks.count / max(groups, 1u) * config->block_tokens;
		u32 windowed = config->window ? config->window_groups : 0;

		if (windowed)
			room = (u64)(request->windowed.count / windowed + request->passed) *
			       config->block_tokens;
		/* No key is gone that the first query of the step sees. */
		GVM_ASSERT((u64)request->passed * config->block_tokens + config->window <=
				   (u64)request->computed + 1 ||
			   !request->passed);
		tokens += request->scheduled;
		sequences += request->scheduled != 0;
		GVM_ASSERT(room >= (u64)request->computed + request->scheduled);
		GVM_ASSERT(room <
			   (u64)request->computed + request->scheduled + config->block_tokens);
	}
	GVM_ASSERT(tokens == step->prefill_tokens + step->decode_tokens);
	GVM_ASSERT(sequences == step->sequences && sequences);
	GVM_ASSERT(tokens <= config->max_batched_tokens);
	GVM_ASSERT(scheduler.running_count <= config->max_sequences);
}

/* What a request has to generate: its target, or up to the model's length. */
static u32 fair_share(const struct llm_request *request)
{
	u32 room = max(1u, scheduler.config.max_model_len - request->prompt_tokens);

	return min(request->target_tokens, room);
}

/* Fill free places with new requests now and then. */
static void random_arrivals(u32 *open)
{
	u32 i;

	for (i = 0; i < REQUESTS_MAX; i++) {
		struct llm_request *request = &requests[i];

		if (request->state == LLM_WAITING || request->state == LLM_RUNNING || dice(20))
			continue;
		*request = (struct llm_request){ .prompt_tokens = 1 + dice(80),
						 .target_tokens = 1 + dice(60) };
		/* Two families of prompts that begin alike. */
		request->keys = keys[i];
		request->blocks.shared = shared[i];
		if (scheduler.config.prefix_caching)
			request->key_count =
				request->prompt_tokens / scheduler.config.block_tokens;
		for (u32 n = 0, family = dice(2); n < request->key_count; n++)
			keys[i][n] = (n * 2 + family + 1) * 0x9e3779b97f4a7c15ull;
		if (!llm_scheduler_add(&scheduler, request))
			++*open;
	}
}

static u32 random_step(void)
{
	struct llm_step step;
	u32 finished = 0;
	u32 i;

	llm_scheduler_schedule(&scheduler, &step);
	check_step(&step);
	check_pool();
	llm_scheduler_complete(&scheduler);
	check_pool();
	for (i = 0; i < scheduler.emitted_count; i++) {
		const struct llm_request *request = scheduler.emitted[i];

		if (request->state != LLM_FINISHED)
			continue;
		finished++;
		GVM_ASSERT(request->generated == fair_share(request));
		GVM_ASSERT(request->computed ==
			   request->prompt_tokens + request->generated - 1);
	}
	return finished;
}

static void random_abort(u32 *open)
{
	struct llm_request *victim = &requests[dice(REQUESTS_MAX)];

	if (victim->state != LLM_WAITING && victim->state != LLM_RUNNING)
		return;
	llm_scheduler_abort(&scheduler, victim);
	--*open;
}

enum world { PLAIN, CACHING, WINDOWED, WORLDS };

static void random_world(enum world world)
{
	struct llm_scheduler_config config;
	u32 open = 0;
	u32 steps;

	memset(requests, 0, sizeof(requests));
	start_scheduler(8 + dice(120), 1 + dice(16), 8 + dice(56), 1 + dice(8), 32 + dice(96));
	if (world != PLAIN) {
		config = scheduler.config;
		config.prefix_caching = world == CACHING;
		if (world == WINDOWED) {
			config.window = 1 + dice(60);
			config.full_groups = dice(3);
			config.window_groups = 1 + dice(3);
		}
		llm_scheduler_destroy(&scheduler);
		ck_assert_int_eq(llm_scheduler_init(&scheduler, &config), 0);
	}
	for (steps = 0; steps < 400; steps++) {
		random_arrivals(&open);
		if (!dice(50))
			random_abort(&open);
		if (open)
			open -= random_step();
	}
	for (steps = 0; open; steps++) {
		GVM_ASSERT(steps < 1000000);
		open -= random_step();
	}
	GVM_ASSERT(!llm_scheduler_busy(&scheduler));
	check_pool_empty();
	llm_scheduler_destroy(&scheduler);
}

START_TEST(no_block_is_lost_and_everybody_finishes_under_random_load)
{
	const char *text = getenv("TEST_SEED");
	u64 preemptions = 0;
	u32 round;

	seed = text ? strtoull(text, NULL, 0) : 20240607;
	printf("TEST_SEED=%llu\n", seed);
	for (round = 0; round < 200; round++) {
		random_world(round % WORLDS);
		preemptions += scheduler.preemptions;
	}
	ck_assert_uint_gt(preemptions, 1000); /* or it was no load */
}
END_TEST

TEST_MAIN("llm_scheduler_random", no_block_is_lost_and_everybody_finishes_under_random_load)
