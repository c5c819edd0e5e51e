// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The trainer that is made of a config.json. The judge is the profile that was made by hand:
 * of its model, each number is the same to its last digit.
 */
#include <jansson.h>
#include <limits.h>
#include <math.h>

#include "apps/hf_config.h"
#include "config/paths.h"
#include "engine/error.h"
#include "import/lora.h"
#include "import/lora_app.h"
#include "suite.h"

/* Llama-3.2-3B. */
static const struct hf_config llama = {
	.hidden_size = 3072,
	.intermediate_size = 8192,
	.num_hidden_layers = 28,
	.num_attention_heads = 24,
	.num_key_value_heads = 8,
	.head_dim = 128,
	.vocab_size = 128256,
	.tie_word_embeddings = true,
	.width = 2,
};

static struct lora_options options;
static struct lora lora;
static struct sim_error err;

static void reset(void)
{
	options = (struct lora_options){ LORA_RANK, LORA_MICRO_BATCH, LORA_ACCUMULATE, false,
					 587 };
	err = (struct sim_error){ 0 };
}

/* The trainer of @config with the options, as JSON. */
static json_t *make(const struct hf_config *config)
{
	const struct lora_app app = { "Llama-3.2-3B", LORA_TRACE, config, &options, &lora };
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	json_t *json;

	ck_assert_msg(!lora_compute(config, "Llama-3.2-3B", &options, &lora, &err), "%s",
		      err.text);
	ck_assert_msg(!lora_app_write(&app, stream, &err), "%s", err.text);
	ck_assert_int_eq(fclose(stream), 0);
	json = json_loads(text, 0, NULL);
	ck_assert_msg(json, "%s", text);
	free(text);
	return json;
}

static json_t *shipped(const char *name)
{
	char path[PATH_MAX];
	json_t *json;

	ck_assert_int_eq(config_find_data("scenarios/apps", name, path, sizeof(path), &err), 0);
	json = json_load_file(path, 0, NULL);
	ck_assert_ptr_nonnull(json);
	return json;
}

/* A number of JSON, or a text that is one. */
static bool is_number(const json_t *json, double *ret_number)
{
	char *end;

	if (json_is_number(json)) {
		*ret_number = json_number_value(json);
		return true;
	}
	*ret_number = json_is_string(json) ? strtod(json_string_value(json), &end) : 0;
	return json_is_string(json) && *json_string_value(json) && !*end;
}

/* One of the last digit of @number that is not 0. */
static double last_digit(double number)
{
	double unit = 1;

	if (number < 1)
		return 1e-6;
	while (number > 0 && fmod(number, unit * 10) == 0)
		unit *= 10;
	return unit;
}

/* The sentence begins with its kind. */
static void assert_source(const char *where, const json_t *source)
{
	static const char *const kinds[] = {
		"Measured", "Published", "Arithmetic", "Derived",
		"Inferred", "Fitted",	 "Estimate",   "Assumption"
	};
	const char *text = json_string_value(source);
	bool found = false;

	ck_assert_msg(text, "%s: no source", where);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		found |= !strncmp(text, kinds[i], strlen(kinds[i]));
	ck_assert_msg(found && text[strlen(text) - 1] == '.', "%s: source \"%s\"", where, text);
}

static void assert_same(const char *where, const json_t *ours, const json_t *theirs);

static void assert_same_objects(const char *where, const json_t *ours, const json_t *theirs)
{
	char path[512];
	const char *key;
	json_t *value;

	ck_assert_uint_eq(json_object_size(ours), json_object_size(theirs));
	json_object_foreach((json_t *)theirs, key, value) {
		snprintf(path, sizeof(path), "%s.%s", where, key);
		if (!strcmp(key, "source"))
			assert_source(path, json_object_get(ours, key));
		else
			assert_same(path, json_object_get(ours, key), value);
	}
}

static void assert_same(const char *where, const json_t *ours, const json_t *theirs)
{
	char path[512];
	double our_number, their_number;

	ck_assert_msg(ours, "%s is missing", where);
	if (json_is_object(theirs)) {
		assert_same_objects(where, ours, theirs);
	} else if (json_is_array(theirs)) {
		ck_assert_uint_eq(json_array_size(ours), json_array_size(theirs));
		for (size_t i = 0; i < json_array_size(theirs); i++) {
			snprintf(path, sizeof(path), "%s.%zu", where, i);
			assert_same(path, json_array_get(ours, i), json_array_get(theirs, i));
		}
	} else if (is_number(theirs, &their_number)) {
		ck_assert_msg(is_number(ours, &our_number), "%s is no number", where);
		ck_assert_msg(fabs(our_number - their_number) < last_digit(their_number),
			      "%s: %.15g, by hand %.15g", where, our_number, their_number);
	} else {
		ck_assert_msg(json_equal((json_t *)ours, (json_t *)theirs), "%s differs",
			      where);
	}
}

