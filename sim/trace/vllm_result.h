/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The result file of vLLM's benchmark client: "vllm bench serve --save-result --save-detailed"
 * (vllm/benchmarks/serve.py).
 *
 * It is one JSON object. These of its members are lists with an element per request:
 * start_times, ttfts, itls, input_lens, output_lens and errors, with times in seconds.
 * start_times are of the client's CLOCK_MONOTONIC. vLLM writes them since January 2026 (its
 * pull request 32667); without them the arrivals of requests are unknown. A request with an
 * error text, or without a first token, has failed.
 */
#ifndef SIM_TRACE_VLLM_RESULT_H
#define SIM_TRACE_VLLM_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "engine/types.h"

struct sim_error;

/* The lists of the file. */
enum vllm_key {
	VLLM_START_TIMES,
	VLLM_TTFTS,
	VLLM_ITLS,
	VLLM_INPUT_LENS,
	VLLM_OUTPUT_LENS,
	VLLM_ERRORS,
	VLLM_KEYS,
};

/* A file. Start with zeros; vllm_result_load(), then vllm_result_free() in any case. */
struct vllm_result {
	const char *file; /* its name, borrowed, for messages */
	json_t *root;
	json_t *lists[VLLM_KEYS]; /* borrowed from root, all of one length */
	size_t count;		  /* of requests */
};

struct vllm_request {
	u64 start_ns; /* on the client's clock */
	u64 ttft_ns;  /* 0: there was no first token */
	u32 prompt_tokens;
	u32 output_tokens;
	bool failed;
};

/*
 * Read @stream and find its lists. @file is its name, for messages. Returns 0 or a negative enum
 * sim_exit; *err names file and key of a mistake.
 */
int vllm_result_load(struct vllm_result *result, FILE *stream, const char *file,
		     struct sim_error *err);
void vllm_result_free(struct vllm_result *result);

/* Read request @index, but for its gaps. Returns 0 or -SIM_EXIT_USER. */
int vllm_result_request(const struct vllm_result *result, size_t index,
			struct vllm_request *ret_request, struct sim_error *err);

/* The number of gaps between the tokens of request @index. Returns 0 or -SIM_EXIT_USER. */
int vllm_result_gaps(const struct vllm_result *result, size_t index, size_t *ret_gaps,
		     struct sim_error *err);

/* One of these gaps. Returns 0 or -SIM_EXIT_USER. */
int vllm_result_gap(const struct vllm_result *result, size_t index, size_t gap, u64 *ret_ns,
		    struct sim_error *err);

#endif
