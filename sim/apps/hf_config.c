// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Reading a config.json. What is the same in all models of an architecture is not in its file
 * (Qwen2 always has biases of queries, keys and values): it is in the table here, as the model's
 * class in Hugging Face's transformers has it. The defaults are those of the configuration
 * classes, but sizes without which there is no model have none. A file of Llama 1 has no
 * num_key_value_heads: there they are as many as the query heads. Some classes take the number of
 * one model in its place: there it is required.
 *
 * A decoder is known here if it is layers of attention and MLP with weights of its own each:
 * models with state-space layers, chunked attention or images are not. Left out are layers that
 * only speculative decoding uses (num_nextn_predict_layers of DeepSeek-V3), which vLLM does not
 * load without it.
 */
#include "apps/hf_config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/message.h"
#include "engine/error.h"

#define ALLOWED_MAX 768

/* A decimal of so many digits survives in a double. */
#define REAL_DIGITS 15

/* No default: the key has to be there. */
#define REQUIRED UINT64_MAX

/*
 * Bounds: a larger model is a slip, and none of these overflows the arithmetic of llm_model.c.
 */
#define SIZE_MAX_ELEMENTS (1ull << 24)
#define LAYERS_MAX	  4096
#define HEADS_MAX	  65536

/* Which keys say how many experts there are, and how large. */
enum expert_keys {
	NO_EXPERTS,
	EXPERTS_OF_QWEN,    /* num_experts, moe_intermediate_size; not all layers have some */
	EXPERTS_OF_OLMO,    /* num_experts, intermediate_size */
	EXPERTS_OF_MISTRAL, /* num_local_experts, intermediate_size */
	EXPERTS_OF_DEEPSEEK /* n_routed_experts, moe_intermediate_size; not the first layers */
};

/* Which layers have the window, if the file has no layer_types. */
enum window_layers {
	WINDOW_EVERYWHERE,
	WINDOW_OF_QWEN,	 /* from max_window_layers on */
	WINDOW_OF_GEMMA, /* all but each n-th, where n is sliding_window_pattern */
};

