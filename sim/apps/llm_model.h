/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The numbers of an LLM server that follow from the shape of its model. */
#ifndef SIM_APPS_LLM_MODEL_H
#define SIM_APPS_LLM_MODEL_H

#include <stdbool.h>

#include "engine/types.h"

struct cfg_container;
struct cfg_load;
struct hf_config;

/* "app.quantization". */
enum llm_quantization { LLM_NO_QUANTIZATION, LLM_FP8, LLM_INT4, LLM_MXFP4 };

extern const char *const llm_quantizations[]; /* its words, NULL at the end */

/* What follows from a config.json. Below the first two, members are keys of the LLM server. */
struct llm_model {
	u64 parameters;
	u64 active_parameters; /* that a token uses, the table of embeddings included */
	u64 weights;
	u64 embeddings;
	u64 expert_weights;
	u64 experts;
	u64 experts_per_token;
	u64 token_bytes; /* of its hidden values */
	u64 kv_bytes_per_token;
	u64 window;
	u64 window_layers;
	u64 flops_per_token;
	u64 head_flops;
	u64 traffic_per_token;
	u64 attention_flops;
	u64 attention_group;
	u64 latent_decode_flops;
	u64 latent_expand_flops;
	u64 kernels_per_step;
	u64 weight_matrices;
	u64 layers;
};

/* The weights that the file itself says. */
enum llm_quantization llm_model_form(const struct hf_config *config);

/* The numbers of @config, with weights of linear layers in @form. Too large ones are U64_MAX. */
void llm_model_compute(const struct hf_config *config, enum llm_quantization form,
		       struct llm_model *ret_model);

/*
 * The derive() of an LLM server: if @container has app.model, set the keys that follow from it.
 * Returns 0 or a negative enum sim_exit.
 */
int llm_model_derive(struct cfg_load *load, const struct cfg_container *container);

/*
 * The expected share of @experts that @tokens tokens use together, in units of 2^-32. Each
 * token uses @experts_per_token of them, drawn evenly and independently of other tokens.
 * @experts_per_token is at least 1.
 */
u64 llm_model_experts_used(u64 experts, u64 experts_per_token, u64 tokens);

#endif
