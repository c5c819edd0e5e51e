// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * app.model: keys that follow from a config.json of Hugging Face, and the message for each
 * mistake in one.
 */
#include <check.h>
#include <stdio.h>
#include <sys/stat.h>

#include "apps/llm_model.h"
#include "config_fixture.h"
#include "suite.h"

/* 5 layers of a query head and a key head of 64. */
static const char tiny_model[] = "{\"architectures\": [\"LlamaForCausalLM\"],\n"
				 " \"hidden_size\": 64,\n"
				 " \"intermediate_size\": 100,\n"
				 " \"num_hidden_layers\": 5,\n"
				 " \"num_attention_heads\": 1,\n"
				 " \"num_key_value_heads\": 1,\n"
				 " \"vocab_size\": 1000,\n"
				 " \"torch_dtype\": \"bfloat16\"}";

/* Parameters: two tables, the last norm, and of each layer attention, MLP and norms. */
#define TINY_TABLE	64000
#define TINY_PARAMETERS (2 * TINY_TABLE + 64 + 5 * (4 * 4096 + 3 * 6400 + 128))

static void setup(void)
{
	fixture_setup();
	ck_assert_int_eq(mkdir("tiny", 0700), 0);
	write_file("tiny/config.json", tiny_model);
}

START_TEST(a_models_numbers_win_over_the_profile_and_lose_to_the_scenario)
{
	load("containers.vllm.app.model=tiny", NULL);
	ck_assert_uint_eq(llm_keys()->weights, 2 * TINY_PARAMETERS);
	ck_assert_uint_eq(llm_keys()->embeddings, 2 * TINY_TABLE);
	ck_assert_uint_eq(llm_keys()->kv_bytes_per_token, 5 * 2 * 64 * 2);
	ck_assert_uint_eq(llm_keys()->head_flops, 2 * TINY_TABLE);
	ck_assert_uint_eq(llm_keys()->kernels_per_step, 5 * 10 + 20);
	ck_assert_uint_eq(llm_keys()->layers, 5);
	ck_assert_uint_eq(llm_keys()->block_tokens, 16); /* the profile's */
	load("containers.vllm.app={\"model\": \"tiny\", \"weights\": \"5M\"}", NULL);
	ck_assert_uint_eq(llm_keys()->weights, 5 << 20);
	ck_assert_uint_eq(llm_keys()->layers, 5);
	load("containers.vllm.app.model=", NULL);
	ck_assert_uint_eq(llm_keys()->weights, 6 << 20);
	ck_assert_uint_eq(llm_keys()->layers, 0);
}
END_TEST

START_TEST(a_model_without_a_type_runs_in_16_bits)
{
	write_file("tiny/config.json",
		   replace(tiny_model, ",\n \"torch_dtype\": \"bfloat16\"", ""));
	load("containers.vllm.app.model=tiny", NULL);
	ck_assert_uint_eq(llm_keys()->weights, 2 * TINY_PARAMETERS);
	ck_assert_uint_eq(llm_keys()->kv_bytes_per_token, 5 * 2 * 64 * 2);
}
END_TEST

START_TEST(a_model_is_a_file_a_folder_or_one_of_ours)
{
	static const char ours[] = "containers.vllm.app={\"model\": \"Qwen2.5-7B\"}";
	char set[256];

	load("containers.vllm.app.model=tiny/config.json", NULL);
	ck_assert_uint_eq(llm_keys()->layers, 5);
	snprintf(set, sizeof(set), "containers.vllm.app.model=%s/tiny", folder);
	load(set, NULL);
	ck_assert_uint_eq(llm_keys()->layers, 5);
	load(ours, NULL);
	ck_assert_uint_eq(llm_keys()->weights, 15231233024);
	/* A folder beside the scenario comes before a model of ours. */
	ck_assert_int_eq(mkdir("Qwen2.5-7B", 0700), 0);
	write_file("Qwen2.5-7B/config.json", tiny_model);
	load(ours, NULL);
	ck_assert_uint_eq(llm_keys()->layers, 5);
}
END_TEST

START_TEST(a_profile_can_name_the_model)
{
	write_file("apps/llm.json",
		   "{\"app\": {\"model\": {\"value\": \"tiny\", \"source\": \"test\"}}}");
	ck_assert_int_eq(load_path("s.json", NULL, NULL), -SIM_EXIT_USER);
	ck_assert_msg(strstr(error.text, "s.json:containers.vllm.app.workspace: is missing"),
		      "%s", error.text);
}
END_TEST