START_TEST(numbers_agree_with_the_profile_that_was_made_by_hand)
{
	json_t *ours = make(&llama);
	json_t *theirs = shipped("lora-llama-3.2-3b.json");

	assert_same("", ours, theirs);
	json_decref(ours);
	json_decref(theirs);
}
END_TEST

/* That one extends the first. */
START_TEST(kept_activations_agree_with_their_profile)
{
	json_t *theirs = shipped("lora-llama-3.2-3b.json");
	json_t *changes = shipped("lora-llama-3.2-3b-remat.json");
	json_t *ours;

	options.remat = true;
	ours = make(&llama);
	ck_assert_int_eq(json_object_update(json_object_get(theirs, "app"),
					    json_object_get(changes, "app")),
			 0);
	assert_same("", ours, theirs);
	json_decref(ours);
	json_decref(theirs);
	json_decref(changes);
}
END_TEST

/* The same to the last unit, by the essay of lora.c. */
START_TEST(numbers_are_the_arithmetic)
{
	json_decref(make(&llama));
	ck_assert_uint_eq(lora.weights, 6425499648);
	ck_assert_uint_eq(lora.sides, 54272);
	ck_assert_uint_eq(lora.adapter_parameters, 12156928);
	ck_assert_uint_eq(lora.adapter_tensors, 392);
	ck_assert_uint_eq(lora.adapters, 194510848);
	ck_assert_uint_eq(lora.forward.kernels, 28 * 55 + 20);
	ck_assert_uint_eq(lora.forward.flops_per_token, 2 * 3212749824);
	ck_assert_uint_eq(lora.forward.traffic_per_token, 17000000);
	ck_assert_uint_eq(lora.backward.kernels, 3 * 28 * 55 + 20);
	ck_assert_uint_eq(lora.backward.flops_per_token, 5637144576 + 2 * 3212749824);
	ck_assert_uint_eq(lora.backward.traffic_per_token, 51000000);
	ck_assert_uint_eq(lora.backward_kept.kernels, 2 * 28 * 55 + 20);
	ck_assert_uint_eq(lora.backward_kept.flops_per_token, 2 * 3212749824);
	ck_assert_uint_eq(lora.activations_per_token,
			  28 * 3072 * 2 + 128256 * 10 + 9 * (3072 + 8192));
	ck_assert_uint_eq(lora.activations_kept_per_token,
			  28 * 14 * (3072 + 8192) + 128256 * 10);
	ck_assert_uint_eq(lora.activations, 4 * 587 * lora.activations_per_token);
	ck_assert_uint_eq(lora.optimizer_kernels, 60);
	ck_assert_uint_eq(lora.optimizer_traffic, 40 * 12156928);
}
END_TEST

/* Gemma 3 has four norms a layer and those of queries and keys; Cohere has one. */
START_TEST(kernels_count_by_the_norms_of_a_layer)
{
	struct hf_config config = llama;

	config.qk_norm = true;
	config.four_norms = true;
	json_decref(make(&config));
	ck_assert_uint_eq(lora.layer_norms, 6);
	ck_assert_uint_eq(lora.forward.kernels, 28 * (55 + 4 * 8) + 20);
	config = llama;
	config.one_norm = true;
	json_decref(make(&config));
	ck_assert_uint_eq(lora.forward.kernels, 28 * (55 - 8) + 20);
}
END_TEST

/* Qwen3 normalizes queries and keys; a table of embeddings that is not the head is not read. */
START_TEST(other_models_differ_where_their_shape_does)
{
	struct hf_config config = llama;

	config.qk_norm = true;
	config.tie_word_embeddings = false;
	json_decref(make(&config));
	ck_assert_uint_eq(lora.parameters, 3212749824 + 128256ull * 3072 + 28 * 256);
	ck_assert_uint_eq(lora.forward.flops_per_token, 2 * (3212749824 + 28 * 256));
	ck_assert_uint_eq(lora.backward.flops_per_token,
			  5637144576 + lora.forward.flops_per_token);
	ck_assert_uint_eq(lora.forward.kernels, 28 * (55 + 16) + 20);
	ck_assert_uint_eq(lora.forward.traffic_per_token, 22000000);
	/* 12 layers: 168 tensors of 392, for which 25.7 of 60 kernels. */
	config.num_hidden_layers = 12;
	json_decref(make(&config));
	ck_assert_uint_eq(lora.optimizer_kernels, 26);
}
END_TEST

