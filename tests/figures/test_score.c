// SPDX-License-Identifier: MIT OR GPL-2.0
/* Scores of published values beside predictions. */
#include <math.h>

#include "figures/score.h"
#include "figures_fixture.h"
#include "suite.h"

/* A row of figure "f", panel "p", run @label. */
static struct score_row row(const char *label, double published, double predicted)
{
	return (struct score_row){
		.figure = "f",
		.panel = "p",
		.run = label,
		.part = "",
		.unit = "ms",
		.x = NAN,
		.id = "",
		.unscored = "",
		.published = published,
		.predicted = predicted,
	};
}

START_TEST(too_high_and_too_low_by_one_factor_are_one_error)
{
	struct score_row high = row("a", 10, 30), low = row("b", 30, 10);

	ck_assert_double_eq_tol(score_error(&high), log(3), 1e-12);
	ck_assert_double_eq_tol(score_error(&low), log(3), 1e-12);
}
END_TEST

/* Rows come in any order. An error of just 25 % is near, and one of just 2 times is within. */
START_TEST(a_score_has_the_median_and_shares_of_its_rows)
{
	struct score_row rows[] = { row("a", 10, 19), row("b", 10, 10),	  row("c", 10, 30),
				    row("d", 10, 12), row("e", 10, 12.5), row("f", 10, 20) };
	struct score score;

	ck_assert_int_eq(score_rows(rows, 6, "f", &score), 0);
	ck_assert_uint_eq(score.rows, 6);
	ck_assert_double_eq_tol(score.median, (log(1.25) + log(1.9)) / 2, 1e-12);
	ck_assert_double_eq(score.near, 0.5);
	ck_assert_double_eq_tol(score.factor, 5.0 / 6, 1e-12);
	/* Of an odd number it is the one in the middle: 1, 1.2, 1.25, 1.9, 3. */
	ck_assert_int_eq(score_rows(rows, 5, "f", &score), 0);
	ck_assert_double_eq_tol(score.median, log(1.25), 1e-12);
}
END_TEST

START_TEST(a_missing_prediction_is_a_row_that_is_off_by_any_factor)
{
	struct score_row rows[] = { row("a", 10, NAN), row("b", 10, NAN), row("c", 10, 10) };
	struct score score;

	ck_assert_int_eq(score_rows(rows, ARRAY_SIZE(rows), "f", &score), 0);
	ck_assert_uint_eq(score.rows, 3);
	ck_assert(isinf(score.median));
	ck_assert_double_eq_tol(score.factor, 1.0 / 3, 1e-12);
}
END_TEST

START_TEST(a_row_with_a_reason_counts_in_no_score)
{
	struct score_row rows[] = { row("a", 10, 10), row("b", 10, 90) };
	struct score score;

	rows[1].unscored = "a claim";
	ck_assert_int_eq(score_rows(rows, ARRAY_SIZE(rows), "f", &score), 0);
	ck_assert_uint_eq(score.rows, 1);
	ck_assert_int_eq(score_rows(rows, ARRAY_SIZE(rows), NULL, &score), 0);
	ck_assert_uint_eq(score.rows, 1);
}
END_TEST

START_TEST(a_published_value_of_two_figures_counts_once_in_all)
{
	struct score_row rows[] = { row("a", 10, 10), row("b", 10, 20), row("a", 10, 10) };
	struct score score;

	rows[0].id = rows[2].id = "fig.a";
	rows[2].figure = "g";
	ck_assert_int_eq(score_rows(rows, ARRAY_SIZE(rows), NULL, &score), 0);
	ck_assert_uint_eq(score.rows, 2);
	ck_assert_int_eq(score_rows(rows, ARRAY_SIZE(rows), "g", &score), 0);
	ck_assert_uint_eq(score.rows, 1);
}
END_TEST

