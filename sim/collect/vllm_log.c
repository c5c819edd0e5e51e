// SPDX-License-Identifier: MIT OR GPL-2.0
/* The result file of vLLM's benchmark client (vllm/benchmarks/serve.py); see app_logs.h. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "collect/app_logs.h"
#include "engine/error.h"
#include "gvm/port.h"

#define NS_PER_S    1e9
#define SECONDS_MAX 1e9 /* limit of a clock that starts at boot, and of durations */
#define NS_MAX	    1000000000000000000ull
#define TOKENS_MAX  4294967295ll
#define ALLOWED                                                              \
	"what \"vllm bench serve --save-result --save-detailed\" writes in " \
	"versions since January 2026"

/* An array in the file. */
enum vllm_key {
	VLLM_START_TIMES,
	VLLM_TTFTS,
	VLLM_ITLS,
	VLLM_INPUT_LENS,
	VLLM_OUTPUT_LENS,
	VLLM_ERRORS,
	VLLM_KEYS,
};

static const char *const vllm_keys[VLLM_KEYS] = {
	"start_times", "ttfts", "itls", "input_lens", "output_lens", "errors",
};

struct vllm_file {
	const char *file;
	json_t *root;
	json_t *arrays[VLLM_KEYS]; /* borrowed from root, all of one length */
	size_t count;
	struct sim_error *err;
};

/* Read the file and find its arrays, which have an element per request. */
static int vllm_open(struct vllm_file *vllm)
{
	FILE *stream = fopen(vllm->file, "rbe");
	json_error_t bad;

	if (!stream)
		return sim_user_error(vllm->err, "%s: cannot be read: %s", vllm->file,
				      strerror(errno));
	vllm->root = json_loadf(stream, 0, &bad);
	fclose(stream);
	if (!vllm->root)
		return sim_user_error(vllm->err, "%s:%d:%d: %s", vllm->file, bad.line,
				      bad.column, bad.text);
	for (int key = 0; key < VLLM_KEYS; key++) {
		json_t *array = json_object_get(vllm->root, vllm_keys[key]);

		if (!json_is_array(array))
			return sim_user_error(vllm->err, "%s:%s: is %s, allowed: " ALLOWED,
					      vllm->file, vllm_keys[key],
					      array ? "not an array" : "missing");
		vllm->arrays[key] = array;
		if (!key)
			vllm->count = json_array_size(array);
		if (json_array_size(array) != vllm->count)
			return sim_user_error(
				vllm->err, "%s:%s: has %zu elements, allowed: %zu, as %s has",
				vllm->file, vllm_keys[key], json_array_size(array), vllm->count,
				vllm_keys[0]);
	}
	return 0;
}

/* Convert seconds to ns. @value may be NULL; @path is its place in the file, for messages. */
static int vllm_seconds(const struct vllm_file *vllm, const char *path, const json_t *value,
			u64 *ret_ns)
{
	double seconds = json_number_value(value);

	if (json_is_number(value) && seconds >= 0 && seconds < SECONDS_MAX) {
		*ret_ns = (u64)(seconds * NS_PER_S + 0.5);
		return 0;
	}
	return sim_user_error(vllm->err, "%s:%s: is not a time, allowed: seconds from 0 to %g",
			      vllm->file, path, SECONDS_MAX);
}

/* The seconds of request @index under @key. */
static int vllm_time(const struct vllm_file *vllm, enum vllm_key key, size_t index, u64 *ret_ns)
{
	char path[64];

	snprintf(path, sizeof(path), "%s[%zu]", vllm_keys[key], index);
	return vllm_seconds(vllm, path, json_array_get(vllm->arrays[key], index), ret_ns);
}

static int vllm_tokens(const struct vllm_file *vllm, enum vllm_key key, size_t index,
		       u32 *ret_tokens)
{
	const json_t *value = json_array_get(vllm->arrays[key], index);
	json_int_t tokens = json_integer_value(value);

	if (json_is_integer(value) && tokens >= 0 && tokens <= TOKENS_MAX) {
		*ret_tokens = (u32)tokens;
		return 0;
	}
	return sim_user_error(vllm->err, "%s:%s[%zu]: is not a count, allowed: 0 to %lld",
			      vllm->file, vllm_keys[key], index, TOKENS_MAX);
}

