// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The statistics of a trace: counted by hand, golden, and as published.
 */
#include "engine/stats.h"
#include "trace/trace_info.h"
#include "trace_fixture.h"

START_TEST(percentiles_interpolate_like_numpy)
{
	static const u64 v[] = { 1, 2, 4, 8, 16, 1000 };

	ck_assert_double_eq(stats_percentile_u64(v, 6, 0, 100), 1);
	ck_assert_double_eq(stats_percentile_u64(v, 6, 50, 100), 6);
	ck_assert_double_eq(stats_percentile_u64(v, 6, 75, 100), 14);
	ck_assert_double_eq(stats_percentile_u64(v, 6, 90, 100), 508);
	ck_assert_double_eq(stats_percentile_u64(v, 6, 99, 100), 950.8);
	ck_assert_double_eq(stats_percentile_u64(v, 6, 100, 100), 1000);
	ck_assert_double_eq(stats_percentile_u64(v, 1, 99, 100), 1);
	ck_assert_double_eq(stats_percentile_u64(v, 6, 990, 1000), 950.8);
	ck_assert_double_eq(stats_percentile_u64(v, 6, 999, 1000), 995.08);
}
END_TEST

START_TEST(sort_and_mean_are_exact_up_to_the_largest_numbers)
{
	u64 v[] = { U64_MAX, 3, 0, U64_MAX, 3 };
	static const u64 sorted[] = { 0, 3, 3, U64_MAX, U64_MAX };

	stats_sort_u64(v, 5);
	ck_assert_mem_eq(v, sorted, sizeof(v));
	ck_assert_double_eq(stats_mean_u64(v + 3, 2), (double)U64_MAX);
	ck_assert_double_eq(stats_mean_u64(v, 3), 2);
	ck_assert_double_eq(stats_percentile_u64(v, 5, 100, 100), (double)U64_MAX);
}
END_TEST

/*
 * Arrivals at 2, 2.5, 3, 9, 12 s. Windows of 1 s from 2 s on: 2 1 0 0 0 0 0 1 0 0 1, eleven
 * with mean 5/11 and mean square 7/11: variance 52/121, dispersion 52/55. Of 10 s: 4 1, mean
 * 5/2, variance 9/4, dispersion 9/10. Gaps 0.5 0.5 6 3: mean 2.5, variance 5.125.
 */
START_TEST(dispersion_peak_and_cv_match_a_count_by_hand)
{
	static const u64 half_s[] = { 4, 5, 6, 18, 24 };
	struct trace_info info;
	struct trace trace;

	trace_init(&trace);
	for (size_t i = 0; i < 5; i++)
		add(&trace, half_s[i] * NS_PER_SEC / 2, 7);
	ck_assert_int_eq(
		trace_info_compute(&trace, (struct trace_divisor){ 1, 1 }, &info, &error), 0);
	ck_assert_uint_eq(info.span_ns, 10 * NS_PER_SEC);
	ck_assert_double_eq(info.rate_per_s, 0.5);
	ck_assert_uint_eq(info.burst[TRACE_WINDOW_1S].windows, 11);
	ck_assert_uint_eq(info.burst[TRACE_WINDOW_1S].peak, 2);
	ck_assert_double_eq(info.burst[TRACE_WINDOW_1S].dispersion, 52.0 / 55);
	ck_assert_uint_eq(info.burst[TRACE_WINDOW_10S].windows, 2);
	ck_assert_uint_eq(info.burst[TRACE_WINDOW_10S].peak, 4);
	ck_assert_double_eq(info.burst[TRACE_WINDOW_10S].dispersion, 0.9);
	ck_assert_uint_eq(info.burst[TRACE_WINDOW_300S].windows, 1);
	ck_assert_double_eq(info.burst[TRACE_WINDOW_300S].dispersion, 0);
	ck_assert_double_eq_tol(info.interarrival_cv, 0.9055385138137417, 1e-15);
	trace_destroy(&trace);
}
END_TEST

START_TEST(even_arrivals_have_no_deviation_at_all)
{
	struct trace_info info;
	struct trace trace;

	trace_init(&trace);
	for (u64 i = 0; i < 1000; i++)
		add(&trace, i * 333333333, 1);
	ck_assert_int_eq(
		trace_info_compute(&trace, (struct trace_divisor){ 1, 1 }, &info, &error), 0);
	ck_assert_double_eq(info.interarrival_cv, 0);
	trace_destroy(&trace);
}
END_TEST

START_TEST(a_single_request_has_no_rate)
{
	struct trace_info info;
	struct trace trace;

	trace_init(&trace);
	add(&trace, U64_MAX, 3);
	ck_assert_int_eq(
		trace_info_compute(&trace, (struct trace_divisor){ 1, 1 }, &info, &error), 0);
	ck_assert_double_eq(info.rate_per_s, 0);
	ck_assert_double_eq(info.interarrival_cv, 0);
	ck_assert_double_eq(info.prompt.p99, 3);
	ck_assert_uint_eq(info.burst[TRACE_WINDOW_1S].peak, 1);
	trace_destroy(&trace);
}
END_TEST

