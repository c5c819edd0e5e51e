// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Reads any bytes as a model's config.json. Either it is one, and its numbers fit together. Or
 * there is an error of one line.
 */
#include "apps/hf_config.h"
#include "apps/llm_model.h"
#include "fuzz.h"

#include <jansson.h>

static void check_model(const struct hf_config *config, enum llm_quantization form)
{
	struct llm_model model;

	llm_model_compute(config, form, &model);
	FUZZ_ASSERT(model.parameters && model.active_parameters <= model.parameters);
	FUZZ_ASSERT(model.weights >=
		    model.parameters / (form == LLM_INT4 || form == LLM_MXFP4 ? 2 : 1));
	if (model.weights < U64_MAX)
		FUZZ_ASSERT(model.embeddings < model.weights &&
			    model.expert_weights < model.weights - model.embeddings);
	FUZZ_ASSERT(!model.experts == !model.experts_per_token);
	FUZZ_ASSERT(model.experts_per_token <= model.experts);
	FUZZ_ASSERT(!model.experts == !model.expert_weights);
	FUZZ_ASSERT(!model.window == !model.window_layers &&
		    model.window_layers <= model.layers);
	FUZZ_ASSERT(!model.latent_decode_flops == !model.latent_expand_flops);
	FUZZ_ASSERT(model.kv_bytes_per_token && model.flops_per_token && model.head_flops);
	FUZZ_ASSERT(model.layers && model.kernels_per_step > model.layers &&
		    model.weight_matrices > model.layers);
	if (model.experts)
		FUZZ_ASSERT(llm_model_experts_used(model.experts, model.experts_per_token,
						   1 << 20) <= 1ull << 32);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim_error err = { 0 };
	struct hf_config config;
	json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
	int status;

	fuzz_accepted = false;
	if (!json_is_object(root)) {
		json_decref(root);
		return 0;
	}
	status = hf_config_read(root, "config.json", &config, &err);
	json_decref(root);
	if (status) {
		fuzz_check_mistake(status, &err);
		return 0;
	}
	fuzz_accepted = true;
	check_model(&config, LLM_NO_QUANTIZATION);
	check_model(&config, LLM_FP8);
	check_model(&config, LLM_INT4);
	check_model(&config, LLM_MXFP4);
	return 0;
}