START_TEST(quantization_is_the_models_unless_the_scenario_says_another)
{
	load("containers.vllm.app={\"model\": \"tiny\", \"quantization\": \"fp8\"}", NULL);
	ck_assert_uint_eq(llm_keys()->quantization, LLM_FP8);
	ck_assert_uint_eq(llm_keys()->weights,
			  2 * TINY_PARAMETERS - 5 * (4 * 4096 + 3 * 6400) + 5 * 7 * 4);
	write_file("tiny/config.json",
		   replace(tiny_model, "\"vocab_size\"",
			   "\"quantization_config\": {\"quant_method\": \"fp8\", "
			   "\"weight_block_size\": [64, 32]},\n \"vocab_size\""));
	load("containers.vllm.app.model=tiny", NULL);
	ck_assert_uint_eq(llm_keys()->quantization, LLM_FP8);
	/* Scales of 64 x 64: 1 x 2; of 100 x 64: 2 x 2; of 64 x 100: 1 x 4. */
	ck_assert_uint_eq(llm_keys()->weights, 2 * TINY_PARAMETERS - 5 * (4 * 4096 + 3 * 6400) +
						       5 * (4 * 2 + 2 * 4 + 4) * 4);
	load("containers.vllm.app={\"model\": \"tiny\", \"quantization\": \"none\"}", NULL);
	ck_assert_uint_eq(llm_keys()->quantization, LLM_NO_QUANTIZATION);
	ck_assert_uint_eq(llm_keys()->weights, 2 * TINY_PARAMETERS);
	/* AWQ, groups of 32 with zero points: 2 in a row of 64, 4 in one of 100. */
	write_file("tiny/config.json",
		   replace(tiny_model, "\"vocab_size\"",
			   "\"quantization_config\": {\"quant_method\": \"awq\", \"bits\": 4, "
			   "\"group_size\": 32, \"modules_to_not_convert\": null},\n "
			   "\"vocab_size\""));
	load("containers.vllm.app.model=tiny", NULL);
	ck_assert_uint_eq(llm_keys()->quantization, LLM_INT4);
	ck_assert_uint_eq(llm_keys()->weights,
			  2 * TINY_PARAMETERS - 5 * (4 * 4096 + 3 * 6400) * 3 / 2 +
				  5 * (4 * 64 * 2 + 2 * 100 * 2 + 64 * 4) * 5 / 2);
	/* GPTQ, a scale for each row, no zero points. */
	write_file("tiny/config.json",
		   replace(tiny_model, "\"vocab_size\"",
			   "\"quantization_config\": {\"quant_method\": \"gptq\", \"bits\": 4, "
			   "\"group_size\": -1, \"sym\": true},\n \"vocab_size\""));
	load("containers.vllm.app.model=tiny", NULL);
	ck_assert_uint_eq(llm_keys()->weights, 2 * TINY_PARAMETERS -
						       5 * (4 * 4096 + 3 * 6400) * 3 / 2 +
						       5 * (4 * 64 + 2 * 100 + 64) * 2);
}
END_TEST

/*
 * The numbers are in the hash; the place of the file is not. The resolved configuration runs
 * elsewhere.
 */
START_TEST(the_hash_sees_the_model_but_not_its_place)
{
	char first[33];
	char again[33];
	char whole[256];

	keep_hash(first, "containers.vllm.app.model=tiny");
	ck_assert_int_eq(rename("tiny", "other"), 0);
	keep_hash(again, "containers.vllm.app.model=other/config.json");
	ck_assert_str_eq(first, again);
	ck_assert_int_eq(json_dump_file(config.resolved, "resolved.json", 0), 0);
	snprintf(whole, sizeof(whole), "%s/resolved.json", folder);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_msg(load_path(whole, NULL, NULL) == 0, "%s", error.text);
	ck_assert_str_eq(config.hash, first);
	ck_assert_int_eq(chdir(folder), 0);
	write_file("other/config.json",
		   replace(tiny_model, "\"num_hidden_layers\": 5", "\"num_hidden_layers\": 6"));
	keep_hash(again, "containers.vllm.app.model=other");
	ck_assert_str_ne(first, again);
}
END_TEST

