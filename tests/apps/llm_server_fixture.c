// SPDX-License-Identifier: MIT OR GPL-2.0
#include "llm_server_fixture.h"

struct cfg_llm llm;
struct trace_request arrivals[ARRIVALS_MAX];
struct trace trace = { .requests = arrivals };

void init_llm(void)
{
	init_machine(&llm_server_app, &llm);
	prepared = &trace;
	llm = (struct cfg_llm){
		.tensor_parallel = 1,
		.weights = 1000,
		.kv_bytes_per_token = 10,
		.gpu_memory_utilization = CFG_PPM / 4,
		.block_tokens = 16,
		.max_batched_tokens = 64,
		.max_sequences = 8,
		.max_model_len = 256,
		.flops_per_token = 100,
		.attention_flops = 2,
		.attention_tile = 1,
		.attention_group = 1,
		.efficiency = CFG_PPM / 2,
		.attention_efficiency = CFG_PPM / 2,
		.memory_efficiency = CFG_PPM,
		.kernel_launch = 100,
		.kernels_per_step = 10,
		.kv_bandwidth = CFG_PPM / 2,
		.client = { .trace.divide = CFG_PPM, .first_request = ZERO },
	};
}

void arrive(u64 at_ns, u32 prompt, u32 response)
{
	arrivals[trace.count++] = (struct trace_request){
		.arrival_ns = at_ns,
		.prompt_tokens = prompt,
		.response_tokens = { response, response },
	};
}

void expect_refused(size_t index, u64 at, enum app_reason reason)
{
	const struct app_record *record = &app_log.records[index];

	ck_assert_int_eq(record->outcome, APP_FAILED);
	ck_assert_int_eq(record->reason, reason);
	ck_assert_uint_eq(record->arrival_ns, at);
	ck_assert_uint_eq(record->first_ns, 0);
	ck_assert_uint_eq(record->finish_ns, at);
}
