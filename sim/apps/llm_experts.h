/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Which experts a step of an LLM server touches. All experts of all layers lie one after the
 * other in the weights. For each step they are drawn anew, each with the same probability:
 * tokens choose alike and independently.
 */
#ifndef SIM_APPS_LLM_EXPERTS_H
#define SIM_APPS_LLM_EXPERTS_H

#include "cuda/cuda.h"

struct llm_experts {
	u64 count;	  /* of all layers */
	u64 offset;	  /* bytes of the first chunk before the first expert */
	u64 bytes;	  /* of all of them */
	u64 expert_bytes; /* of one, in units of 2^-16 */
	u32 chunks;	  /* that they lie in */
	u32 *masks;	  /* of each chunk: all pages or none; see struct cuda_access */
	u64 *groups;	  /* chunks that are touched */
	u32 *ranks;	  /* of each word of groups: how many are, before it */
	u64 random;	  /* state of the draws */
	struct cuda_access access; /* of the experts that were drawn last */
};

/*
 * @layers layers of @experts experts, which lie in @weights from @offset on and take @bytes.
 * Draws depend on @seed. Returns 0 or -ENOMEM; llm_experts_destroy() is due either way.
 */
int llm_experts_init(struct llm_experts *all, const struct cuda_memory *weights, u64 offset,
		     u64 bytes, u64 layers, u64 experts, u64 seed);
void llm_experts_destroy(struct llm_experts *all);

/* Draw the experts of a step, each with the probability @share, in units of 2^-32. */
void llm_experts_draw(struct llm_experts *all, u64 share);

#endif
