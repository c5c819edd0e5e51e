// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Continuous batching with chunked prefill, as vLLM's V1 engine does it
 * =====================================================================
 *
 * There is no prefill phase and no decode phase. A request has known tokens (its prompt and
 * what it has generated) and computed ones (whose keys and values are in the cache). A step
 * gives each request some tokens to compute. A request whose known tokens are all computed at
 * the end of the step emits one more. Decoding is the case that exactly one is missing; a
 * prefill is any other.
 *
 *              known                       budget of a step: max_batched_tokens
 *     |--------------------|               +---+---+---+----------------+-----+
 *     |computed| step |    |               | d | d | d |  rest of a     | new |
 *                                          |   |   |   |  long prompt   |     |
 *                                          +---+---+---+----------------+-----+
 *                                           running, oldest first        waiting
 *
 * A step is filled in two rounds:
 *
 *  1. Running requests in the order of their admission, each with what it misses or what is
 *     left of the budget. Decoding requests are mostly in front of it, so that they go on while
 *     long prompts are computed in chunks after them. If the pool has no block for one of
 *     them, the request admitted last is preempted: its blocks are freed, it has to compute
 *     everything again, what it generated included, and goes to the front of the waiting queue.
 *     This is repeated until there is a block, or the request at hand has preempted itself.
 *  2. Unless a request was preempted in this step: waiting requests first come, first served,
 *     while budget, free blocks and max_sequences allow. The first that does not fit ends the
 *     round.
 *
 * Blocks are taken for the tokens of this step only. So a running request can find the pool
 * empty in mid-answer. Preemption handles that.
 *
 * Sources: vLLM 0.10, vllm/v1/core/sched/scheduler.py (schedule, update_from_output),
 * sched/utils.py (check_stop), kv_cache_manager.py and single_type_kv_cache_manager.py (free()
 * in reverse order), block_pool.py and kv_cache_utils.py (FreeKVCacheBlockQueue, the null
 * block).
 *
 * What is left out, and why:
 *
 *  1. Prefixes of answers. With prefix_caching a request begins with the cached blocks of
 *     its prompt; they count as computed. At least its last token is computed. A block is found
 *     from the step on in which it is computed. Answers are not cached: a trace says which
 *     prompts share a prefix, and not that a prompt repeats an answer. A preempted request
 *     finds what is left of its prompt, and computes the rest again.
 *  2. Speculative decoding, structured output, LoRA adapters, encoders, remote KV: not in use.
 *  3. A pool that is smaller than one sequence of max_model_len. vLLM refuses to start with it;
 *     here requests that it cannot hold to their end are rejected one by one, so that a small
 *     world can be tested. Everything that is admitted therefore finishes: alone it always
 *     fits.
 *  4. With a window (llm_window.h) prefixes are not shared.
 *  5. vLLM's API server also rejects prompts that leave no room for what was asked for; here
 *     the answer is cut at max_model_len, as its scheduler does.
 */
#include "apps/llm_scheduler.h"

#include "apps/llm_window.h"

int llm_scheduler_init(struct llm_scheduler *scheduler,
		       const struct llm_scheduler_config *config)
{
	size_t slots = config->max_sequences;

	*scheduler = (struct llm_scheduler){ .config = *config };
	INIT_LIST_HEAD(&scheduler->waiting);
	scheduler->running = gvm_alloc(slots * sizeof(*scheduler->running));
	scheduler->emitted = gvm_alloc(slots * sizeof(*scheduler->emitted));
	if (!scheduler->running || !scheduler->emitted ||
	    kv_pool_init(&scheduler->pool, config->block_count, config->prefix_caching)) {
		llm_scheduler_destroy(scheduler);
		return -ENOMEM;
	}
	return 0;
}

void llm_scheduler_destroy(struct llm_scheduler *scheduler)
{
	kv_pool_destroy(&scheduler->pool);
	gvm_free(scheduler->running);
	gvm_free(scheduler->emitted);
	scheduler->running = NULL;
	scheduler->emitted = NULL;
}

static u32 request_known(const struct llm_request *request)
{
	return request->prompt_tokens + request->generated;
}

static u32 blocks_for(const struct llm_scheduler *scheduler, u64 tokens)
{
	u32 block_tokens = scheduler->config.block_tokens;

	return (u32)((tokens + block_tokens - 1) / block_tokens);
}

/*
 * The most blocks that a sequence has with @tokens computed. Groups with a window keep what a
 * step may see: the window, and the step's own tokens, which begin and end within blocks.
 */
static u64 blocks_at_most(const struct llm_scheduler *scheduler, u64 tokens)
{
	const struct llm_scheduler_config *config = &scheduler->config;
	u64 blocks = blocks_for(scheduler, tokens);
	u64 seen = (u64)config->window + config->max_batched_tokens;

	if (!config->window)
		return blocks;
	return blocks * config->full_groups +
	       min(blocks, blocks_for(scheduler, seen) + 1ull) * config->window_groups;
}

