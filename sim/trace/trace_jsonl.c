// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Traces in JSON lines, as Mooncake publishes them (Qin et al., FAST 2025)
 * =======================================================================
 *
 * A line is a request:
 *
 * 	{"timestamp": 27482, "input_length": 6955, "output_length": 52,
 * 	 "hash_ids": [46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 2353, 2354]}
 *
 * timestamp is in milliseconds. hash_ids has a number for each block of 512 tokens of the
 * prompt; the last block may be shorter. Prompts with the same number have the same tokens in
 * that block and before it. So the numbers say which prefixes requests share, and not what they
 * say. A trace without hash_ids is read as well; the first row decides.
 *
 * A row with an output of 0 tokens is a failure, as in CSV files (trace_csv.c). Other members
 * of a row are ignored.
 */
#include "trace/trace_jsonl.h"

#include "engine/error.h"
#include "trace/trace.h"
#include "trace/trace_lines.h"

#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A prompt of a million tokens has 2,000 hashes, in 20 KB. */
#define TRACE_JSONL_LINE_MAX ((size_t)1 << 20)

/* Mooncake's README: "each block contains 512 tokens". */
#define TRACE_JSONL_HASH_TOKENS 512

#define TRACE_JSONL_ATTRIBUTION "Mooncake trace (Qin et al., FAST 2025, Apache-2.0)"

/* A file while it is read. */
struct trace_jsonl {
	struct trace_lines lines;
	struct trace *trace;
	u64 rows;    /* good ones */
	u64 last_ns; /* arrival in the last good row, failed or not */
};

/* Get the whole number @key of @row, at most @max. */
static int jsonl_number(const struct trace_jsonl *jsonl, const json_t *row, const char *key,
			u64 max, u64 *ret_number, struct sim_error *err)
{
	const json_t *value = json_object_get(row, key);
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < 0 || (u64)number > max)
		return sim_user_error(err,
				      "%s:%llu: \"%s\": is %s, allowed are whole numbers from "
				      "0 to %llu",
				      jsonl->lines.path, jsonl->lines.line, key,
				      !value		      ? "missing" :
				      !json_is_integer(value) ? "not a whole number" :
				      number < 0	      ? "negative" :
								"too large",
				      max);
	*ret_number = (u64)number;
	return 0;
}

/* Do all of @hashes, NULL for none, fit to a prompt of @request? */
static int jsonl_check_hashes(const struct trace_jsonl *jsonl, const json_t *hashes,
			      const struct trace_request *request, struct sim_error *err)
{
	const char *path = jsonl->lines.path;
	size_t wanted = trace_hash_count(jsonl->trace, request);
	u64 line = jsonl->lines.line;

	if (!json_is_array(hashes) || json_array_size(hashes) != wanted)
		return sim_user_error(err,
				      "%s:%llu: \"hash_ids\": is no list of %zu numbers, "
				      "allowed is one for each %u tokens of \"input_length\"",
				      path, line, wanted, jsonl->trace->hash_tokens);
	for (size_t i = 0; i < wanted; i++) {
		const json_t *hash = json_array_get(hashes, i);

		if (!json_is_integer(hash) || json_integer_value(hash) < 0)
			return sim_user_error(err,
					      "%s:%llu: \"hash_ids\": number %zu is no whole "
					      "number, allowed are those from 0 to %lld",
					      path, line, i + 1, LLONG_MAX);
	}
	return 0;
}

/* Read @row into @request. Returns 0 or -SIM_EXIT_USER. */
static int jsonl_parse_row(struct trace_jsonl *jsonl, const json_t *row,
			   struct trace_request *request, struct sim_error *err)
{
	struct trace_lines *lines = &jsonl->lines;
	const json_t *hashes = json_object_get(row, "hash_ids");
	u64 date_ms = 0, prompt = 0, response = 0;
	int status;

