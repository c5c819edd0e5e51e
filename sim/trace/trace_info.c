// SPDX-License-Identifier: MIT OR GPL-2.0
#include "trace/trace_info.h"

#include "engine/error.h"
#include "engine/stats.h"
#include "trace/trace_parse.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define TRACE_NS_PER_SEC 1000000000ull

static const u64 trace_window_ns[TRACE_WINDOW_COUNT] = {
	[TRACE_WINDOW_1S] = 1 * TRACE_NS_PER_SEC,
	[TRACE_WINDOW_10S] = 10 * TRACE_NS_PER_SEC,
	[TRACE_WINDOW_60S] = 60 * TRACE_NS_PER_SEC,
	[TRACE_WINDOW_300S] = 300 * TRACE_NS_PER_SEC,
};

static u64 trace_gcd(u64 a, u64 b)
{
	while (b) {
		u64 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

int trace_divisor_parse(const char *text, struct trace_divisor *ret_divisor,
			struct sim_error *err)
{
	const char *problem;
	u64 nanos, common;

	problem = trace_parse_seconds(text, &nanos); /* the number, in billionths */
	if (!problem && !nanos)
		problem = "is zero";
	if (problem)
		return sim_user_error(err,
				      "'%.32s' %s, allowed are decimal numbers above 0 "
				      "with up to 9 decimals, below 18446744073",
				      text, problem);
	common = trace_gcd(nanos, TRACE_NS_PER_SEC);
	ret_divisor->num = nanos / common;
	ret_divisor->den = TRACE_NS_PER_SEC / common;
	return 0;
}

static unsigned __int128 trace_divide(u64 arrival_ns, struct trace_divisor divisor)
{
	return (unsigned __int128)arrival_ns * divisor.den / divisor.num;
}

/* Compute the statistics of @tokens, and sort them. */
static void trace_lengths_compute(u64 *tokens, size_t n, struct trace_lengths *lengths)
{
	stats_sort_u64(tokens, n);
	lengths->min = tokens[0];
	lengths->max = tokens[n - 1];
	lengths->sum = 0;
	for (size_t i = 0; i < n; i++)
		lengths->sum += tokens[i]; /* 2^26 requests of 2^32 tokens fit */
	lengths->mean = stats_mean_u64(tokens, n);
	lengths->p50 = stats_percentile_u64(tokens, n, 50, 100);
	lengths->p90 = stats_percentile_u64(tokens, n, 90, 100);
	lengths->p99 = stats_percentile_u64(tokens, n, 99, 100);
}

static void trace_info_lengths(const struct trace *trace, u64 *scratch, struct trace_info *info)
{
	for (size_t i = 0; i < trace->count; i++)
		scratch[i] = trace->requests[i].prompt_tokens;
	trace_lengths_compute(scratch, trace->count, &info->prompt);
	for (int kind = 0; kind < TRACE_RESPONSE_COUNT; kind++) {
		for (size_t i = 0; i < trace->count; i++)
			scratch[i] = trace->requests[i].response_tokens[kind];
		trace_lengths_compute(scratch, trace->count, &info->response[kind]);
	}
}

/*
 * Count arrivals in windows. @arrivals_ns is in time order. Only windows with arrivals are
 * visited: a sparse trace may have billions of empty ones.
 *
 * With n arrivals in w windows and s the sum of the squared counts, the mean is n / w and the
 * variance (of the population) s / w - (n / w)^2, so their quotient is (w * s - n^2) / (w * n).
 * w < 2^35, n <= 2^26 and s <= 2^52: all of it is exact in 128 bits.
 */
static void trace_burst_compute(const u64 *arrivals_ns, size_t n, struct trace_burst *burst)
{
	unsigned __int128 squares = 0, windows;

	burst->peak = 0;
	for (size_t i = 0, next; i < n; i = next) {
		u64 window = (arrivals_ns[i] - arrivals_ns[0]) / burst->window_ns;

		for (next = i + 1; next < n; next++)
			if ((arrivals_ns[next] - arrivals_ns[0]) / burst->window_ns != window)
				break;
		squares += (unsigned __int128)(next - i) * (next - i);
		if (next - i > burst->peak)
			burst->peak = next - i;
		burst->windows = window + 1;
	}
	windows = burst->windows;
	burst->dispersion =
		(double)(windows * squares - (unsigned __int128)n * n) / (double)(windows * n);
}

/*
 * The deviation over the mean of the gaps. Two passes: evenly spaced arrivals give exactly 0.
 */
static double trace_interarrival_cv(const u64 *arrivals_ns, size_t n)
{
	double mean_ns, squares = 0;

	if (arrivals_ns[n - 1] == arrivals_ns[0])
		return 0;
	mean_ns = (double)(arrivals_ns[n - 1] - arrivals_ns[0]) / (double)(n - 1);
	for (size_t i = 1; i < n; i++) {
		double off_ns = (double)(arrivals_ns[i] - arrivals_ns[i - 1]) - mean_ns;

		squares += off_ns * off_ns;
	}
	return sqrt(squares / (double)(n - 1)) / mean_ns;
}

static void trace_info_times(const struct trace *trace, u64 *scratch, struct trace_info *info)
{
	size_t n = trace->count;

	for (size_t i = 0; i < n; i++)
		scratch[i] = (u64)trace_divide(trace->requests[i].arrival_ns, info->divisor);
	info->first_ns = scratch[0];
	info->span_ns = scratch[n - 1] - scratch[0];
	if (info->span_ns)
		info->rate_per_s = (double)n * TRACE_NS_PER_SEC / (double)info->span_ns;
	info->interarrival_cv = trace_interarrival_cv(scratch, n);
	for (int i = 0; i < TRACE_WINDOW_COUNT; i++) {
		info->burst[i].window_ns = trace_window_ns[i];
		trace_burst_compute(scratch, n, &info->burst[i]);
	}
}

int trace_info_compute(const struct trace *trace, struct trace_divisor divisor,
		       struct trace_info *ret_info, struct sim_error *err)
{
	u64 *scratch;

	assert(trace->count && divisor.num && divisor.den);
	if (trace_divide(trace->requests[trace->count - 1].arrival_ns, divisor) > U64_MAX)
		return sim_user_error(err, "the divided times leave the range of 584 years");
	scratch = malloc(trace->count * sizeof(*scratch));
	if (!scratch)
		return sim_runtime_error(err, "out of memory for %zu numbers", trace->count);

	*ret_info = (struct trace_info){
		.count = trace->count,
		.failures = trace->failures,
		.bad_rows = trace->bad_rows,
		.two_responses = trace->two_responses,
		.divisor = divisor,
	};
	trace_info_lengths(trace, scratch, ret_info);
	trace_info_times(trace, scratch, ret_info);
	free(scratch);
	return 0;
}

static void trace_bursts_print(FILE *out, const struct trace_info *info)
{
	fprintf(out, "\n%-20s %9s %9s %9s %9s\n", "arrivals in windows", "1 s", "10 s", "60 s",
		"300 s");
	fprintf(out, "%-20s", "peak");
	for (int i = 0; i < TRACE_WINDOW_COUNT; i++)
		fprintf(out, " %9llu", info->burst[i].peak);
	fprintf(out, "\n%-20s", "index of dispersion");
	/* One window has no variance: it would say that arrivals are perfectly regular. */
	for (int i = 0; i < TRACE_WINDOW_COUNT; i++)
		if (info->burst[i].windows > 1)
			fprintf(out, " %9.2f", info->burst[i].dispersion);
		else
			fprintf(out, " %9s", "-");
	fputc('\n', out);
}

static void trace_lengths_print(FILE *out, const char *name,
				const struct trace_lengths *lengths)
{
	fprintf(out, "%-20s %9llu %9.1f %9.1f %9.1f %9.1f %9llu %12llu\n", name, lengths->min,
		lengths->mean, lengths->p50, lengths->p90, lengths->p99, lengths->max,
		lengths->sum);
}

static void trace_all_lengths_print(FILE *out, const struct trace_info *info)
{
	const struct trace_lengths *response = info->response;

	fprintf(out, "\n%-20s %9s %9s %9s %9s %9s %9s %12s\n", "tokens", "min", "mean", "p50",
		"p90", "p99", "max", "sum");
	trace_lengths_print(out, "prompt", &info->prompt);
	if (!info->two_responses) {
		trace_lengths_print(out, "response", &response[TRACE_RESPONSE_GENERATED]);
		return;
	}
	trace_lengths_print(out, "response, generated", &response[TRACE_RESPONSE_GENERATED]);
	trace_lengths_print(out, "response, recorded", &response[TRACE_RESPONSE_RECORDED]);
}

void trace_info_print(FILE *out, const struct trace_info *info)
{
	fprintf(out, "%-20s %zu\n", "requests", info->count);
	fprintf(out, "%-20s %llu\n", "failures skipped", info->failures);
	fprintf(out, "%-20s %llu\n", "bad rows skipped", info->bad_rows);
	if (info->divisor.num != info->divisor.den)
		fprintf(out, "%-20s %llu/%llu\n", "times divided by", info->divisor.num,
			info->divisor.den);
	fprintf(out, "%-20s %.3f s, from %.3f s\n", "span",
		(double)info->span_ns / TRACE_NS_PER_SEC,
		(double)info->first_ns / TRACE_NS_PER_SEC);
	fprintf(out, "%-20s %.4f req/s\n", "mean rate", info->rate_per_s);
	fprintf(out, "%-20s %.2f\n", "inter-arrival CV", info->interarrival_cv);
	trace_bursts_print(out, info);
	trace_all_lengths_print(out, info);
}
