// SPDX-License-Identifier: MIT OR GPL-2.0
/* See vllm_result.h. */
#include "trace/vllm_result.h"

#include <errno.h>
#include <string.h>

#include "engine/error.h"

#define NS_PER_S    1e9
#define SECONDS_MAX 1e9 /* limit of a clock that starts at boot, and of durations */
#define TOKENS_MAX  4294967295ll
#define ALLOWED                                                              \
	"what \"vllm bench serve --save-result --save-detailed\" writes in " \
	"versions since January 2026"

static const char *const vllm_keys[VLLM_KEYS] = {
	[VLLM_START_TIMES] = "start_times",
	[VLLM_TTFTS] = "ttfts",
	[VLLM_ITLS] = "itls",
	[VLLM_INPUT_LENS] = "input_lens",
	[VLLM_OUTPUT_LENS] = "output_lens",
	[VLLM_ERRORS] = "errors",
};

/* Parse @stream. */
static int vllm_parse(struct vllm_result *result, FILE *stream, struct sim_error *err)
{
	json_error_t bad;

	result->root = json_loadf(stream, JSON_REJECT_DUPLICATES, &bad);
	if (ferror(stream))
		return sim_user_error(err, "%s: cannot be read: %s", result->file,
				      strerror(errno));
	if (result->root)
		return 0;
	if (json_error_code(&bad) == json_error_end_of_input_expected)
		return sim_user_error(err,
				      "%s:%d:%d: more follows the first result, allowed: one "
				      "result a file, as \"vllm bench serve\" writes without "
				      "--append-result",
				      result->file, bad.line, bad.column);
	return sim_user_error(err, "%s:%d:%d: %s", result->file, bad.line, bad.column,
			      bad.text);
}

int vllm_result_load(struct vllm_result *result, FILE *stream, const char *file,
		     struct sim_error *err)
{
	int status;

	result->file = file;
	status = vllm_parse(result, stream, err);
	if (status)
		return status;
	for (int key = 0; key < VLLM_KEYS; key++) {
		json_t *list = json_object_get(result->root, vllm_keys[key]);

		if (!json_is_array(list))
			return sim_user_error(err, "%s:%s: is %s, allowed: " ALLOWED, file,
					      vllm_keys[key],
					      list ? "not an array" : "missing");
		result->lists[key] = list;
		if (!key)
			result->count = json_array_size(list);
		if (json_array_size(list) != result->count)
			return sim_user_error(
				err, "%s:%s: has %zu elements, allowed: %zu, as %s has", file,
				vllm_keys[key], json_array_size(list), result->count,
				vllm_keys[0]);
	}
	return 0;
}

void vllm_result_free(struct vllm_result *result)
{
	json_decref(result->root);
	*result = (struct vllm_result){ 0 };
}

/* Convert seconds to ns. @value may be NULL; @path is its place in the file, for messages. */
static int vllm_seconds(const struct vllm_result *result, const char *path, const json_t *value,
			u64 *ret_ns, struct sim_error *err)
{
	double seconds = json_number_value(value);

	if (json_is_number(value) && seconds >= 0 && seconds < SECONDS_MAX) {
		*ret_ns = (u64)(seconds * NS_PER_S + 0.5);
		return 0;
	}
	return sim_user_error(err, "%s:%s: is not a time, allowed: seconds from 0 to %g",
			      result->file, path, SECONDS_MAX);
}

/* The seconds of request @index under @key. */
static int vllm_time(const struct vllm_result *result, enum vllm_key key, size_t index,
		     u64 *ret_ns, struct sim_error *err)
{
	char path[64];

	snprintf(path, sizeof(path), "%s[%zu]", vllm_keys[key], index);
	return vllm_seconds(result, path, json_array_get(result->lists[key], index), ret_ns,
			    err);
}

static int vllm_tokens(const struct vllm_result *result, enum vllm_key key, size_t index,
		       u32 *ret_tokens, struct sim_error *err)
{
	const json_t *value = json_array_get(result->lists[key], index);
	json_int_t tokens = json_integer_value(value);

	if (json_is_integer(value) && tokens >= 0 && tokens <= TOKENS_MAX) {
		*ret_tokens = (u32)tokens;
		return 0;
	}
	return sim_user_error(err, "%s:%s[%zu]: is not a count, allowed: 0 to %lld",
			      result->file, vllm_keys[key], index, TOKENS_MAX);
}

int vllm_result_request(const struct vllm_result *result, size_t index,
			struct vllm_request *ret_request, struct sim_error *err)
{
	const json_t *error = json_array_get(result->lists[VLLM_ERRORS], index);
	struct vllm_request request = { 0 };
	int status = vllm_time(result, VLLM_START_TIMES, index, &request.start_ns, err);

	if (!status)
		status = vllm_time(result, VLLM_TTFTS, index, &request.ttft_ns, err);
	if (!status)
		status = vllm_tokens(result, VLLM_INPUT_LENS, index, &request.prompt_tokens,
				     err);
	if (!status)
		status = vllm_tokens(result, VLLM_OUTPUT_LENS, index, &request.output_tokens,
				     err);
	if (!status && !json_is_string(error))
		status = sim_user_error(
			err, "%s:errors[%zu]: is not a string, allowed: \"\" or an error",
			result->file, index);
	request.failed = json_string_length(error) || !request.ttft_ns;
	*ret_request = request;
	return status;
}

int vllm_result_gaps(const struct vllm_result *result, size_t index, size_t *ret_gaps,
		     struct sim_error *err)
{
	const json_t *gaps = json_array_get(result->lists[VLLM_ITLS], index);

	*ret_gaps = json_array_size(gaps);
	if (json_is_array(gaps))
		return 0;
	return sim_user_error(err,
			      "%s:itls[%zu]: is not an array, allowed: an array of seconds",
			      result->file, index);
}

int vllm_result_gap(const struct vllm_result *result, size_t index, size_t gap, u64 *ret_ns,
		    struct sim_error *err)
{
	const json_t *gaps = json_array_get(result->lists[VLLM_ITLS], index);
	char path[64];

	snprintf(path, sizeof(path), "itls[%zu][%zu]", index, gap);
	return vllm_seconds(result, path, json_array_get(gaps, gap), ret_ns, err);
}
