// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * From a model's config.json to the numbers of a LoRA trainer
 * ===========================================================
 *
 * The trainer is that of scenarios/apps/lora-llama-3.2-3b.json: eager kernels of PyTorch, LoRA
 * on all linear layers, frozen weights in 16 bits, adapters in fp32 with AdamW. With H the
 * hidden size, I the width of the MLP, q and kv the widths of all query heads and of all key
 * heads, r the rank:
 *
 * - Adapters: a matrix has r times the sum of its two sides. The seven of a layer have 7 H +
 *   2 q + 2 kv + 3 I. A parameter has 4 bytes, as much gradient, and 8 bytes of moments.
 * - FLOP of a token: forward 2 for each parameter but a table of embeddings that is not the
 *   head. Backward as many for the gradients of activations, and none for frozen weights; with
 *   checkpointing, those of the layers' matrices once more. LoRA's own are left out below 1 % of
 *   the model's parameters, as in the profile: above, they are 2 forward and 4 backward for
 *   each of its parameters, and 2 where layers are computed again.
 * - Activations of a token: logits and their gradient, 10 bytes for each word. With
 *   checkpointing, the inputs of all layers and the activations within one layer are added.
 *   Without it, the activations that all layers keep are added.
 * - Optimizer: 40 bytes of traffic for each parameter of LoRA.
 *
 * The profile has estimates, too. They go over to another model by these rules:
 *
 * - Kernels: 55 for each layer forward, and 20 for loss; backward twice as many for the layers.
 *   A norm is 8 kernels in Transformers' code: each one more than Llama's two, as those of
 *   queries and of keys, adds 8, and each one less takes 8 away. AdamW's 60 kernels are for 392
 *   tensors.
 * - Traffic: a kernel of a layer reads and writes the mean of H and I values. An estimate has
 *   two digits. Backward takes twice as much, and once more where layers are computed again.
 * - Activations within a layer: 0.1 MB at H + I = 3072 + 8192 values, which is 9 bytes a value.
 *   All that a layer keeps: 0.158 MB, 14 bytes a value.
 *
 * Experts are refused. Their eager kernels depend on how many experts a micro-batch uses, and
 * the profile says nothing about them. So are an MLP without a gate, weights in fp8, and a
 * sliding window that ends within an example.
 */
#include "import/lora.h"

#include "apps/hf_config.h"
#include "apps/llm_model.h"
#include "config/schema.h"
#include "engine/error.h"

#define PRODUCT_FLOPS 2
/* Forward, gradients of activations, gradients of weights. */
#define ADAPTER_FLOPS_FORWARD  2
#define ADAPTER_FLOPS_BACKWARD 4

#define ADAPTER_BYTES	       16
#define ADAPTER_MATRICES       2 /* of each matrix */
#define LAYER_MATRICES	       7
#define LOGIT_BYTES	       10
#define OPTIMIZER_TRAFFIC      40

/* Estimates of the profile. */
#define LAYER_KERNELS	  55
#define NORM_KERNELS	  8
#define LAYER_NORMS	  2
#define LOSS_KERNELS	  20
#define OPTIMIZER_KERNELS 60
#define OPTIMIZER_TENSORS 392
#define WITHIN_BYTES	  9
#define KEPT_BYTES	  14
#define ESTIMATE_DIGITS	  100 /* two */

/* What a tensor of type "phases" may have. */
#define TENSOR_MAX (16 * CFG_TIB)

/* LoRA's own arithmetic counts from this share of the model's on: 1 in so many. */
#define COUNTED_SHARE 100

/* @value, to two digits. */
static u64 round_estimate(u64 value)
{
	u64 unit = 1;

	while (value / unit >= ESTIMATE_DIGITS)
		unit *= 10;
	return (value + unit / 2) / unit * unit;
}

static u64 divide_up(u64 value, u64 by)
{
	return (value + by - 1) / by;
}

/* The sides of the seven matrices of a layer: queries, keys, values, output, gate, up, down. */
static u64 layer_sides(const struct hf_config *config)
{
	u64 query = config->num_attention_heads * config->head_dim;
	u64 key = config->num_key_value_heads * config->head_dim;

	return LAYER_MATRICES * config->hidden_size + 2 * query + 2 * key +
	       3 * config->intermediate_size;
}

static void compute_sizes(const struct hf_config *config, const struct lora_options *options,
			  struct lora *lora)
{
	u64 layers = config->num_hidden_layers;
	u64 values = config->hidden_size + config->intermediate_size;

	lora->sides = layer_sides(config);
	lora->adapter_parameters = options->rank * layers * lora->sides;
	lora->adapter_tensors = layers * LAYER_MATRICES * ADAPTER_MATRICES;
	lora->adapters = ADAPTER_BYTES * lora->adapter_parameters;
	lora->inputs_per_token = layers * config->hidden_size * config->width;
	lora->logits_per_token = config->vocab_size * LOGIT_BYTES;
	lora->within_per_token = WITHIN_BYTES * values;
	lora->layer_per_token = KEPT_BYTES * values;
	lora->activations_per_token =
		lora->inputs_per_token + lora->logits_per_token + lora->within_per_token;
	lora->activations_kept_per_token =
		layers * lora->layer_per_token + lora->logits_per_token;
	lora->batch_tokens = options->micro_batch * options->longest;
}

