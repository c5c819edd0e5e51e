/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Shapes of matrix products that a server's process has had
 * =========================================================
 *
 * A product of a layer is a call of cuBLAS. For a shape that the process has not had, cuBLAS
 * chooses a kernel by its heuristics, and remembers the choice. The host's first call of a
 * shape takes some 0.2 ms longer than the following ones
 * (plots/reference/hardware/new_shapes.py), and the GPU has nothing to do meanwhile.
 *
 * All layers have the same few matrices, so a step with a new number of tokens has a new shape
 * for each matrix of one layer. The output layer computes logits, and its shape follows from
 * the number of sequences. Steps of decodes have had all their shapes soon: there are
 * max_sequences of them. A prompt nearly always makes a new number of tokens, until the trace
 * has gone on for long. Full steps have max_batched_tokens.
 *
 * Not modelled: kernels of the library that are loaded when one of them is first chosen
 * (5 ms, a few times in the life of a process). Experts are no products of cuBLAS, and
 * a CUDA graph calls nothing.
 */
#ifndef SIM_APPS_LLM_SHAPES_H
#define SIM_APPS_LLM_SHAPES_H

#include "gvm/port.h"

struct cfg_llm;
struct llm_step;

/* All-zero: no shape was had, and none costs. */
struct llm_shapes {
	u64 *tokens;	    /* a bit for each number of tokens that a step has had */
	u64 *sequences;	    /* likewise of sequences */
	u64 layer_products; /* calls of cuBLAS for a layer */
};

/* For the steps of @cfg. Returns 0 or -ENOMEM; llm_shapes_destroy() is due either way. */
int llm_shapes_init(struct llm_shapes *shapes, const struct cfg_llm *cfg);
void llm_shapes_destroy(struct llm_shapes *shapes);

/* How many products of @step have a new shape. From now on they are had. */
u64 llm_shapes_meet(struct llm_shapes *shapes, const struct llm_step *step);

#endif
