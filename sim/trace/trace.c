// SPDX-License-Identifier: MIT OR GPL-2.0
#include "trace/trace.h"

#include "engine/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void trace_init(struct trace *trace)
{
	memset(trace, 0, sizeof(*trace));
}

void trace_destroy(struct trace *trace)
{
	trace_store_free(&trace->store);
	free(trace->hashes);
	trace_init(trace);
}

/* Can a replay trust the lengths of @request? */
static int trace_check_lengths(const struct trace *trace, const struct trace_request *request,
			       struct sim_error *err)
{
	if (!request->prompt_tokens)
		return sim_user_error(err, "request %zu has an empty prompt", trace->count);
	for (int i = 0; i < TRACE_RESPONSE_COUNT; i++)
		if (!request->response_tokens[i])
			return sim_user_error(err, "request %zu has an empty response",
					      trace->count);
	return 0;
}

/* The capacity is not stored: the array is full when the count is zero or a power of two. */
static int trace_add(struct trace *trace, const struct trace_request *request,
		     struct sim_error *err)
{
	int status = trace_check_lengths(trace, request, err);

	if (status)
		return status;
	if (!(trace->count & (trace->count - 1))) {
		size_t capacity = trace->count ? 2 * trace->count : 1;

		if (trace->count >= TRACE_REQUESTS_MAX)
			return sim_user_error(
				err, "more than %zu requests, the most that are supported",
				TRACE_REQUESTS_MAX);
		if (!trace_store_grow(&trace->store, capacity * sizeof(*request)))
			return sim_runtime_error(err, "out of memory for %zu requests",
						 capacity);
		trace->requests = trace->store.data;
	}
	trace_pass(trace, trace->count);
	trace->requests[trace->count++] = *request;
	return 0;
}

int trace_append(struct trace *trace, const struct trace_request *request,
		 struct sim_error *err)
{
	if (trace->count && request->arrival_ns < trace->requests[trace->count - 1].arrival_ns)
		return sim_user_error(err, "request %zu arrives before the one ahead of it",
				      trace->count);
	return trace_add(trace, request, err);
}

int trace_append_unordered(struct trace *trace, const struct trace_request *request,
			   struct sim_error *err)
{
	struct trace_request numbered = *request;

	/* Without hashes the member is free: it keeps equal times in file order. */
	numbered.first_hash = trace->count;
	return trace_add(trace, &numbered, err);
}

static int trace_compare(const void *left, const void *right)
{
	const struct trace_request *a = left, *b = right;

	if (a->arrival_ns != b->arrival_ns)
		return a->arrival_ns < b->arrival_ns ? -1 : 1;
	return a->first_hash < b->first_hash ? -1 : a->first_hash > b->first_hash;
}

void trace_order(struct trace *trace)
{
	u64 zero_ns;

	if (!trace->count)
		return;
	qsort(trace->requests, trace->count, sizeof(*trace->requests), trace_compare);
	zero_ns = trace->requests[0].arrival_ns;
	for (size_t i = 0; i < trace->count; i++) {
		trace_pass(trace, i);
		trace->requests[i].arrival_ns -= zero_ns;
		trace->requests[i].first_hash = 0;
	}
}

int trace_append_hashes(struct trace *trace, struct trace_request *request,
			struct sim_error *err)
{
	size_t count = trace_hash_count(trace, request);
	size_t room = trace->hash_room ? trace->hash_room : 1024;
	u64 *grown;

	if (count > TRACE_HASHES_MAX - trace->hash_count)
		return sim_user_error(err,
				      "more than %zu prefix hashes, the most that are "
				      "supported",
				      TRACE_HASHES_MAX);
	while (room < trace->hash_count + count)
		room *= 2;
	if (room > trace->hash_room) {
		grown = reallocarray(trace->hashes, room, sizeof(*grown));
		if (!grown)
			return sim_runtime_error(err, "out of memory for %zu prefix hashes",
						 room);
		trace->hashes = grown;
		trace->hash_room = room;
	}
	request->first_hash = trace->hash_count;
	trace->hash_count += count;
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
