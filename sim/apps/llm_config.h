/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What a scenario says of an LLM server and of its client. */
#ifndef SIM_APPS_LLM_CONFIG_H
#define SIM_APPS_LLM_CONFIG_H

#include "apps/app_trace.h"
#include "apps/llm_frontend.h"
#include "config/config.h"

/* The request source of an LLM server and the habits of its benchmark client. */
struct cfg_client {
	struct cfg_app_trace trace;
	u64 users;	     /* "app.client.users" of a closed loop; 0: an open one */
	u64 think;	     /* "app.client.think", ns from an answer to the next request */
	u64 first_request;   /* "app.client.start", ns after the container's start */
	u64 stop;	     /* "app.client.stop", ns after the first request; 0: never */
	u64 max_open;	     /* "app.client.max_open"; 0: no limit */
	bool drop_in_flight; /* "app.client.drop_in_flight": at stop, else wait for them */
	u64 slo_ttft;	     /* "app.slo_ttft", ns; 0: none */
	u64 slo_itl;	     /* "app.slo_itl", ns; 0: none */
};

/* vLLM V1 serving one model. Keys under "containers.<name>.app.". */
struct cfg_llm {
	char model[CFG_TEXT_MAX]; /* its config.json; empty: the keys say it all */
	u64 quantization;	  /* enum llm_quantization */
	u64 weights;		  /* bytes */
	u64 embeddings;		  /* of these, in a table that a step hardly reads */
	u64 expert_weights;	  /* of these, of all experts of all layers */
	u64 experts;		  /* of a layer; 0: a dense model */
	u64 experts_per_token;	  /* of these, that a token uses */
	u64 tensor_parallel;	  /* GPUs that the model is cut over */
	u64 token_bytes;	  /* of a token's hidden values */
	u64 kv_bytes_per_token;	  /* bytes, of all layers */
	u64 window; /* tokens that some layers look back at most (llm_window.h); 0: none does */
	u64 window_layers;	    /* of these */
	u64 workspace;		    /* bytes of activations that the server reserves */
	u64 gpu_memory_utilization; /* ppm of gpu.memory_total */
	u64 block_tokens;	    /* KV block size */
	u64 max_batched_tokens;	    /* token budget of a step */
	u64 max_sequences;
	u64 max_model_len;	 /* tokens */
	bool prefix_caching;	 /* KV blocks of equal prefixes are shared and kept */
	u64 flops_per_token;	 /* FLOP of a token in all layers, without attention */
	u64 head_flops;		 /* FLOP of a sequence's logits */
	u64 traffic_per_token;	 /* bytes of activations that a token moves */
	u64 attention_flops;	 /* FLOP of one query token per earlier token, all layers */
	u64 latent_decode_flops; /* likewise, of a sequence that decodes over a latent cache; 0:
				     the cache holds keys and values */
	u64 latent_expand_flops; /* FLOP that make keys and values of a token of that cache */
	u64 attention_tile;	 /* query tokens that attention computes for a decoding one */
	u64 attention_group;	 /* query heads that share a key head */
	u64 efficiency;		 /* ppm of gpu.flops_bf16 that its matrix products reach */
	u64 product_ridge;	 /* ppm: app_work_add_product() */
	u64 attention_efficiency; /* ppm of gpu.flops_bf16_mma that attention reaches */
	u64 attention_wgmma;	  /* ppm of gpu.flops_bf16 it reaches by wgmma; 0: never used */
	u64 memory_efficiency;	  /* ppm of gpu.memory_bandwidth that its kernels reach */
	u64 kv_bandwidth;	  /* likewise of attention while it reads KV */
	u64 kernels_per_step;
	u64 weight_matrices; /* each read by one kernel, as a whole; 0: bit by bit, by all */
	u64 layers;	     /* each one's attention reads its part of the KV; 0: bit by bit */
	u64 kernel_launch;   /* ns of host time of a launch, reference host */
	u64 host_per_step;   /* ns of host time of a step beside its launches, likewise */
	u64 host_per_sequence;	   /* and for each of its sequences */
	u64 host_per_prompt_token; /* and for each token of a prompt */
	u64 host_per_new_shape;	   /* and for each product of a new shape (llm_shapes.h) */
	u64 graph_tokens; /* a step of up to so many tokens is one launch: a CUDA graph */
	u64 boot; /* ns that its process starts ahead of the container's start, to be ready */
	struct cfg_frontend frontend;
	struct cfg_client client;
};

#endif
