// SPDX-License-Identifier: MIT OR GPL-2.0
/* Requests of vLLM's benchmark client; see app_logs.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collect/app_logs.h"
#include "engine/error.h"
#include "gvm/port.h"
#include "trace/vllm_result.h"

#define NS_MAX 1000000000000000000ull

/*
 * Sum up the gaps between a request's tokens. Adds each gap to @log as one of @kind unless @log
 * is NULL.
 */
static int vllm_gaps(const struct vllm_result *vllm, size_t index, struct app_log *log,
		     enum app_gaps kind, u64 *ret_sum_ns, struct sim_error *err)
{
	size_t count;
	int status = vllm_result_gaps(vllm, index, &count, err);
	u64 gap_ns;

	*ret_sum_ns = 0;
	for (size_t i = 0; !status && i < count; i++) {
		status = vllm_result_gap(vllm, index, i, &gap_ns, err);
		if (status)
			break;
		*ret_sum_ns += gap_ns;
		if (*ret_sum_ns > NS_MAX)
			return sim_user_error(
				err,
				"%s:itls[%zu]: is not a time, allowed: a sum of up to %g "
				"seconds",
				vllm->file, index, (double)NS_MAX / 1e9);
		if (log && app_log_add_gap(log, kind, gap_ns))
			status = sim_runtime_error(err, "%s: out of memory", vllm->file);
	}
	return status;
}

/* Read a request. Its arrival is on the host's clock; its other times are durations. */
static int vllm_record(const struct vllm_result *vllm, size_t index, struct app_record *record,
		       struct sim_error *err)
{
	struct vllm_request request;
	u64 gaps_ns = 0;
	int status = vllm_result_request(vllm, index, &request, err);

	if (!status)
		status = vllm_gaps(vllm, index, NULL, APP_GAPS_OTHERS, &gaps_ns, err);
	record->id = index;
	record->arrival_ns = request.start_ns;
	record->first_ns = request.ttft_ns;
	record->finish_ns = gaps_ns;
	record->prompt_tokens = request.prompt_tokens;
	record->output_tokens = request.output_tokens;
	record->outcome = request.failed ? APP_FAILED : APP_COMPLETED;
	if (request.failed)
		record->reason = APP_ERROR;
	return status;
}

static int vllm_add(const struct vllm_result *vllm, size_t index,
		    const struct app_log_window *window, struct app_log *log, u64 *outside,
		    struct sim_error *err)
{
	struct app_record record = { 0 };
	u64 unused;
	int status = vllm_record(vllm, index, &record, err);

	if (status)
		return status;
	if (record.arrival_ns < window->start_ns || record.arrival_ns > window->end_ns) {
		++*outside;
		return 0;
	}
	status = vllm_gaps(vllm, index, log,
			   record.outcome == APP_COMPLETED ? APP_GAPS_COMPLETED :
							     APP_GAPS_OTHERS,
			   &unused, err);
	/*
	 * Turn durations into dates since the collection began. A failed request has no finish.
	 */
	record.arrival_ns -= window->start_ns;
	if (record.first_ns)
		record.first_ns += record.arrival_ns;
	record.finish_ns += record.first_ns;
	if (record.outcome != APP_COMPLETED)
		record.finish_ns = 0;
	/* The client ends with its last request. */
	log->end_ns = max(log->end_ns, (u64)record.arrival_ns);
	log->end_ns = max(log->end_ns, (u64)record.finish_ns);
	if (!status && app_log_add(log, &record))
		status = sim_runtime_error(err, "%s: out of memory", vllm->file);
	return status;
}

int app_logs_read_vllm(struct app_log *log, const char *file,
		       const struct app_log_window *window, u64 *ret_outside,
		       struct sim_error *err)
{
	struct vllm_result vllm = { 0 };
	FILE *stream = fopen(file, "rbe");
	int status;

	*ret_outside = 0;
	if (!stream)
		return sim_user_error(err, "%s: cannot be read: %s", file, strerror(errno));
	status = vllm_result_load(&vllm, stream, file, err);
	fclose(stream);
	for (size_t i = 0; !status && i < vllm.count; i++)
		status = vllm_add(&vllm, i, window, log, ret_outside, err);
	vllm_result_free(&vllm);
	return status;
}
