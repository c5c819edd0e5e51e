// SPDX-License-Identifier: MIT OR GPL-2.0
#include "apps/llm_step.h"

#include "apps/llm_config.h"
#include "apps/llm_model.h"
#include "apps/llm_scheduler.h"

/*
 * Tiles of a thread block: rows of a product, queries and keys of attention; and what attention
 * has for a head of 128 elements: bytes of a tile of keys and values in bf16, FLOP of a pair.
 */
#define QUERY_TILE	     128u
#define KV_TILE_BYTES	     (128ull * 128 * 2 * 2)
#define ATTENTION_HEAD_FLOPS (128ull * 4)

/* Thread blocks of an all-reduce: NCCL's channels, of which it has up to 32. An assumption. */
#define REDUCTION_BLOCKS 16

u64 llm_step_tokens(const struct llm_step *step)
{
	return (u64)step->prefill_tokens + step->decode_tokens;
}

/* Is attention FlashAttention 3? It is FlashAttention 2 on every other GPU. */
static bool is_flash3(const struct cfg_llm *cfg, const struct cfg_gpu *gpu)
{
	return cfg->attention_wgmma && gpu->wgmma;
}

/* GPU time of @flops of attention. */
static u64 attention_flops_ns(const struct cfg_llm *cfg, const struct cfg_gpu *gpu,
			      unsigned __int128 flops)
{
	if (is_flash3(cfg, gpu))
		return app_flops_ns(gpu, cfg->attention_wgmma, flops);
	return app_flops_mma_ns(gpu, cfg->attention_efficiency, flops);
}

/*
 * How many query heads lie in one tile for a sequence that decodes. FlashAttention 2 packs those
 * that share a key head if all sequences of the step decode. FlashAttention 3 does it in every
 * step whose sequences have different lengths (hopper/heuristics.h, should_pack_gqa()). Over a
 * latent cache all query heads share one key, and the kernel for decodes packs them.
 */
static u64 step_heads_of_tile(const struct cfg_llm *cfg, const struct cfg_gpu *gpu,
			      const struct llm_step *step)
{
	if (cfg->latent_decode_flops)
		return cfg->attention_group;
	return step->prefill_tokens && !is_flash3(cfg, gpu) ? 1 : cfg->attention_group;
}

/*
 * Rows of a tile. FlashAttention 3 has two groups of warps with a tile of FlashAttention 2 each
 * (hopper/tile_size.h: 128 rows for heads of 128), and one of them if no sequence needs both.
 */
static u64 step_tile(const struct cfg_llm *cfg, const struct cfg_gpu *gpu,
		     const struct llm_step *step)
{
	return step->prefill_tokens && is_flash3(cfg, gpu) ? 2 * cfg->attention_tile :
							     cfg->attention_tile;
}

/*
 * How many times a step reads keys and values of sequences that decode, in ppm. @bytes of them
 * belong to one key head of a layer. Query heads that share them and lie in tiles of their own,
 * as beside prefill, read them on their own. FlashAttention goes through all sequences of a query
 * head before the next head: so the L2 cache still has them only if it holds all sequences. On
 * an H200 (60 MB) three heads read them 1.1 to 1.3 times if they are up to 0.4 of the L2, 1.6 at
 * 0.5, 2.3 at 0.8, 2.7 at 1.0 and 3.0 at 1.6
 * (plots/reference/hardware/h200-580-flash-traffic.txt). Here the part that is read again grows
 * evenly, from a quarter of the L2 to all of it.
 */
static u64 step_kv_reads(const struct cfg_llm *cfg, const struct cfg_gpu *gpu,
			 const struct llm_step *step, unsigned __int128 bytes)
{
	u64 l2 = gpu->l2;
	u64 tiles = cfg->attention_group / step_heads_of_tile(cfg, gpu, step);
	u64 missed;

	if (tiles == 1 || !l2 || bytes * 4 <= l2)
		return CFG_PPM;
	missed = (u64)min((bytes * 4 - l2) * CFG_PPM / 3 / l2, (unsigned __int128)CFG_PPM);
	return CFG_PPM + (tiles - 1) * missed;
}

