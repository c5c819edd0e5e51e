/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The ranks of an LLM server with tensor parallelism
 * ==================================================
 *
 * The server's process is rank 0, with the scheduler and the client. Each further rank is a
 * container of its own, on another GPU, whose app.type is "llm-rank" and whose app.server names
 * the server: as in vLLM, a worker is a process. So it has control files, limits and results of
 * its own.
 *
 *     server   schedule -> order ----------------> own part of the step -> all done -> tokens
 *                            '-> rank 1: its part of the step -----------------'
 *
 * All do the same at the same time: load, step, sleep, wake. The server goes on when the last
 * one is done. So the slowest rank decides, and a neighbour that delays one delays all.
 *
 * How it differs from a GPU: ranks wait for each other at the end of a step, and not at each of
 * its all-reduces. While a rank waits, its GPU is free for others; NCCL's kernel would spin
 * there.
 *
 * A rank that dies takes the server with it, and a server its ranks. A server and its ranks
 * cannot be stopped or restarted by events, and do not listen for pressure.
 */
#ifndef SIM_APPS_LLM_GROUP_H
#define SIM_APPS_LLM_GROUP_H

#include "apps/llm_rank.h"

struct llm_group;

enum llm_order_kind {
	LLM_ORDER_LOAD,
	LLM_ORDER_STEP,
	LLM_ORDER_SLEEP,
	LLM_ORDER_WAKE,
};

/* What all ranks are to do. */
struct llm_order {
	enum llm_order_kind kind;
	u64 level; /* of a sleep */
	const struct llm_step *step;
	const struct kv_pool *pool; /* the server's: which pages a step touches. Borrowed */
};

/*
 * Before the simulation: check the ranks of the server @env, and make its group, for
 * env->shared. Nothing to do, and 0, without tensor parallelism. Returns 0 or a negative enum
 * sim_exit. llm_group_discard() frees it.
 */
int llm_group_prepare(struct app_env *env, struct sim_error *err);
void llm_group_discard(struct app_env *env);

/* What each rank of the server @env has and does. */
const struct cfg_llm *llm_group_cfg(const struct app_env *env);

/* Groups of KV blocks of the server @env: what fits into all GPUs of its ranks. */
u32 llm_group_kv_groups(const struct app_env *env);

/*
 * Blocking: all ranks follow @order. @own is the server's. Waits for ranks to be there first.
 * Returns 0, -EIO (a context died), -EINTR or -ENOMEM. @own may have a part of the order in
 * flight then.
 */
int llm_group_order(struct llm_rank *own, const struct llm_order *order);

/* The server of @env ends: its ranks end, too, as failed ones with @failed. */
void llm_group_end(const struct app_env *env, bool failed);

/* Blocking, after llm_group_end(): wait until no rank reads the server's pool any more. */
void llm_group_wait_end(const struct app_env *env);

#endif
