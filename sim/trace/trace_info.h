/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Statistics over a trace: how many requests, how large, how bursty.
 *
 * Sums are exact integers. Floating point only divides at the end, for people to read; no
 * result of a simulation depends on it.
 */
#ifndef SIM_TRACE_TRACE_INFO_H
#define SIM_TRACE_TRACE_INFO_H

#include "trace/trace.h"

#include <stddef.h>
#include <stdio.h>

struct sim_error;

/*
 * By how much a replay divides the arrival times: num / den, both above 0. So 1989 / 10 is a
 * replay at 200 times the recorded speed.
 */
struct trace_divisor {
	u64 num;
	u64 den;
};

/* Lengths in tokens of one kind of text. */
struct trace_lengths {
	u64 min;
	u64 max;
	u64 sum;
	double mean;
	double p50; /* percentiles as numpy.percentile interpolates them */
	double p90;
	double p99;
};

/* The windows in which arrivals are counted. */
enum trace_window {
	TRACE_WINDOW_1S,
	TRACE_WINDOW_10S,
	TRACE_WINDOW_60S,
	TRACE_WINDOW_300S,
	TRACE_WINDOW_COUNT,
};

/*
 * Arrivals counted in windows of one size. The windows lie end to end: the first one starts at
 * the first arrival, and the last one holds the last arrival.
 */
struct trace_burst {
	u64 window_ns;
	u64 windows;	   /* empty ones included */
	u64 peak;	   /* most arrivals in one window */
	double dispersion; /* index of dispersion: variance / mean of the counts; Poisson: 1 */
};

/* All statistics of a trace. Times are after the division. Owns nothing. */
struct trace_info {
	size_t count;
	u64 failures;
	u64 bad_rows;
	bool two_responses;
	struct trace_divisor divisor;
	u64 first_ns;		/* arrival of the first request */
	u64 span_ns;		/* from the first arrival to the last */
	double rate_per_s;	/* count / span; 0 if the span is 0 */
	double interarrival_cv; /* deviation / mean of the gaps; Poisson: 1; 0 if span is 0 */
	struct trace_lengths prompt;
	struct trace_lengths response[TRACE_RESPONSE_COUNT];
	struct trace_burst burst[TRACE_WINDOW_COUNT];
};

/*
 * Parse a decimal number above 0 with up to 9 decimals, such as "198.9", into the fraction in
 * lowest terms, 1989 / 10. Returns 0 or -SIM_EXIT_USER with *err saying what is allowed.
 */
int trace_divisor_parse(const char *text, struct trace_divisor *ret_divisor,
			struct sim_error *err);

/*
 * Fill *@ret_info for @trace, which has at least one request, replayed at the speed that
 * @divisor tells; a divided arrival is rounded down to the nanosecond. Returns 0;
 * -SIM_EXIT_USER if the last arrival leaves 64 bits (a divisor below 1); -SIM_EXIT_RUNTIME
 * without memory.
 */
int trace_info_compute(const struct trace *trace, struct trace_divisor divisor,
		       struct trace_info *ret_info, struct sim_error *err);

/* Print @info as a small table for people. Errors stay in @out, for the caller to ferror(). */
void trace_info_print(FILE *out, const struct trace_info *info);

#endif
