// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The LLM scheduler: hand-worked schedules, step by step.
 *
 * A schedule is written down as one line a step: "prefill+decode/sequences" and then the tokens
 * that each running request is computing, in order of admission.
 */
#include "llm_scheduler_fixture.h"

#include <stdio.h>

static struct llm_request *add(u32 index, u32 prompt, u32 target)
{
	struct llm_request *request = &requests[index];

	*request = (struct llm_request){ .prompt_tokens = prompt, .target_tokens = target };
	ck_assert_int_eq(llm_scheduler_add(&scheduler, request), 0);
	return request;
}

/* Describe the step that was just scheduled: "7+1/2: A1 B7". Requests are named A, B, ... */
static void describe(const struct llm_step *step, char *text, size_t size)
{
	size_t length = (size_t)snprintf(text, size, "%u+%u/%u:", step->prefill_tokens,
					 step->decode_tokens, step->sequences);
	u32 i;

	for (i = 0; i < scheduler.running_count; i++) {
		const struct llm_request *request = scheduler.running[i];

		length += (size_t)snprintf(text + length, size - length, " %c%u",
					   (char)('A' + (request - requests)),
					   request->scheduled);
	}
}

/* Schedule a step, compare, and complete it. */
static struct llm_step expect_step(const char *expected)
{
	struct llm_step step;
	char text[256];

	llm_scheduler_schedule(&scheduler, &step);
	describe(&step, text, sizeof(text));
	ck_assert_str_eq(text, expected);
	llm_scheduler_complete(&scheduler);
	return step;
}

/* The requests that got a token from the last step: "AC". */
static void expect_emitted(const char *expected)
{
	char text[REQUESTS_MAX + 1] = "";
	u32 i;

	for (i = 0; i < scheduler.emitted_count; i++)
		text[i] = (char)('A' + (scheduler.emitted[i] - requests));
	ck_assert_str_eq(text, expected);
}

/* The blocks of a request, oldest first: "1 2 5". */
static void expect_blocks(const struct llm_request *request, const char *expected)
{
	char text[256] = "";
	u32 own = request->blocks.newest;
	u32 i;

	for (i = request->blocks.count; i--;) {
		char longer[sizeof(text)];
		bool shared = i < request->blocks.shared_count;

		snprintf(longer, sizeof(longer), "%u%s%.200s",
			 shared ? request->blocks.shared[i] : own, *text ? " " : "", text);
		if (!shared)
			own = scheduler.pool.previous[own];
		strcpy(text, longer);
	}
	ck_assert_str_eq(text, expected);
}

/* A prompt of 10 under a budget of 4 takes chunks of 4, 4 and 2; only then there is a token. */
START_TEST(a_long_prompt_is_computed_in_chunks)
{
	struct llm_step step;

	start_scheduler(16, 4, 4, 4, 64);
	add(0, 10, 2);
	step = expect_step("4+0/1: A4");
	expect_emitted("");
	ck_assert_uint_eq(step.kv_tokens_read, 4);
	ck_assert_uint_eq(step.attention_pairs, 1 + 2 + 3 + 4);
	step = expect_step("4+0/1: A4");
	ck_assert_uint_eq(step.kv_tokens_read, 8);
	ck_assert_uint_eq(step.attention_pairs, 5 + 6 + 7 + 8);
	step = expect_step("2+0/1: A2");
	ck_assert_uint_eq(step.attention_pairs, 9 + 10);
	expect_emitted("A");
	/* The first token is known now and computed next. Decoding counts no pairs. */
	step = expect_step("0+1/1: A1");
	ck_assert_uint_eq(step.kv_tokens_read, 11);
	ck_assert_uint_eq(step.attention_pairs, 0);
	expect_emitted("A");
	ck_assert_int_eq(requests[0].state, LLM_FINISHED);
	ck_assert(!llm_scheduler_busy(&scheduler));
	llm_scheduler_destroy(&scheduler);
}
END_TEST

/*
 * The budget of 8 is split: a decoding request first, the rest of a prompt, a new prompt last.
 */
START_TEST(decodes_come_first_and_prompts_share_the_rest)
{
	start_scheduler(32, 4, 8, 4, 64);
	add(0, 3, 5);
	expect_step("3+0/1: A3");
	add(1, 12, 2);
	add(2, 4, 2);
	expect_step("7+1/2: A1 B7");
	expect_emitted("A");
	expect_step("7+1/3: A1 B5 C2");
	expect_emitted("AB");
	expect_step("2+2/3: A1 B1 C2");
	expect_emitted("ABC");
	expect_step("0+2/2: A1 C1");
	expect_emitted("AC");
	ck_assert(!llm_scheduler_busy(&scheduler));
	llm_scheduler_destroy(&scheduler);
}
END_TEST