static const struct architecture {
	const char *name;
	bool qkv_bias; /* always */
	bool o_bias;
	bool mlp_bias;
	bool head_bias;
	bool use_bias; /* of all linear layers, unless "use_bias" is false */
	bool only_qkv; /* attention_bias is of queries, keys and values, not of the output */
	bool qk_norm;
	bool may_qk_norm;  /* if "use_qk_norm" is true, and then with wide ones */
	bool head_qk_norm; /* likewise, with one for all heads */
	bool wide_norms;
	bool plain_mlp;
	bool norm_bias;
	bool one_norm; /* a layer, in place of two */
	bool four_norms;
	bool tied; /* tie_word_embeddings, if the file does not say */
	bool shared_expert;
	bool key_per_query; /* without num_key_value_heads, each query head has its own */
	enum expert_keys experts;
	u64 head_dim;	    /* without head_dim; 0: hidden_size / num_attention_heads */
	u64 window;	    /* without sliding_window; 0: none */
	bool window_unused; /* without use_sliding_window */
	enum window_layers window_layers;
	u64 window_pattern; /* without sliding_window_pattern */
	bool latent;
	bool route_bias;		    /* always */
	bool sinks;			    /* and biases of experts */
	bool attention_bias;		    /* unless the file says otherwise */
	enum { OTHER, OPT, FALCON } family; /* of keys that others do not have */
} architectures[] = {
	{ .name = "LlamaForCausalLM", .key_per_query = true },
	{ .name = "MistralForCausalLM", .window = 4096 },
	{ .name = "Qwen2ForCausalLM",
	  .qkv_bias = true,
	  .window = 4096,
	  .window_unused = true,
	  .window_layers = WINDOW_OF_QWEN },
	{ .name = "Qwen3ForCausalLM",
	  .qk_norm = true,
	  .head_dim = 128,
	  .window = 4096,
	  .window_unused = true,
	  .window_layers = WINDOW_OF_QWEN },
	{ .name = "GemmaForCausalLM", .tied = true, .head_dim = 256 },
	{ .name = "Gemma2ForCausalLM",
	  .window = 4096,
	  .window_layers = WINDOW_OF_GEMMA,
	  .window_pattern = 2,
	  .tied = true,
	  .four_norms = true,
	  .head_dim = 256 },
	{ .name = "Gemma3ForCausalLM",
	  .window = 4096,
	  .window_layers = WINDOW_OF_GEMMA,
	  .window_pattern = 6,
	  .tied = true,
	  .qk_norm = true,
	  .four_norms = true,
	  .head_dim = 256 },
	{ .name = "PhiForCausalLM",
	  .qkv_bias = true,
	  .o_bias = true,
	  .mlp_bias = true,
	  .head_bias = true,
	  .plain_mlp = true,
	  .norm_bias = true,
	  .key_per_query = true,
	  .one_norm = true },
	{ .name = "Phi3ForCausalLM", .key_per_query = true },
	{ .name = "GraniteForCausalLM", .key_per_query = true },
	{ .name = "Glm4ForCausalLM", .only_qkv = true, .four_norms = true, .head_dim = 128 },
	{ .name = "Olmo2ForCausalLM",
	  .qk_norm = true,
	  .wide_norms = true,
	  .key_per_query = true },
	{ .name = "SmolLM3ForCausalLM", .tied = true },
	{ .name = "Starcoder2ForCausalLM",
	  .use_bias = true,
	  .plain_mlp = true,
	  .norm_bias = true,
	  .tied = true },
	{ .name = "CohereForCausalLM",
	  .may_qk_norm = true,
	  .tied = true,
	  .key_per_query = true,
	  .one_norm = true },
	{ .name = "MixtralForCausalLM", .experts = EXPERTS_OF_MISTRAL },
	{ .name = "Qwen2MoeForCausalLM",
	  .qkv_bias = true,
	  .shared_expert = true,
	  .experts = EXPERTS_OF_QWEN,
	  .window = 4096,
	  .window_unused = true,
	  .window_layers = WINDOW_OF_QWEN },
	{ .name = "Qwen3MoeForCausalLM",
	  .qk_norm = true,
	  .experts = EXPERTS_OF_QWEN,
	  .window = 4096,
	  .window_unused = true,
	  .window_layers = WINDOW_OF_QWEN },
	{ .name = "OlmoeForCausalLM",
	  .qk_norm = true,
	  .wide_norms = true,
	  .key_per_query = true,
	  .experts = EXPERTS_OF_OLMO },
	{ .name = "GraniteMoeForCausalLM",
	  .key_per_query = true,
	  .experts = EXPERTS_OF_MISTRAL },
	{ .name = "Glm4MoeForCausalLM",
	  .only_qkv = true,
	  .head_qk_norm = true,
	  .route_bias = true,
	  .experts = EXPERTS_OF_DEEPSEEK },
	{ .name = "DeepseekV2ForCausalLM",
	  .latent = true,
	  .key_per_query = true,
	  .experts = EXPERTS_OF_DEEPSEEK },
	{ .name = "DeepseekV3ForCausalLM",
	  .latent = true,
	  .key_per_query = true,
	  .experts = EXPERTS_OF_DEEPSEEK },
	{ .name = "GptOssForCausalLM",
	  .attention_bias = true,
	  .sinks = true,
	  .head_dim = 64,
	  .window = 128,
	  .window_layers = WINDOW_OF_GEMMA,
	  .window_pattern = 2,
	  .experts = EXPERTS_OF_MISTRAL },
	{ .name = "GPTNeoXForCausalLM",
	  .attention_bias = true,
	  .mlp_bias = true,
	  .plain_mlp = true,
	  .norm_bias = true,
	  .key_per_query = true },
	{ .name = "OPTForCausalLM",
	  .family = OPT,
	  .plain_mlp = true,
	  .norm_bias = true,
	  .tied = true,
	  .key_per_query = true },
	{ .name = "FalconForCausalLM",
	  .family = FALCON,
	  .plain_mlp = true,
	  .norm_bias = true,
	  .tied = true,
	  .key_per_query = true },
};

/*
 * A file that is being read. After the first mistake, which is in *err, nothing is read any
 * more.
 */