	if (!json_is_object(row))
		return sim_user_error(err, "%s:%llu: is not an object, allowed is a request",
				      lines->path, lines->line);
	status = jsonl_number(jsonl, row, "timestamp", LLONG_MAX / 1000000, &date_ms, err);
	if (!status)
		status = jsonl_number(jsonl, row, "input_length", U32_MAX, &prompt, err);
	if (!status)
		status = jsonl_number(jsonl, row, "output_length", U32_MAX, &response, err);
	if (status)
		return status;
	*request = (struct trace_request){ .arrival_ns = date_ms * 1000000,
					   .prompt_tokens = (u32)prompt };
	for (int i = 0; i < TRACE_RESPONSE_COUNT; i++)
		request->response_tokens[i] = (u32)response;
	if (request->arrival_ns < jsonl->last_ns)
		return sim_user_error(err,
				      "%s:%llu: \"timestamp\": is earlier than that of the row "
				      "before, allowed is the same time or later",
				      lines->path, lines->line);
	if (response && !prompt)
		return sim_user_error(err,
				      "%s:%llu: \"input_length\": is an empty prompt, allowed "
				      "is 0 only where \"output_length\" is 0 too",
				      lines->path, lines->line);
	if (!jsonl->rows)
		jsonl->trace->hash_tokens = hashes ? TRACE_JSONL_HASH_TOKENS : 0;
	if (jsonl->trace->hash_tokens)
		return jsonl_check_hashes(jsonl, hashes, request, err);
	if (!hashes)
		return 0;
	return sim_user_error(
		err,
		"%s:%llu: \"hash_ids\": is new here, allowed is in all rows or in "
		"none",
		lines->path, lines->line);
}

/* Add the good row @row to the trace. Returns 0 or a negative enum sim_exit. */
static int jsonl_add(struct trace_jsonl *jsonl, const json_t *row,
		     struct trace_request *request, struct sim_error *err)
{
	const json_t *hashes = json_object_get(row, "hash_ids");
	struct trace *trace = jsonl->trace;
	int status;

	jsonl->rows++;
	jsonl->last_ns = request->arrival_ns;
	if (!request->response_tokens[TRACE_RESPONSE_GENERATED]) {
		trace->failures++;
		return 0;
	}
	status = trace_append_hashes(trace, request, err);
	if (status)
		return trace_error_at(jsonl->lines.path, err, status);
	for (size_t i = 0; i < trace_hash_count(trace, request); i++)
		trace->hashes[request->first_hash + i] =
			(u64)json_integer_value(json_array_get(hashes, i));
	status = trace_append(trace, request, err);
	return status ? trace_error_at(jsonl->lines.path, err, status) : 0;
}

/* Read the next row. Returns 1; 0 at the end of the file; a negative enum sim_exit. */
static int jsonl_read_row(struct trace_jsonl *jsonl, enum trace_bad_rows bad_rows,
			  struct sim_error *err)
{
	struct trace_request request;
	json_t *row = NULL;
	json_error_t wrong;
	int status = trace_lines_next_row(&jsonl->lines, err);

	if (!status)
		return 0;
	if (status > 0) {
		row = json_loads(jsonl->lines.buf, JSON_REJECT_DUPLICATES, &wrong);
		status = row ? jsonl_parse_row(jsonl, row, &request, err) :
			       sim_user_error(err,
					      "%s:%llu:%d: is not JSON, allowed is an object "
					      "a line",
					      jsonl->lines.path, jsonl->lines.line,
					      wrong.column);
	}
	if (!status)
		status = jsonl_add(jsonl, row, &request, err);
	else if (status == -SIM_EXIT_USER && bad_rows == TRACE_BAD_ROWS_SKIP) {
		jsonl->trace->bad_rows++;
		status = 0;
	}
	json_decref(row);
	return status ? status : 1;
}

int trace_jsonl_read(FILE *file, const char *path, enum trace_bad_rows bad_rows,
		     struct trace *trace, struct sim_error *err)
{
	struct trace_jsonl jsonl = {
		.lines = { .file = file, .path = path, .max = TRACE_JSONL_LINE_MAX },
		.trace = trace,
	};
	int status;

	jsonl.lines.buf = malloc(TRACE_JSONL_LINE_MAX + 1);
	if (!jsonl.lines.buf)
		return sim_runtime_error(err, "out of memory");
	do {
		status = jsonl_read_row(&jsonl, bad_rows, err);
	} while (status > 0);
	free(jsonl.lines.buf);
	if (status)
		return status;
	if (!trace->count)
		return trace_lines_no_requests(&jsonl.lines, trace->failures, trace->bad_rows,
					       err);
	strcpy(trace->attribution, TRACE_JSONL_ATTRIBUTION);
	return 0;
}