/* 22 times rank 8 are 8 % of the model: 2 FLOP forward, 4 backward, 2 again. */
START_TEST(a_large_rank_counts_in_the_arithmetic)
{
	json_decref(make(&llama));
	ck_assert(!lora.adapters_count);
	options.rank = 8 * 22;
	json_decref(make(&llama));
	ck_assert(lora.adapters_count);
	ck_assert_uint_eq(lora.forward.flops_per_token, 2 * (3212749824 + 22 * 12156928));
	ck_assert_uint_eq(lora.backward_kept.flops_per_token,
			  2 * 3212749824 + 4 * 22 * 12156928);
	ck_assert_uint_eq(lora.backward.flops_per_token, lora.backward_kept.flops_per_token +
								 5637144576 +
								 2ull * 22 * 12156928);
	ck_assert_uint_eq(lora.adapters, 22 * 194510848ull);
}
END_TEST

/* Options are in the profile, and their sources say that they were given. */
START_TEST(settings_are_as_said)
{
	json_t *app, *batch;
	const char *name, *source;
	double value;

	options.micro_batch = 2;
	options.accumulate = 3;
	app = make(&llama);
	batch = json_array_get(
		json_object_get(json_object_get(json_object_get(app, "app"), "phases"),
				"value"),
		0);
	ck_assert_int_eq(json_unpack(batch, "{s:s, s:{s:F, s:s}}", "name", &name, "repeat",
				     "value", &value, "source", &source),
			 0);
	ck_assert_str_eq(name, "micro-batch");
	ck_assert(value == 3);
	ck_assert_str_eq(source, "Assumption: gvmsim app lora --accumulate 3.");
	ck_assert_int_eq(json_unpack(batch, "{s:{s:F, s:s}}", "samples", "value", &value,
				     "source", &source),
			 0);
	ck_assert(value == 2);
	ck_assert_str_eq(source, "Assumption: gvmsim app lora --micro-batch 2.");
	ck_assert_uint_eq(lora.activations, 2 * 587 * lora.activations_per_token);
	json_decref(app);
}
END_TEST

static void assert_refused(const struct hf_config *config, const char *message)
{
	ck_assert_int_eq(lora_compute(config, "m", &options, &lora, &err), -SIM_EXIT_USER);
	ck_assert_str_eq(err.text, message);
}

START_TEST(models_that_are_not_modelled_are_refused)
{
	struct hf_config config = llama;

	config.moe_layers = 1;
	config.num_experts = 8;
	config.num_experts_per_tok = 2;
	config.moe_intermediate_size = 100;
	assert_refused(&config, "m: has experts, whose trainer is not modelled, "
				"allowed: a model without experts");
	config = llama;
	config.fp8 = true;
	assert_refused(&config, "m: has weights in fp8, whose trainer is not modelled, "
				"allowed: bfloat16 or float16");
	config = llama;
	config.int4 = true;
	assert_refused(&config, "m: has weights in 4 bits, whose trainer is not modelled, "
				"allowed: bfloat16 or float16");
	config = llama;
	config.hidden_size = 1 << 24;
	config.intermediate_size = 1 << 24;
	assert_refused(&config, "m: the weights are too large, allowed: up to 16 TiB");
	options.longest = 2ull << 32;
	options.micro_batch = LORA_SAMPLES_MAX;
	assert_refused(&llama, "m: the activations of a micro-batch are too large, "
			       "allowed: up to 16 TiB");
	reset();
	/* The narrowest model that its rank makes large. */
	options.rank = LORA_RANK_MAX;
	config = llama;
	config.hidden_size = 1;
	config.intermediate_size = 1 << 24;
	config.num_hidden_layers = 4096;
	config.vocab_size = 1;
	assert_refused(&config, "m: the adapters are too large, allowed: up to 16 TiB");
}
END_TEST

START_TEST(names_have_to_be_utf_8)
{
	const struct lora_app app = { "\xff", LORA_TRACE, &llama, &options, &lora };

	ck_assert_int_eq(lora_compute(&llama, "m", &options, &lora, &err), 0);
	ck_assert_int_eq(lora_app_write(&app, stdout, &err), -SIM_EXIT_USER);
	ck_assert_ptr_nonnull(strstr(err.text, "is not in UTF-8"));
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, numbers_agree_with_the_profile_that_was_made_by_hand);
	tcase_add_test(tests, kept_activations_agree_with_their_profile);
	tcase_add_test(tests, numbers_are_the_arithmetic);
	tcase_add_test(tests, other_models_differ_where_their_shape_does);
	tcase_add_test(tests, kernels_count_by_the_norms_of_a_layer);
	tcase_add_test(tests, a_large_rank_counts_in_the_arithmetic);
	tcase_add_test(tests, settings_are_as_said);
	tcase_add_test(tests, models_that_are_not_modelled_are_refused);
	tcase_add_test(tests, names_have_to_be_utf_8);
}

int main(void)
{
	return suite_run("lora", reset, NULL, add_tests);
}
