/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What a step of an LLM server costs the GPU
 * ==========================================
 *
 * The sum of (app_cost.h):
 *
 *     kernels_per_step * overhead of a kernel
 *   + max(reading the weights,                              the matrix products
 *         tokens * FLOP a token + sequences * FLOP of logits)
 *   + tokens * traffic of activations                       other kernels, bound by memory
 *   + reading the context of each sequence                  attention, bound by memory
 *   + FLOP of each (query, key) pair of prefill tokens      attention, bound by arithmetic
 *   + FLOP of expanding the latent context of prompts       products, with a latent cache
 *   + tokens * hidden values, twice a layer                 all-reduces between ranks
 *
 * Logits are computed for the last token of each sequence only.
 */
#ifndef SIM_APPS_LLM_STEP_H
#define SIM_APPS_LLM_STEP_H

#include "apps/app_cost.h"

struct cfg_llm;
struct llm_step;

/* All-reduces of a layer: after attention, and after the MLP. */
#define LLM_LAYER_REDUCTIONS 2

/* The tokens that a step computes. */
u64 llm_step_tokens(const struct llm_step *step);

/* Traffic and arithmetic of a rank for a step on @gpu, without the overhead of its kernels. */
struct app_work llm_step_work(const struct cfg_llm *cfg, const struct cfg_gpu *gpu,
			      const struct llm_step *step);

#endif
