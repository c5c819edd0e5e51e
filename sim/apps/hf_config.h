/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The shape of a language model, as its config.json in Hugging Face's format says. */
#ifndef SIM_APPS_HF_CONFIG_H
#define SIM_APPS_HF_CONFIG_H

#include <jansson.h>
#include <stdbool.h>

#include "engine/types.h"

struct sim_error;

/*
 * A decoder: layers of attention with grouped keys and values, and a gated MLP or experts.
 * Members have the names of config.json where they are its keys.
 */
struct hf_config {
	u64 hidden_size;
	u64 intermediate_size; /* of the MLP of a layer without experts */
	u64 num_hidden_layers;
	u64 num_attention_heads;
	u64 num_key_value_heads;
	u64 head_dim;
	u64 vocab_size;
	bool tie_word_embeddings; /* the output layer is the table of embeddings */
	bool qkv_bias;
	bool o_bias;
	bool mlp_bias;
	bool qk_norm;	/* each head's query and key are normalized */
	u64 moe_layers; /* layers with experts; 0: a dense model, and the next three are 0 */
	u64 num_experts;
	u64 num_experts_per_tok;
	u64 moe_intermediate_size; /* of one expert */
	u64 width;		   /* bytes of an element of torch_dtype */
	bool fp8;		   /* quantization_config: weights of linear layers in fp8 */
	u64 scale_block[2];	   /* rows and columns that share a scale; 0: whole matrices */
};

/*
 * Read the object @root of @file. Architectures of the Llama, Mistral, Qwen2, Qwen3 and
 * Qwen3-MoE shape are known. Returns 0 or -SIM_EXIT_USER, with a message that names @file and
 * the key.
 */
int hf_config_read(const json_t *root, const char *file, struct hf_config *ret_config,
		   struct sim_error *err);

#endif
