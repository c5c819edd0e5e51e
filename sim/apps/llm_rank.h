/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A rank of an LLM server: what the server has on one GPU
 * =======================================================
 *
 * A server without tensor parallelism has one rank. With app.tensor_parallel N it has N, each a
 * process on a GPU of its own. Every matrix is cut into N parts, as Megatron-LM and vLLM do it:
 * the first matrix of attention and of the MLP by columns, the second by rows. So a rank has
 * 1 / N of the weights and of the key heads, computes 1 / N of the FLOP, and reads 1 / N of the
 * bytes. What lies between the products has the whole hidden size in each rank: the two
 * additions with norm of a layer. Norms and biases are counted as cut, too: less than 0.1 %.
 *
 * The parts are added up by two all-reduces a layer: after attention and after the MLP. Each
 * is a kernel of the step, and takes the time of a ring (app_reduce_ns()). Left out: the
 * all-reduce of the embedding and the gathering of logits, one of each a step.
 *
 * The workspace is not cut.
 *
 * Of experts each rank has 1 / N of every one, as in vLLM without expert parallelism. A step uses
 * the same ones in all ranks, and each adds up its parts of what these give, of the whole hidden
 * size, before the all-reduce. The router is counted as cut. A latent KV cache (DeepSeek) serves
 * all heads: each rank has all of it, for its part of the heads.
 *
 * Sources: arXiv 1909.08053, section 3; vllm/model_executor/layers/linear.py.
 */
#ifndef SIM_APPS_LLM_RANK_H
#define SIM_APPS_LLM_RANK_H

#include "apps/app.h"
#include "apps/llm_config.h"
#include "apps/llm_experts.h"
#include "apps/llm_scheduler.h"

/* Memory on a GPU, and what a step accesses of it. */
struct llm_rank {
	const struct app_env *env; /* of the rank's process */
	const struct cfg_llm *cfg; /* of its server: what each rank has and does */
	const char *server;	   /* the server's container */
	struct cuda_memory weights;
	struct cuda_memory workspace; /* may be empty */
	struct cuda_memory kv;
	/* Of a step: those three, in this order, and the experts that it uses. */
	struct cuda_access accesses[4];
	struct llm_experts experts; /* of a model with experts */
	bool on_host; /* its GPU memory is freed, and the host has a copy of the weights */
};

/*
 * What each rank of the server @whole has and does: its keys, divided by app.tensor_parallel.
 * Rounded up, but for experts.
 */
void llm_rank_share(const struct cfg_llm *whole, struct cfg_llm *ret_share);

/*
 * Groups of KV blocks that fit into the rank's part of @gpu; 0: not even one. @cfg: of a rank.
 */
u32 llm_rank_groups(const struct cfg_llm *cfg, const struct cfg_gpu *gpu);

/*
 * The least gpu_memory_utilization with room for the KV of @tokens tokens, in whole groups of
 * blocks, in percent, rounded up; above 100: the GPU is too small.
 */
u64 llm_rank_least_percent(const struct cfg_llm *cfg, const struct cfg_gpu *gpu, u64 tokens);

/*
 * Blocking: allocate the memory of a rank whose env, cfg and server are set, with @groups groups of KV
 * blocks. Returns 0 or -ENOMEM. llm_rank_destroy() is due in any case, when the context is
 * gone.
 */
int llm_rank_init(struct llm_rank *rank, u32 groups);
void llm_rank_destroy(struct llm_rank *rank);

/*
 * Blocking: compute a step. @pool says which pages of the KV pool it touches, and stays as it
 * is meanwhile. Returns as cuda_run() does.
 */
int llm_rank_compute(struct llm_rank *rank, const struct llm_step *step,
		     const struct kv_pool *pool);

/*
 * llm_memory.c. Blocking: load the weights, and clear workspace and pool. Returns 0, -EIO,
 * -EINTR or -ENOMEM, as the others.
 */
int llm_memory_load(struct llm_rank *rank);

/* Blocking: free the memory for a sleep at @level 1 or 2, or take it again after one. */
int llm_memory_sleep(struct llm_rank *rank, u64 level);
int llm_memory_wake(struct llm_rank *rank);

#endif
