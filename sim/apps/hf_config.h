/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The shape of a language model, as its config.json in Hugging Face's format says. */
#ifndef SIM_APPS_HF_CONFIG_H
#define SIM_APPS_HF_CONFIG_H

#include <jansson.h>
#include <stdbool.h>

#include "engine/types.h"

struct sim_error;

/*
 * A decoder: layers of attention with grouped or latent keys and values, and an MLP or experts.
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
	bool head_bias;	    /* of the output layer */
	bool qk_norm;	    /* each head's query and key are normalized */
	bool wide_norms;    /* likewise, with parameters for all heads in place of one */
	bool plain_mlp;	    /* up and down, without a gate */
	bool norm_bias;	    /* norms have one */
	bool one_norm;	    /* of a layer, in place of two, beside those of queries and keys */
	bool four_norms;    /* likewise */
	u64 sliding_window; /* tokens that some layers look back at most; 0: all look at all */
	u64 window_layers;  /* of these; 0 without a window */
	bool sinks;	    /* a value of each head and layer that softmax counts besides */
	/*
	 * Latent attention: keys and values of a token are products of kv_lora_rank values, and
	 * of rope_head_dim that all heads share. head_dim is that of queries and keys.
	 */
	u64 kv_lora_rank; /* 0: attention is not latent, and num_key_value_heads counts */
	u64 q_lora_rank;  /* queries are products of so many values; 0: of the hidden ones */
	u64 rope_head_dim;
	u64 v_head_dim;
	u64 positions;	/* rows of a table of learned positions; 0: there is none */
	u64 moe_layers; /* layers with experts; 0: a dense model, and the next three are 0 */
	u64 num_experts;
	u64 num_experts_per_tok;
	u64 moe_intermediate_size;	     /* of one expert */
	u64 shared_expert_intermediate_size; /* of one that all tokens use; 0: there is none */
	bool shared_gate;		     /* which has a gate of its own */
	bool expert_bias;		     /* of experts and router */
	bool route_bias;    /* a value of 32 bits for each expert, beside its score */
	u64 width;	    /* bytes of an element of torch_dtype */
	bool fp8;	    /* quantization_config: weights of linear layers in fp8 */
	u64 scale_block[2]; /* rows and columns that share a scale; 0: whole matrices */
	bool int4;	    /* quantization_config: likewise in 4 bits, by AWQ or GPTQ */
	u64 group;	    /* of int4: columns of a row that share a scale; 0: a whole row */
	bool zero_points;   /* of int4: a group has one of 4 bits beside its scale */
	bool mxfp4; /* quantization_config: weights of experts in 4 bits, 8 for each 32 of them */
};

/* Norms of a layer, beside those of queries and keys. */
static inline u64 hf_config_norms(const struct hf_config *config)
{
	return config->four_norms ? 4 : config->one_norm ? 1 : 2;
}

/*
 * Read the object @root of @file. hf_config.c has the architectures that are known. Returns 0 or
 * -SIM_EXIT_USER, with a message that names @file and the key.
 */
int hf_config_read(const json_t *root, const char *file, struct hf_config *ret_config,
		   struct sim_error *err);

#endif
