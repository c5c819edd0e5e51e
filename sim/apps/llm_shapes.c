// SPDX-License-Identifier: MIT OR GPL-2.0
#include "apps/llm_shapes.h"

#include <errno.h>
#include <stdlib.h>

#include "apps/llm_config.h"
#include "apps/llm_scheduler.h"
#include "apps/llm_step.h"

#define WORD_BITS 64u

/* Of experts, a layer has two matrices, which no call of cuBLAS reads. */
#define EXPERT_MATRICES 2u

static u64 *bits_alloc(u64 highest)
{
	return calloc(highest / WORD_BITS + 1, sizeof(u64));
}

/* Was @number new? */
static bool bits_add(u64 *bits, u64 number)
{
	u64 bit = 1ull << number % WORD_BITS;
	u64 *word = &bits[number / WORD_BITS];
	bool new = !(*word & bit);

	*word |= bit;
	return new;
}

int llm_shapes_init(struct llm_shapes *shapes, const struct cfg_llm *cfg)
{
	u64 matrices = cfg->layers ? cfg->weight_matrices / cfg->layers : 0;

	shapes->layer_products =
		matrices - min(matrices, cfg->experts ? EXPERT_MATRICES : 0ull);
	shapes->tokens = bits_alloc(cfg->max_batched_tokens);
	shapes->sequences = bits_alloc(cfg->max_sequences);
	return shapes->tokens && shapes->sequences ? 0 : -ENOMEM;
}

void llm_shapes_destroy(struct llm_shapes *shapes)
{
	free(shapes->tokens);
	free(shapes->sequences);
}

u64 llm_shapes_meet(struct llm_shapes *shapes, const struct llm_step *step)
{
	u64 fresh = 0;

	if (bits_add(shapes->tokens, llm_step_tokens(step)))
		fresh += shapes->layer_products;
	if (bits_add(shapes->sequences, step->sequences))
		fresh++;
	return fresh;
}