/*
 * What a layer of one kind, with or without a window, sees of a step's sequences: of those that
 * decode, and of those that compute their prompts.
 */
struct attended {
	u64 layers;			  /* of the kind */
	unsigned __int128 decode_tokens;  /* context of sequences that decode */
	unsigned __int128 prefill_tokens; /* context of the others */
	unsigned __int128 prefill_pairs;  /* of a query and a key, of the others */
};

/*
 * Attention reads the context of each sequence and computes a product for each pair of a new
 * token and a token of its context. A sequence that decodes has one new token, but the kernel
 * computes a whole tile for it.
 */
static void step_add_attended(const struct cfg_llm *cfg, const struct cfg_gpu *gpu,
			      const struct llm_step *step, const struct attended *seen,
			      struct app_work *work)
{
	u64 heads = step_heads_of_tile(cfg, gpu, step);
	u64 tile = step_tile(cfg, gpu, step);
	u64 rows = (heads + tile - 1) / tile * tile;
	u64 layers = max(cfg->layers, 1ull);
	u64 flops = cfg->latent_decode_flops ? cfg->latent_decode_flops : cfg->attention_flops;
	unsigned __int128 decode_flops =
		seen->decode_tokens * rows * flops / heads * seen->layers / layers;
	u64 query_heads = cfg->attention_flops / layers / ATTENTION_HEAD_FLOPS;
	u64 key_heads = max(query_heads / cfg->attention_group, 1ull);
	unsigned __int128 kv_bytes =
		seen->decode_tokens * cfg->kv_bytes_per_token * seen->layers / layers;
	unsigned __int128 prefill_bytes =
		seen->prefill_tokens * cfg->kv_bytes_per_token * seen->layers / layers;
	u64 reads = step_kv_reads(cfg, gpu, step, kv_bytes / seen->layers / key_heads);

	app_work_add(work, gpu, attention_flops_ns(cfg, gpu, decode_flops),
		     max(app_bytes_ns(gpu, cfg->kv_bandwidth, kv_bytes),
			 app_bytes_ns(gpu, cfg->memory_efficiency, kv_bytes * reads / CFG_PPM)),
		     (u64)(kv_bytes / seen->layers / KV_TILE_BYTES));
	app_work_add(work, gpu,
		     attention_flops_ns(cfg, gpu,
					seen->prefill_pairs * cfg->attention_flops *
						seen->layers / layers),
		     app_bytes_ns(gpu, cfg->kv_bandwidth, prefill_bytes),
		     query_heads * ((step->prefill_tokens + QUERY_TILE - 1) / QUERY_TILE));
}

/*
 * Layers with a sliding window see less of a sequence than others. Before attention, keys and
 * values of what a latent cache holds of prompts are computed: those of the step's own tokens
 * are among the products.
 */
static void step_add_attention(const struct cfg_llm *cfg, const struct cfg_gpu *gpu,
			       const struct llm_step *step, struct app_work *work)
{
	u64 windowed = cfg->window ? cfg->window_layers : 0;
	const struct attended full = {
		.layers = max(cfg->layers, 1ull) - windowed,
		.decode_tokens = step->decode_context,
		.prefill_tokens = step->kv_tokens_read - step->decode_context,
		.prefill_pairs = step->attention_pairs,
	};
	const struct attended window = {
		.layers = windowed,
		.decode_tokens = step->window_decode_context,
		.prefill_tokens = step->window_tokens_read - step->window_decode_context,
		.prefill_pairs = step->window_pairs,
	};
	unsigned __int128 expanded = full.prefill_tokens - step->prefill_tokens;

	if (full.layers)
		step_add_attended(cfg, gpu, step, &full, work);
	if (windowed)
		step_add_attended(cfg, gpu, step, &window, work);
	if (cfg->latent_expand_flops && expanded)
		app_work_add(work, gpu,
			     app_flops_ns(gpu, cfg->efficiency,
					  expanded * cfg->latent_expand_flops),
			     0,
			     app_product_blocks(expanded * cfg->latent_expand_flops /
						max(cfg->layers, 1ull)));
}