struct reader {
	const json_t *root;
	const char *file;
	struct sim_error *err;
	int status;
	const char *within; /* before a key in a message; NULL: nothing */
};

/* The value of @key; NULL: it is missing or null. */
static const json_t *read_value(const struct reader *reader, const char *key)
{
	const json_t *value = json_object_get(reader->root, key);

	return json_is_null(value) ? NULL : value;
}

static void reject(struct reader *reader, const char *key, const char *wrong,
		   const char *allowed)
{
	char path[ALLOWED_MAX];

	snprintf(path, sizeof(path), "%s%s", reader->within ? reader->within : "", key);
	if (!reader->status)
		reader->status = cfg_error(reader->err, reader->file, path, "%s, allowed: %s",
					   wrong, allowed);
}

/* Report that @value, of @key, is not what is allowed, or that it is missing. */
static void reject_value(struct reader *reader, const char *key, const json_t *value,
			 const char *allowed)
{
	char *text = NULL;
	char wrong[ALLOWED_MAX] = "is wrong";

	if (value && !json_is_object(value) && !json_is_array(value))
		text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII |
						 JSON_REAL_PRECISION(REAL_DIGITS));
	if (text)
		snprintf(wrong, sizeof(wrong), "%.64s is wrong", text);
	free(text);
	reject(reader, key, value ? wrong : "is missing", allowed);
}

/* An integer from @min to @max. */
static u64 read_integer(struct reader *reader, const char *key, u64 min, u64 max, u64 fallback)
{
	const json_t *value = read_value(reader, key);
	json_int_t number = json_integer_value(value);
	char allowed[ALLOWED_MAX];

	if (!value && fallback != REQUIRED)
		return fallback;
	if (json_is_integer(value) && number >= (json_int_t)min && (u64)number <= max)
		return (u64)number;
	snprintf(allowed, sizeof(allowed), "an integer from %llu to %llu", min, max);
	reject_value(reader, key, value, allowed);
	return min;
}

/* Each head of keys and values serves as many query heads. @key says how many there are. */
static void check_divisor(struct reader *reader, const char *key,
			  const struct hf_config *config)
{
	char wrong[ALLOWED_MAX], allowed[ALLOWED_MAX];

	if (config->num_attention_heads % config->num_key_value_heads == 0)
		return;
	snprintf(wrong, sizeof(wrong), "%llu does not divide num_attention_heads",
		 config->num_key_value_heads);
	snprintf(allowed, sizeof(allowed), "a divisor of %llu", config->num_attention_heads);
	reject(reader, key, wrong, allowed);
}

static bool read_bool(struct reader *reader, const char *key, bool fallback)
{
	const json_t *value = read_value(reader, key);

	if (value && !json_is_boolean(value))
		reject_value(reader, key, value, "true or false");
	return value ? json_is_true(value) : fallback;
}

/* The first of "architectures". NULL: it is none that is known. */
static const struct architecture *read_architecture(struct reader *reader)
{
	const json_t *list = read_value(reader, "architectures");
	const char *name = json_string_value(json_array_get(list, 0));
	char wrong[ALLOWED_MAX] = "is missing";
	char allowed[ALLOWED_MAX] = "";

	for (size_t i = 0; i < sizeof(architectures) / sizeof(architectures[0]); i++) {
		if (name && !strcmp(architectures[i].name, name))
			return &architectures[i];
		cfg_append(allowed, sizeof(allowed), "%s%s", i ? ", " : "",
			   architectures[i].name);
	}
	if (name)
		snprintf(wrong, sizeof(wrong), "\"%.64s\" is not known%s", name,
			 json_is_object(read_value(reader, "text_config")) ?
				 " (its text_config may be, as a file with architectures of "
				 "its own)" :
				 "");
	reject(reader, "architectures", wrong, allowed);
	return NULL;
}

/*
 * Newer files have "dtype" in place of "torch_dtype", and those of gpt-oss have neither. vLLM
 * takes a model without a type as one in float32, and runs these in 16 bits unless it is told
 * otherwise.
 */
