// SPDX-License-Identifier: MIT OR GPL-2.0
/* A resampled trace keeps bursts and busy minutes, and depends on its random numbers alone. */
#include <stdint.h>

#include "engine/error.h"
#include "suite.h"
#include "trace/trace_resample.h"

#define COUNT 4000
#define BLOCK 1000

static struct trace trace, drawn;
static struct sim_error error;

/*
 * Requests in pairs 7 apart, each with a prompt of its own; in the second half ten times as
 * many.
 */
static void fill(struct trace *filled)
{
	u64 date = 0;

	trace_init(filled);
	for (u32 i = 0; i < COUNT; i++) {
		struct trace_request request = { date, 1 + i, { 1, 1 }, 0 };

		ck_assert_int_eq(trace_append(filled, &request, &error), 0);
		date += i % 2 == 0 ? 7 : i < COUNT / 11 ? 400 : 40;
	}
}

static void set_up(void)
{
	fill(&trace);
	fill(&drawn);
}

static void tear_down(void)
{
	trace_destroy(&trace);
	trace_destroy(&drawn);
}

static bool is_same(const struct trace *a, const struct trace *b)
{
	for (size_t i = 0; a->count == b->count && i < a->count; i++)
		if (a->requests[i].arrival_ns != b->requests[i].arrival_ns ||
		    a->requests[i].prompt_tokens != b->requests[i].prompt_tokens)
			return false;
	return a->count == b->count;
}

START_TEST(one_seed_is_one_trace)
{
	enum trace_draw draw = _i ? TRACE_DRAW_GAPS : TRACE_DRAW_REQUESTS;
	struct trace again, other;

	fill(&again);
	fill(&other);
	ck_assert_int_eq(trace_resample(&drawn, draw, BLOCK, 5, &error), 0);
	ck_assert_int_eq(trace_resample(&again, draw, BLOCK, 5, &error), 0);
	ck_assert_int_eq(trace_resample(&other, draw, BLOCK, 6, &error), 0);
	ck_assert(is_same(&drawn, &again));
	ck_assert(!is_same(&drawn, &other));
	ck_assert(!is_same(&drawn, &trace));
	trace_destroy(&again);
	trace_destroy(&other);
}
END_TEST

/*
 * Requests stay in their order, the first of each span and the last of all stay at their dates.
 */
START_TEST(other_gaps_keep_requests_and_the_load_of_each_span)
{
	size_t moved = 0;

	ck_assert_int_eq(trace_resample(&drawn, TRACE_DRAW_GAPS, BLOCK, 3, &error), 0);
	ck_assert_uint_eq(drawn.count, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		u64 was_ns = trace.requests[i].arrival_ns, is_ns = drawn.requests[i].arrival_ns;
		bool first = !i || trace.requests[i - 1].arrival_ns / BLOCK != was_ns / BLOCK;

		ck_assert_uint_eq(drawn.requests[i].prompt_tokens, i + 1);
		ck_assert(!i || is_ns >= drawn.requests[i - 1].arrival_ns);
		ck_assert_uint_le(is_ns > was_ns ? is_ns - was_ns : was_ns - is_ns,
				  BLOCK + 400);
		if (first || i + 1 == COUNT)
			ck_assert_uint_eq(is_ns, was_ns);
		moved += is_ns != was_ns;
	}
	ck_assert_uint_gt(moved, COUNT / 4);
}
END_TEST

START_TEST(a_request_comes_from_within_a_block_of_its_place)
{
	ck_assert_int_eq(trace_resample(&drawn, TRACE_DRAW_REQUESTS, BLOCK, 1, &error), 0);
	ck_assert_uint_gt(drawn.count, COUNT / 2);
	for (size_t i = 0; i < drawn.count; i++) {
		const struct trace_request *request = &drawn.requests[i];
		u64 was_ns = trace.requests[request->prompt_tokens - 1].arrival_ns;
		u64 is_ns = request->arrival_ns;
		u64 moved = was_ns > is_ns ? was_ns - is_ns : is_ns - was_ns;

		ck_assert_uint_le(moved, BLOCK);
		ck_assert(!i || request->arrival_ns >= drawn.requests[i - 1].arrival_ns);
	}
	ck_assert_uint_le(drawn.requests[drawn.count - 1].arrival_ns,
			  trace.requests[COUNT - 1].arrival_ns);
}
END_TEST