/* If the budget is used up, a running request is left out of the step and keeps its place. */
START_TEST(the_end_of_the_budget_leaves_running_requests_out)
{
	start_scheduler(32, 4, 4, 4, 64);
	add(0, 2, 9);
	add(1, 1, 9);
	add(2, 7, 9);
	expect_step("4+0/3: A2 B1 C1");
	/* C takes the 2 that A and B leave it, and D has to wait. */
	add(3, 1, 9);
	expect_step("2+2/3: A1 B1 C2");
	expect_step("2+2/3: A1 B1 C2");
	expect_step("2+2/3: A1 B1 C2");
	expect_emitted("ABC");
	expect_step("1+3/4: A1 B1 C1 D1");
	llm_scheduler_destroy(&scheduler);
}
END_TEST

/* No request overtakes another: D would fit into a block, C in front of it does not. */
START_TEST(waiting_requests_are_first_come_first_served)
{
	start_scheduler(4, 4, 64, 4, 64);
	add(0, 4, 2);
	add(1, 5, 2);
	add(2, 8, 2);
	add(3, 1, 2);
	expect_step("9+0/2: A4 B5");
	/* A takes its second block, no block is left; both finish. */
	expect_step("0+2/2: A1 B1");
	expect_emitted("AB");
	expect_step("9+0/2: C8 D1");
	llm_scheduler_destroy(&scheduler);
}
END_TEST

START_TEST(no_more_than_max_sequences_run)
{
	start_scheduler(16, 4, 64, 2, 64);
	add(0, 1, 1);
	add(1, 1, 2);
	add(2, 1, 1);
	expect_step("2+0/2: A1 B1");
	expect_step("1+1/2: B1 C1");
	expect_emitted("BC");
	ck_assert(!llm_scheduler_busy(&scheduler));
	llm_scheduler_destroy(&scheduler);
}
END_TEST

/*
 * 3 blocks of 2 tokens, full with the prompts of A, B and C. To decode, A takes C's block away,
 * and B, the last one then, has to preempt itself. The queue is B, C again.
 */
START_TEST(the_last_request_is_preempted_and_computed_again)
{
	struct llm_step step;

	start_scheduler(3, 2, 16, 4, 6);
	add(0, 2, 4);
	add(1, 2, 2);
	add(2, 2, 2);
	expect_step("6+0/3: A2 B2 C2");
	expect_emitted("ABC");
	expect_step("0+1/1: A1");
	expect_blocks(&requests[0], "1 3");
	ck_assert_uint_eq(requests[1].preemptions, 1);
	ck_assert_uint_eq(requests[2].preemptions, 1);
	ck_assert_uint_eq(requests[1].computed, 0);
	/* B needs 2 blocks for its prompt and the token that it generated; 1 is free. */
	expect_step("0+1/1: A1");
	expect_step("0+1/1: A1");
	ck_assert_int_eq(requests[0].state, LLM_FINISHED);
	/* Computing a generated token again is prefill: 1 + 2 + 3 pairs. */
	step = expect_step("3+0/1: B3");
	ck_assert_uint_eq(step.attention_pairs, 6);
	expect_emitted("B");
	expect_step("3+0/1: C3");
	expect_emitted("C");
	ck_assert(!llm_scheduler_busy(&scheduler));
	ck_assert_uint_eq(scheduler.preemptions, 2);
	llm_scheduler_destroy(&scheduler);
}
END_TEST

/*
 * A step that preempts a request admits none, even if there is room: 4 blocks of 2 tokens, of
 * which A holds 1 and B holds 3. B loses its 3, A takes 1 of them, and C would fit into the
 * other 2.
 */
START_TEST(a_step_that_preempts_admits_nobody)
{
	start_scheduler(4, 2, 16, 4, 8);
	add(0, 2, 3);
	add(1, 6, 2);
	expect_step("8+0/2: A2 B6");
	add(2, 1, 1);
	expect_step("0+1/1: A1");
	expect_emitted("A");
	/* B is in front of C, needs 4 blocks, and 2 are free. */
	expect_step("0+1/1: A1");
	expect_step("7+0/1: B7");
	expect_step("1+0/1: C1");
	llm_scheduler_destroy(&scheduler);
}
END_TEST

