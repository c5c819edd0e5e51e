// SPDX-License-Identifier: MIT OR GPL-2.0
/* The scheduler of a test; see llm_scheduler_fixture.h. */
#include "llm_scheduler_fixture.h"

struct llm_scheduler scheduler;
struct llm_request requests[REQUESTS_MAX];

void start_scheduler(u32 blocks, u32 block_tokens, u32 budget, u32 sequences, u32 model_len)
{
	struct llm_scheduler_config config = {
		.block_count = blocks + 1, /* and the null block */
		.block_tokens = block_tokens,
		.max_batched_tokens = budget,
		.max_sequences = sequences,
		.max_model_len = model_len,
	};

	ck_assert_int_eq(llm_scheduler_init(&scheduler, &config), 0);
}
