/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The scheduler of an LLM server: which requests get how many tokens in the next step. Pure
 * logic over counts of tokens; knows neither time nor GPU. The idea is told in llm_scheduler.c.
 */
#ifndef SIM_APPS_LLM_SCHEDULER_H
#define SIM_APPS_LLM_SCHEDULER_H

#include "apps/kv_pool.h"

/* All numbers at least 1, but those of a window. */
struct llm_scheduler_config {
	u32 block_count;	/* of the KV pool, the null block included; at least 2 */
	u32 block_tokens;	/* tokens of a KV block */
	u32 max_batched_tokens; /* token budget of a step */
	u32 max_sequences;	/* running requests; at most max_batched_tokens */
	u32 max_model_len;	/* tokens of prompt and answer together */
	bool prefix_caching;	/* blocks of prompts with keys are found again */
	/*
	 * Tokens that some layers look back at most, and groups of layers without and with that
	 * window: a sequence has a block of each for block_tokens tokens (llm_window.h). 0: one
	 * group of all layers. With a window there is no prefix_caching.
	 */
	u32 window;
	u32 full_groups;
	u32 window_groups;
};

enum llm_state {
	LLM_NEW,     /* not added yet; rejected; or aborted */
	LLM_WAITING, /* holds no blocks; new or preempted */
	LLM_RUNNING,
	LLM_FINISHED, /* at its target or at max_model_len */
};

/* One request. Memory belongs to the submitter until it is finished or aborted. */
struct llm_request {
	/* Set by the submitter, the rest zero. */
	u32 prompt_tokens; /* at least 1 */
	u32 target_tokens; /* to generate; at least 1 */
	/*
	 * With prefix caching: a key of each full block of the prompt that may be found again
	 * (kv_prefix.h), and as many places in blocks.shared.
	 */
	const u64 *keys;
	u32 key_count;

	/* Kept here. */
	enum llm_state state;
	struct list_head node; /* in llm_scheduler.waiting */
	u32 generated;	       /* tokens emitted */
	u32 computed;	       /* of the known tokens (prompt and generated): KV is there */
	u32 scheduled;	       /* tokens to compute in the step in flight */
	u32 preemptions;
	u32 cached; /* prompt tokens that were in the cache when it was first admitted */
	struct kv_blocks blocks;   /* of groups of layers without a window */
	struct kv_blocks windowed; /* of those with one, from block number passed on */
	u32 passed;		   /* blocks of each of these that were given back */
};

/* What a step makes the GPU do. */
struct llm_step {
	u32 sequences;	    /* requests in it */
	u32 admitted;	    /* of these, from the waiting queue: the last ones in running[] */
	u32 prefill_tokens; /* of prompts, and of answers that are computed again */
	u32 decode_tokens;  /* one for each request that has nothing else left to compute */
	u64 kv_tokens_read; /* sum of all contexts, with the tokens of this step */
	/* the part of kv_tokens_read that belongs to sequences that decode */
	u64 decode_context;
	u64 attention_pairs; /* (query, key) pairs of prefill tokens */
	/* The last three, of a layer with a window. */
	u64 window_tokens_read;
	u64 window_decode_context;
	u64 window_pairs;
};

struct llm_scheduler {
	struct llm_scheduler_config config;
	struct kv_pool pool;
	struct list_head waiting;     /* llm_request.node */
	struct llm_request **running; /* in the order of admission */
	u32 running_count;
	u32 budget;		      /* tokens left in the step that is being put together */
	struct llm_request **emitted; /* by the last llm_scheduler_complete() */
	u32 emitted_count;
	u64 preemptions;
};

/* Returns 0 or -ENOMEM. */
int llm_scheduler_init(struct llm_scheduler *scheduler,
		       const struct llm_scheduler_config *config);
void llm_scheduler_destroy(struct llm_scheduler *scheduler);

/*
 * Can a request ever run: is its prompt no longer than max_model_len, and does its whole length
 * need no more blocks than there are?
 */
bool llm_scheduler_can_finish(const struct llm_scheduler *scheduler,
			      const struct llm_request *request);

/*
 * Queue a request after all others. -EINVAL: it can never run; it stays the submitter's.
 */
int llm_scheduler_add(struct llm_scheduler *scheduler, struct llm_request *request);

/* Are there unfinished requests? */
bool llm_scheduler_busy(const struct llm_scheduler *scheduler);

/*
 * Put the next step together. Only when busy, and not while a step is in flight; there is
 * always something to do then.
 */
void llm_scheduler_schedule(struct llm_scheduler *scheduler, struct llm_step *ret_step);

/*
 * The step was computed. Requests that it gave a token are in emitted[], in the order of
 * admission, until the next call; those among them that are LLM_FINISHED have left.
 */
void llm_scheduler_complete(struct llm_scheduler *scheduler);

/*
 * Preempt all running requests, and forget what the KV cache holds. They go to the front of the
 * waiting queue, in order. Not while a step is in flight, nor while a group is between its
 * queue and its parking (kv_pool_take_group()).
 */
void llm_scheduler_reset(struct llm_scheduler *scheduler);

/* Its client is gone: forget a request and free its blocks. Not while a step is in flight. */
void llm_scheduler_abort(struct llm_scheduler *scheduler, struct llm_request *request);

#endif