/* Longest lengths: 4 + 8 - 1 = 11 tokens need 3 blocks of 4; 9 + 4 - 1 = 12 do; 13 do not. */
START_TEST(requests_that_never_fit_are_rejected)
{
	struct llm_request request = { .prompt_tokens = 10, .target_tokens = 4 };

	start_scheduler(3, 4, 16, 4, 20);
	add(0, 4, 8);
	add(1, 9, 4);
	ck_assert_int_eq(llm_scheduler_add(&scheduler, &request), -EINVAL);
	ck_assert_int_eq(request.state, LLM_NEW);
	request.prompt_tokens = 21;
	ck_assert_int_eq(llm_scheduler_add(&scheduler, &request), -EINVAL);
	llm_scheduler_destroy(&scheduler);
	/* An answer is cut at the model's length before it needs more blocks. */
	start_scheduler(3, 4, 16, 4, 13);
	request.prompt_tokens = 10;
	ck_assert_int_eq(llm_scheduler_add(&scheduler, &request), 0);
	llm_scheduler_destroy(&scheduler);
}
END_TEST

START_TEST(an_answer_ends_at_the_models_length)
{
	start_scheduler(16, 4, 16, 4, 6);
	add(0, 4, 100);
	expect_step("4+0/1: A4");
	expect_step("0+1/1: A1");
	ck_assert_int_eq(requests[0].state, LLM_FINISHED);
	ck_assert_uint_eq(requests[0].generated, 2);
	/* A prompt of the full length still gets its one token. */
	add(1, 6, 100);
	expect_step("6+0/1: B6");
	ck_assert_int_eq(requests[1].state, LLM_FINISHED);
	ck_assert_uint_eq(requests[1].generated, 1);
	llm_scheduler_destroy(&scheduler);
}
END_TEST

/*
 * Free blocks are a queue: 1 to 8 first; then what was freed longest ago, a request's newest
 * block first.
 */
START_TEST(blocks_are_reused_least_recently_freed_first)
{
	struct llm_request *c, *d;

	start_scheduler(8, 2, 64, 8, 64);
	add(0, 5, 1);
	add(1, 3, 2);
	llm_scheduler_schedule(&scheduler, &(struct llm_step){ 0 });
	expect_blocks(&requests[0], "1 2 3");
	expect_blocks(&requests[1], "4 5");
	llm_scheduler_complete(&scheduler); /* A gives back 3 2 1 after 6 7 8 */
	c = add(2, 8, 3);
	expect_step("8+1/2: B1 C8"); /* B has room in its block 5 and ends: 5 4 */
	expect_blocks(c, "6 7 8 3");
	d = add(3, 7, 2);
	llm_scheduler_schedule(&scheduler, &(struct llm_step){ 0 });
	expect_blocks(c, "6 7 8 3 2");
	expect_blocks(d, "");
	llm_scheduler_complete(&scheduler);
	llm_scheduler_destroy(&scheduler);
}
END_TEST

/* Groups of blocks 1 to 63, 64 to 127, 128 and 129. Whose block was freed last goes first. */
START_TEST(idle_groups_are_parked_and_come_back_one_by_one)
{
	static const u32 order[] = { 0, 2, 1 };
	struct kv_blocks a = { 0 }, b = { 0 };
	struct kv_pool pool;
	u32 i;

	ck_assert_int_eq(kv_pool_init(&pool, 130, false), 0);
	ck_assert(kv_pool_grow(&pool, &a, 1)); /* block 1 */
	ck_assert_uint_eq(kv_pool_take_group(&pool), 2);
	ck_assert_uint_eq(pool.free_count, 126); /* neither here nor there */
	kv_pool_park_group(&pool, 2);
	ck_assert_uint_eq(pool.free_count, 128);
	ck_assert_uint_eq(kv_pool_take_group(&pool), 1);
	kv_pool_park_group(&pool, 1);
	ck_assert_uint_eq(kv_pool_take_group(&pool), KV_NO_GROUP); /* 0 is in use */
	ck_assert(!kv_pool_grow(&pool, &b, 129));
	ck_assert(kv_pool_grow(&pool, &b, 62 + 2)); /* the rest of 0, then group 2 */
	ck_assert_uint_eq(b.newest, 129);
	ck_assert_uint_eq(pool.parked_count, 1);
	ck_assert(kv_pool_grow(&pool, &b, 62 + 2 + 64));
	ck_assert_uint_eq(b.newest, 127);
	ck_assert_uint_eq(pool.free_count, 0);
	kv_pool_release(&pool, &a);
	kv_pool_release(&pool, &b);
	/* Queue: 1, 127 ... 64, 129, 128, 63 ... 2. Round and round, all of them are there. */
	for (i = 0; i < 3; i++)
		ck_assert_uint_eq(kv_pool_take_group(&pool), order[i]);
	for (i = 0; i < 3; i++)
		kv_pool_park_group(&pool, i);
	ck_assert_uint_eq(pool.free_count, 129);
	ck_assert(kv_pool_grow(&pool, &a, 129));
	for (i = 0; i < 2; i++)
		ck_assert_uint_eq(pool.masks[i], 0xffffffff);
	ck_assert_uint_eq(pool.masks[2], 1);
	kv_pool_destroy(&pool);
}
END_TEST