/* The config.json with @from changed to @to fails with exactly @message after its name. */
static void assert_bad_model(const char *from, const char *to, const char *message)
{
	char full[1024];

	write_file("tiny/config.json", replace(tiny_model, from, to));
	snprintf(full, sizeof(full), "%s/tiny/config.json:%s", folder, message);
	assert_bad_set("containers.vllm.app.model=tiny", full);
}

/* Likewise with this quant_method and more keys beside it. */
static void assert_bad_quantization(const char *method, const char *message)
{
	char changed[256], full[512];

	snprintf(changed, sizeof(changed),
		 "\"vocab_size\": 1000, \"quantization_config\": {\"quant_method\": %s}",
		 method);
	snprintf(full, sizeof(full), "quantization_config.%s", message);
	assert_bad_model("\"vocab_size\": 1000", changed, full);
}

#define ARCHITECTURES                                                       \
	"LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, "          \
	"Qwen3ForCausalLM, GemmaForCausalLM, Gemma2ForCausalLM, "           \
	"Gemma3ForCausalLM, PhiForCausalLM, Phi3ForCausalLM, "              \
	"GraniteForCausalLM, Glm4ForCausalLM, Olmo2ForCausalLM, "           \
	"SmolLM3ForCausalLM, Starcoder2ForCausalLM, CohereForCausalLM, "    \
	"MixtralForCausalLM, Qwen2MoeForCausalLM, Qwen3MoeForCausalLM, "    \
	"OlmoeForCausalLM, GraniteMoeForCausalLM, Glm4MoeForCausalLM, "     \
	"DeepseekV2ForCausalLM, DeepseekV3ForCausalLM, GptOssForCausalLM, " \
	"GPTNeoXForCausalLM, OPTForCausalLM, FalconForCausalLM"

