// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A trace from the result file of vLLM's benchmark client (vllm_result.h). The client sends
 * requests side by side, so its list of them need not be in time order.
 */
#include "trace/trace_vllm.h"

#include "engine/error.h"
#include "trace/trace.h"
#include "trace/vllm_result.h"

/* Add request @index to @trace, or count its failure. Returns 0 or a negative enum sim_exit. */
static int vllm_add(const struct vllm_result *result, size_t index,
		    enum trace_bad_rows bad_rows, struct trace *trace, struct sim_error *err)
{
	struct vllm_request measured;
	struct trace_request request;
	int status = vllm_result_request(result, index, &measured, err);

	if (!status && (measured.failed || !measured.output_tokens)) {
		trace->failures++;
		return 0;
	}
	if (!status && !measured.prompt_tokens)
		status = sim_user_error(err,
					"%s:input_lens[%zu]: is an empty prompt, allowed: 0 "
					"only where output_lens is 0 too",
					result->file, index);
	if (status && bad_rows == TRACE_BAD_ROWS_SKIP) {
		trace->bad_rows++;
		return 0;
	}
	if (status)
		return status;
	request = (struct trace_request){ .arrival_ns = measured.start_ns,
					  .prompt_tokens = measured.prompt_tokens };
	for (int i = 0; i < TRACE_RESPONSE_COUNT; i++)
		request.response_tokens[i] = measured.output_tokens;
	status = trace_append_unordered(trace, &request, err);
	return status ? trace_error_at(result->file, err, status) : 0;
}

int trace_vllm_read(FILE *file, const char *path, enum trace_bad_rows bad_rows,
		    struct trace *trace, struct sim_error *err)
{
	struct vllm_result result = { 0 };
	int status = vllm_result_load(&result, file, path, err);

	for (size_t i = 0; !status && i < result.count; i++)
		status = vllm_add(&result, i, bad_rows, trace, err);
	vllm_result_free(&result);
	if (!status && !trace->count)
		status = sim_user_error(err,
					"%s: no requests (failures: %llu, bad rows: %llu), "
					"allowed are files with at least one",
					path, trace->failures, trace->bad_rows);
	if (!status)
		trace_order(trace);
	return status;
}