static u64 read_width(struct reader *reader)
{
	bool newer = !read_value(reader, "torch_dtype") && read_value(reader, "dtype");
	const char *key = newer ? "dtype" : "torch_dtype";
	const json_t *type = read_value(reader, key);
	const char *name = json_string_value(type);

	if (type && (!name || (strcmp(name, "bfloat16") != 0 && strcmp(name, "float16") != 0 &&
			       strcmp(name, "float32") != 0)))
		reject_value(reader, key, type,
			     "bfloat16, float16, or float32, which runs in 16 bits");
	return 2;
}

/*
 * Qwen: layer i, from 0, has experts if i + 1 is a multiple of decoder_sparse_step and i is not
 * listed.
 */
static void read_expert_layers(struct reader *reader, struct hf_config *config)
{
	const json_t *dense = read_value(reader, "mlp_only_layers");
	u64 step = read_integer(reader, "decoder_sparse_step", 1, LAYERS_MAX, 1);

	if (dense && !json_is_array(dense))
		reject(reader, "mlp_only_layers", "is wrong", "a list of layers");
	for (u64 layer = 0; layer < config->num_hidden_layers; layer++) {
		bool listed = false;

		for (size_t i = 0; i < json_array_size(dense); i++)
			listed |= json_integer_value(json_array_get(dense, i)) ==
				  (json_int_t)layer;
		config->moe_layers += !listed && (layer + 1) % step == 0;
	}
}

/*
 * DeepSeek: layer i, from 0, has experts from first_k_dense_replace on, if moe_layer_freq
 * divides i. Shared experts are one of so many times the width.
 */
static void read_routed_experts(struct reader *reader, const struct architecture *architecture,
				struct hf_config *config)
{
	u64 first = read_integer(reader, "first_k_dense_replace", 0, LAYERS_MAX, 0);
	u64 every = read_integer(reader, "moe_layer_freq", 1, LAYERS_MAX, 1);
	u64 shared = read_integer(reader, "n_shared_experts", 0, HEADS_MAX, 0);
	const char *method = json_string_value(read_value(reader, "topk_method"));

	config->shared_expert_intermediate_size = shared * config->moe_intermediate_size;
	config->route_bias =
		architecture->route_bias || (method && !strcmp(method, "noaux_tc"));
	for (u64 layer = first; layer < config->num_hidden_layers; layer++)
		config->moe_layers += layer % every == 0;
}

static void read_experts(struct reader *reader, const struct architecture *architecture,
			 struct hf_config *config)
{
	static const char *const counts[] = {
		[EXPERTS_OF_QWEN] = "num_experts",
		[EXPERTS_OF_OLMO] = "num_experts",
		[EXPERTS_OF_MISTRAL] = "num_local_experts",
		[EXPERTS_OF_DEEPSEEK] = "n_routed_experts",
	};
	enum expert_keys keys = architecture->experts;

	config->num_experts =
		read_integer(reader, counts[keys], 1, SIZE_MAX_ELEMENTS, REQUIRED);
	config->num_experts_per_tok =
		read_integer(reader, "num_experts_per_tok", 1, config->num_experts, REQUIRED);
	config->moe_intermediate_size = config->intermediate_size;
	if (keys == EXPERTS_OF_QWEN || keys == EXPERTS_OF_DEEPSEEK)
		config->moe_intermediate_size = read_integer(reader, "moe_intermediate_size", 1,
							     SIZE_MAX_ELEMENTS, REQUIRED);
	config->expert_bias = architecture->sinks;
	config->shared_gate = architecture->shared_expert;
	if (config->shared_gate)
		config->shared_expert_intermediate_size =
			read_integer(reader, "shared_expert_intermediate_size", 1,
				     SIZE_MAX_ELEMENTS, REQUIRED);
	if (keys == EXPERTS_OF_DEEPSEEK)
		read_routed_experts(reader, architecture, config);
	else if (keys == EXPERTS_OF_QWEN)
		read_expert_layers(reader, config);
	else
		config->moe_layers = config->num_hidden_layers;
}

/*
 * Tokens that some layers look back at most; 0: all. As vLLM does: the window is the file's, or that
 * of Hugging Face's class where the file has no such key. Null is none.
 */