/* Bytes of weights that a step of @tokens tokens reads. */
static u64 step_weights_read(const struct cfg_llm *cfg, u64 tokens)
{
	unsigned __int128 experts = cfg->expert_weights;

	if (!cfg->experts)
		return cfg->weights - cfg->embeddings;
	experts *= llm_model_experts_used(cfg->experts, cfg->experts_per_token, tokens);
	return cfg->weights - cfg->embeddings - cfg->expert_weights + (u64)(experts >> 32);
}

/*
 * Matrix products of layers, and of the output layer, which is not quantized. Tokens are
 * computed in tiles, so few of them need as many thread blocks as a whole tile.
 */
static void step_add_products(const struct cfg_llm *cfg, const struct cfg_gpu *gpu,
			      const struct llm_step *step, struct app_work *work)
{
	unsigned __int128 tokens = llm_step_tokens(step);
	unsigned __int128 flops = tokens * cfg->flops_per_token;
	unsigned __int128 head = step->sequences * cfg->head_flops;
	unsigned __int128 padded = (tokens + QUERY_TILE - 1) / QUERY_TILE * QUERY_TILE;
	u64 compute = cfg->quantization == LLM_FP8 ?
			      app_flops_fp8_ns(gpu, cfg->efficiency, flops) +
				      app_flops_ns(gpu, cfg->efficiency, head) :
			      app_flops_ns(gpu, cfg->efficiency, flops + head);

	app_work_add_product(work, gpu, cfg->product_ridge, compute,
			     app_bytes_ns(gpu, cfg->memory_efficiency,
					  step_weights_read(cfg, (u64)tokens)),
			     app_product_blocks(padded * cfg->flops_per_token /
						max(cfg->weight_matrices, 1ull)));
}

/*
 * Ranks add up their parts. An all-reduce is one of the step's kernels, whose
 * overhead is in its time.
 */
static void step_add_reductions(const struct cfg_llm *cfg, const struct cfg_gpu *gpu,
				const struct llm_step *step, struct app_work *work)
{
	unsigned __int128 all_ns;
	u64 ns;

	if (cfg->tensor_parallel < 2)
		return;
	ns = app_reduce_ns(gpu, cfg->tensor_parallel,
			   (unsigned __int128)llm_step_tokens(step) * cfg->token_bytes);
	all_ns = (unsigned __int128)(ns - min(ns, (u64)gpu->kernel_overhead)) *
		 LLM_LAYER_REDUCTIONS * cfg->layers;
	app_work_add(work, gpu, (u64)min(all_ns, (unsigned __int128)APP_COST_MAX_NS), 0,
		     REDUCTION_BLOCKS);
}

struct app_work llm_step_work(const struct cfg_llm *cfg, const struct cfg_gpu *gpu,
			      const struct llm_step *step)
{
	u64 tokens = llm_step_tokens(step);
	u64 large = cfg->weight_matrices + cfg->layers; /* products, and a layer's attention */
	struct app_work work = { 0 };

	step_add_products(cfg, gpu, step, &work);
	/* vLLM's norms, activations and the like have a thread block for each token. */
	app_work_add(&work, gpu, 0,
		     app_bytes_ns(gpu, cfg->memory_efficiency,
				  (unsigned __int128)tokens * cfg->traffic_per_token),
		     tokens);
	if (cfg->weight_matrices && cfg->kernels_per_step > large)
		app_work_count(&work, gpu, cfg->kernels_per_step - large, tokens);
	step_add_attention(cfg, gpu, step, &work);
	step_add_reductions(cfg, gpu, step, &work);
	return work;
}
