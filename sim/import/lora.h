/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The numbers of a LoRA trainer that follow from the shape of its model. */
#ifndef SIM_IMPORT_LORA_H
#define SIM_IMPORT_LORA_H

#include <stdbool.h>

#include "engine/types.h"

struct hf_config;
struct sim_error;

/* The settings of scenarios/apps/lora-llama-3.2-3b.json. */
#define LORA_RANK	 8u
#define LORA_MICRO_BATCH 4u
#define LORA_ACCUMULATE	 8u
#define LORA_TRACE	 "alpaca_en_demo.trace"

/* Bounds of the three. */
#define LORA_RANK_MAX	 4096u
#define LORA_SAMPLES_MAX 65536u

/* What the trainer is told. */
struct lora_options {
	u64 rank;
	u64 micro_batch; /* examples */
	u64 accumulate;	 /* micro-batches of a step */
	bool remat;	 /* activations are kept, and are computed again under pressure only */
	u64 longest;	 /* tokens of the longest example */
};

/* Forward and backward pass. */
struct lora_pass {
	u64 kernels;
	u64 flops_per_token;
	u64 traffic_per_token; /* bytes */
};

/* What follows. Bytes, unless said otherwise. */
struct lora {
	u64 parameters;		/* of the model */
	u64 used_parameters;	/* without a table of embeddings that is not the head */
	u64 layer_parameters;	/* of the matrices of all layers */
	u64 sides;		/* of the matrices of a layer, rows and columns together */
	u64 adapter_parameters; /* of LoRA */
	u64 adapter_tensors;
	bool adapters_count; /* LoRA's own arithmetic is in flops_per_token */
	u64 weights;
	u64 adapters; /* with gradients and AdamW's moments */
	u64 layer_norms;
	u64 layer_kernels;
	struct lora_pass forward;
	struct lora_pass backward;	/* layers are computed again */
	struct lora_pass backward_kept; /* nothing is */
	u64 inputs_per_token;		/* of all layers */
	u64 logits_per_token;		/* and their gradient */
	u64 within_per_token;		/* within one layer */
	u64 layer_per_token;		/* all that a layer keeps */
	u64 activations_per_token;	/* layers are computed again */
	u64 activations_kept_per_token; /* nothing is */
	u64 batch_tokens;		/* of the longest micro-batch */
	u64 activations;		/* of that: those kept if options.remat */
	u64 optimizer_kernels;
	u64 optimizer_traffic;
};

/*
 * The numbers of a trainer of the model @config, which messages call @model. Refuses experts,
 * fp8 and what is larger than a tensor of an application may be. Returns 0 or -SIM_EXIT_USER.
 */
int lora_compute(const struct hf_config *config, const char *model,
		 const struct lora_options *options, struct lora *ret_lora,
		 struct sim_error *err);

#endif
