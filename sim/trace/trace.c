// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A trace in memory, and the door through which every form of it comes in.
 */
#include "trace/trace.h"

#include "engine/error.h"
#include "trace/trace_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void trace_init(struct trace *trace)
{
	memset(trace, 0, sizeof(*trace));
}

void trace_destroy(struct trace *trace)
{
	free(trace->requests);
	trace_init(trace);
}

static int trace_check_request(const struct trace *trace, const struct trace_request *request,
			       struct sim_error *err)
{
	if (trace->count && request->arrival_ns < trace->requests[trace->count - 1].arrival_ns)
		return sim_user_error(err, "request %zu arrives before the one ahead of it",
				      trace->count);
	if (!request->prompt_tokens)
		return sim_user_error(err, "request %zu has an empty prompt", trace->count);
	for (int i = 0; i < TRACE_RESPONSE_COUNT; i++)
		if (!request->response_tokens[i])
			return sim_user_error(err, "request %zu has an empty response",
					      trace->count);
	return 0;
}

/*
 * The capacity is always the next power of two, so it need not be stored: the array is full
 * exactly when the count is zero or a power of two.
 */
static int trace_reserve_one(struct trace *trace, struct sim_error *err)
{
	struct trace_request *grown;
	size_t capacity;

	if (trace->count && (trace->count & (trace->count - 1)))
		return 0;
	if (trace->count >= TRACE_REQUESTS_MAX)
		return sim_user_error(err,
				      "more than %zu requests, the most that are supported",
				      TRACE_REQUESTS_MAX);
	capacity = trace->count ? 2 * trace->count : 1;
	grown = realloc(trace->requests, capacity * sizeof(*grown));
	if (!grown)
		return sim_runtime_error(err, "out of memory for %zu requests", capacity);
	trace->requests = grown;
	return 0;
}

int trace_append(struct trace *trace, const struct trace_request *request,
		 struct sim_error *err)
{
	int status;

	status = trace_check_request(trace, request, err);
	if (status)
		return status;
	status = trace_reserve_one(trace, err);
	if (status)
		return status;
	trace->requests[trace->count++] = *request;
	return 0;
}

int trace_error_at(const char *path, struct sim_error *err, int status)
{
	struct sim_error inner = *err;

	if (status == -SIM_EXIT_USER)
		return sim_user_error(err, "%s: %s", path, inner.text);
	sim_runtime_error(err, "%s: %s", path, inner.text);
	return status;
}

const char *trace_attribution_problem(const char *text, size_t len)
{
	if (len >= sizeof(((struct trace *)NULL)->attribution))
		return "is longer than 511 bytes";
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return "has control characters";
	return NULL;
}

/*
 * Told apart by one byte, because one is what ungetc() promises to put back: so a trace can
 * also come through a pipe. No CSV header that is accepted starts with this byte.
 */
static int trace_read_stream(FILE *file, const char *path, enum trace_bad_rows bad_rows,
			     struct trace *trace, struct sim_error *err)
{
	int first = getc(file);

	if (first == EOF && ferror(file))
		return sim_runtime_error(err, "%s: cannot read: %s", path, strerror(errno));
	if (first == EOF)
		return sim_user_error(err, "%s: is empty", path);
	ungetc(first, file);
	if (first == TRACE_FILE_FIRST_BYTE)
		return trace_file_read(file, path, trace, err);
	return trace_csv_read(file, path, bad_rows, trace, err);
}

static bool trace_is_folder(FILE *file)
{
	struct stat st;

	return !fstat(fileno(file), &st) && S_ISDIR(st.st_mode);
}

int trace_read(const char *path, enum trace_bad_rows bad_rows, struct trace *trace,
	       struct sim_error *err)
{
	FILE *file;
	int status;

	assert(!trace->requests);
	file = fopen(path, "rbe");
	if (!file)
		return sim_user_error(err, "%s: cannot open: %s", path, strerror(errno));
	if (trace_is_folder(file))
		status = sim_user_error(err, "%s: is a folder, allowed is a trace", path);
	else
		status = trace_read_stream(file, path, bad_rows, trace, err);
	fclose(file);
	if (status)
		trace_destroy(trace);
	return status;
}
