/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The scheduler of a test, and its requests. */
#ifndef TESTS_LLM_SCHEDULER_FIXTURE_H
#define TESTS_LLM_SCHEDULER_FIXTURE_H

#include "apps/llm_scheduler.h"
#include "runner.h"

#define REQUESTS_MAX 64

extern struct llm_scheduler scheduler;
extern struct llm_request requests[REQUESTS_MAX];

/* Make the scheduler. @blocks KV blocks can be used. @budget: tokens of a step. */
void start_scheduler(u32 blocks, u32 block_tokens, u32 budget, u32 sequences, u32 model_len);

#endif