static u64 read_window(struct reader *reader, const struct architecture *architecture)
{
	if (!read_bool(reader, "use_sliding_window", !architecture->window_unused))
		return 0;
	if (!json_object_get(reader->root, "sliding_window"))
		return architecture->window;
	return read_integer(reader, "sliding_window", 1, SIZE_MAX_ELEMENTS, 0);
}

/* How many of the layers that are listed have the window. */
static u64 read_layer_types(struct reader *reader, const json_t *types, u64 layers)
{
	u64 count = 0;

	for (size_t i = 0; i < json_array_size(types); i++) {
		const char *type = json_string_value(json_array_get(types, i));

		if (!type || (strcmp(type, "sliding_attention") != 0 &&
			      strcmp(type, "full_attention") != 0))
			reject(reader, "layer_types", "has another kind of layer",
			       "a list of \"sliding_attention\" and \"full_attention\"");
		else
			count += *type == 's';
	}
	if (json_array_size(types) != layers)
		reject(reader, "layer_types", "has not one word for each layer",
		       "as many as num_hidden_layers");
	return count;
}

/*
 * How many layers have the window. vLLM refuses a Qwen with it in some layers only; Hugging Face
 * has it from max_window_layers on.
 */
static u64 read_window_layers(struct reader *reader, const struct architecture *architecture,
			      u64 layers)
{
	const json_t *types = read_value(reader, "layer_types");
	u64 first, pattern;

	if (types)
		return read_layer_types(reader, types, layers);
	switch (architecture->window_layers) {
	case WINDOW_OF_QWEN:
		first = read_integer(reader, "max_window_layers", 0, LAYERS_MAX, 28);
		return layers - (first < layers ? first : layers);
	case WINDOW_OF_GEMMA:
		pattern = read_integer(reader, "sliding_window_pattern", 1, LAYERS_MAX,
				       architecture->window_pattern);
		return layers - layers / pattern;
	case WINDOW_EVERYWHERE:
		break;
	}
	return layers;
}

/* Latent attention. Each query head has keys and values of its own, made of the same values. */
static void read_latent(struct reader *reader, struct hf_config *config)
{
	u64 plain = read_integer(reader, "qk_nope_head_dim", 1, HEADS_MAX, REQUIRED);

	config->kv_lora_rank =
		read_integer(reader, "kv_lora_rank", 1, SIZE_MAX_ELEMENTS, REQUIRED);
	config->q_lora_rank = read_integer(reader, "q_lora_rank", 1, SIZE_MAX_ELEMENTS, 0);
	config->rope_head_dim =
		read_integer(reader, "qk_rope_head_dim", 1, HEADS_MAX, REQUIRED);
	config->v_head_dim = read_integer(reader, "v_head_dim", 1, HEADS_MAX, REQUIRED);
	config->head_dim = plain + config->rope_head_dim;
	config->num_key_value_heads = 1;
	if (config->qkv_bias)
		reject(reader, "attention_bias", "true: not modelled with latent attention",
		       "false");
}

/* OPT has learned positions, two more than a sequence has tokens. */
static void read_opt(struct reader *reader, struct hf_config *config)
{
	u64 width = read_integer(reader, "word_embed_proj_dim", 1, SIZE_MAX_ELEMENTS,
				 config->hidden_size);

	if (width != config->hidden_size)
		reject(reader, "word_embed_proj_dim", "is not hidden_size",
		       "a model without projections of its embeddings");
	if (!read_bool(reader, "do_layer_norm_before", true))
		reject(reader, "do_layer_norm_before",
		       "false: norms after the layers are not modelled", "true");
	config->positions =
		2 + read_integer(reader, "max_position_embeddings", 1, SIZE_MAX_ELEMENTS, 2048);
	config->qkv_bias = config->o_bias = config->mlp_bias =
		read_bool(reader, "enable_bias", true);
}

/*
 * Falcon: one key head with multi_query, in its old form; "bias" is of all linear layers; a
 * layer has one norm where attention and MLP stand side by side, and two in its new form.
 */
