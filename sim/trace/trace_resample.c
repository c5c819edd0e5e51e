// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Local block bootstrap of a trace
 * ================================
 *
 * A run with a trace is one draw. Had the same users come again, each request would have come a
 * little earlier or later; on another day, others would have come. How much of a result is that
 * draw?
 *
 * Arrivals are far from independent: bursts of seconds and busy minutes decide how long the
 * queue gets. So they are not drawn one by one but in blocks, which keep bursts whole. The load
 * also changes over the trace, so a block comes from nearby: it begins at most its own length
 * before or after the place that it fills. The busy minutes stay where they are. (Paparoditis
 * and Politis, "Local block bootstrap", 2002.)
 *
 * There are two draws.
 *
 *  - Gaps: requests keep their order and their lengths, and each span of a block's length keeps
 *    its number of requests. The gaps between them are those of as many requests nearby, scaled
 *    to the span. The load is the recorded one; bursts inside a block are not. This is the
 *    jitter of a replay. Blocks have to be short: lengths and gaps of a trace go together, and
 *    blocks of 15 s make the load of BurstGPT's busy minutes vary by a sixth more from one 2 s
 *    to the next, blocks of 5 s by 7 %, blocks of 2 s by 1 %.
 *  - Requests: each span is filled with the requests of a span of the same length nearby, with
 *    their dates and lengths (blocks of time, as for point processes: Braun and Kulperger,
 *    1998). The number of requests varies, and one may stand twice or be missing. This is
 *    another day. A server that is near its capacity has very different days.
 */
#include "trace/trace_resample.h"

#include <stdint.h>
#include <stdlib.h>

#include "engine/error.h"
#include "engine/random.h"

static u64 lesser(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* Index of the first request that arrives at @date_ns or later. */
static size_t first_from(const struct trace *trace, u64 date_ns)
{
	size_t low = 0, high = trace->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (trace->requests[middle].arrival_ns < date_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Append the requests of @length_ns from @from_ns on, moved to @to_ns. */
static int copy_span(const struct trace *trace, u64 from_ns, u64 to_ns, u64 length_ns,
		     struct trace *drawn, struct sim_error *err)
{
	int status = 0;

	for (size_t i = first_from(trace, from_ns);
	     !status && i < trace->count && trace->requests[i].arrival_ns - from_ns < length_ns;
	     i++) {
		struct trace_request request = trace->requests[i];

		request.arrival_ns = request.arrival_ns - from_ns + to_ns;
		trace_pass(trace, drawn->count);
		status = trace_append(drawn, &request, err);
	}
	return status;
}

/* Another day: fill each span with the requests of a span nearby. */
static int draw_requests(const struct trace *trace, u64 block_ns, u64 random,
			 struct trace *drawn, struct sim_error *err)
{
	u64 end_ns = trace->requests[trace->count - 1].arrival_ns + 1;
	int status = 0;

	for (u64 to_ns = 0; !status && to_ns < end_ns;
	     to_ns += lesser(block_ns, end_ns - to_ns)) {
		u64 length_ns = lesser(block_ns, end_ns - to_ns);
		u64 first_ns = to_ns - lesser(to_ns, block_ns);
		u64 last_ns = lesser(to_ns + lesser(block_ns, end_ns), end_ns - length_ns);
		u64 from_ns = first_ns + random_below(&random, last_ns - first_ns + 1);

		status = copy_span(trace, from_ns, to_ns, length_ns, drawn, err);
	}
	return status;
}

/*
 * The same requests with other gaps. A span has requests @first to @first + @count - 1; the
 * arrival of the request after it stays, too.
 */
static int draw_gaps(const struct trace *trace, u64 block_ns, u64 random, struct trace *drawn,
		     struct sim_error *err)
{
	const struct trace_request *requests = trace->requests;
	size_t gaps = trace->count - 1; /* gap i is from request i to i + 1 */
	int status = 0;

	for (size_t first = 0, count; !status && first < trace->count; first += count) {
		u64 begin_ns = requests[first].arrival_ns;
		u64 end_ns = begin_ns - begin_ns % block_ns;
		size_t low, high, from;
		u64 span_ns, source_ns;

		end_ns += lesser(block_ns, UINT64_MAX - end_ns);
		count = first_from(trace, end_ns) - first;
		count = lesser(count, gaps - lesser(gaps, first));
		if (!count) { /* the last request has no gap after it */
			status = trace_append(drawn, &requests[first], err);
			break;
		}
		low = first - lesser(first, count);
		high = lesser(first + count, gaps - count);
		from = low + random_below(&random, high - low + 1);
		span_ns = requests[first + count].arrival_ns - begin_ns;
		source_ns = requests[from + count].arrival_ns - requests[from].arrival_ns;
		for (size_t i = 0; !status && i < count; i++) {
			struct trace_request request = requests[first + i];
			u64 at_ns = requests[from + i].arrival_ns - requests[from].arrival_ns;

			request.arrival_ns = begin_ns;
			trace_pass(trace, drawn->count);
			if (source_ns)
				request.arrival_ns +=
					(u64)((unsigned __int128)at_ns * span_ns / source_ns);
			status = trace_append(drawn, &request, err);
		}
	}
	return status;
}

int trace_resample(struct trace *trace, enum trace_draw draw, u64 block_ns, u64 random,
		   struct sim_error *err)
{
	struct trace drawn;
	int status;

	if (draw == TRACE_DRAW_NOTHING || !trace->count)
		return 0;
	trace_init(&drawn);
	drawn.store.folder = trace->store.folder;
	status = draw == TRACE_DRAW_GAPS ? draw_gaps(trace, block_ns, random, &drawn, err) :
					   draw_requests(trace, block_ns, random, &drawn, err);
	if (status) {
		trace_destroy(&drawn);
		return sim_runtime_error(err, "a resampled trace does not fit into memory");
	}
	if (!drawn.count) {
		trace_destroy(&drawn);
		return sim_user_error(
			err,
			"jitter.arrivals draws none of its %zu requests, allowed: "
			"a longer jitter.block or another seed",
			trace->count);
	}
	trace_store_free(&trace->store);
	trace->store = drawn.store;
	trace->requests = drawn.requests;
	trace->count = drawn.count;
	return 0;
}