START_TEST(no_rows_have_no_median)
{
	struct score score;

	ck_assert_int_eq(score_rows(NULL, 0, NULL, &score), 0);
	ck_assert_uint_eq(score.rows, 0);
	ck_assert(isnan(score.median));
}
END_TEST

START_TEST(order_is_that_of_pairs_which_are_apart)
{
	/* a and b are too close to count; d is predicted above both, and published below. */
	struct score_row rows[] = { row("a", 10, 10), row("b", 11, 9), row("c", 20, 15),
				    row("d", 5, 12) };
	struct score_order order;

	order = score_order(rows, ARRAY_SIZE(rows), "f", "p");
	ck_assert_uint_eq(order.pairs, 5);
	ck_assert_uint_eq(order.kept, 3);
	order = score_order(rows, ARRAY_SIZE(rows), "f", "another");
	ck_assert_uint_eq(order.pairs, 0);
}
END_TEST

/* 12 / 10 is just apart, whichever row comes first. */
START_TEST(values_that_are_just_apart_are_a_pair)
{
	struct score_row rows[] = { row("a", 10, 1), row("b", 12, 2), row("c", 10, 1) };
	struct score_order order;

	order = score_order(rows, 2, "f", "p");
	ck_assert_uint_eq(order.pairs, 1);
	ck_assert_uint_eq(order.kept, 1);
	order = score_order(rows + 1, 2, "f", "p");
	ck_assert_uint_eq(order.pairs, 1);
	ck_assert_uint_eq(order.kept, 1);
}
END_TEST

START_TEST(equal_predictions_are_in_no_order)
{
	struct score_row rows[] = { row("a", 10, 10), row("b", 20, 10) };
	struct score_order order;

	order = score_order(rows, ARRAY_SIZE(rows), "f", "p");
	ck_assert_uint_eq(order.pairs, 1);
	ck_assert_uint_eq(order.kept, 0);
}
END_TEST

START_TEST(a_spread_has_percentiles_and_leaves_out_missing_predictions)
{
	const double draws[] = { 30, 10, NAN, 20 };
	struct score_spread spread;

	ck_assert_int_eq(score_spread(draws, 4, 12, &spread), 0);
	ck_assert_double_eq_tol(spread.low, 12, 1e-9);
	ck_assert_double_eq(spread.median, 20);
	ck_assert_double_eq_tol(spread.high, 28, 1e-9);
	ck_assert_uint_eq(spread.missing, 1);
	ck_assert_int_eq(score_spread(draws, 4, 29, &spread), 0);
	ck_assert(!spread.within);
	ck_assert_int_eq(score_spread(draws, 4, 20, &spread), 0);
	ck_assert(spread.within);
	ck_assert_int_eq(score_spread(draws + 3, 1, 20, &spread), 0);
	ck_assert_double_eq(spread.low, 20);
	ck_assert_double_eq(spread.median, 20);
	ck_assert_double_eq(spread.high, 20);
	ck_assert_int_eq(score_spread(draws + 2, 1, 20, &spread), 0);
	ck_assert(isnan(spread.median) && !spread.within);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, too_high_and_too_low_by_one_factor_are_one_error);
	tcase_add_test(tests, a_score_has_the_median_and_shares_of_its_rows);
	tcase_add_test(tests, a_missing_prediction_is_a_row_that_is_off_by_any_factor);
	tcase_add_test(tests, a_row_with_a_reason_counts_in_no_score);
	tcase_add_test(tests, a_published_value_of_two_figures_counts_once_in_all);
	tcase_add_test(tests, no_rows_have_no_median);
	tcase_add_test(tests, order_is_that_of_pairs_which_are_apart);
	tcase_add_test(tests, a_spread_has_percentiles_and_leaves_out_missing_predictions);
	tcase_add_test(tests, values_that_are_just_apart_are_a_pair);
	tcase_add_test(tests, equal_predictions_are_in_no_order);
}

int main(void)
{
	return suite_run("score", NULL, NULL, add_tests);
}