/* Two blocks a page: blocks 1 | 2 3 | 4 5 | ...; block 64 begins the second group. */
START_TEST(masks_follow_the_blocks_in_use)
{
	struct kv_pool *pool = &scheduler.pool;
	struct llm_request *b;

	start_scheduler(130, 1, 1024, 8, 256);
	ck_assert_uint_eq(pool->group_count, 3);
	add(0, 2, 1);
	b = add(1, 2, 3);
	llm_scheduler_schedule(&scheduler, &(struct llm_step){ 0 });
	expect_blocks(b, "3 4");
	ck_assert_uint_eq(pool->masks[0], 0x7); /* blocks 1 to 4 on pages 0 to 2 */
	llm_scheduler_complete(&scheduler);	/* A frees 1 and 2; B still holds 3 on page 1 */
	ck_assert_uint_eq(pool->masks[0], 0x6);
	add(2, 60, 1);
	expect_step("60+1/2: B1 C60"); /* B gets 5, C 6 to 65 */
	ck_assert_uint_eq(pool->masks[0], 0x6);
	ck_assert_uint_eq(pool->masks[1], 0);
	add(3, 60, 2);
	llm_scheduler_schedule(&scheduler, &(struct llm_step){ 0 });
	/* B got 66; D 67 to 126, which are on pages 1 to 31 of group 1. */
	expect_blocks(b, "3 4 5 66");
	ck_assert_uint_eq(pool->masks[0], 0x6);
	ck_assert_uint_eq(pool->masks[1], 0xfffffffe);
	ck_assert_uint_eq(pool->masks[2], 0);
	llm_scheduler_destroy(&scheduler);
}
END_TEST

/* Prefix caching */

static u64 keys[REQUESTS_MAX][128];
static u32 shared[REQUESTS_MAX][128];

static void start_caching(u32 blocks)
{
	struct llm_scheduler_config config = {
		.block_count = blocks + 1,
		.block_tokens = 4,
		.max_batched_tokens = 64,
		.max_sequences = 8,
		.max_model_len = 128,
		.prefix_caching = true,
	};

	ck_assert_int_eq(llm_scheduler_init(&scheduler, &config), 0);
}

/* A request whose prompt has full blocks with these keys, a letter each. */
static struct llm_request *add_keyed(u32 index, u32 prompt, u32 target, const char *letters)
{
	struct llm_request *request = add(index, prompt, target);

	ck_assert_uint_eq(strlen(letters), prompt / 4);
	/* Keys are spread over 64 bits, as real ones are. */
	for (u32 i = 0; letters[i]; i++)
		keys[index][i] = (u64)letters[i] * 0x9e3779b97f4a7c15ull;
	request->keys = keys[index];
	request->key_count = prompt / 4;
	request->blocks.shared = shared[index];
	return request;
}

/*
 * B has A's first two blocks; its third differs, and its tail is no full block. C has all of
 * A's prompt, and computes its last block again, since a step needs a token to compute.
 */