START_TEST(info_refuses_a_slow_down_beyond_the_clock)
{
	struct trace_info info;
	struct trace trace;

	trace_init(&trace);
	add(&trace, U64_MAX, 3);
	ck_assert_int_eq(trace_info_compute(&trace, (struct trace_divisor){ 1, 2 }, &info,
					    &error),
			 -SIM_EXIT_USER);
	ck_assert_str_eq(error.text, "the divided times leave the range of 584 years");
	trace_destroy(&trace);
}
END_TEST

/* The replay that the GVM paper describes: 597.5 s, 5.45 requests a second. */
START_TEST(info_of_the_shipped_trace_is_golden)
{
	struct trace_divisor divisor = { 0 };
	struct trace_info info;
	struct trace trace;

	must_read(SHIPPED, &trace);
	ck_assert_int_eq(trace_divisor_parse("198.9", &divisor, &error), 0);
	ck_assert_int_eq(trace_info_compute(&trace, divisor, &info, &error), 0);
	ck_assert_uint_eq(info.span_ns, UINT64_C(597505731523));
	ck_assert_double_eq_tol(info.rate_per_s, 5.44932011, 1e-8);
	ck_assert_double_eq_tol(info.interarrival_cv, 5.37546943, 1e-8);
	ck_assert_uint_eq(info.burst[TRACE_WINDOW_1S].peak, 30);
	ck_assert_uint_eq(info.burst[TRACE_WINDOW_10S].peak, 184);
	ck_assert_double_eq_tol(info.burst[TRACE_WINDOW_1S].dispersion, 7.70383259, 1e-8);
	ck_assert_double_eq_tol(info.burst[TRACE_WINDOW_10S].dispersion, 61.76343161, 1e-8);
	ck_assert_double_eq_tol(info.prompt.mean, 642.0387, 1e-4);
	ck_assert_double_eq(info.prompt.p50, 457.5);
	ck_assert_double_eq(info.prompt.p90, 1591);
	ck_assert_double_eq(info.response[TRACE_RESPONSE_GENERATED].p99, 1014.15);
	ck_assert_uint_eq(info.response[TRACE_RESPONSE_RECORDED].max, 2048);
	trace_destroy(&trace);
}
END_TEST

/* Published numbers about the requests whose times are known to the second. */
START_TEST(dispersion_of_the_exact_head_matches_the_published_one)
{
	static const double published[] = { 1.01, 1.27, 2.87, 9.97 };
	struct trace_info info;
	struct trace trace;

	must_read(SHIPPED, &trace);
	trace.count = 481;
	ck_assert_int_eq(
		trace_info_compute(&trace, (struct trace_divisor){ 1, 1 }, &info, &error), 0);
	ck_assert_uint_eq(info.span_ns, 38965 * NS_PER_SEC);
	ck_assert_double_eq_tol(info.interarrival_cv, 4.80, 0.005);
	for (int i = 0; i < TRACE_WINDOW_COUNT; i++)
		ck_assert_double_eq_tol(info.burst[i].dispersion, published[i], 0.005);
	trace_destroy(&trace);
}
END_TEST

START_TEST(divisors_are_exact_fractions_in_lowest_terms)
{
	struct trace_divisor divisor = { 0 };

	ck_assert_int_eq(trace_divisor_parse("198.9", &divisor, &error), 0);
	ck_assert_uint_eq(divisor.num, 1989);
	ck_assert_uint_eq(divisor.den, 10);
	ck_assert_int_eq(trace_divisor_parse("0.5", &divisor, &error), 0);
	ck_assert_uint_eq(divisor.num, 1);
	ck_assert_uint_eq(divisor.den, 2);
	ck_assert_int_eq(trace_divisor_parse("0.0", &divisor, &error), -SIM_EXIT_USER);
	ck_assert_str_eq(error.text,
			 "'0.0' is zero, allowed are decimal numbers above 0 with up "
			 "to 9 decimals, below 18446744073");
	ck_assert_int_eq(trace_divisor_parse("ten", &divisor, &error), -SIM_EXIT_USER);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, percentiles_interpolate_like_numpy);
	tcase_add_test(tests, sort_and_mean_are_exact_up_to_the_largest_numbers);
	tcase_add_test(tests, dispersion_peak_and_cv_match_a_count_by_hand);
	tcase_add_test(tests, even_arrivals_have_no_deviation_at_all);
	tcase_add_test(tests, a_single_request_has_no_rate);
	tcase_add_test(tests, info_refuses_a_slow_down_beyond_the_clock);
	tcase_add_test(tests, info_of_the_shipped_trace_is_golden);
	tcase_add_test(tests, dispersion_of_the_exact_head_matches_the_published_one);
	tcase_add_test(tests, divisors_are_exact_fractions_in_lowest_terms);
}

int main(void)
{
	return fixture_run("trace_info", add_tests);
}
