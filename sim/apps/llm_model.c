// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * From a model's config.json to the numbers of an LLM server
 * ==========================================================
 *
 * A decoder has a table of embeddings, layers, and an output layer, which may be that table.
 * With H the hidden size, q and kv the widths of all query heads and of all key heads, and I
 * the width of the MLP, a layer has
 *
 *     attention   H q + 2 H kv + q H       queries, keys and values, output
 *     or latent   H a + a q + H (c + r)    queries, by a values or H q without these; latent
 *                 + c h (n + v) + h v H    values and r of a key; keys and values of them; output
 *     MLP         3 H I                    gate, up, down; 2 H I without a gate
 *     or experts  E (3 H Im) + E H         E MLPs of width Im, of which a token uses k; router
 *                 + 3 H Is + H             one more of width Is that all use, and its gate
 *     norms       2 H, in some models H or 4 H; and 2 head_dim, or q + kv, where queries and
 *                 keys are normalized
 *
 * parameters, and biases where its architecture has them. Latent attention (DeepSeek's MLA) has
 * h heads, whose queries and keys have n values and r with a position, q = h (n + r) in all, and
 * whose values have v; the cache has c + r for each token, which all heads share. gpt-oss has a
 * bias for each output of experts and router, and a sink a head. DeepSeek-V3 and GLM-4.5 have a
 * value of 32 bits for each expert beside its score. From these counts follow:
 *
 * - weights: 2 bytes a parameter. With fp8 one byte a parameter of attention, MLP and experts,
 *   and a scale of 4 bytes for each block or matrix; the rest stays as it is, as in vLLM. With
 *   int4, likewise, half a byte, and for each group of 128 of a row (or of the file's size) a
 *   scale of 2 bytes, and half a byte for a zero point if the file has some: the parameters
 *   qweight, scales and qzeros of vLLM's awq.py and gptq_marlin.py. Without a file in 4 bits it
 *   is the scheme W4A16 of compressed-tensors: groups of 128 without zero points. With mxfp4
 *   experts alone have half a byte, and a scale of one byte for each 32 of a row (vLLM's
 *   mxfp4.py); a kernel's padding is not counted.
 * - FLOP of a token: 2 for each parameter of a matrix that it uses.
 * - KV of a token: 2 kv a layer, c + r with latent attention. KV stays in the model's own type.
 * - FLOP of attention, for a query token and an earlier one: 4 q a layer. With latent attention
 *   2 h (n + r + v) where keys and values are made of the cache first, as vLLM does for prompts
 *   (2 c h (n + v) for each earlier token, and the step's own are among the products), and
 *   2 h (2 c + r) where a sequence decodes: there the same matrix is multiplied with queries and
 *   outputs in place of the cache (vllm/v1/attention/backends/mla/common.py).
 * - traffic of a token beside the products, a layer: two additions with norm, the gate,
 *   rotation and KV write; with experts also the sum of k results.
 * - kernels of an eager step, by count of vLLM's: 10 a layer (norm, qkv, rotation, KV write,
 *   attention, o, norm, gate_up, gate, down), with another number of norms so many more or
 *   less, 2 more for norms of queries and keys, 5 more for experts (router, choice, two to sort
 *   tokens, two products, gate, sum in place of three), 5 more for an expert that all use
 *   (gate_up, gate, down, its own gate, sum), 4 more that quantize activations for fp8; and 20
 *   for embedding and sampling. Activations stay in 16 bits with int4.
 *   With latent attention there are 4 more (down to the latent values, their norm, two products
 *   with the absorbed matrix), and 2 more, less one, where queries are latent, too.
 * - matrices that vLLM's kernels read whole: qkv, o, gate_up, down; two more with latent attention; with experts the router,
 *   too, and two of an expert that all use; the output layer.
 *
 * Weights in 4 bits are computed with in 16: a product has the rate of bf16, and expands its
 * weights in registers. That takes no time of its own: Marlin, the kernel that vLLM uses, orders
 * it so that it and the tensor cores do not hold each other up. Its README has 3.87 times the
 * speed of 16 bits up to 16 to 32 tokens in groups of 128, which is the ratio of the bytes. For
 * many tokens, where products are bound by compute, no number of its authors is known to us.
 *
 * A sliding window counts where app.max_model_len is longer (llm_window.h).
 *
 * Not modelled of latent attention: copies in 16 bits of the matrix that is absorbed, where
 * weights are in fp8; the traffic of keys and values that are made of the cache.
 *
 * A table of embeddings that is not the output layer is not read by a step: a token reads one
 * row.
 */
#include "apps/llm_model.h"

#include <jansson.h>

#include "apps/hf_config.h"
#include "config/check.h"
#include "config/derive.h"
#include "config/message.h"
#include "gvm/port.h"

#define FP8_SCALE_BYTES	      4
#define INT4_SCALE_BITS	      16
#define W4A16_GROUP	      128
#define LAYER_KERNELS	      8 /* beside norms */
#define QK_NORM_KERNELS	      2
#define EXPERT_KERNELS	      5
#define SHARED_KERNELS	      4
#define SHARED_GATE_KERNELS   1
#define LATENT_KERNELS	      4
#define LATENT_QUERY_KERNELS  1
#define LATENT_MATRICES	      2
#define MXFP4_GROUP	      32
#define MXFP4_SCALE_BITS      8
#define ROUTE_BIAS_BYTES      4
#define SHARED_MATRICES	      2
#define FP8_KERNELS	      4
#define STEP_KERNELS	      20
#define LAYER_MATRICES	      4
#define EXPERT_LAYER_MATRICES 5
/* FLOP of a product for each element of its matrix. */
#define PRODUCT_FLOPS 2

const char *const llm_quantizations[] = {
	[LLM_NO_QUANTIZATION] = "none",
	[LLM_FP8] = "fp8",
	[LLM_INT4] = "int4",
	[LLM_MXFP4] = "mxfp4",
	NULL,
};

typedef unsigned __int128 u128; /* sums of products of four sizes */

/* Parameters and their bytes. */
struct tally {
	u128 parameters;
	u128 bytes;
};

static u64 saturate(u128 value)
{
	return value < U64_MAX ? (u64)value : U64_MAX;
}

static struct tally tally_sum(struct tally a, struct tally b)
{
	return (struct tally){ a.parameters + b.parameters, a.bytes + b.bytes };
}

static struct tally tally_times(struct tally tally, u64 count)
{
	return (struct tally){ tally.parameters * count, tally.bytes * count };
}

/* Parameters in the model's own type. */
static struct tally tally_plain(const struct hf_config *config, u128 parameters)
{
	return (struct tally){ parameters, parameters * config->width };
}

/*
 * A matrix in 4 bits: a scale of 16 bits for each group of a row, and a zero point of 4 bits
 * where there are some. A model without such weights of its own gets those of the scheme W4A16.
 */
static struct tally tally_int4(const struct hf_config *config, u64 rows, u64 columns)
{
	u64 size = config->int4 ? config->group : W4A16_GROUP;
	u128 groups = (u128)rows * (size ? (columns + size - 1) / size : 1);
	u128 bits = (u128)rows * columns * 4 + groups * INT4_SCALE_BITS;

	if (config->int4 && config->zero_points)
		bits += groups * 4;
	return (struct tally){ (u128)rows * columns, (bits + 7) / 8 };
}

/* A matrix of an expert: a scale of 8 bits for each 32 of a row. */
static struct tally tally_mxfp4(u64 rows, u64 columns)
{
	u128 groups = (u128)rows * ((columns + MXFP4_GROUP - 1) / MXFP4_GROUP);
	u128 bits = (u128)rows * columns * 4 + groups * MXFP4_SCALE_BITS;

	return (struct tally){ (u128)rows * columns, (bits + 7) / 8 };
}

/* A matrix of a linear layer. */
static struct tally tally_matrix(const struct hf_config *config, enum llm_quantization form,
				 u64 rows, u64 columns)
{
	u128 elements = (u128)rows * columns;
	u128 scales = 1;

	if (form == LLM_INT4)
		return tally_int4(config, rows, columns);
	if (form == LLM_MXFP4)
		return tally_mxfp4(rows, columns);
	if (form != LLM_FP8)
		return tally_plain(config, elements);
	if (config->scale_block[0])
		scales = (u128)((rows + config->scale_block[0] - 1) / config->scale_block[0]) *
			 ((columns + config->scale_block[1] - 1) / config->scale_block[1]);
	return (struct tally){ elements, elements + scales * FP8_SCALE_BYTES };
}

/* Gate, up and down, or up and down. */
static struct tally tally_mlp(const struct hf_config *config, enum llm_quantization form,
			      u64 width)
{
	struct tally in = tally_matrix(config, form, width, config->hidden_size);

	return tally_sum(tally_times(in, config->plain_mlp ? 1 : 2),
			 tally_matrix(config, form, config->hidden_size, width));
}

/* The width of all query heads together. */
static u64 query_width(const struct hf_config *config)
{
	return config->num_attention_heads * config->head_dim;
}

/* The width of all key heads together, which is that of all value heads. */
static u64 key_width(const struct hf_config *config)
{
	return config->num_key_value_heads * config->head_dim;
}

/* The width of what attention gives. */
static u64 output_width(const struct hf_config *config)
{
	return config->kv_lora_rank ? config->num_attention_heads * config->v_head_dim :
				      query_width(config);
}

/* Values that a layer keeps of a token for later ones. */
static u64 cache_width(const struct hf_config *config)
{
	return config->kv_lora_rank ? config->kv_lora_rank + config->rope_head_dim :
				      2 * key_width(config);
}

/* The width of keys without position and of values, of all heads, that latent values make. */
static u64 latent_width(const struct hf_config *config)
{
	return config->num_attention_heads *
	       (config->head_dim - config->rope_head_dim + config->v_head_dim);
}

/* Layers whose MLP is one, without experts. */
static u64 dense_layers(const struct hf_config *config)
{
	return config->num_hidden_layers - config->moe_layers;
}

/* Queries, keys and values of latent attention, without the output. */
static struct tally tally_latent(const struct hf_config *config, enum llm_quantization form)
{
	u64 hidden = config->hidden_size, rank = config->q_lora_rank;
	struct tally sum = tally_sum(tally_matrix(config, form, cache_width(config), hidden),
				     tally_matrix(config, form, latent_width(config),
						  config->kv_lora_rank));

	if (!rank)
		return tally_sum(sum, tally_matrix(config, form, query_width(config), hidden));
	sum = tally_sum(sum, tally_matrix(config, form, rank, hidden));
	return tally_sum(sum, tally_matrix(config, form, query_width(config), rank));
}

/* Queries, keys and values, without the output. */
static struct tally tally_qkv(const struct hf_config *config, enum llm_quantization form)
{
	u64 hidden = config->hidden_size;
	struct tally keys = tally_matrix(config, form, key_width(config), hidden);

	if (config->kv_lora_rank)
		return tally_latent(config, form);
	return tally_sum(tally_matrix(config, form, query_width(config), hidden),
			 tally_times(keys, 2));
}

/* Matrices of all layers beside those of experts and routers. */
static struct tally tally_matrices(const struct hf_config *config, enum llm_quantization form)
{
	struct tally output =
		tally_matrix(config, form, config->hidden_size, output_width(config));
	struct tally attention = tally_sum(tally_qkv(config, form), output);
	struct tally mlp = tally_mlp(config, form, config->intermediate_size);
	struct tally shared = tally_mlp(config, form, config->shared_expert_intermediate_size);

	if (!config->shared_expert_intermediate_size)
		shared = (struct tally){ 0 };
	return tally_sum(tally_sum(tally_times(attention, config->num_hidden_layers),
				   tally_times(mlp, dense_layers(config))),
			 tally_times(shared, config->moe_layers));
}

/* Biases of one expert: of its gate, up and down. */
static u64 expert_biases(const struct hf_config *config)
{
	return config->expert_bias ? 2 * config->moe_intermediate_size + config->hidden_size :
				     0;
}

/* Parameters of norms and biases. */
static u128 vector_parameters(const struct hf_config *config)
{
	u64 layers = config->num_hidden_layers;
	u64 hidden = config->hidden_size;
	u128 norms = hidden + (u128)layers * hf_config_norms(config) * hidden;
	u128 sum = norms * (config->norm_bias ? 2 : 1);

	if (config->qk_norm)
		sum += (u128)layers * (config->wide_norms ?
					       query_width(config) + key_width(config) :
					       2 * config->head_dim);
	if (config->qkv_bias)
		sum += layers * (query_width(config) + 2 * key_width(config));
	if (config->o_bias)
		sum += layers * hidden;
	if (config->mlp_bias)
		sum += (u128)dense_layers(config) *
		       ((config->plain_mlp ? 1 : 2) * config->intermediate_size + hidden);
	if (config->head_bias)
		sum += config->vocab_size;
	/* Its gate is a matrix of one row. */
	if (config->shared_gate)
		sum += (u128)config->moe_layers * hidden;
	if (config->expert_bias)
		sum += (u128)config->moe_layers * config->num_experts *
		       (expert_biases(config) + 1);
	if (config->sinks)
		sum += layers * config->num_attention_heads;
	return sum + layers * (config->kv_lora_rank + config->q_lora_rank) +
	       (u128)config->positions * hidden;
}

/*
 * The values that a token reads and writes beside the products. Additions with norm read two
 * and write two, norms of what an MLP or attention gives read one and write one; rotation with
 * KV write, and the gate, three; without a gate two.
 */
static u128 traffic_values(const struct hf_config *config)
{
	u64 layers = config->num_hidden_layers;
	u64 hidden = config->hidden_size;
	u64 q = query_width(config), kv = key_width(config);
	u64 used = config->num_experts_per_tok;
	u64 norms = hf_config_norms(config);
	u64 shared = config->shared_expert_intermediate_size;
	u128 values = (u128)layers * (min(norms, (u64)2) * 4 * hidden +
				      (max(norms, (u64)2) - 2) * 2 * hidden +
				      3 * (q + cache_width(config)) +
				      2 * (config->kv_lora_rank + config->q_lora_rank)) +
		      (u128)dense_layers(config) * (config->plain_mlp ? 2 : 3) *
			      config->intermediate_size +
		      (u128)config->moe_layers *
			      (3 * used * config->moe_intermediate_size + (used + 1) * hidden);

	if (shared)
		values += (u128)config->moe_layers * (3 * shared + 3 * hidden);
	if (config->qk_norm)
		values += (u128)layers * 2 * (q + kv);
	return values;
}

/* Kernels of an eager step. */
static u64 step_kernels(const struct hf_config *config, enum llm_quantization form)
{
	u64 layer = LAYER_KERNELS + hf_config_norms(config);
	u64 experts = EXPERT_KERNELS;

	if (config->qk_norm)
		layer += QK_NORM_KERNELS;
	if (form == LLM_FP8)
		layer += FP8_KERNELS;
	if (config->kv_lora_rank)
		layer += config->q_lora_rank ? LATENT_KERNELS + LATENT_QUERY_KERNELS :
					       LATENT_KERNELS;
	if (config->shared_expert_intermediate_size)
		experts += config->shared_gate ? SHARED_KERNELS + SHARED_GATE_KERNELS :
						 SHARED_KERNELS;
	return config->num_hidden_layers * layer + config->moe_layers * experts + STEP_KERNELS;
}

enum llm_quantization llm_model_form(const struct hf_config *config)
{
	return config->int4  ? LLM_INT4 :
	       config->mxfp4 ? LLM_MXFP4 :
	       config->fp8   ? LLM_FP8 :
			       LLM_NO_QUANTIZATION;
}

/*
 * FLOP of a sequence that decodes over latent values, per earlier token: it multiplies them as
 * they are.
 */
static u64 latent_decode_flops(const struct hf_config *config)
{
	if (!config->kv_lora_rank)
		return 0;
	return saturate((u128)config->num_hidden_layers * config->num_attention_heads *
			PRODUCT_FLOPS * (cache_width(config) + config->kv_lora_rank));
}

/* Weight matrices of all layers, and that of the output. */
static u64 weight_matrices(const struct hf_config *config)
{
	u64 sum = dense_layers(config) * LAYER_MATRICES +
		  config->moe_layers * EXPERT_LAYER_MATRICES;

	if (config->kv_lora_rank)
		sum += config->num_hidden_layers * LATENT_MATRICES;
	if (config->shared_expert_intermediate_size)
		sum += config->moe_layers * SHARED_MATRICES;
	return sum + 1;
}

/* The model's weights by what they are. */
struct model_weights {
	struct tally matrices; /* of all layers beside those of experts and routers */
	struct tally expert;   /* one */
	struct tally experts;  /* all of all layers */
	u128 router;	       /* parameters of all layers */
	u128 table;	       /* parameters of the embeddings */
	struct tally all;
};

static struct model_weights model_weights(const struct hf_config *config,
					  enum llm_quantization form)
{
	u64 sparse = config->moe_layers;
	/* mxfp4 is of experts alone. */
	enum llm_quantization of_matrices = form == LLM_MXFP4 ? LLM_NO_QUANTIZATION : form;
	struct tally expert = tally_mlp(config, form, config->moe_intermediate_size);
	struct model_weights weights = {
		.matrices = tally_matrices(config, of_matrices),
		.expert = expert,
		.experts = tally_times(tally_times(expert, config->num_experts), sparse),
		.router = (u128)config->num_experts * config->hidden_size * sparse,
		.table = (u128)config->vocab_size * config->hidden_size,
	};
	u128 plain = vector_parameters(config) + weights.router +
		     weights.table * (config->tie_word_embeddings ? 1 : 2);
	u128 routes = config->route_bias ? (u128)config->num_experts * sparse : 0;
	struct tally rest = tally_sum(tally_plain(config, plain),
				      (struct tally){ routes, routes * ROUTE_BIAS_BYTES });

	weights.all = tally_sum(tally_sum(weights.matrices, weights.experts), rest);
	return weights;
}

void llm_model_compute(const struct hf_config *config, enum llm_quantization form,
		       struct llm_model *ret_model)
{
	struct model_weights weights = model_weights(config, form);
	u64 layers = config->num_hidden_layers;
	u64 sparse = config->moe_layers;
	u64 used = config->num_experts_per_tok;
	u128 idle_experts = (u128)(config->num_experts - used) * sparse;
	u128 idle = weights.expert.parameters * idle_experts;
	u128 multiplied = weights.matrices.parameters + weights.router +
			  weights.experts.parameters - idle;

	*ret_model = (struct llm_model){
		.parameters = saturate(weights.all.parameters),
		.active_parameters = saturate(weights.all.parameters - idle -
					      expert_biases(config) * idle_experts),
		.weights = saturate(weights.all.bytes),
		.embeddings = config->tie_word_embeddings ?
				      0 :
				      saturate(weights.table * config->width),
		.expert_weights = saturate(weights.experts.bytes),
		.experts = sparse ? config->num_experts : 0,
		.experts_per_token = sparse ? used : 0,
		.token_bytes = config->hidden_size * config->width,
		.kv_bytes_per_token =
			saturate((u128)layers * cache_width(config) * config->width),
		.window = config->sliding_window,
		.window_layers = config->window_layers,
		.flops_per_token = saturate(PRODUCT_FLOPS * multiplied),
		.head_flops = saturate(PRODUCT_FLOPS * weights.table),
		.traffic_per_token = saturate(config->width * traffic_values(config)),
		/*
		 * Query times key, weight times value: a multiplication and an addition each.
		 */
		.attention_flops = saturate((u128)layers * PRODUCT_FLOPS *
					    (query_width(config) + output_width(config))),
		.attention_group = config->num_attention_heads / config->num_key_value_heads,
		.latent_decode_flops = latent_decode_flops(config),
		.latent_expand_flops = saturate((u128)layers * PRODUCT_FLOPS *
						latent_width(config) * config->kv_lora_rank),
		.kernels_per_step = step_kernels(config, form),
		.weight_matrices = weight_matrices(config),
		.layers = layers,
	};
}

/*
 * A rank of tensor parallelism has whole heads. vLLM gives several ranks a copy of a head where
 * there are fewer of keys and values than ranks, which is not modelled. The latent values, which
 * all heads share, each rank has.
 */
static int model_check_ranks(struct cfg_load *load, const struct cfg_container *container,
			     const struct hf_config *config)
{
	u64 heads = config->kv_lora_rank ? config->num_attention_heads :
					   config->num_key_value_heads;
	u64 ranks;
	int status = cfg_derive_number(load, container, "tensor_parallel", &ranks);

	if (status || !ranks || heads % ranks == 0)
		return status;
	return cfg_reject_app(load, container, "tensor_parallel",
			      "%llu does not divide the heads%s, allowed: a divisor of %llu",
			      ranks, config->kv_lora_rank ? "" : " of keys and values", heads);
}

/* No layer ever looks back further than the window if no sequence is longer. */
static int model_drop_window(struct cfg_load *load, const struct cfg_container *container,
			     struct llm_model *model)
{
	u64 longest;
	int status = cfg_derive_number(load, container, "max_model_len", &longest);

	if (!status && longest && longest <= model->window)
		model->window = model->window_layers = 0;
	return status;
}

/* clang-format off */
#define MODEL_KEY(leaf_) { .leaf = #leaf_, .offset = offsetof(struct llm_model, leaf_) }
/* clang-format on */

/* Set the keys of an LLM server that are numbers of its model. */
static int model_set_keys(struct cfg_load *load, const struct cfg_container *container,
			  const char *file, const struct llm_model *model)
{
	static const struct {
		const char *leaf;
		size_t offset; /* of a u64 */
	} keys[] = {
		MODEL_KEY(weights),
		MODEL_KEY(embeddings),
		MODEL_KEY(expert_weights),
		MODEL_KEY(experts),
		MODEL_KEY(experts_per_token),
		MODEL_KEY(token_bytes),
		MODEL_KEY(kv_bytes_per_token),
		MODEL_KEY(window),
		MODEL_KEY(window_layers),
		MODEL_KEY(flops_per_token),
		MODEL_KEY(head_flops),
		MODEL_KEY(traffic_per_token),
		MODEL_KEY(attention_flops),
		MODEL_KEY(attention_group),
		MODEL_KEY(latent_decode_flops),
		MODEL_KEY(latent_expand_flops),
		MODEL_KEY(kernels_per_step),
		MODEL_KEY(weight_matrices),
		MODEL_KEY(layers),
	};
	int status = 0;

	for (size_t i = 0; !status && i < sizeof(keys) / sizeof(keys[0]); i++) {
		u64 value = *(const u64 *)((const char *)model + keys[i].offset);

		status = cfg_derive_set(load, container, file, keys[i].leaf, value, NULL);
	}
	return status;
}

int llm_model_derive(struct cfg_load *load, const struct cfg_container *container)
{
	struct hf_config config;
	struct llm_model model;
	const char *file;
	json_t *root;
	int quantization;
	int status = cfg_derive_read(load, container, "model", &root, &file);

	if (status || !root)
		return status;
	status = hf_config_read(root, file, &config, cfg_derive_error(load));
	json_decref(root);
	if (!status)
		status = model_check_ranks(load, container, &config);
	if (!status)
		status = cfg_derive_word(load, container, "quantization", &quantization);
	if (status)
		return status;
	if (quantization < 0)
		quantization = (int)llm_model_form(&config);
	if (quantization == LLM_MXFP4 && !config.moe_layers)
		return cfg_reject_app(load, container, "quantization",
				      "mxfp4 is for weights of experts, which the model has "
				      "not, allowed: none, fp8, int4");
	llm_model_compute(&config, (enum llm_quantization)quantization, &model);
	status = model_drop_window(load, container, &model);
	if (!status)
		status = cfg_derive_set(load, container, file, "quantization", 0,
					llm_quantizations[quantization]);
	return status ? status : model_set_keys(load, container, file, &model);
}

u64 llm_model_experts_used(u64 experts, u64 experts_per_token, u64 tokens)
{
	u64 idle = 1ull << 32; /* (1 - k / E)^tokens */
	u64 power = ((experts - experts_per_token) << 32) / experts;

	for (; tokens; tokens >>= 1) {
		if (tokens & 1)
			idle = idle * power >> 32;
		power = power * power >> 32;
	}
	return (1ull << 32) - idle;
}