/* The last token is emitted and never computed, so it needs no block. */
bool llm_scheduler_can_finish(const struct llm_scheduler *scheduler,
			      const struct llm_request *request)
{
	u64 longest = (u64)request->prompt_tokens + request->target_tokens;
	u64 computed = min(longest, (u64)scheduler->config.max_model_len) - 1;

	computed = max(computed, (u64)request->prompt_tokens);
	return request->prompt_tokens <= scheduler->config.max_model_len &&
	       blocks_at_most(scheduler, computed) <= kv_pool_capacity(&scheduler->pool);
}

int llm_scheduler_add(struct llm_scheduler *scheduler, struct llm_request *request)
{
	GVM_ASSERT(request->state == LLM_NEW && request->prompt_tokens &&
		   request->target_tokens);
	if (!llm_scheduler_can_finish(scheduler, request))
		return -EINVAL;
	request->state = LLM_WAITING;
	list_add_tail(&request->node, &scheduler->waiting);
	return 0;
}

bool llm_scheduler_busy(const struct llm_scheduler *scheduler)
{
	return scheduler->running_count || !list_empty(&scheduler->waiting);
}

/*
 * Likewise with a window. Blocks that it has passed are given back first, also where the others
 * do not fit then.
 */
static bool request_grow_windowed(struct llm_scheduler *scheduler, struct llm_request *request,
				  u32 count)
{
	const struct llm_scheduler_config *config = &scheduler->config;
	u32 passed = llm_window_passed(config->window, request->computed, config->block_tokens);
	u32 full = count * config->full_groups, windowed;

	if (passed > request->passed) {
		u32 gone = (passed - request->passed) * config->window_groups;

		kv_pool_give_oldest(&scheduler->pool, &request->windowed, gone);
		request->passed = passed;
	}
	windowed = (count - request->passed) * config->window_groups;
	if ((u64)(full - min(full, request->blocks.count)) +
		    (windowed - min(windowed, request->windowed.count)) >
	    scheduler->pool.free_count)
		return false;
	return kv_pool_grow(&scheduler->pool, &request->blocks, full) &&
	       kv_pool_grow(&scheduler->pool, &request->windowed, windowed);
}

/* Get the blocks that @tokens more need; false: there are not so many. */
static bool request_grow(struct llm_scheduler *scheduler, struct llm_request *request,
			 u32 tokens)
{
	u32 count = blocks_for(scheduler, (u64)request->computed + tokens);

	if (scheduler->config.window)
		return request_grow_windowed(scheduler, request, count);
	return kv_pool_grow(&scheduler->pool, &request->blocks, count);
}

/* Give all blocks back. */
static void request_release(struct llm_scheduler *scheduler, struct llm_request *request)
{
	kv_pool_release(&scheduler->pool, &request->blocks);
	kv_pool_release(&scheduler->pool, &request->windowed);
	request->passed = 0;
}

static u32 request_wants(const struct llm_scheduler *scheduler,
			 const struct llm_request *request)
{
	return min(request_known(request) - request->computed, scheduler->budget);
}

/* Take a request that has its blocks into the step. Blocks that get full can be found now. */
static void step_add(struct llm_scheduler *scheduler, struct llm_step *step,
		     struct llm_request *request, u32 tokens)
{
	u64 context = (u64)request->computed + tokens;
	u64 missing = request_known(request) - request->computed;
	u32 block_tokens = scheduler->config.block_tokens;
	u32 full = (u32)min(context / block_tokens, (u64)request->key_count);
	u64 window = scheduler->config.window;

	if (request->computed / block_tokens < full)
		kv_pool_publish(&scheduler->pool, &request->blocks, request->keys,
				request->computed / block_tokens, full);
	request->scheduled = tokens;
	scheduler->budget -= tokens;
	step->sequences++;
	step->kv_tokens_read += context;
	if (window)
		step->window_tokens_read += llm_window_read(window, request->computed, tokens);
	if (request->generated && missing == 1) {
		step->decode_tokens++;
		step->decode_context += context;
		step->window_decode_context += min(context, window);
		return;
	}
	step->prefill_tokens += tokens;
	/* Query number i of the chunk sees all computed tokens and i of its own chunk. */
	step->attention_pairs +=
		(u64)request->computed * tokens + (u64)tokens * (tokens + 1) / 2;
	if (window)
		step->window_pairs += llm_window_pairs(window, request->computed, tokens);
}

/* Back to the front of the waiting queue with the request that was admitted last. */
static struct llm_request *scheduler_preempt_last(struct llm_scheduler *scheduler)
{
	struct llm_request *request = scheduler->running[--scheduler->running_count];

