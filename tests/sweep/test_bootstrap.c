// SPDX-License-Identifier: MIT OR GPL-2.0
/* Bootstrap intervals: draws in which a metric is a bound are infinite. */
#include "sweep/bootstrap.h"

#include <math.h>

#include "core/runner.h"

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

TEST_MAIN("bootstrap", an_infinite_neighbour_of_a_percentile_is_no_part_of_it,
	  a_percentile_lies_between_its_neighbours)
