// SPDX-License-Identifier: MIT OR GPL-2.0
/* Bootstrap intervals: draws in which a metric is a bound are infinite. */
#include "results/bootstrap.h"

#include <math.h>

#include "core/runner.h"
#include "results/estimate.h"

/* Of 41 values the 97.5th percentile is number 39 itself, and no part of the infinite one. */
START_TEST(an_infinite_neighbour_of_a_percentile_is_no_part_of_it)
{
	double values[41], low, high;

	for (int i = 0; i < 41; i++)
		values[i] = i < 40 ? i : (double)INFINITY;
	bootstrap_interval(values, 41, &low, &high);
	ck_assert_double_eq(low, 1);
	ck_assert_double_eq(high, 39);
	for (int i = 0; i < 41; i++)
		values[i] = i < 39 ? i : (double)INFINITY;
	bootstrap_interval(values, 41, &low, &high);
	ck_assert(isinf(high));
}
END_TEST

START_TEST(a_percentile_lies_between_its_neighbours)
{
	double values[] = { 4, 0, 2, 8, 6 }, low, high;

	bootstrap_interval(values, 5, &low, &high);
	ck_assert_double_eq_tol(low, 0.2, 1e-12);
	ck_assert_double_eq_tol(high, 7.8, 1e-12);
}
END_TEST

/* One unknown run makes the mean unknown, one bound makes it a bound: neither has an interval. */
START_TEST(an_estimate_is_no_better_than_its_worst_run)
{
	struct run_value values[] = { { true, false, 1 },
				      { true, false, 2 },
				      { true, false, 6 } };
	struct run_estimate estimate;
	char text[64];

	ck_assert_int_eq(estimate_runs(values, 3, ESTIMATE_OF_MEAN, ESTIMATE_RESAMPLES, "a.b",
				       &estimate),
			 0);
	ck_assert(estimate.value.known && !estimate.value.bound && estimate.interval);
	ck_assert_double_eq(estimate.value.number, 3);
	ck_assert(1 <= estimate.low && estimate.low < 3 && 3 < estimate.high);
	ck_assert_double_le(estimate.high, 6);
	ck_assert_int_eq(estimate_runs(values, 3, ESTIMATE_OF_MEAN, 0, "a.b", &estimate), 0);
	ck_assert(!estimate.interval);
	ck_assert_int_eq(estimate_runs(values, 1, ESTIMATE_OF_MEAN, ESTIMATE_RESAMPLES, "a.b",
				       &estimate),
			 0);
	ck_assert(!estimate.interval);
	values[1].bound = true;
	ck_assert_int_eq(estimate_runs(values, 3, ESTIMATE_OF_MEAN, ESTIMATE_RESAMPLES, "a.b",
				       &estimate),
			 0);
	ck_assert(estimate.value.known && estimate.value.bound && !estimate.interval);
	ck_assert_double_eq(estimate.value.number, 3);
	values[2].known = false;
	ck_assert_int_eq(estimate_runs(values, 3, ESTIMATE_OF_MEAN, ESTIMATE_RESAMPLES, "a.b",
				       &estimate),
			 0);
	ck_assert(!estimate.value.known && !estimate.interval);
	estimate_describe_seeds(ESTIMATE_OF_MEAN, 3, text, sizeof(text));
	ck_assert_str_eq(text, "95 % bootstrap over 3 seeds");
}
END_TEST

/* The median of 6, 1 and 2 is 2; a tenth of the way from 1 is 1.2, and from 6 it is 5.2. */
START_TEST(an_estimate_of_the_runs_is_their_median_with_percentiles)
{
	struct run_value values[] = { { true, false, 6 },
				      { true, false, 1 },
				      { true, false, 2 } };
	struct run_estimate estimate;
	char text[64];

	ck_assert_int_eq(estimate_runs(values, 3, ESTIMATE_OF_RUNS, ESTIMATE_RESAMPLES, "a.b",
				       &estimate),
			 0);
	ck_assert(estimate.value.known && !estimate.value.bound && estimate.interval);
	ck_assert_double_eq(estimate.value.number, 2);
	ck_assert_double_eq_tol(estimate.low, 1.2, 1e-12);
	ck_assert_double_eq_tol(estimate.high, 5.2, 1e-12);
	values[0].bound = true;
	ck_assert_int_eq(estimate_runs(values, 3, ESTIMATE_OF_RUNS, ESTIMATE_RESAMPLES, "a.b",
				       &estimate),
			 0);
	ck_assert(estimate.value.known && estimate.value.bound && !estimate.interval);
	ck_assert_double_eq(estimate.value.number, 2);
	ck_assert_str_eq(estimate_word(ESTIMATE_OF_RUNS), "median");
	estimate_describe_seeds(ESTIMATE_OF_RUNS, 3, text, sizeof(text));
	ck_assert_str_eq(text, "10th to 90th percentile of 3 seeds");
}
END_TEST

TEST_MAIN("bootstrap", an_infinite_neighbour_of_a_percentile_is_no_part_of_it,
	  a_percentile_lies_between_its_neighbours, an_estimate_is_no_better_than_its_worst_run,
	  an_estimate_of_the_runs_is_their_median_with_percentiles)