START_TEST(mistakes_in_a_model_name_its_file_and_key)
{
	assert_bad_model(
		"Llama", "Bloom",
		"architectures: \"BloomForCausalLM\" is not known, allowed: " ARCHITECTURES);
	/* A model with images: the keys of its language model are below text_config. */
	assert_bad_model("{\"architectures\": [\"LlamaForCausalLM\"]",
			 "{\"text_config\": {}, \"architectures\": "
			 "[\"Gemma3ForConditionalGeneration\"]",
			 "architectures: \"Gemma3ForConditionalGeneration\" is not known (its "
			 "text_config may be, as a file with architectures of its own), "
			 "allowed: " ARCHITECTURES);
	assert_bad_model("\"architectures\"", "\"architecture\"",
			 "architectures: is missing, allowed: " ARCHITECTURES);
	assert_bad_model("\"hidden_size\": 64,", "",
			 "hidden_size: is missing, allowed: an integer from 1 to 16777216");
	assert_bad_model("\"hidden_size\": 64", "\"hidden_size\": 64.5",
			 "hidden_size: 64.5 is wrong, allowed: an integer from 1 to 16777216");
	assert_bad_model("\"num_key_value_heads\": 1", "\"num_key_value_heads\": 2",
			 "num_key_value_heads: 2 is wrong, allowed: an integer from 1 to 1");
	assert_bad_model("\"num_attention_heads\": 1,\n \"num_key_value_heads\": 1",
			 "\"num_attention_heads\": 8,\n \"num_key_value_heads\": 3",
			 "num_key_value_heads: 3 does not divide num_attention_heads, allowed: "
			 "a divisor of 8");
	assert_bad_model("\"num_attention_heads\": 1", "\"num_attention_heads\": 65",
			 "head_dim: is missing, allowed: an integer from 1 to 65536");
	assert_bad_model("\"torch_dtype\": \"bfloat16\"", "\"tie_word_embeddings\": 1",
			 "tie_word_embeddings: 1 is wrong, allowed: true or false");
	assert_bad_model("bfloat16", "float8",
			 "torch_dtype: \"float8\" is wrong, allowed: bfloat16, float16, or "
			 "float32, which runs in 16 bits");
	assert_bad_model("\"vocab_size\": 1000",
			 "\"vocab_size\": 1000, \"sliding_window\": 9, \"layer_types\": "
			 "[\"sliding_attention\"]",
			 "layer_types: has not one word for each layer, allowed: as many as "
			 "num_hidden_layers");
	assert_bad_model("\"vocab_size\": 1000",
			 "\"vocab_size\": 1000, \"sliding_window\": 9, \"layer_types\": "
			 "[\"chunked_attention\"]",
			 "layer_types: has another kind of layer, allowed: a list of "
			 "\"sliding_attention\" and \"full_attention\"");
	assert_bad_model("{\"architectures\": [\"Llama", "{\"architectures\": [\"DeepseekV3",
			 "qk_nope_head_dim: is missing, allowed: an integer from 1 to 65536");
	assert_bad_model("{\"architectures\": [\"Llama", "{\"architectures\": [\"OPT",
			 "ffn_dim: is missing, allowed: an integer from 1 to 16777216");
	assert_bad_model("\"vocab_size\": 1000",
			 "\"vocab_size\": 1000, \"quantization_config\": {\"quant_method\": "
			 "\"mxfp4\"}",
			 "quantization_config.quant_method: \"mxfp4\" is wrong, allowed: fp8, "
			 "awq, gptq");
	assert_bad_model("\"vocab_size\": 1000", "\"vocab_size\": 1000, \"sliding_window\": 0",
			 "sliding_window: 0 is wrong, allowed: an integer from 1 to 16777216");
	assert_bad_model("{\"architectures\": [\"Llama", "{\"architectures\": [\"Qwen3Moe",
			 "num_experts: is missing, allowed: an integer from 1 to 16777216");
	assert_bad_model(
		"{\"architectures\": [\"Llama", "{\"architectures\": [\"Mixtral",
		"num_local_experts: is missing, allowed: an integer from 1 to 16777216");
	assert_bad_model(
		"\"vocab_size\": 1000",
		"\"vocab_size\": 1000, \"quantization_config\": {\"quant_method\": \"gguf\"}",
		"quantization_config.quant_method: \"gguf\" is wrong, allowed: fp8, awq, gptq");
	assert_bad_quantization("\"awq\"", "bits: is missing, allowed: 4");
	assert_bad_quantization("\"awq\", \"bits\": 8, \"group_size\": 128",
				"bits: 8 is wrong, allowed: 4");
	assert_bad_quantization(
		"\"gptq\", \"bits\": 4, \"group_size\": 0",
		"group_size: 0 is wrong, allowed: an integer from 1 to 16777216");
	assert_bad_quantization(
		"\"gptq\", \"bits\": 4, \"group_size\": 128, \"desc_act\": true",
		"desc_act: true: columns in another order are not modelled, allowed: false");
	assert_bad_quantization(
		"\"gptq\", \"bits\": 4, \"group_size\": 128, \"lm_head\": true",
		"lm_head: true: an output layer in 4 bits is not modelled, allowed: false");
	assert_bad_quantization(
		"\"awq\", \"bits\": 4, \"group_size\": 128, "
		"\"modules_to_not_convert\": [\"gate\", \"visual\"]",
		"modules_to_not_convert: has a layer that stays in 16 bits, which "
		"is not modelled, allowed: null, or a list of \"gate\" and "
		"\"mlp.gate\"");
	assert_bad_model("\"vocab_size\": 1000", "\"vocab_size\": 1000, \"qk_layernorm\": true",
			 "qk_layernorm: true: vLLM's model has no norms of queries and keys, "
			 "allowed: false");
	assert_bad_model("\"vocab_size\": 1000",
			 "\"vocab_size\": 1000, \"quantization_config\": {\"quant_method\": "
			 "\"fp8\", \"weight_block_size\": [64]}",
			 "quantization_config.weight_block_size: is wrong, allowed: a list of "
			 "two integers of at least 1");
	assert_bad_model("\"num_hidden_layers\": 5,", "\"num_hidden_layers\": 5,,",
			 "4:25: string or '}' expected near ','");
	assert_bad_model(tiny_model, "[]", "1:1: is not an object, allowed: a model's config");
}
END_TEST

/* Attention of 4 x 16 M x 65536 a layer does not fit into the largest size. */
START_TEST(a_model_that_no_gpu_can_have_is_refused)
{
	char changed[1024];

	snprintf(changed, sizeof(changed), "%s",
		 replace(tiny_model, "\"hidden_size\": 64,",
			 "\"hidden_size\": 16777216, \"head_dim\": 65536,"));
	assert_bad_model(
		tiny_model, changed,
		"app.weights: 44098274721792 is out of range, " SIZE_ALLOWED("1 to 16384G"));
}
END_TEST

