// SPDX-License-Identifier: MIT OR GPL-2.0
/* Sorting in place, on all kinds of input that are hard for sorts. */
#include "engine/stats.h"

#include <stdlib.h>
#include <string.h>

#include "engine/port/gvm_common.h"
#include "runner.h"

#define VALUES 5000

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a;
	u64 y = *(const u64 *)b;

	return (x > y) - (x < y);
}

static void check_sort(const u64 *values, size_t n)
{
	static u64 sorted[VALUES], expected[VALUES];

	memcpy(sorted, values, n * sizeof(*values));
	memcpy(expected, values, n * sizeof(*values));
	stats_sort_u64(sorted, n);
	qsort(expected, n, sizeof(*expected), compare);
	ck_assert_mem_eq(sorted, expected, n * sizeof(*values));
}

START_TEST(random_values_are_sorted)
{
	static u64 values[VALUES];
	u64 random = runner_seed();

	for (int round = 0; round < 500; round++) {
		size_t n = gvm_port_draw(&random) % (round % 10 ? 100 : VALUES);
		u64 distinct = 1 + gvm_port_draw(&random) % (round % 3 ? 5 : U64_MAX);

		for (size_t i = 0; i < n; i++)
			values[i] = gvm_port_draw(&random) % distinct;
		check_sort(values, n);
	}
}
END_TEST

START_TEST(runs_and_equal_values_are_sorted)
{
	static u64 rising[VALUES], falling[VALUES], pipes[VALUES], equal[VALUES],
		extremes[VALUES];

	for (size_t i = 0; i < VALUES; i++) {
		rising[i] = i;
		falling[i] = VALUES - i;
		pipes[i] = i < VALUES / 2 ? i : VALUES - i;
		equal[i] = 7;
		extremes[i] = i % 2 ? U64_MAX : 0;
	}
	for (size_t n = 0; n < VALUES; n += n < 40 ? 1 : 997) {
		check_sort(rising, n);
		check_sort(falling, n);
		check_sort(pipes, n);
		check_sort(equal, n);
		check_sort(extremes, n);
	}
}
END_TEST

static u64 *killer;

/*
 * Make values for which each pivot is one of the two smallest: McIlroy, "A Killer Adversary".
 */
static void make_killer(size_t n)
{
	size_t *places = malloc(n * sizeof(*places));
	u64 next = 0;

	ck_assert_ptr_nonnull(places);
	for (size_t i = 0; i < n; i++)
		places[i] = i;
	for (size_t left = 0; left + 3 < n; left += 2) {
		size_t middle = left + (n - left - 1) / 2;
		size_t place = places[middle];

		killer[places[left]] = next++;
		killer[place] = next++;
		places[middle] = places[left + 1];
		places[left + 1] = place;
	}
	for (size_t i = n - n % 2 - 2; i < n; i++)
		killer[places[i]] = next++;
	free(places);
}

/* A quadratic sort takes minutes here. The runner stops the test after one minute. */
START_TEST(no_input_makes_the_sort_quadratic)
{
	const size_t n = 1000000;

	killer = calloc(n, sizeof(*killer));
	ck_assert_ptr_nonnull(killer);
	make_killer(n);
	stats_sort_u64(killer, n);
	for (size_t i = 1; i < n; i++)
		if (killer[i - 1] > killer[i])
			ck_abort_msg("not sorted at %zu", i);
	free(killer);
}
END_TEST

/* Values with counts have the percentiles and the mean of the plain array, to the bit. */
START_TEST(weighted_values_have_the_same_statistics)
{
	struct stats_weights weights = { 0 };
	u64 all[VALUES], part[100];
	size_t n = 0;

	while (n + 100 <= VALUES) {
		for (size_t i = 0; i < 100; i++)
			part[i] = all[n++] = (u64)(rand() % 1000) * 1000003;
		ck_assert_int_eq(stats_weights_add(&weights, part, 100), 0);
	}
	stats_sort_u64(all, n);
	ck_assert_uint_eq(weights.total, n);
	ck_assert_uint_le(weights.n, 1000);
	for (unsigned int percent = 0; percent <= 100; percent++)
		ck_assert(stats_weights_percentile(&weights, n, percent, 100) ==
			  stats_percentile_u64(all, n, percent, 100));
	ck_assert(stats_weights_mean(&weights) == stats_mean_u64(all, n));
	free(weights.list);
}
END_TEST

/* Rounded values are few, and each statistic moves by less than a part of 2^bits. */
START_TEST(rounded_values_are_few_and_near)
{
	struct stats_weights weights = { 0 };
	u64 values[VALUES], exact[VALUES];

	for (size_t i = 0; i < VALUES; i++)
		exact[i] = values[i] = 1000000 + (u64)(rand() % 1000000);
	stats_sort_u64(exact, VALUES);
	ck_assert_int_eq(stats_weights_add(&weights, values, VALUES), 0);
	ck_assert_uint_gt(weights.n, 64);
	stats_weights_round(&weights, 6);
	ck_assert_uint_le(weights.n, 64);
	ck_assert_uint_eq(weights.total, VALUES);
	for (unsigned int percent = 0; percent <= 100; percent++) {
		double is = stats_weights_percentile(&weights, VALUES, percent, 100);
		double was = stats_percentile_u64(exact, VALUES, percent, 100);

		ck_assert(is * 64 <= was * 65 && is * 64 >= was * 63);
	}
	/* The greatest number of 64 bits does not become 0. */
	weights.list[0].value = U64_MAX;
	weights.n = 1;
	stats_weights_round(&weights, 6);
	ck_assert_uint_eq(weights.list[0].value, U64_MAX);
	free(weights.list);
}
END_TEST

TEST_MAIN("stats", rounded_values_are_few_and_near, weighted_values_have_the_same_statistics,
	  random_values_are_sorted, runs_and_equal_values_are_sorted,
	  no_input_makes_the_sort_quadratic)
