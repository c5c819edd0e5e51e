/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A trace of requests: when each request arrived, how long its prompt was, how many
 * tokens it generated. trace_read.h reads one from a file. It is checked completely there and
 * then is a flat array in time order.
 */
#ifndef SIM_TRACE_TRACE_H
#define SIM_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/types.h"
#include "trace/trace_store.h"

struct sim_error;

/* Which response length a replay uses. Traces with one response column carry it in both. */
enum trace_response {
	TRACE_RESPONSE_GENERATED, /* the tokens that the replaying server produced */
	TRACE_RESPONSE_RECORDED,  /* the tokens that the original trace asked for */
	TRACE_RESPONSE_COUNT,
};

/* One request. */
struct trace_request {
	u64 arrival_ns; /* since the trace's own zero */
	u32 prompt_tokens;
	u32 response_tokens[TRACE_RESPONSE_COUNT]; /* >= 1: failures are left out */
	u64 first_hash;				   /* in trace.hashes; see trace_hash_count() */
};

/*
 * A whole trace. Owned by the caller: trace_init(), then trace_destroy(). With a folder in
 * store.folder, a long one is in a file without a name there (trace_store.h).
 */
struct trace {
	struct trace_request *requests; /* in time order, equal times in file order */
	size_t count;
	struct trace_store store; /* of the requests */
	/*
	 * Prefix hashes, request after request. Each stands for hash_tokens tokens of a prompt;
	 * the last one may stand for fewer. Two prompts with the same hash have the same tokens
	 * there, and before. hash_tokens 0: the trace has none.
	 */
	u64 *hashes;
	size_t hash_count;
	size_t hash_room;
	u32 hash_tokens;
	u64 failures;	       /* recorded failures (0 response tokens) that were skipped */
	u64 bad_rows;	       /* malformed rows that --skip-bad passed over */
	bool two_responses;    /* the two response columns come from two measurements */
	char attribution[512]; /* who made it and under which licence; may be empty */
};

/*
 * The most requests that a trace may hold: twelve times the largest public BurstGPT file. It
 * bounds memory or disk space (2 GiB) when a file is that large or, damaged or hostile, claims
 * to be.
 */
#define TRACE_REQUESTS_MAX ((size_t)1 << 26)

/*
 * The most prefix hashes of a trace: 1 GiB of memory. The largest public one has 0.6 million.
 */
#define TRACE_HASHES_MAX ((size_t)1 << 27)

/*
 * So many requests are 8 MiB. A loop over all requests calls trace_pass() for each index, and
 * requests that it has passed can leave memory.
 */
#define TRACE_PASSED (TRACE_STORE_MEMORY / sizeof(struct trace_request))

static inline void trace_pass(const struct trace *trace, size_t index)
{
	if (index % TRACE_PASSED == 0)
		trace_store_forget(&trace->store);
}

void trace_init(struct trace *trace);
void trace_destroy(struct trace *trace);

/*
 * Add *@request at the end of @trace, growing it. Refuses a request that arrives before the
 * last one and lengths of 0: code that replays a trace trusts it. Returns 0; -SIM_EXIT_USER for
 * a request that no trace may hold or for too many of them; -SIM_EXIT_RUNTIME without memory.
 * On failure @trace is unchanged and *err names no file.
 */
int trace_append(struct trace *trace, const struct trace_request *request,
		 struct sim_error *err);

/*
 * The same for a file whose requests are in any order, and without prefix hashes: dates are as
 * the file has them. trace_order() has to follow the last one.
 */
int trace_append_unordered(struct trace *trace, const struct trace_request *request,
			   struct sim_error *err);

/* Bring the requests in time order, equal times in file order. The first one arrives at 0. */
void trace_order(struct trace *trace);

/* How many prefix hashes the prompt of @request has: those from first_hash on. */
static inline size_t trace_hash_count(const struct trace *trace,
				      const struct trace_request *request)
{
	return trace->hash_tokens ? (request->prompt_tokens + (size_t)trace->hash_tokens - 1) /
					    trace->hash_tokens :
				    0;
}

/*
 * Add room for the prefix hashes of @request, which trace_append() will add next, and set its
 * first_hash. The caller fills them in: there are trace_hash_count() of them, from
 * trace->hashes[first_hash] on. Errors as those of trace_append().
 */
int trace_append_hashes(struct trace *trace, struct trace_request *request,
			struct sim_error *err);

/*
 * Put "@path: " in front of *@err. Returns @status, the negative enum sim_exit that it came
 * with.
 */
int trace_error_at(const char *path, struct sim_error *err, int status);

/*
 * Can the @len bytes at @text be an attribution: short enough, and free of control characters,
 * since it is printed to terminals? Returns NULL, or the problem with it.
 */
const char *trace_attribution_problem(const char *text, size_t len);

#endif