static void read_falcon(struct reader *reader, struct hf_config *config)
{
	bool new_form = read_bool(reader, "new_decoder_architecture", false);
	bool beside = read_bool(reader, "parallel_attn", true);
	u64 norms = read_integer(reader, "num_ln_in_parallel_attn", 1, 2, new_form ? 2 : 1);

	if (new_form)
		config->num_key_value_heads =
			read_integer(reader, "num_kv_heads", 1, config->num_attention_heads,
				     config->num_attention_heads);
	else
		config->num_key_value_heads = read_bool(reader, "multi_query", true) ?
						      1 :
						      config->num_attention_heads;
	check_divisor(reader, "num_kv_heads", config);
	config->one_norm = beside && norms == 1;
	config->qkv_bias = config->o_bias = config->mlp_bias = read_bool(reader, "bias", false);
}

/* What depends on the architecture, and on keys that only some of them have. */
static void read_kind(struct reader *reader, const struct architecture *architecture,
		      struct hf_config *config)
{
	bool bias = read_bool(reader, "attention_bias", architecture->attention_bias);
	bool all = architecture->use_bias && read_bool(reader, "use_bias", true);
	bool asked = read_bool(reader, "use_qk_norm", false);
	bool may = architecture->may_qk_norm && asked;

	/* Of Phi. vLLM's class has no such norms and cannot load the file. */
	if (read_bool(reader, "qk_layernorm", false))
		reject(reader, "qk_layernorm",
		       "true: vLLM's model has no norms of queries and keys", "false");
	config->tie_word_embeddings =
		read_bool(reader, "tie_word_embeddings", architecture->tied);
	config->qkv_bias = architecture->qkv_bias || bias || all;
	config->o_bias = architecture->o_bias || (bias && !architecture->only_qkv) || all;
	config->mlp_bias =
		read_bool(reader, "mlp_bias", false) || architecture->mlp_bias || all;
	config->head_bias = architecture->head_bias;
	config->qk_norm = architecture->qk_norm || may || (architecture->head_qk_norm && asked);
	config->wide_norms = architecture->wide_norms || may;
	config->plain_mlp = architecture->plain_mlp;
	config->norm_bias = architecture->norm_bias;
	config->one_norm = architecture->one_norm;
	config->four_norms = architecture->four_norms;
	config->sinks = architecture->sinks;
	config->sliding_window = read_window(reader, architecture);
	if (config->sliding_window)
		config->window_layers =
			read_window_layers(reader, architecture, config->num_hidden_layers);
	if (!config->window_layers)
		config->sliding_window = 0;
	if (architecture->latent)
		read_latent(reader, config);
	if (architecture->family == OPT)
		read_opt(reader, config);
	if (architecture->family == FALCON)
		read_falcon(reader, config);
}

/*
 * Weights in 4 bits. AWQ's files and GPTQ's have the same keys for bits and groups. vLLM keeps
 * zero points of AWQ unless the file says that there are none, and those of GPTQ where "sym" is
 * false (quantization/awq_marlin.py, gptq_marlin.py, and kernels/mixed_precision/marlin.py,
 * which frees the others).
 */
static void read_int4(struct reader *reader, const json_t *quantization, bool awq,
		      struct hf_config *config)
{
	struct reader inside = *reader;
	const json_t *bits = json_object_get(quantization, "bits");
	const json_t *group = json_object_get(quantization, "group_size");
	const json_t *plain = json_object_get(quantization, "modules_to_not_convert");

	inside.root = quantization;
	inside.within = "quantization_config.";
	config->int4 = true;
	if (json_integer_value(bits) != 4)
		reject_value(&inside, "bits", bits, "4");
	/* -1: a whole row. */
	if (!json_is_integer(group) || json_integer_value(group) != -1)
		config->group =
			read_integer(&inside, "group_size", 1, SIZE_MAX_ELEMENTS, REQUIRED);
	config->zero_points =
		awq ? read_bool(&inside, "zero_point", true) : !read_bool(&inside, "sym", true);
	if (read_bool(&inside, "desc_act", false))
		reject(&inside, "desc_act", "true: columns in another order are not modelled",
		       "false");
	if (read_bool(&inside, "lm_head", false))
		reject(&inside, "lm_head", "true: an output layer in 4 bits is not modelled",
		       "false");
	/* The router of experts, which is never quantized here. */
	for (size_t i = 0; i < json_array_size(plain); i++) {
		const char *name = json_string_value(json_array_get(plain, i));

		if (!name || (strcmp(name, "gate") != 0 && strcmp(name, "mlp.gate") != 0))
			reject(&inside, "modules_to_not_convert",
			       "has a layer that stays in 16 bits, which is not modelled",
			       "null, or a list of \"gate\" and \"mlp.gate\"");
	}
	reader->status = inside.status;
}