static void compute_passes(const struct hf_config *config, struct lora *lora)
{
	u64 values = config->hidden_size + config->intermediate_size;
	u64 counted = lora->adapters_count ? lora->adapter_parameters : 0;
	u64 kernels, traffic;

	lora->layer_norms = hf_config_norms(config) + (config->qk_norm ? 2 : 0);
	lora->layer_kernels =
		LAYER_KERNELS + NORM_KERNELS * lora->layer_norms - NORM_KERNELS * LAYER_NORMS;
	kernels = config->num_hidden_layers * lora->layer_kernels;
	/* The mean of the two widths, in 16 bits. */
	traffic = round_estimate(kernels * values * config->width / 2);
	lora->forward = (struct lora_pass){
		.kernels = kernels + LOSS_KERNELS,
		.flops_per_token =
			PRODUCT_FLOPS * lora->used_parameters + ADAPTER_FLOPS_FORWARD * counted,
		.traffic_per_token = traffic,
	};
	lora->backward_kept = (struct lora_pass){
		.kernels = 2 * kernels + LOSS_KERNELS,
		.flops_per_token = PRODUCT_FLOPS * lora->used_parameters +
				   ADAPTER_FLOPS_BACKWARD * counted,
		.traffic_per_token = 2 * traffic,
	};
	lora->backward = (struct lora_pass){
		.kernels = lora->backward_kept.kernels + kernels,
		.flops_per_token = lora->backward_kept.flops_per_token +
				   PRODUCT_FLOPS * lora->layer_parameters +
				   ADAPTER_FLOPS_FORWARD * counted,
		.traffic_per_token = 3 * traffic,
	};
	lora->optimizer_kernels =
		divide_up(OPTIMIZER_KERNELS * lora->adapter_tensors, OPTIMIZER_TENSORS);
	lora->optimizer_traffic = OPTIMIZER_TRAFFIC * lora->adapter_parameters;
}

/* The product can be more than an integer: a trace may have any lengths. */
static int check_size(const char *model, const char *what, u64 count, u64 bytes,
		      struct sim_error *err)
{
	if (!count || bytes <= TENSOR_MAX / count)
		return 0;
	return sim_user_error(err, "%s: the %s are too large, allowed: up to 16 TiB", model,
			      what);
}

int lora_compute(const struct hf_config *config, const char *model,
		 const struct lora_options *options, struct lora *ret_lora,
		 struct sim_error *err)
{
	struct llm_model plain;
	struct lora lora = { 0 };
	u64 per_token;
	int status;

	if (config->moe_layers)
		return sim_user_error(err,
				      "%s: has experts, whose trainer is not modelled, "
				      "allowed: a model without experts",
				      model);
	if (config->fp8 || config->int4)
		return sim_user_error(err,
				      "%s: has weights in %s, whose trainer is not modelled, "
				      "allowed: bfloat16 or float16",
				      model, config->fp8 ? "fp8" : "4 bits");
	if (config->kv_lora_rank)
		return sim_user_error(
			err,
			"%s: has latent attention, whose trainer is not modelled, "
			"allowed: a model with heads of keys and values",
			model);
	if (config->plain_mlp)
		return sim_user_error(err,
				      "%s: has an MLP without a gate, whose trainer is not "
				      "modelled, allowed: a model with gate, up and down",
				      model);
	if (config->sliding_window && options->longest > config->sliding_window)
		return sim_user_error(
			err,
			"%s: has a sliding_window of %llu tokens, which is not "
			"modelled, allowed: one as long as the longest example, %llu",
			model, config->sliding_window, options->longest);
	llm_model_compute(config, false, &plain);
	/* First: the bound on weights keeps the rest from overflowing. */
	status = check_size(model, "weights", 1, plain.weights, err);
	if (status)
		return status;
	lora.parameters = plain.parameters;
	lora.weights = plain.weights;
	lora.used_parameters = plain.parameters - plain.embeddings / config->width;
	lora.layer_parameters = plain.flops_per_token / PRODUCT_FLOPS;
	compute_sizes(config, options, &lora);
	lora.adapters_count = lora.adapter_parameters >= lora.parameters / COUNTED_SHARE;
	compute_passes(config, &lora);
	per_token =
		options->remat ? lora.activations_kept_per_token : lora.activations_per_token;
	lora.activations = lora.batch_tokens * per_token;
	status = check_size(model, "adapters", 1, lora.adapters, err);
	if (!status)
		status = check_size(model, "activations of a micro-batch", lora.batch_tokens,
				    per_token, err);
	*ret_lora = lora;
	return status;
}
