// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The numbers that follow from a model's config.json. The published counts are those of the
 * model cards.
 */
#include "apps/llm_model.h"

#include <jansson.h>
#include <limits.h>

#include "apps/hf_config.h"
#include "config/config.h"
#include "config/paths.h"
#include "engine/error.h"
#include "gvm/port.h"
#include "suite.h"

static struct hf_config config;
static struct llm_model model;

/* Compute the model of this config.json. */
static void compute(json_t *root, enum llm_quantization form)
{
	struct sim_error error;

	ck_assert_ptr_nonnull(root);
	ck_assert_msg(hf_config_read(root, "config.json", &config, &error) == 0, "%s",
		      error.text);
	json_decref(root);
	llm_model_compute(&config, form, &model);
}

/* Compute a model that comes with gvmsim. */
static void compute_shipped(const char *name, enum llm_quantization form)
{
	struct sim_error error;
	json_error_t bad;
	char file[PATH_MAX];
	char inside[128];

	snprintf(inside, sizeof(inside), "%s/config.json", name);
	ck_assert_int_eq(
		config_find_data("scenarios/models", inside, file, sizeof(file), &error), 0);
	compute(json_load_file(file, 0, &bad), form);
}

/* A model's text with ' for ". */
static void compute_text(const char *text, enum llm_quantization form)
{
	char whole[1536];
	json_error_t bad;

	snprintf(whole, sizeof(whole), "{'architectures': [%s}", text);
	for (char *c = whole; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	compute(json_loads(whole, 0, &bad), form);
}

START_TEST(parameters_are_as_published)
{
	compute_shipped("Llama-3.1-8B", LLM_NO_QUANTIZATION);
	ck_assert_uint_eq(model.parameters, 8030261248);
	ck_assert_uint_eq(model.active_parameters, 8030261248);
	ck_assert_uint_eq(model.weights, 2 * 8030261248);
	compute_shipped("Llama-3.3-70B", LLM_NO_QUANTIZATION);
	ck_assert_uint_eq(model.parameters, 70553706496);
	ck_assert_uint_eq(model.weights, 2 * 70553706496);
	compute_shipped("Qwen2.5-7B", LLM_NO_QUANTIZATION);
	ck_assert_uint_eq(model.parameters, 7615616512);
	ck_assert_uint_eq(model.weights, 2 * 7615616512);
	compute_shipped("Qwen3-30B-A3B", LLM_NO_QUANTIZATION);
	ck_assert_uint_eq(model.parameters, 30532122624);
	ck_assert_uint_eq(model.active_parameters, 3353032704);
	ck_assert_uint_eq(model.weights, 2 * 30532122624);
	compute_shipped("DeepSeek-V2-Lite", LLM_NO_QUANTIZATION);
	ck_assert_uint_eq(model.parameters, 15706484224);
	compute_shipped("gpt-oss-20b", LLM_MXFP4);
	ck_assert_uint_eq(model.parameters, 20914757184);
	ck_assert_uint_eq(llm_model_form(&config), LLM_MXFP4);
}
END_TEST

/*
 * Other architectures, by the keys of one model's file each. The counts are those that Hugging
 * Face shows for its weights.
 */
static const struct {
	const char *text;
	u64 parameters, active, kernels;
} architectures[] = {
	/* gemma-2b */
	{ "'GemmaForCausalLM'], 'hidden_size': 2048, 'intermediate_size': 16384, "
	  "'num_hidden_layers': 18, 'num_attention_heads': 8, 'num_key_value_heads': "
	  "1, "
	  "'head_dim': 256, 'vocab_size': 256000, 'torch_dtype': 'bfloat16'",
	  2506172416, 2506172416, 18 * 10 + 20 },
	/* gemma-2-2b */
	{ "'Gemma2ForCausalLM'], 'hidden_size': 2304, 'intermediate_size': 9216, "
	  "'num_hidden_layers': 26, 'num_attention_heads': 8, 'num_key_value_heads': "
	  "4, "
	  "'head_dim': 256, 'vocab_size': 256000, 'torch_dtype': 'float32'",
	  2614341888, 2614341888, 26 * 12 + 20 },
	/* gemma-3-1b-it */
	{ "'Gemma3ForCausalLM'], 'hidden_size': 1152, 'intermediate_size': 6912, "
	  "'num_hidden_layers': 26, 'num_attention_heads': 4, 'num_key_value_heads': "
	  "1, "
	  "'head_dim': 256, 'vocab_size': 262144, 'torch_dtype': 'bfloat16'",
	  999885952, 999885952, 26 * 14 + 20 },
	/* phi-2 */
	{ "'PhiForCausalLM'], 'hidden_size': 2560, 'intermediate_size': 10240, "
	  "'num_hidden_layers': 32, 'num_attention_heads': 32, 'num_key_value_heads': "
	  "32, 'tie_word_embeddings': false, 'vocab_size': 51200, 'torch_dtype': "
	  "'float16'",
	  2779683840, 2779683840, 32 * 9 + 20 },
	/* Phi-3-mini-4k-instruct */
	{ "'Phi3ForCausalLM'], 'hidden_size': 3072, 'intermediate_size': 8192, "
	  "'num_hidden_layers': 32, 'num_attention_heads': 32, 'num_key_value_heads': "
	  "32, 'vocab_size': 32064, 'torch_dtype': 'bfloat16'",
	  3821079552, 3821079552, 32 * 10 + 20 },
	/* granite-3.0-8b-instruct */
	{ "'GraniteForCausalLM'], 'hidden_size': 4096, 'intermediate_size': 12800, "
	  "'num_hidden_layers': 40, 'num_attention_heads': 32, 'num_key_value_heads': "
	  "8, 'tie_word_embeddings': true, 'vocab_size': 49155, 'torch_dtype': "
	  "'bfloat16'",
	  8170848256, 8170848256, 40 * 10 + 20 },
	/* GLM-4-9B-0414 */
	{ "'Glm4ForCausalLM'], 'hidden_size': 4096, 'intermediate_size': 13696, "
	  "'num_hidden_layers': 40, 'num_attention_heads': 32, 'num_key_value_heads': "
	  "2, 'attention_bias': true, 'vocab_size': 151552, 'torch_dtype': 'bfloat16'",
	  9400279040, 9400279040, 40 * 12 + 20 },
	/* OLMo-2-1124-7B */
	{ "'Olmo2ForCausalLM'], 'hidden_size': 4096, 'intermediate_size': 11008, "
	  "'num_hidden_layers': 32, 'num_attention_heads': 32, 'num_key_value_heads': "
	  "32, 'vocab_size': 100352, 'torch_dtype': 'float32'",
	  7298617344, 7298617344, 32 * 12 + 20 },
	/* SmolLM3-3B */
	{ "'SmolLM3ForCausalLM'], 'hidden_size': 2048, 'intermediate_size': 11008, "
	  "'num_hidden_layers': 36, 'num_attention_heads': 16, 'num_key_value_heads': "
	  "4, 'vocab_size': 128256, 'torch_dtype': 'bfloat16'",
	  3075098624, 3075098624, 36 * 10 + 20 },
	/* starcoder2-3b */
	{ "'Starcoder2ForCausalLM'], 'hidden_size': 3072, 'intermediate_size': 12288, "
	  "'num_hidden_layers': 30, 'num_attention_heads': 24, 'num_key_value_heads': "
	  "2, 'use_bias': true, 'vocab_size': 49152, 'torch_dtype': 'float32'",
	  3030371328, 3030371328, 30 * 10 + 20 },
	/* c4ai-command-r-v01 */
	{ "'CohereForCausalLM'], 'hidden_size': 8192, 'intermediate_size': 22528, "
	  "'num_hidden_layers': 40, 'num_attention_heads': 64, 'num_key_value_heads': "
	  "64, 'vocab_size': 256000, 'torch_dtype': 'float16'",
	  34980831232, 34980831232, 40 * 9 + 20 },
	/* Mixtral-8x7B-v0.1: six of eight experts are idle */
	{ "'MixtralForCausalLM'], 'hidden_size': 4096, 'intermediate_size': 14336, "
	  "'num_hidden_layers': 32, 'num_attention_heads': 32, 'num_key_value_heads': "
	  "8, 'num_local_experts': 8, 'num_experts_per_tok': 2, 'vocab_size': 32000, "
	  "'torch_dtype': 'bfloat16'",
	  46702792704, 46702792704 - 32ull * 6 * 3 * 4096 * 14336, 32 * 15 + 20 },
	/* Qwen1.5-MoE-A2.7B: an expert that all tokens use, and its gate */
	{ "'Qwen2MoeForCausalLM'], 'hidden_size': 2048, 'intermediate_size': 5632, "
	  "'moe_intermediate_size': 1408, 'shared_expert_intermediate_size': 5632, "
	  "'num_experts': 60, 'num_experts_per_tok': 4, 'num_hidden_layers': 24, "
	  "'num_attention_heads': 16, 'num_key_value_heads': 16, 'vocab_size': 151936, "
	  "'torch_dtype': 'bfloat16'",
	  14315784192, 14315784192 - 24ull * 56 * 3 * 2048 * 1408, 24 * 20 + 20 },
	/* OLMoE-1B-7B-0924 */
	{ "'OlmoeForCausalLM'], 'hidden_size': 2048, 'intermediate_size': 1024, "
	  "'num_experts': 64, 'num_experts_per_tok': 8, 'num_hidden_layers': 16, "
	  "'num_attention_heads': 16, 'num_key_value_heads': 16, 'vocab_size': 50304, "
	  "'torch_dtype': 'bfloat16'",
	  6919161856, 6919161856 - 16ull * 56 * 3 * 2048 * 1024, 16 * 17 + 20 },
	/* granite-3.1-3b-a800m-instruct */
	{ "'GraniteMoeForCausalLM'], 'hidden_size': 1536, 'intermediate_size': 512, "
	  "'num_local_experts': 40, 'num_experts_per_tok': 8, 'num_hidden_layers': 32, "
	  "'num_attention_heads': 24, 'num_key_value_heads': 8, 'vocab_size': 49155, "
	  "'tie_word_embeddings': true, 'torch_dtype': 'bfloat16'",
	  3298793472, 3298793472 - 32ull * 32 * 3 * 1536 * 512, 32 * 15 + 20 },
	/* pythia-2.8b: biases everywhere */
	{ "'GPTNeoXForCausalLM'], 'hidden_size': 2560, 'intermediate_size': 10240, "
	  "'num_hidden_layers': 32, 'num_attention_heads': 32, 'vocab_size': 50304, "
	  "'tie_word_embeddings': false, 'torch_dtype': 'float16'",
	  2775208960, 2775208960, 32 * 10 + 20 },
	/* opt-6.7b: a table of 2050 positions */
	{ "'OPTForCausalLM'], 'hidden_size': 4096, 'ffn_dim': 16384, "
	  "'num_hidden_layers': 32, 'num_attention_heads': 32, 'vocab_size': 50272, "
	  "'max_position_embeddings': 2048, 'word_embed_proj_dim': 4096, "
	  "'do_layer_norm_before': true, 'torch_dtype': 'float16'",
	  6658473984, 6658473984, 32 * 10 + 20 },
	/* falcon-7b: one key head, and one norm a layer */
	{ "'FalconForCausalLM'], 'hidden_size': 4544, 'num_hidden_layers': 32, "
	  "'num_attention_heads': 71, 'num_kv_heads': 71, 'vocab_size': 65024, "
	  "'multi_query': true, 'parallel_attn': true, 'bias': false, "
	  "'new_decoder_architecture': false, 'torch_dtype': 'bfloat16'",
	  6921720704, 6921720704, 32 * 9 + 20 },
	/* falcon-40b: eight key heads, and two norms */
	{ "'FalconForCausalLM'], 'hidden_size': 8192, 'num_hidden_layers': 60, "
	  "'num_attention_heads': 128, 'num_kv_heads': 8, 'vocab_size': 65024, "
	  "'parallel_attn': true, 'bias': false, 'new_decoder_architecture': true, "
	  "'torch_dtype': 'bfloat16'",
	  41303293952, 41303293952, 60 * 10 + 20 },
	/* DeepSeek-V2-Lite: 16 B in all, 2.4 of them used, as its card has without a table */
	{ "'DeepseekV2ForCausalLM'], 'hidden_size': 2048, 'intermediate_size': 10944, "
	  "'num_hidden_layers': 27, 'num_attention_heads': 16, 'num_key_value_heads': "
	  "16, 'vocab_size': 102400, 'kv_lora_rank': 512, 'q_lora_rank': null, "
	  "'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128, "
	  "'n_routed_experts': 64, 'n_shared_experts': 2, 'num_experts_per_tok': 6, "
	  "'moe_intermediate_size': 1408, 'first_k_dense_replace': 1, "
	  "'moe_layer_freq': 1, 'topk_method': 'greedy', 'torch_dtype': 'bfloat16'",
	  15706484224, 15706484224 - 26ull * 58 * 3 * 2048 * 1408, 27 * 14 + 26 * 9 + 20 },
};

START_TEST(parameters_of_other_architectures_are_as_published)
{
	for (size_t i = 0; i < ARRAY_SIZE(architectures); i++) {
		compute_text(architectures[i].text, LLM_NO_QUANTIZATION);
		ck_assert_msg(model.parameters == architectures[i].parameters, "%s: %llu",
			      architectures[i].text, model.parameters);
		ck_assert_uint_eq(model.active_parameters, architectures[i].active);
		ck_assert_uint_eq(model.weights, 2 * architectures[i].parameters);
		ck_assert_uint_eq(model.kernels_per_step, architectures[i].kernels);
	}
}
END_TEST

/*
 * 671 B, of which 37 are used, without the layer of speculative decoding; 70.272 KB of KV a
 * token (DeepSeek-AI, "Insights into DeepSeek-V3", ISCA 2025, table 1).
 */
START_TEST(deepseek_v3_is_as_published)
{
	u64 layer, expert = 3ull * 7168 * 2048;

	compute_text(
		"'DeepseekV3ForCausalLM'], 'hidden_size': 7168, 'intermediate_size': 18432, "
		"'num_hidden_layers': 61, 'num_attention_heads': 128, "
		"'num_key_value_heads': 128, 'vocab_size': 129280, 'kv_lora_rank': 512, "
		"'q_lora_rank': 1536, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, "
		"'v_head_dim': 128, 'n_routed_experts': 256, 'n_shared_experts': 1, "
		"'num_experts_per_tok': 8, 'moe_intermediate_size': 2048, "
		"'first_k_dense_replace': 3, 'moe_layer_freq': 1, 'topk_method': "
		"'noaux_tc', 'torch_dtype': 'bfloat16', 'num_nextn_predict_layers': 1",
		LLM_NO_QUANTIZATION);
	ck_assert_uint_eq(model.parameters, 671026419200);
	ck_assert_uint_eq(model.active_parameters, 671026419200 - 58 * 248 * expert);
	ck_assert_uint_eq(model.active_parameters / 100000000, 375); /* 36.6 without a table */
	ck_assert_uint_eq(model.kv_bytes_per_token, 70272);
	ck_assert_uint_eq(model.weights, 2 * 671026419200 + 2 * 58 * 256);
	layer = 7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 +
		128 * 128 * 7168;
	ck_assert_uint_eq(model.flops_per_token, 2 * (61 * layer + 3 * 3ull * 7168 * 18432 +
						      58 * (9 * expert + 7168 * 256)));
	ck_assert_uint_eq(model.attention_flops, 61 * 128 * 2 * (192 + 128));
	ck_assert_uint_eq(model.latent_decode_flops, 61 * 128 * 2 * (576 + 512));
	ck_assert_uint_eq(model.latent_expand_flops, 61ull * 2 * 512 * 128 * 256);
	ck_assert_uint_eq(model.attention_group, 128);
	ck_assert_uint_eq(model.weight_matrices, 3 * 6 + 58 * (7 + 2) + 1);
}
END_TEST

/*
 * Table 1 of OpenAI's model card: 20.91 and 116.83 B, 3.61 and 5.13 used, the table of
 * embeddings not among these, and 12.8 and 60.8 GiB. The published files have no torch_dtype.
 */
START_TEST(gpt_oss_is_as_published)
{
	static const struct {
		u64 layers, experts, parameters, active, gib;
	} cases[] = { { 24, 32, 2091, 361, 128 }, { 36, 128, 11683, 513, 608 } };

	for (size_t i = 0; i < 2; i++) {
		char text[512];

		snprintf(
			text, sizeof(text),
			"'GptOssForCausalLM'], 'hidden_size': 2880, 'intermediate_size': 2880, "
			"'num_hidden_layers': %llu, 'num_attention_heads': 64, "
			"'num_key_value_heads': 8, 'head_dim': 64, 'vocab_size': 201088, "
			"'num_local_experts': %llu, 'num_experts_per_tok': 4, "
			"'sliding_window': 128, 'attention_bias': true, "
			"'quantization_config': {'quant_method': 'mxfp4'}",
			cases[i].layers, cases[i].experts);
		compute_text(text, LLM_MXFP4);
		ck_assert(config.mxfp4);
		ck_assert_uint_eq(llm_model_form(&config), LLM_MXFP4);
		/* Rounded to 10 M, and to a tenth of a GiB. */
		ck_assert_uint_eq((model.parameters + 5000000) / 10000000, cases[i].parameters);
		ck_assert_uint_eq((model.active_parameters - 201088ull * 2880 + 5000000) /
					  10000000,
				  cases[i].active);
		ck_assert_uint_eq((model.weights * 10 + (1 << 29)) >> 30, cases[i].gib);
		ck_assert_uint_eq(model.window, 128);
		ck_assert_uint_eq(model.window_layers, cases[i].layers / 2);
		ck_assert_uint_eq(model.expert_weights, cases[i].layers * cases[i].experts * 3 *
								2880 * 2880 * 17 / 32);
	}
}
END_TEST

/* 106 B, of which 12 are used: one of 46 layers is dense. */
START_TEST(glm_4_5_air_is_as_published)
{
	compute_text(
		"'Glm4MoeForCausalLM'], 'hidden_size': 4096, 'intermediate_size': 10944, "
		"'num_hidden_layers': 46, 'num_attention_heads': 96, "
		"'num_key_value_heads': 8, 'head_dim': 128, 'vocab_size': 151552, "
		"'attention_bias': true, 'use_qk_norm': false, 'n_routed_experts': 128, "
		"'n_shared_experts': 1, 'num_experts_per_tok': 8, 'moe_intermediate_size': "
		"1408, 'first_k_dense_replace': 1, 'torch_dtype': 'bfloat16'",
		LLM_NO_QUANTIZATION);
	ck_assert_uint_eq(model.parameters / 1000000000, 106);
	ck_assert_uint_eq(model.parameters - model.active_parameters,
			  45ull * 120 * 3 * 4096 * 1408);
	ck_assert_uint_eq(model.flops_per_token / 2000000000, 12);
}
END_TEST

/* Up and down alone are multiplied, and a token reads and writes what is between them. */
START_TEST(an_mlp_without_a_gate_has_two_matrices)
{
	static const char text[] =
		"{\"architectures\": [\"Starcoder2ForCausalLM\"], \"hidden_size\": 8, "
		"\"intermediate_size\": 100, \"num_hidden_layers\": 3, "
		"\"num_attention_heads\": 2, \"num_key_value_heads\": 1, \"vocab_size\": 10, "
		"\"use_bias\": false, \"torch_dtype\": \"float16\"}";
	json_error_t bad;

	compute(json_loads(text, 0, &bad), LLM_NO_QUANTIZATION);
	ck_assert_uint_eq(model.flops_per_token, 2 * 3 * (64 + 32 + 32 + 64 + 2 * 8 * 100));
	ck_assert_uint_eq(model.traffic_per_token,
			  2 * 3 * (2 * 4 * 8 + 3 * (8 + 2 * 4) + 2 * 100));
	/* A table, and weights and biases of seven norms. */
	ck_assert_uint_eq(model.parameters,
			  80 + 7 * 2 * 8 + 3 * (64 + 32 + 32 + 64 + 2 * 8 * 100));
}
END_TEST

/*
 * The model of the shipped profile vllm-llama-3.2-3b, whose rounded numbers have other sources.
 */
START_TEST(numbers_agree_with_the_profile_that_was_made_by_hand)
{
	compute(json_pack("{s:[s], s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:b, s:s}",
			  "architectures", "LlamaForCausalLM", "hidden_size", 3072,
			  "intermediate_size", 8192, "num_hidden_layers", 28,
			  "num_attention_heads", 24, "num_key_value_heads", 8, "head_dim", 128,
			  "vocab_size", 128256, "tie_word_embeddings", 1, "torch_dtype",
			  "bfloat16"),
		LLM_NO_QUANTIZATION);
	ck_assert_uint_eq(model.parameters, 3212749824);
	ck_assert_uint_eq(model.weights, 6425499648);
	ck_assert_uint_eq(model.embeddings, 0);
	ck_assert_uint_eq(model.kv_bytes_per_token, 114688);
	ck_assert_uint_eq(model.attention_flops, 344064);
	ck_assert_uint_eq(model.attention_group, 3);
	ck_assert_uint_eq(model.kernels_per_step, 300);
	ck_assert_uint_eq(model.weight_matrices, 113);
	ck_assert_uint_eq(model.layers, 28);
	ck_assert_uint_eq(model.flops_per_token, 5637144576); /* 5.64e9 */
	ck_assert_uint_eq(model.head_flops, 788004864);	      /* 788e6 */
	ck_assert_uint_eq(model.traffic_per_token, 3612672);  /* 3.6e6 */
	ck_assert_uint_eq(model.expert_weights, 0);
	ck_assert_uint_eq(model.experts, 0);
}
END_TEST

/* Layer of 128 experts of 3 x 2048 x 768; norms of 128 for queries and keys. */
START_TEST(experts_count_by_those_that_a_token_uses)
{
	compute_shipped("Qwen3-30B-A3B", LLM_NO_QUANTIZATION);
	ck_assert_uint_eq(model.expert_weights, 48ull * 128 * 3 * 2048 * 768 * 2);
	ck_assert_uint_eq(model.experts, 128);
	ck_assert_uint_eq(model.experts_per_token, 8);
	ck_assert_uint_eq(model.kv_bytes_per_token, 98304);
	ck_assert_uint_eq(model.flops_per_token, 2 * 48ull *
							 (2048 * 4096 * 2 + 2048 * 512 * 2 +
							  2048 * 128 + 8 * 3 * 2048 * 768));
	ck_assert_uint_eq(model.kernels_per_step, 48 * (10 + 2 + 5) + 20);
	ck_assert_uint_eq(model.weight_matrices, 48 * 5 + 1);
	ck_assert_uint_eq(model.attention_group, 8);
}
END_TEST

/* Of four layers, number 2 and 4 would have experts, and number 4 is listed as dense. */
START_TEST(only_some_layers_have_experts)
{
	compute(json_pack(
			"{s:[s], s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:[i], s:s}",
			"architectures", "Qwen3MoeForCausalLM", "hidden_size", 8,
			"intermediate_size", 100, "num_hidden_layers", 4, "num_attention_heads",
			2, "num_key_value_heads", 1, "vocab_size", 10, "num_experts", 4,
			"num_experts_per_tok", 1, "moe_intermediate_size", 16,
			"decoder_sparse_step", 2, "mlp_only_layers", 3, "dtype", "float16"),
		LLM_NO_QUANTIZATION);
	ck_assert_uint_eq(config.moe_layers, 1);
	ck_assert_uint_eq(config.head_dim, 4);
	ck_assert_uint_eq(model.expert_weights, 4 * 3 * 8 * 16 * 2);
	/*
	 * Two tables, the last norm; attention and norms of 4 layers; 3 MLPs; the router;
	 * experts.
	 */
	ck_assert_uint_eq(model.parameters, 2 * 80 + 8 + 4 * (64 + 32 + 32 + 64 + 16 + 8) +
						    3 * 3 * 8 * 100 + 4 * 8 + 4 * 3 * 8 * 16);
	ck_assert_uint_eq(model.weight_matrices, 3 * 4 + 5 + 1);
	ck_assert_uint_eq(model.kernels_per_step, 4 * 12 + 5 + 20);
}
END_TEST

/*
 * Queries, keys, values; with attention_bias the output, too; with mlp_bias gate, up and down.
 */
START_TEST(biases_are_counted_where_a_model_has_them)
{
	static const char text[] =
		"{\"architectures\": [\"%s\"], \"hidden_size\": 8, \"intermediate_size\": 100, "
		"\"num_hidden_layers\": 3, \"num_attention_heads\": 2, "
		"\"num_key_value_heads\": 1, \"vocab_size\": 10, \"torch_dtype\": "
		"\"bfloat16\"%s}";
	static const struct {
		const char *architecture;
		const char *keys;
		u64 biases;
	} cases[] = {
		{ "LlamaForCausalLM", "", 0 },
		{ "MistralForCausalLM", ", \"sliding_window\": null", 0 },
		{ "Qwen2ForCausalLM", ", \"sliding_window\": 5, \"use_sliding_window\": false",
		  3 * (8 + 4 + 4) },
		{ "LlamaForCausalLM", ", \"attention_bias\": true", 3 * (8 + 4 + 4 + 8) },
		{ "LlamaForCausalLM", ", \"mlp_bias\": true", 3 * (100 + 100 + 8) },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char whole[512];
		json_error_t bad;

		snprintf(whole, sizeof(whole), text, cases[i].architecture, cases[i].keys);
		compute(json_loads(whole, 0, &bad), LLM_NO_QUANTIZATION);
		ck_assert_uint_eq(model.parameters, 2 * 80 + 8 + 3 * (64 + 32 + 32 + 64 + 16) +
							    3 * 3 * 8 * 100 + cases[i].biases);
	}
}
END_TEST

/* A config.json of Llama 1 is from before heads of keys were shared. */
START_TEST(sizes_that_llama_1_and_qwen3_leave_out_are_hugging_faces)
{
	compute(json_pack("{s:[s], s:i, s:i, s:i, s:i, s:i, s:s}", "architectures",
			  "LlamaForCausalLM", "hidden_size", 4096, "intermediate_size", 11008,
			  "num_hidden_layers", 32, "num_attention_heads", 32, "vocab_size",
			  32000, "torch_dtype", "float16"),
		LLM_NO_QUANTIZATION);
	ck_assert_uint_eq(config.num_key_value_heads, 32);
	ck_assert_uint_eq(config.head_dim, 128);
	ck_assert_uint_eq(model.parameters, 6738415616);
	/* Qwen3-0.6B without its head_dim: not 1024 / 16. */
	compute(json_pack("{s:[s], s:i, s:i, s:i, s:i, s:i, s:i, s:b, s:s}", "architectures",
			  "Qwen3ForCausalLM", "hidden_size", 1024, "intermediate_size", 3072,
			  "num_hidden_layers", 28, "num_attention_heads", 16,
			  "num_key_value_heads", 8, "vocab_size", 151936, "tie_word_embeddings",
			  1, "torch_dtype", "bfloat16"),
		LLM_NO_QUANTIZATION);
	ck_assert_uint_eq(config.head_dim, 128);
	ck_assert_uint_eq(model.parameters, 596049920);
}
END_TEST

/* Hugging Face would take 8 for Mistral and 32 for Qwen2, whatever the model's size is. */
START_TEST(other_models_must_say_their_heads_of_keys)
{
	json_t *root = json_pack("{s:[s], s:i, s:i, s:i, s:i, s:i, s:s}", "architectures",
				 "MistralForCausalLM", "hidden_size", 4096, "intermediate_size",
				 11008, "num_hidden_layers", 32, "num_attention_heads", 32,
				 "vocab_size", 32000, "torch_dtype", "float16");
	struct sim_error error = { 0 };

	ck_assert_int_eq(hf_config_read(root, "config.json", &config, &error), -SIM_EXIT_USER);
	ck_assert_str_eq(error.text, "config.json:num_key_value_heads: is missing, allowed: an "
				     "integer from 1 to 32");
	json_decref(root);
}
END_TEST

/*
 * vLLM takes the window of Hugging Face's class: 4096 for Mistral where the key is missing, none
 * where it is null. The classes of Qwen have a window with use_sliding_window only, which is
 * false where it is missing.
 */
START_TEST(windows_of_attention_are_those_of_vllm)
{
	static const char text[] =
		"{\"architectures\": [\"%sForCausalLM\"], \"hidden_size\": 8, "
		"\"intermediate_size\": 100, \"num_hidden_layers\": 3, "
		"\"num_attention_heads\": 2, \"num_key_value_heads\": 1, \"vocab_size\": 10, "
		"\"torch_dtype\": \"bfloat16\"%s}";
	static const struct {
		const char *architecture, *keys;
		u64 window, layers;
	} cases[] = {
		{ "Mistral", "", 4096, 3 },
		{ "Mistral", ", \"sliding_window\": null", 0, 0 },
		{ "Mistral", ", \"sliding_window\": 1024", 1024, 3 },
		{ "Mistral", ", \"use_sliding_window\": false", 0, 0 },
		{ "Llama", "", 0, 0 },
		{ "Llama", ", \"sliding_window\": 4096", 4096, 3 },
		{ "Qwen2", "", 0, 0 },
		{ "Qwen2", ", \"sliding_window\": 1024", 0, 0 },
		{ "Qwen2",
		  ", \"sliding_window\": 1024, \"use_sliding_window\": true, "
		  "\"max_window_layers\": 1",
		  1024, 2 },
		/* Hugging Face has max_window_layers 28. */
		{ "Qwen2", ", \"sliding_window\": 1024, \"use_sliding_window\": true", 0, 0 },
		{ "Qwen3", ", \"sliding_window\": null, \"use_sliding_window\": true", 0, 0 },
		{ "Qwen3", ", \"use_sliding_window\": true, \"max_window_layers\": 0", 4096,
		  3 },
		/* Layers 1 and 3 of three; all but each third. */
		{ "Gemma2", "", 4096, 2 },
		{ "Gemma3", "", 4096, 3 },
		{ "Gemma3", ", \"sliding_window_pattern\": 3", 4096, 2 },
		{ "Gemma3",
		  ", \"layer_types\": [\"full_attention\", \"sliding_attention\", "
		  "\"full_attention\"]",
		  4096, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sim_error error = { 0 };
		char whole[512];
		json_error_t bad;
		json_t *root;

		snprintf(whole, sizeof(whole), text, cases[i].architecture, cases[i].keys);
		root = json_loads(whole, 0, &bad);
		ck_assert_int_eq(hf_config_read(root, "config.json", &config, &error), 0);
		ck_assert_msg(config.sliding_window == cases[i].window, "%s%s: %llu",
			      cases[i].architecture, cases[i].keys, config.sliding_window);
		ck_assert_msg(config.window_layers == cases[i].layers, "%s%s: %llu layers",
			      cases[i].architecture, cases[i].keys, config.window_layers);
		json_decref(root);
	}
}
END_TEST

/*
 * A byte for each element of a matrix of the layers, and a scale for each matrix or block of
 * 128 x 128.
 */
START_TEST(weights_in_fp8_are_a_byte_and_their_scales)
{
	compute_shipped("Llama-3.1-8B", LLM_FP8);
	ck_assert_uint_eq(model.parameters, 8030261248);
	ck_assert_uint_eq(model.weights, 9081201536);
	ck_assert_uint_eq(model.weights,
			  6979321856 + 32 * 7 * 4 + 2 * (8030261248 - 6979321856));
	ck_assert_uint_eq(model.embeddings, 1050673152);
	ck_assert_uint_eq(model.kernels_per_step, 32 * (10 + 4) + 20);
	compute_shipped("Qwen3-30B-A3B", LLM_FP8);
	config.scale_block[0] = 128;
	config.scale_block[1] = 128;
	llm_model_compute(&config, LLM_FP8, &model);
	ck_assert_uint_eq(model.weights, 31174545408);
	ck_assert_uint_eq(model.expert_weights, 48ull * 128 * 3 * (2048 * 768 + 16 * 6 * 4));
}
END_TEST

/*
 * Half a byte for each element of a matrix of the layers, 2 bytes for each group of 128, and half
 * a byte where groups have zero points. The output layer and embeddings stay in 16 bits.
 */
START_TEST(weights_in_4_bits_are_half_a_byte_and_their_groups)
{
	const u64 matrices = 28ull * (2 * 3584 * 3584 + 2 * 512 * 3584 + 3 * 3584 * 18944);
	const u64 plain = 2 * (7615616512 - matrices);

	compute_shipped("Qwen2.5-7B", LLM_INT4);
	ck_assert_uint_eq(model.parameters, 7615616512);
	ck_assert_uint_eq(model.weights, plain + matrices / 2 + matrices / 128 * 2);
	ck_assert_uint_eq(model.kernels_per_step, 28 * 10 + 20);
	config.int4 = true;
	config.group = 128;
	config.zero_points = true;
	llm_model_compute(&config, llm_model_form(&config), &model);
	ck_assert_uint_eq(model.weights, plain + matrices / 2 + matrices / 128 * 5 / 2);
	/* One scale for each row: of queries and output, keys and values, gate, up and down. */
	config.group = 0;
	config.zero_points = false;
	llm_model_compute(&config, LLM_INT4, &model);
	ck_assert_uint_eq(model.weights,
			  plain + matrices / 2 +
				  28 * 2 * (2 * 3584 + 2 * 512 + 2 * 18944 + 3584));
	compute_shipped("Qwen3-30B-A3B", LLM_INT4);
	ck_assert_uint_eq(model.expert_weights, 48ull * 128 * 3 * (2048 * 768) / 128 * 66);
}
END_TEST

/* 1 - (1 - 8 / 128)^tokens, within 2^-31. */
START_TEST(few_tokens_use_a_part_of_the_experts)
{
	ck_assert_uint_eq(llm_model_experts_used(128, 8, 0), 0);
	ck_assert_uint_eq(llm_model_experts_used(128, 8, 1), (1ull << 32) / 16);
	ck_assert_uint_eq(llm_model_experts_used(128, 8, 2), 520093696);
	ck_assert_uint_eq(llm_model_experts_used(128, 8, 16), 2765640551);
	ck_assert_uint_eq(llm_model_experts_used(128, 8, 2048), 1ull << 32);
	ck_assert_uint_eq(llm_model_experts_used(4, 4, 1), 1ull << 32);
}
END_TEST

/* No product overflows: what is too large for a key is as large as can be. */
START_TEST(the_largest_model_is_too_large_for_a_number)
{
	config = (struct hf_config){
		.hidden_size = 1 << 24,
		.intermediate_size = 1 << 24,
		.num_hidden_layers = 4096,
		.num_attention_heads = 65536,
		.num_key_value_heads = 65536,
		.head_dim = 65536,
		.vocab_size = 1 << 24,
		.moe_layers = 4096,
		.num_experts = 1 << 24,
		.num_experts_per_tok = 1 << 24,
		.moe_intermediate_size = 1 << 24,
		.width = 2,
	};
	llm_model_compute(&config, false, &model);
	ck_assert_uint_eq(model.parameters, U64_MAX);
	ck_assert_uint_eq(model.weights, U64_MAX);
	ck_assert_uint_eq(model.flops_per_token, U64_MAX);
	ck_assert_uint_eq(model.kv_bytes_per_token, 1ull << 46);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, parameters_are_as_published);
	tcase_add_test(tests, parameters_of_other_architectures_are_as_published);
	tcase_add_test(tests, deepseek_v3_is_as_published);
	tcase_add_test(tests, gpt_oss_is_as_published);
	tcase_add_test(tests, glm_4_5_air_is_as_published);
	tcase_add_test(tests, an_mlp_without_a_gate_has_two_matrices);
	tcase_add_test(tests, numbers_agree_with_the_profile_that_was_made_by_hand);
	tcase_add_test(tests, experts_count_by_those_that_a_token_uses);
	tcase_add_test(tests, only_some_layers_have_experts);
	tcase_add_test(tests, sizes_that_llama_1_and_qwen3_leave_out_are_hugging_faces);
	tcase_add_test(tests, other_models_must_say_their_heads_of_keys);
	tcase_add_test(tests, biases_are_counted_where_a_model_has_them);
	tcase_add_test(tests, windows_of_attention_are_those_of_vllm);
	tcase_add_test(tests, weights_in_fp8_are_a_byte_and_their_scales);
	tcase_add_test(tests, weights_in_4_bits_are_half_a_byte_and_their_groups);
	tcase_add_test(tests, few_tokens_use_a_part_of_the_experts);
	tcase_add_test(tests, the_largest_model_is_too_large_for_a_number);
}

int main(void)
{
	return suite_run("llm_model", NULL, NULL, add_tests);
}