/* Then no layer ever looks back further than the window. */
START_TEST(a_window_as_long_as_the_longest_sequence_changes_nothing)
{
	write_file("tiny/config.json", replace(tiny_model, "\"vocab_size\": 1000",
					       "\"vocab_size\": 1000, \"sliding_window\": 64"));
	load("containers.vllm.app={\"model\": \"tiny\", \"max_model_len\": 64}", NULL);
	ck_assert_uint_eq(llm_keys()->weights, 2 * TINY_PARAMETERS);
	ck_assert_uint_eq(llm_keys()->window, 0);
	ck_assert_uint_eq(llm_keys()->window_layers, 0);
	load("containers.vllm.app={\"model\": \"tiny\", \"max_model_len\": 65}", NULL);
	ck_assert_uint_eq(llm_keys()->window, 64);
	ck_assert_uint_eq(llm_keys()->window_layers, 5);
	assert_bad_set("containers.vllm.app={\"model\": \"tiny\", \"max_model_len\": 65, "
		       "\"prefix_caching\": true}",
		       "--set:containers.vllm.app.prefix_caching: is not modelled for layers "
		       "with a sliding window, "
		       "allowed: false, or a window of 0");
	assert_bad_set("containers.vllm.app={\"model\": \"tiny\", \"quantization\": \"mxfp4\"}",
		       "--set:containers.vllm.app.quantization: mxfp4 is for weights of "
		       "experts, which the model has not, "
		       "allowed: none, fp8, int4");
}
END_TEST

START_TEST(a_missing_model_lists_ours)
{
	assert_bad_set("containers.vllm.app.model=huge",
		       "--set:containers.vllm.app.model: no config.json in \"huge\" and no "
		       "model of gvmsim, allowed: DeepSeek-V2-Lite, Llama-3.1-8B, "
		       "Llama-3.3-70B, Qwen2.5-7B, "
		       "Qwen3-30B-A3B, gpt-oss-20b, or the path of your model's config.json "
		       "from Hugging Face");
	assert_bad_set("containers.vllm.app.model=Qwen3-30B",
		       "--set:containers.vllm.app.model: no config.json in \"Qwen3-30B\" and "
		       "no model of gvmsim, did you mean \"Qwen3-30B-A3B\"? Also "
		       "allowed: the path of your model's config.json from Hugging Face");
	assert_bad_set("containers.vllm.app.model=5",
		       "--set:containers.vllm.app.model: 5 is not a text, allowed: a text of 1 "
		       "to 511 bytes");
	assert_bad_set("containers.vllm.app.quantization=nf",
		       "--set:containers.vllm.app.quantization: \"nf\" is not known, "
		       "allowed: \"none\", \"fp8\", \"int4\", \"mxfp4\"");
	assert_bad_set("containers.vllm.app.embeddings=6M",
		       "--set:containers.vllm.app.embeddings: 6291456 is too much, allowed: "
		       "less than weights, 6291456");
	assert_bad_set("containers.vllm.app.expert_weights=7M",
		       "--set:containers.vllm.app.expert_weights: 7340032 is too much, "
		       "allowed: at most weights without embeddings, 6291456");
	assert_bad_set("containers.vllm.app.experts=4",
		       "s.json:containers.vllm.app.experts_per_token: 0 is wrong, allowed: "
		       "from 1 to experts, 4");
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_models_numbers_win_over_the_profile_and_lose_to_the_scenario);
	tcase_add_test(tests, a_model_without_a_type_runs_in_16_bits);
	tcase_add_test(tests, a_model_is_a_file_a_folder_or_one_of_ours);
	tcase_add_test(tests, a_profile_can_name_the_model);
	tcase_add_test(tests, quantization_is_the_models_unless_the_scenario_says_another);
	tcase_add_test(tests, the_hash_sees_the_model_but_not_its_place);
	tcase_add_test(tests, mistakes_in_a_model_name_its_file_and_key);
	tcase_add_test(tests, a_model_that_no_gpu_can_have_is_refused);
	tcase_add_test(tests, a_window_as_long_as_the_longest_sequence_changes_nothing);
	tcase_add_test(tests, a_missing_model_lists_ours);
}

int main(void)
{
	return suite_run("config_model", setup, fixture_teardown, add_tests);
}
