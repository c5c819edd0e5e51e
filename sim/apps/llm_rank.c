// SPDX-License-Identifier: MIT OR GPL-2.0
/* A rank's share of a model, its memory, and its part of a step; see llm_rank.h. */
#include "apps/llm_rank.h"

#include "apps/app_cost.h"
#include "apps/llm_model.h"
#include "apps/llm_step.h"
#include "apps/llm_window.h"
#include "engine/random.h"

/*
 * A layer has two additions with norm. Each reads two values of the hidden
 * size, and writes two.
 */
#define LAYER_WHOLE_TRAFFIC (2 * 4)

static u64 share_of(u64 amount, u64 ranks)
{
	return amount / ranks + (amount % ranks != 0);
}

/*
 * What a rank moves of a token's hidden values as a whole, in all layers. With experts it adds
 * up its parts of what each of them gives.
 */
static u64 whole_traffic(const struct cfg_llm *whole)
{
	u64 experts = whole->experts ? whole->experts_per_token + 1 : 0;
	unsigned __int128 bytes = (unsigned __int128)whole->layers *
				  (LAYER_WHOLE_TRAFFIC + experts) * whole->token_bytes;

	return (u64)min(bytes, (unsigned __int128)whole->traffic_per_token);
}

void llm_rank_share(const struct cfg_llm *whole, struct cfg_llm *ret_share)
{
	u64 ranks = whole->tensor_parallel;
	u64 traffic = whole_traffic(whole);

	*ret_share = *whole;
	if (ranks == 1)
		return;
	ret_share->weights = share_of(whole->weights, ranks);
	ret_share->embeddings = share_of(whole->embeddings, ranks);
	/* Rounded down: a part of the rest that is rounded up is left beside them. */
	ret_share->expert_weights = whole->expert_weights / ranks;
	/* A latent cache serves all heads, so each rank has all of it. */
	if (whole->latent_decode_flops)
		ret_share->attention_group = share_of(whole->attention_group, ranks);
	else
		ret_share->kv_bytes_per_token = share_of(whole->kv_bytes_per_token, ranks);
	ret_share->flops_per_token = share_of(whole->flops_per_token, ranks);
	ret_share->head_flops = share_of(whole->head_flops, ranks);
	ret_share->attention_flops = share_of(whole->attention_flops, ranks);
	ret_share->latent_decode_flops = share_of(whole->latent_decode_flops, ranks);
	ret_share->latent_expand_flops = share_of(whole->latent_expand_flops, ranks);
	ret_share->traffic_per_token =
		traffic + share_of(whole->traffic_per_token - traffic, ranks);
	ret_share->kernels_per_step += LLM_LAYER_REDUCTIONS * whole->layers;
}

/* Bytes of the KV pool that one group of blocks covers. */
static u64 rank_group_bytes(const struct cfg_llm *cfg)
{
	return (u64)kv_chunks_per_group(llm_window_block_bytes(cfg)) << GVM_CHUNK_SHIFT;
}

u32 llm_rank_groups(const struct cfg_llm *cfg, const struct cfg_gpu *gpu)
{
	unsigned __int128 total = gpu->memory_total;
	u64 share = (u64)(total * cfg->gpu_memory_utilization / CFG_PPM);
	u64 group = rank_group_bytes(cfg);

	if (share < cfg->weights || share - cfg->weights < cfg->workspace)
		return 0;
	return (u32)min((share - cfg->weights - cfg->workspace) / group,
			(u64)(U32_MAX / KV_GROUP_BLOCKS));
}

u64 llm_rank_least_percent(const struct cfg_llm *cfg, const struct cfg_gpu *gpu, u64 tokens)
{
	u64 group_tokens = KV_GROUP_BLOCKS * cfg->block_tokens;
	u64 groups = (tokens + group_tokens - 1) / group_tokens;
	unsigned __int128 least = (unsigned __int128)groups * rank_group_bytes(cfg);

	least = (least + cfg->weights + cfg->workspace) * 100;
	return (u64)((least + gpu->memory_total - 1) / gpu->memory_total);
}

int llm_rank_init(struct llm_rank *rank, u32 groups)
{
	const struct app_env *env = rank->env;
	const struct cfg_llm *cfg = rank->cfg;
	struct cuda_access *kv = &rank->accesses[2];
	/* The weights are those of all tokens, then experts, then a table of embeddings. */
	u64 dense = cfg->weights - cfg->embeddings - cfg->expert_weights;
	/* The ranks of a server draw the same experts. */
	u64 seed = random_begin(env->config->seed, rank->server);
	int status = app_malloc(env, cfg->weights, true, &rank->weights);

	if (!status)
		status = app_malloc(env, cfg->workspace, false, &rank->workspace);
	if (!status)
		status = app_malloc(env, groups * rank_group_bytes(cfg), false, &rank->kv);
	if (status)
		return status;
	if (cfg->experts)
		status = llm_experts_init(&rank->experts, &rank->weights, dense,
					  cfg->expert_weights, cfg->layers, cfg->experts,
					  random_begin(seed, "experts"));
	if (status)
		return status;
	rank->accesses[0] = cuda_access_head(&rank->weights, dense, CUDA_READ);
	/* Experts of a layer are two matrices, which one kernel touches. */
	cuda_access_matrices(&rank->accesses[0],
			     cfg->weight_matrices - min(cfg->experts ? 2 * cfg->layers : 0,
							cfg->weight_matrices));
	rank->accesses[1] = cuda_access_all(&rank->workspace, CUDA_WRITE);
	*kv = cuda_access_all(&rank->kv, CUDA_WRITE);
	kv->chunks_per_mask = kv->chunks / groups;
	kv->kernels = (u32)cfg->layers;
	return 0;
}

void llm_rank_destroy(struct llm_rank *rank)
{
	llm_experts_destroy(&rank->experts);
}

int llm_rank_compute(struct llm_rank *rank, const struct llm_step *step,
		     const struct kv_pool *pool)
{
	const struct config *config = rank->env->config;
	const struct cfg_llm *cfg = rank->cfg;
	u32 kernels = (u32)cfg->kernels_per_step;
	u64 tokens = llm_step_tokens(step);
	bool graph = tokens <= cfg->graph_tokens;
	struct cuda_burst_config burst;
	struct app_work work;

	/* The workspace is as large as the largest step needs. */
	rank->accesses[1] =
		cuda_access_head(&rank->workspace,
				 cfg->workspace * tokens / cfg->max_batched_tokens, CUDA_WRITE);
	/* Masks of the pool change in place, between two steps. */
	rank->accesses[2].masks = pool->masks;
	rank->accesses[2].groups = pool->present;
	if (cfg->experts) {
		llm_experts_draw(&rank->experts,
				 llm_model_experts_used(cfg->experts, cfg->experts_per_token,
							tokens));
		rank->accesses[3] = rank->experts.access;
	}
	burst = (struct cuda_burst_config){
		.kernels = kernels,
		.launch_ns =
			app_launch_ns(&config->host, cfg->kernel_launch, graph ? kernels : 1),
		.graph = graph,
		.accesses = rank->accesses,
		.access_count = ARRAY_SIZE(rank->accesses),
	};
	work = llm_step_work(cfg, &config->gpu, step);
	app_work_burst(&work, &config->gpu, &burst);
	return cuda_run(rank->env->cuda, &burst);
}
