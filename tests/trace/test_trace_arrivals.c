// SPDX-License-Identifier: MIT OR GPL-2.0
/* Arrivals at a given rate: scaled ones exactly, drawn ones by their moments and their seed. */
#include "trace/trace_arrivals.h"
#include "trace_fixture.h"

#include <math.h>
#include <string.h>

#define PPM   1000000u
#define DRAWS 100000

static struct trace trace;

static void fill(u32 count, u64 gap_ns)
{
	trace_init(&trace);
	for (u32 i = 0; i < count; i++)
		add(&trace, 7 + i * gap_ns, 1 + i % 100);
}

/* 3 requests over 20 s are 0.15 a second; at 1.5 they take 2 s, and the first date shrinks. */
START_TEST(recorded_arrivals_are_scaled_to_the_rate)
{
	fill(3, 10 * NS_PER_SEC);
	ck_assert_int_eq(trace_arrive(&trace, TRACE_ARRIVALS_RECORDED, 1500000, PPM, 1, &error),
			 0);
	assert_request(&trace, 0, 0, 1, 1, 1);
	assert_request(&trace, 1, 1000000000, 2, 2, 2);
	assert_request(&trace, 2, 2000000000, 3, 3, 3);
	trace_destroy(&trace);
}
END_TEST

START_TEST(recorded_arrivals_without_a_rate_stay)
{
	fill(3, 10);
	ck_assert_int_eq(trace_arrive(&trace, TRACE_ARRIVALS_RECORDED, 0, PPM, 1, &error), 0);
	assert_request(&trace, 2, 27, 3, 3, 3);
	trace_destroy(&trace);
}
END_TEST

/*
 * The mean and the deviation of the gaps are within 1.5 % of the requested ones. That is four
 * standard errors.
 */
static const struct {
	enum trace_arrivals arrivals;
	u32 cv_ppm;
} kinds[] = {
	{ TRACE_ARRIVALS_POISSON, PPM },   { TRACE_ARRIVALS_GAMMA, PPM },
	{ TRACE_ARRIVALS_GAMMA, PPM / 4 }, { TRACE_ARRIVALS_GAMMA, PPM / 100 },
	{ TRACE_ARRIVALS_GAMMA, PPM * 2 },
};

START_TEST(drawn_gaps_have_the_mean_and_deviation_that_were_asked_for)
{
	double mean = 0, squares = 0, wanted = kinds[_i].cv_ppm / (double)PPM, cv;
	u64 last = 0;

	fill(DRAWS, 1);
	ck_assert_int_eq(trace_arrive(&trace, kinds[_i].arrivals, 4 * PPM, kinds[_i].cv_ppm, 42,
				      &error),
			 0);
	for (size_t i = 0; i < DRAWS; i++) {
		double gap = (double)(trace.requests[i].arrival_ns - last) / 250e6;

		last = trace.requests[i].arrival_ns;
		mean += gap / DRAWS;
		squares += gap * gap / DRAWS;
		ck_assert_uint_eq(trace.requests[i].prompt_tokens, 1 + i % 100);
	}
	cv = sqrt(squares - mean * mean) / mean;
	ck_assert_double_le(fabs(mean - 1), 0.03 * wanted);
	ck_assert_double_le(fabs(cv / wanted - 1), 0.05);
	trace_destroy(&trace);
}
END_TEST

/*
 * An exponential gap exceeds its mean with a probability of 1 / e, and twice it with 1 / e^2.
 */
START_TEST(poisson_gaps_are_exponential)
{
	u64 last = 0, above = 0, twice = 0;

	fill(DRAWS, 1);
	ck_assert_int_eq(trace_arrive(&trace, TRACE_ARRIVALS_POISSON, PPM, PPM, 7, &error), 0);
	for (size_t i = 0; i < DRAWS; i++) {
		u64 gap = trace.requests[i].arrival_ns - last;

		last = trace.requests[i].arrival_ns;
		above += gap > NS_PER_SEC;
		twice += gap > 2 * NS_PER_SEC;
	}
	ck_assert_uint_gt(above, 36788 - 620);
	ck_assert_uint_lt(above, 36788 + 620);
	ck_assert_uint_gt(twice, 13534 - 440);
	ck_assert_uint_lt(twice, 13534 + 440);
	trace_destroy(&trace);
}
END_TEST

START_TEST(one_seed_is_one_sequence)
{
	u64 dates[2][3];

	for (u64 seed = 0; seed < 2; seed++) {
		for (int again = 0; again < 2; again++) {
			fill(3, 1);
			ck_assert_int_eq(trace_arrive(&trace, TRACE_ARRIVALS_GAMMA, PPM,
						      2 * PPM, seed, &error),
					 0);
			for (int i = 0; i < 3; i++) {
				if (again)
					ck_assert_uint_eq(trace.requests[i].arrival_ns,
							  dates[seed][i]);
				dates[seed][i] = trace.requests[i].arrival_ns;
			}
			trace_destroy(&trace);
		}
	}
	ck_assert_uint_ne(dates[0][2], dates[1][2]);
}
END_TEST

/*
 * The same on every machine: sums, products and square roots alone decide. The exponential ones
 * are SplitMix64 of seed 1 and logarithms of 40 digits.
 */
START_TEST(draws_are_exact_integers)
{
	fill(3, 1);
	ck_assert_int_eq(trace_arrive(&trace, TRACE_ARRIVALS_POISSON, PPM, PPM, 1, &error), 0);
	ck_assert_uint_eq(trace.requests[0].arrival_ns, 568169510);
	ck_assert_uint_eq(trace.requests[2].arrival_ns, 890917757);
	trace_destroy(&trace);
	fill(3, 1);
	ck_assert_int_eq(trace_arrive(&trace, TRACE_ARRIVALS_GAMMA, PPM, 2 * PPM, 1, &error),
			 0);
	ck_assert_uint_eq(trace.requests[0].arrival_ns, 966114958);
	ck_assert_uint_eq(trace.requests[2].arrival_ns, 1346420352);
	trace_destroy(&trace);
}
END_TEST

START_TEST(a_trace_without_a_rate_is_refused)
{
	fill(3, 0);
	ck_assert_int_eq(trace_arrive(&trace, TRACE_ARRIVALS_RECORDED, PPM, PPM, 1, &error),
			 -SIM_EXIT_USER);
	ck_assert_str_eq(error.text, "all requests have one date, and so no rate");
	ck_assert_int_eq(trace_arrive(&trace, TRACE_ARRIVALS_POISSON, 0, PPM, 1, &error),
			 -SIM_EXIT_USER);
	ck_assert_int_eq(trace_arrive(&trace, TRACE_ARRIVALS_POISSON, PPM, PPM, 1, &error), 0);
	trace_destroy(&trace);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, recorded_arrivals_are_scaled_to_the_rate);
	tcase_add_test(tests, recorded_arrivals_without_a_rate_stay);
	tcase_add_loop_test(tests, drawn_gaps_have_the_mean_and_deviation_that_were_asked_for,
			    0, COUNT(kinds));
	tcase_add_test(tests, poisson_gaps_are_exponential);
	tcase_add_test(tests, one_seed_is_one_sequence);
	tcase_add_test(tests, draws_are_exact_integers);
	tcase_add_test(tests, a_trace_without_a_rate_is_refused);
}

int main(void)
{
	return fixture_run("trace_arrivals", add_tests);
}