START_TEST(a_prompt_begins_with_the_blocks_of_an_earlier_one)
{
	struct llm_request *b, *c;
	struct llm_step step;

	start_caching(9);
	add_keyed(0, 12, 1, "xyz");
	expect_step("12+0/1: A12");
	b = add_keyed(1, 14, 1, "xyw");
	step = expect_step("6+0/1: B6");
	/* Each of the 6 tokens sees the 8 that were cached, and those before it. */
	ck_assert_uint_eq(step.attention_pairs, 6 * 8 + 21);
	ck_assert_uint_eq(step.kv_tokens_read, 14);
	ck_assert_uint_eq(b->cached, 8);
	c = add_keyed(2, 12, 2, "xyz");
	llm_scheduler_schedule(&scheduler, &step);
	ck_assert_uint_eq(step.prefill_tokens, 4);
	/* Blocks 4 and 5 were B's own; 6 is the head of the queue, as 3 is still z. */
	expect_blocks(c, "1 2 6");
	llm_scheduler_complete(&scheduler);
	expect_step("0+1/1: C1");
	ck_assert_uint_eq(scheduler.pool.free_count, 9);
	llm_scheduler_destroy(&scheduler);
}
END_TEST

/* B comes beside A in one step and shares its blocks, which stay B's when A ends. */
START_TEST(running_requests_share_blocks)
{
	struct llm_request *b;
	struct llm_step step;

	start_caching(6);
	add_keyed(0, 9, 1, "xy");
	b = add_keyed(1, 9, 3, "xy");
	llm_scheduler_schedule(&scheduler, &step);
	ck_assert_uint_eq(step.prefill_tokens, 9 + 1);
	expect_blocks(b, "1 2 4");
	ck_assert_uint_eq(scheduler.pool.free_count, 2);
	ck_assert_uint_eq(scheduler.pool.prefix.users[1], 2);
	llm_scheduler_complete(&scheduler);
	ck_assert_uint_eq(scheduler.pool.free_count, 3); /* A's third */
	ck_assert_uint_eq(scheduler.pool.prefix.users[1], 1);
	ck_assert_uint_eq(scheduler.pool.masks[0], 0x7); /* blocks 1 to 4 */
	expect_step("0+1/1: B1");
	expect_step("0+1/1: B1");
	ck_assert_uint_eq(scheduler.pool.free_count, 6);
	ck_assert_uint_eq(scheduler.pool.masks[0], 0);
	llm_scheduler_destroy(&scheduler);
}
END_TEST

/*
 * A frees its blocks from the last one on: 3, 2, 1. So new content takes the end of the prefix
 * first, and x is found the longest.
 */
START_TEST(free_blocks_lose_the_end_of_a_prefix_first)
{
	start_caching(4);
	add_keyed(0, 12, 1, "xyz");
	expect_step("12+0/1: A12");
	add_keyed(1, 11, 1, "ab"); /* 4, 3, 2 */
	expect_step("11+0/1: B11");
	add_keyed(2, 12, 1, "xyz");
	expect_step("8+0/1: C8");
	ck_assert_uint_eq(requests[2].cached, 4);
	llm_scheduler_destroy(&scheduler);
}
END_TEST

/*
 * Three blocks are free, and two of them hold B's prefix. B needs both and two more, so it
 * waits, and leaves the queue as it is.
 */
START_TEST(cached_blocks_that_are_free_count_as_taken)
{
	start_caching(5);
	add_keyed(0, 8, 1, "xy");
	expect_step("8+0/1: A8"); /* blocks 1 and 2; then the queue is 3 4 5 2 1 */
	add_keyed(1, 5, 3, "a");  /* 3 and 4 */
	expect_step("5+0/1: B5");
	add_keyed(2, 16, 1, "xycd"); /* 1 and 2, and two more of 5 */
	expect_step("0+1/1: B1");
	ck_assert_uint_eq(scheduler.pool.queue_next[0], 5);
	ck_assert_uint_eq(scheduler.pool.queue_next[5], 2);
	expect_step("0+1/1: B1");
	expect_step("8+0/1: C8");
	llm_scheduler_destroy(&scheduler);
}
END_TEST

/* B is preempted by A's growth. It finds its first block again; A has taken the others. */
START_TEST(a_preempted_request_finds_what_is_left_of_its_prompt)
{
	start_caching(4);
	add_keyed(0, 4, 6, "a");  /* 1 */
	add_keyed(1, 9, 2, "xy"); /* 2 3 4 */
	expect_step("13+0/2: A4 B9");
	/* A needs a block: B gives 4, 3, 2 back, and A takes 4. */
	expect_step("0+1/1: A1");
	ck_assert_uint_eq(requests[1].preemptions, 1);
	/*
	 * 10 tokens of B need 3 blocks, and 2 are free. A's ninth token takes 3, which was y.
	 */
	for (int i = 0; i < 4; i++)
		expect_step("0+1/1: A1");
	/* B's first 4 tokens are there, 6 are computed. That ends it. */
	expect_step("6+0/1: B6");
	ck_assert_uint_eq(requests[1].cached, 0);
	ck_assert_int_eq(requests[1].state, LLM_FINISHED);
	llm_scheduler_destroy(&scheduler);
}
END_TEST

