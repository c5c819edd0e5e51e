// SPDX-License-Identifier: MIT OR GPL-2.0
/* Slowdowns of containers beside others, and what follows from them, worked out by hand. */
#include "results/together.h"

#include <string.h>

#include "results_fixture.h"

#define CONTAINERS 3

static struct summary_container alone_containers[CONTAINERS], shared_containers[CONTAINERS];
static struct summary alone = { .containers = alone_containers };
static struct summary shared = { .containers = shared_containers };
static struct together together;

/* Set the median time of a container's work, in seconds. */
static void set_median(struct summary_container *container, double real, bool known, bool bound)
{
	const char *key = container->report == &report_images ? "latency_s.p50" : "e2e_s.p50";
	const struct summary_value *value;

	ck_assert_ptr_nonnull(summary_find_metric(container, key, &value));
	container->values[value - container->values] =
		(struct summary_value){ known, bound, 0, real };
}

static void add(const char *name, const struct app_report *report, double alone_s,
		double shared_s, bool bound)
{
	struct summary_container *both[] = { &alone_containers[alone.container_count++],
					     &shared_containers[shared.container_count++] };

	for (size_t i = 0; i < 2; i++) {
		*both[i] = (struct summary_container){ .report = report };
		strcpy(both[i]->name, name);
		strcpy(both[i]->status, SUMMARY_OK);
	}
	set_median(both[0], alone_s, true, false);
	set_median(both[1], shared_s, true, bound);
}

static void begin(void)
{
	alone.container_count = shared.container_count = 0;
}

static void expect(const struct summary_value *value, double real, bool bound)
{
	ck_assert(value->known);
	ck_assert_int_eq(value->bound, bound);
	ck_assert_double_eq_tol(value->real, real, 1e-12);
}

/* 2 and 4 times: mean 3, speed-up 1/2 + 1/4, fairness (3/4)^2 / (2 (1/4 + 1/16)) = 0.9. */
START_TEST(mean_speed_up_and_fairness_are_those_of_the_slowdowns)
{
	begin();
	add("server", &report_requests, 3, 6, false);
	add("pipeline", &report_images, 1, 4, false);
	together_compute(&shared, &alone, &together);
	ck_assert_uint_eq(together.count, 2);
	expect(&together.slowdowns[0].value, 2, false);
	expect(&together.slowdowns[1].value, 4, false);
	expect(&together.antt, 3, false);
	expect(&together.worst, 4, false);
	expect(&together.stp, 0.75, false);
	expect(&together.jain, 0.9, false);
	together_compute(&alone, &alone, &together);
	expect(&together.antt, 1, false);
	expect(&together.stp, 2, false);
	expect(&together.jain, 1, false);
}
END_TEST

/* One has run, the others hardly: the least fairness of three is a third. */
START_TEST(fairness_falls_to_one_over_the_containers)
{
	begin();
	add("a", &report_images, 1, 1, false);
	add("b", &report_images, 1, 1e9, false);
	add("c", &report_requests, 1, 1e9, false);
	together_compute(&shared, &alone, &together);
	ck_assert_double_eq_tol(together.jain.real, 1.0 / 3, 1e-8);
	ck_assert_double_eq_tol(together.stp.real, 1, 1e-8);
}
END_TEST

START_TEST(a_bound_of_one_bounds_all_but_fairness)
{
	begin();
	add("server", &report_requests, 3, 6, true);
	add("pipeline", &report_images, 1, 4, false);
	together_compute(&shared, &alone, &together);
	expect(&together.slowdowns[0].value, 2, true);
	expect(&together.slowdowns[1].value, 4, false);
	expect(&together.antt, 3, true);
	expect(&together.stp, 0.75, true);
	ck_assert(!together.jain.known);
}
END_TEST

START_TEST(nothing_is_known_of_a_run_in_which_one_failed_or_is_missing)
{
	begin();
	add("server", &report_requests, 3, 6, false);
	add("pipeline", &report_images, 1, 4, false);
	strcpy(shared_containers[1].status, "failed at 1.0 s: out of memory");
	together_compute(&shared, &alone, &together);
	expect(&together.slowdowns[0].value, 2, false);
	ck_assert(!together.slowdowns[1].value.known);
	ck_assert(!together.antt.known && !together.worst.known && !together.stp.known &&
		  !together.jain.known);
	shared.container_count = 1;
	together_compute(&shared, &alone, &together);
	ck_assert(!together.antt.known);
}
END_TEST

/* One that has no median alone says nothing, and one that no log is of neither. */
START_TEST(a_container_without_a_median_alone_is_left_out)
{
	begin();
	add("server", &report_requests, 3, 6, false);
	add("pipeline", &report_images, 1, 4, false);
	add("process", &report_images, 1, 4, false);
	set_median(&alone_containers[1], 1, true, true);
	alone_containers[2].report = NULL;
	together_compute(&shared, &alone, &together);
	ck_assert_uint_eq(together.count, 1);
	expect(&together.antt, 2, false);
	set_median(&alone_containers[0], 0, true, false);
	together_compute(&shared, &alone, &together);
	ck_assert_uint_eq(together.count, 0);
	ck_assert(!together.antt.known);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, mean_speed_up_and_fairness_are_those_of_the_slowdowns);
	tcase_add_test(tests, fairness_falls_to_one_over_the_containers);
	tcase_add_test(tests, a_bound_of_one_bounds_all_but_fairness);
	tcase_add_test(tests, nothing_is_known_of_a_run_in_which_one_failed_or_is_missing);
	tcase_add_test(tests, a_container_without_a_median_alone_is_left_out);
}

int main(void)
{
	return fixture_run("together", add_tests);
}