/*
 * Sum up the gaps between a request's tokens. Adds each gap to @log as one of @kind unless @log
 * is NULL.
 */
static int vllm_gaps(const struct vllm_file *vllm, size_t index, struct app_log *log,
		     enum app_gaps kind, u64 *ret_sum_ns)
{
	const json_t *gaps = json_array_get(vllm->arrays[VLLM_ITLS], index);
	char path[64];
	int status = 0;
	u64 gap_ns;

	*ret_sum_ns = 0;
	if (!json_is_array(gaps))
		return sim_user_error(
			vllm->err,
			"%s:itls[%zu]: is not an array, allowed: an array of seconds",
			vllm->file, index);
	for (size_t i = 0; !status && i < json_array_size(gaps); i++) {
		snprintf(path, sizeof(path), "itls[%zu][%zu]", index, i);
		status = vllm_seconds(vllm, path, json_array_get(gaps, i), &gap_ns);
		if (status)
			break;
		*ret_sum_ns += gap_ns;
		if (*ret_sum_ns > NS_MAX)
			return sim_user_error(
				vllm->err,
				"%s:itls[%zu]: is not a time, allowed: a sum of up to %g "
				"seconds",
				vllm->file, index, SECONDS_MAX);
		if (log && app_log_add_gap(log, kind, gap_ns))
			status = sim_runtime_error(vllm->err, "%s: out of memory", vllm->file);
	}
	return status;
}

/* Read a request. Its arrival is on the host's clock; its other times are durations. */
static int vllm_record(const struct vllm_file *vllm, size_t index, struct app_record *record)
{
	const json_t *error = json_array_get(vllm->arrays[VLLM_ERRORS], index);
	int status = vllm_time(vllm, VLLM_START_TIMES, index, &record->arrival_ns);

	if (!status)
		status = vllm_time(vllm, VLLM_TTFTS, index, &record->first_ns);
	if (!status)
		status = vllm_gaps(vllm, index, NULL, APP_GAPS_OTHERS, &record->finish_ns);
	if (!status)
		status = vllm_tokens(vllm, VLLM_INPUT_LENS, index, &record->prompt_tokens);
	if (!status)
		status = vllm_tokens(vllm, VLLM_OUTPUT_LENS, index, &record->output_tokens);
	if (!status && !json_is_string(error))
		status = sim_user_error(
			vllm->err, "%s:errors[%zu]: is not a string, allowed: \"\" or an error",
			vllm->file, index);
	record->id = index;
	record->outcome = APP_COMPLETED;
	if (!status && (json_string_length(error) || !record->first_ns))
		record->outcome = APP_FAILED;
	if (record->outcome == APP_FAILED)
		record->reason = APP_ERROR;
	return status;
}

static int vllm_add(const struct vllm_file *vllm, size_t index,
		    const struct app_log_window *window, struct app_log *log, u64 *outside)
{
	struct app_record record = { 0 };
	u64 unused;
	int status = vllm_record(vllm, index, &record);

	if (status)
		return status;
	if (record.arrival_ns < window->start_ns || record.arrival_ns > window->end_ns) {
		++*outside;
		return 0;
	}
	status = vllm_gaps(vllm, index, log,
			   record.outcome == APP_COMPLETED ? APP_GAPS_COMPLETED :
							     APP_GAPS_OTHERS,
			   &unused);
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
		status = sim_runtime_error(vllm->err, "%s: out of memory", vllm->file);
	return status;
}

int app_logs_read_vllm(struct app_log *log, const char *file,
		       const struct app_log_window *window, u64 *ret_outside,
		       struct sim_error *err)
{
	struct vllm_file vllm = { .file = file, .err = err };
	int status = vllm_open(&vllm);

	*ret_outside = 0;
	for (size_t i = 0; !status && i < vllm.count; i++)
		status = vllm_add(&vllm, i, window, log, ret_outside);
	json_decref(vllm.root);
	return status;
}