/* A group that is given back is forgotten: its memory is gone. */
START_TEST(a_group_that_is_given_back_is_forgotten)
{
	start_caching(127);
	add_keyed(0, 8, 1, "xy");
	expect_step("8+0/1: A8");
	ck_assert_uint_eq(kv_pool_take_group(&scheduler.pool), 0);
	kv_pool_park_group(&scheduler.pool, 0);
	add_keyed(1, 8, 1, "xy");
	expect_step("8+0/1: B8");
	llm_scheduler_destroy(&scheduler);
}
END_TEST

/* 16 tokens of 114,688 B: 64 blocks of 1.75 MiB are 56 chunks. */
START_TEST(chunks_of_a_group_are_rounded_up)
{
	ck_assert_uint_eq(kv_chunks_per_group(16 * 114688), 56);
	ck_assert_uint_eq(kv_chunks_per_group(1), 1);
	ck_assert_uint_eq(kv_chunks_per_group(32768), 1);
	ck_assert_uint_eq(kv_chunks_per_group(32769), 2);
}
END_TEST

START_TEST(aborted_requests_leave_no_trace)
{
	start_scheduler(3, 4, 16, 2, 64);
	add(0, 4, 4);
	add(1, 4, 4);
	add(2, 4, 4);
	add(3, 4, 4);
	expect_step("8+0/2: A4 B4");
	llm_scheduler_abort(&scheduler, &requests[2]); /* waiting */
	llm_scheduler_abort(&scheduler, &requests[0]); /* running */
	expect_step("4+1/2: B1 D4");
	llm_scheduler_abort(&scheduler, &requests[3]);
	llm_scheduler_abort(&scheduler, &requests[1]);
	ck_assert(!llm_scheduler_busy(&scheduler));
	ck_assert_uint_eq(scheduler.pool.free_count, 3);
	ck_assert_uint_eq(scheduler.pool.masks[0], 0);
	llm_scheduler_destroy(&scheduler);
}
END_TEST

static u32 allocations;
static u32 failing;

static void *failing_alloc(size_t bytes)
{
	return allocations++ == failing ? NULL : calloc(1, bytes);
}

START_TEST(running_out_of_memory_at_the_start_is_an_error)
{
	static const struct gvm_port_alloc_hook hook = { failing_alloc, free };
	struct llm_scheduler_config config = {
		.block_count = 8,
		.block_tokens = 4,
		.max_batched_tokens = 16,
		.max_sequences = 4,
		.max_model_len = 64,
		.prefix_caching = true,
	};

	gvm_port_alloc_hook = &hook;
	for (failing = 0; failing < 13; failing++) {
		allocations = 0;
		ck_assert_int_eq(llm_scheduler_init(&scheduler, &config), -ENOMEM);
	}
	allocations = 0;
	ck_assert_int_eq(llm_scheduler_init(&scheduler, &config), 0);
	llm_scheduler_destroy(&scheduler);
	gvm_port_alloc_hook = NULL;
}
END_TEST

TEST_MAIN("llm_scheduler", a_long_prompt_is_computed_in_chunks,
	  decodes_come_first_and_prompts_share_the_rest,
	  the_end_of_the_budget_leaves_running_requests_out,
	  waiting_requests_are_first_come_first_served, no_more_than_max_sequences_run,
	  the_last_request_is_preempted_and_computed_again, a_step_that_preempts_admits_nobody,
	  requests_that_never_fit_are_rejected, an_answer_ends_at_the_models_length,
	  blocks_are_reused_least_recently_freed_first, masks_follow_the_blocks_in_use,
	  a_prompt_begins_with_the_blocks_of_an_earlier_one, running_requests_share_blocks,
	  free_blocks_lose_the_end_of_a_prefix_first,
	  cached_blocks_that_are_free_count_as_taken,
	  a_preempted_request_finds_what_is_left_of_its_prompt,
	  a_group_that_is_given_back_is_forgotten,
	  idle_groups_are_parked_and_come_back_one_by_one, chunks_of_a_group_are_rounded_up,
	  aborted_requests_leave_no_trace, running_out_of_memory_at_the_start_is_an_error)