/*
 * Quantized are the weights of linear layers, but not the router of experts and the output
 * layer.
 */
static void read_quantization(struct reader *reader, struct hf_config *config)
{
	const json_t *quantization = read_value(reader, "quantization_config");
	const json_t *block = json_object_get(quantization, "weight_block_size");
	const json_t *method = json_object_get(quantization, "quant_method");
	const char *name = json_string_value(method);

	if (!quantization)
		return;
	if (name && (!strcmp(name, "awq") || !strcmp(name, "gptq"))) {
		read_int4(reader, quantization, !strcmp(name, "awq"), config);
		return;
	}
	config->fp8 = name && !strcmp(name, "fp8");
	config->mxfp4 = name && !strcmp(name, "mxfp4") && config->moe_layers;
	if (!config->fp8 && !config->mxfp4)
		reject_value(reader, "quantization_config.quant_method", method,
			     config->moe_layers ? "fp8, awq, gptq, mxfp4" : "fp8, awq, gptq");
	if (!block || json_is_null(block))
		return;
	for (size_t i = 0; i < 2; i++) {
		json_int_t size = json_integer_value(json_array_get(block, i));

		config->scale_block[i] = size > 0 ? (u64)size : 0;
	}
	if (json_array_size(block) != 2 || !config->scale_block[0] || !config->scale_block[1])
		reject(reader, "quantization_config.weight_block_size", "is wrong",
		       "a list of two integers of at least 1");
}

int hf_config_read(const json_t *root, const char *file, struct hf_config *ret_config,
		   struct sim_error *err)
{
	struct reader reader = { root, file, err, 0, NULL };
	const struct architecture *architecture = read_architecture(&reader);
	static const char *const intermediate[] = {
		[OTHER] = "intermediate_size",
		[OPT] = "ffn_dim",
		[FALCON] = "ffn_hidden_size",
	};
	struct hf_config config = { 0 };

	if (!architecture)
		return reader.status;
	config.hidden_size =
		read_integer(&reader, "hidden_size", 1, SIZE_MAX_ELEMENTS, REQUIRED);
	config.intermediate_size = read_integer(
		&reader, intermediate[architecture->family], 1, SIZE_MAX_ELEMENTS,
		architecture->family == FALCON ? 4 * config.hidden_size : REQUIRED);
	config.num_hidden_layers =
		read_integer(&reader, "num_hidden_layers", 1, LAYERS_MAX, REQUIRED);
	config.num_attention_heads =
		read_integer(&reader, "num_attention_heads", 1, HEADS_MAX, REQUIRED);
	config.num_key_value_heads = read_integer(
		&reader, "num_key_value_heads", 1, config.num_attention_heads,
		architecture->key_per_query ? config.num_attention_heads : REQUIRED);
	check_divisor(&reader, "num_key_value_heads", &config);
	config.vocab_size = read_integer(&reader, "vocab_size", 1, SIZE_MAX_ELEMENTS, REQUIRED);
	config.head_dim = read_integer(&reader, "head_dim", 1, HEADS_MAX,
				       architecture->head_dim ?
					       architecture->head_dim :
					       config.hidden_size / config.num_attention_heads);
	if (!config.head_dim)
		reject(&reader, "head_dim", "is missing", "an integer from 1 to 65536");
	read_kind(&reader, architecture, &config);
	config.width = read_width(&reader);
	if (architecture->experts)
		read_experts(&reader, architecture, &config);
	read_quantization(&reader, &config);
	*ret_config = config;
	return reader.status;
}
