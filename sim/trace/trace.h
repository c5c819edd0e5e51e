/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Request traces: when each request arrived, how long its prompt was, how much it generated.
 *
 * A trace is read once, checked completely at the border, and then is a flat array in time
 * order. Three forms are understood, told apart by their content, never by their name:
 *
 *  - the public BurstGPT CSV, 6 columns (Timestamp,Model,Request tokens,Response tokens,
 *    Total tokens,Log Type) or 8 (with Session ID and Elapsed time);
 *  - the arrivals CSV of the 3256-request head that the GVM paper replayed, which has two
 *    response columns: what the server generated and what the trace asked for;
 *  - our own compact form (trace_file.c): zstd with checksum, delta-coded varints.
 */
#ifndef SIM_TRACE_TRACE_H
#define SIM_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/types.h"

struct sim_error;

/* Which response length a replay uses. Traces with one response column carry it in both. */
enum trace_response {
	TRACE_RESPONSE_GENERATED, /* what the replaying server really produced */
	TRACE_RESPONSE_RECORDED,  /* what the original trace asked for */
	TRACE_RESPONSE_COUNT,
};

/* One request. */
struct trace_request {
	u64 arrival_ns; /* since the trace's own zero */
	u32 prompt_tokens;
	u32 response_tokens[TRACE_RESPONSE_COUNT]; /* >= 1: failures are not requests */
};

/* A whole trace in memory. Owned by the caller: trace_init(), then trace_destroy(). */
struct trace {
	struct trace_request *requests; /* in time order, equal times in file order */
	size_t count;
	u64 failures;	       /* recorded failures (0 response tokens) that were skipped */
	u64 bad_rows;	       /* malformed rows that --skip-bad passed over */
	bool two_responses;    /* the two response columns come from two measurements */
	char attribution[512]; /* who made it and under which licence; may be empty */
};

/* What to do about a malformed row. */
enum trace_bad_rows {
	TRACE_BAD_ROWS_FAIL, /* refuse the file, naming line and reason */
	TRACE_BAD_ROWS_SKIP, /* count it in bad_rows and go on */
};

void trace_init(struct trace *trace);
void trace_destroy(struct trace *trace);

/*
 * Read any supported form from the file @path. On failure *trace is empty and *err names file,
 * line (CSV) or offset, and reason. Returns 0 or a negative enum sim_exit.
 */
int trace_read(const char *path, enum trace_bad_rows bad_rows, struct trace *trace,
	       struct sim_error *err);

/*
 * Write the compact form: to a neighbour of @path, then renamed over it, so that a full disk
 * leaves no half file. Returns 0 or a negative enum sim_exit.
 */
int trace_write(const char *path, const struct trace *trace, struct sim_error *err);

#endif