START_TEST(distances_inside_a_block_stay)
{
	size_t kept = 0, neighbours = 0;

	ck_assert_int_eq(trace_resample(&drawn, TRACE_DRAW_REQUESTS, BLOCK, 2, &error), 0);
	for (size_t i = 1; i < drawn.count; i++) {
		const struct trace_request *before = &drawn.requests[i - 1];
		const struct trace_request *after = &drawn.requests[i];

		if (before->arrival_ns / BLOCK != after->arrival_ns / BLOCK)
			continue;
		neighbours++;
		kept += after->prompt_tokens == before->prompt_tokens + 1 &&
			after->arrival_ns - before->arrival_ns ==
				trace.requests[after->prompt_tokens - 1].arrival_ns -
					trace.requests[before->prompt_tokens - 1].arrival_ns;
	}
	ck_assert_uint_gt(neighbours, COUNT / 2);
	ck_assert_uint_eq(kept, neighbours);
}
END_TEST

/* How many requests come in the first half of the time. */
static size_t early(const struct trace *counted)
{
	size_t count = 0;

	while (counted->requests[count].arrival_ns < trace.requests[COUNT - 1].arrival_ns / 2)
		count++;
	return count;
}

START_TEST(busy_times_stay_busy)
{
	size_t calm = early(&trace), busy = COUNT - calm;

	ck_assert_uint_gt(busy, 3 * calm);
	for (u64 seed = 0; seed < 20; seed++) {
		struct trace other;

		fill(&other);
		ck_assert_int_eq(
			trace_resample(&other, TRACE_DRAW_REQUESTS, BLOCK, seed, &error), 0);
		ck_assert_uint_lt(early(&other), 2 * calm);
		ck_assert_uint_gt(2 * early(&other), calm);
		ck_assert_uint_lt(other.count - early(&other), busy + busy / 5);
		ck_assert_uint_gt(other.count - early(&other), busy - busy / 5);
		trace_destroy(&other);
	}
}
END_TEST

START_TEST(short_traces_and_long_blocks_work)
{
	struct trace empty, one;
	const struct trace_request request = { 5, 1, { 1, 1 }, 0 };

	enum trace_draw draw = (enum trace_draw)_i;

	trace_init(&empty);
	ck_assert_int_eq(trace_resample(&empty, draw, BLOCK, 1, &error), 0);
	ck_assert_uint_eq(empty.count, 0);
	trace_init(&one);
	ck_assert_int_eq(trace_append(&one, &request, &error), 0);
	ck_assert_int_eq(trace_resample(&one, draw, UINT64_MAX, 1, &error), 0);
	ck_assert_uint_eq(one.count, 1);
	ck_assert_uint_eq(one.requests[0].arrival_ns, 5);
	trace_destroy(&one);
	/* A block as long as the trace is the trace. */
	ck_assert_int_eq(trace_resample(&drawn, draw, UINT64_MAX, 1, &error), 0);
	ck_assert(is_same(&drawn, &trace));
}
END_TEST

/* Two requests far apart in short blocks: this draw takes none of them. */
START_TEST(a_draw_without_requests_is_refused)
{
	const u64 dates[] = { 0, 100 * BLOCK };
	struct trace two;

	trace_init(&two);
	for (size_t i = 0; i < 2; i++) {
		const struct trace_request request = { dates[i], 1, { 1, 1 }, 0 };

		ck_assert_int_eq(trace_append(&two, &request, &error), 0);
	}
	ck_assert_int_eq(trace_resample(&two, TRACE_DRAW_REQUESTS, BLOCK, 1, &error),
			 -SIM_EXIT_USER);
	ck_assert_str_eq(error.text, "jitter.arrivals draws none of its 2 requests, allowed: "
				     "a longer jitter.block or another seed");
	ck_assert_uint_eq(two.count, 2);
	trace_destroy(&two);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_loop_test(tests, one_seed_is_one_trace, 0, 2);
	tcase_add_test(tests, other_gaps_keep_requests_and_the_load_of_each_span);
	tcase_add_test(tests, a_request_comes_from_within_a_block_of_its_place);
	tcase_add_test(tests, distances_inside_a_block_stay);
	tcase_add_test(tests, busy_times_stay_busy);
	tcase_add_test(tests, a_draw_without_requests_is_refused);
	tcase_add_loop_test(tests, short_traces_and_long_blocks_work, TRACE_DRAW_NOTHING,
			    TRACE_DRAW_REQUESTS + 1);
}

int main(void)
{
	return suite_run("trace_resample", set_up, tear_down, add_tests);
}