	request_release(scheduler, request);
	request->computed = 0;
	request->state = LLM_WAITING;
	request->preemptions++;
	scheduler->preemptions++;
	list_add(&request->node, &scheduler->waiting);
	return request;
}

/* False: the request has preempted itself. */
static bool schedule_one_running(struct llm_scheduler *scheduler, struct llm_step *step,
				 struct llm_request *request)
{
	u32 tokens = request_wants(scheduler, request);

	while (!request_grow(scheduler, request, tokens))
		if (scheduler_preempt_last(scheduler) == request)
			return false;
	step_add(scheduler, step, request, tokens);
	return true;
}

/* Round 1. Preempting takes requests off the end, so this may end early. */
static void schedule_running(struct llm_scheduler *scheduler, struct llm_step *step)
{
	for (u32 i = 0; i < scheduler->running_count && scheduler->budget; i++)
		if (!schedule_one_running(scheduler, step, scheduler->running[i]))
			return;
}

/*
 * Get the cached blocks of a waiting request's prompt, and others for as many tokens as it can
 * compute. False: there are not so many, and it has none.
 */
static bool request_admit(struct llm_scheduler *scheduler, struct llm_request *request,
			  u32 *ret_tokens)
{
	u32 block_tokens = scheduler->config.block_tokens;
	u32 may_hit = min(request->key_count, (request_known(request) - 1) / block_tokens);
	u32 hits = 0;
	u64 context;

	if (may_hit)
		hits = kv_pool_find(&scheduler->pool, &request->blocks, request->keys, may_hit);
	request->computed = hits * block_tokens;
	*ret_tokens = request_wants(scheduler, request);
	context = (u64)request->computed + *ret_tokens;
	if (hits && !kv_pool_share(&scheduler->pool, &request->blocks, hits,
				   blocks_for(scheduler, context))) {
		request->computed = 0;
		return false;
	}
	if (!request->preemptions)
		request->cached = request->computed;
	return request_grow(scheduler, request, *ret_tokens);
}

/* Round 2. */
static void schedule_waiting(struct llm_scheduler *scheduler, struct llm_step *step)
{
	struct llm_request *request;
	u32 tokens;

	while (!list_empty(&scheduler->waiting) && scheduler->budget &&
	       scheduler->running_count < scheduler->config.max_sequences) {
		request = list_first_entry(&scheduler->waiting, struct llm_request, node);
		if (!request_admit(scheduler, request, &tokens))
			return;
		list_del_init(&request->node);
		request->state = LLM_RUNNING;
		scheduler->running[scheduler->running_count++] = request;
		step->admitted++;
		step_add(scheduler, step, request, tokens);
	}
}

void llm_scheduler_schedule(struct llm_scheduler *scheduler, struct llm_step *ret_step)
{
	u64 preemptions = scheduler->preemptions;

	*ret_step = (struct llm_step){ 0 };
	scheduler->budget = scheduler->config.max_batched_tokens;
	schedule_running(scheduler, ret_step);
	if (scheduler->preemptions == preemptions)
		schedule_waiting(scheduler, ret_step);
	GVM_ASSERT(ret_step->sequences);
}

/* One more token for a request that has everything computed. False: it has finished. */
static bool request_emit(struct llm_scheduler *scheduler, struct llm_request *request)
{
	request->generated++;
	scheduler->emitted[scheduler->emitted_count++] = request;
	if (request->generated < request->target_tokens &&
	    request_known(request) < scheduler->config.max_model_len)
		return true;
	request_release(scheduler, request);
	request->state = LLM_FINISHED;
	return false;
}

void llm_scheduler_complete(struct llm_scheduler *scheduler)
{
	u32 kept = 0;

	scheduler->emitted_count = 0;
	for (u32 i = 0; i < scheduler->running_count; i++) {
		struct llm_request *request = scheduler->running[i];

		request->computed += request->scheduled;
		request->scheduled = 0;
		if (request->computed < request_known(request) ||
		    request_emit(scheduler, request))
			scheduler->running[kept++] = request;
	}
	scheduler->running_count = kept;
}

void llm_scheduler_reset(struct llm_scheduler *scheduler)
{
	while (scheduler->running_count)
		scheduler_preempt_last(scheduler);
	kv_pool_forget(&scheduler->pool);
}

static void running_remove(struct llm_scheduler *scheduler, const struct llm_request *request)
{
	u32 kept = 0;

	for (u32 i = 0; i < scheduler->running_count; i++)
		if (scheduler->running[i] != request)
			scheduler->running[kept++] = scheduler->running[i];
	scheduler->running_count = kept;
}

void llm_scheduler_abort(struct llm_scheduler *scheduler, struct llm_request *request)
{
	if (request->state == LLM_WAITING)
		list_del_init(&request->node);
	else if (request->state == LLM_RUNNING)
		running_remove(scheduler, request);
	request_release(scheduler, request);
	request->scheduled = 0;
	request->state = LLM_NEW;
}
