// SPDX-License-Identifier: MIT OR GPL-2.0
/* The steps of a program alone: reading them, and how much the host's time varies. */
#include <stdio.h>
#include <unistd.h>

#include "config/config.h"
#include "engine/error.h"
#include "gvm/port.h"
#include "import/torch_steps.h"
#include "suite.h"

static char folder[64], path[96];
static struct torch_steps steps;
static struct sim_error err;

static void make_folder(void)
{
	suite_make_folder(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/rounds.csv", folder);
	err = (struct sim_error){ 0 };
}

static void remove_folder(void)
{
	torch_steps_destroy(&steps);
	unlink(path);
	rmdir(folder);
}

static int read_text(const char *text)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	return torch_steps_read(path, &steps, &err);
}

START_TEST(steps_are_in_a_column_of_their_name)
{
	ck_assert_msg(!read_text("gap_us,step_us\n42,2213\n4,2133\n\n"), "%s", err.text);
	ck_assert_uint_eq(steps.count, 2);
	ck_assert_uint_eq(steps.ns[0], 2213000);
	ck_assert_uint_eq(steps.ns[1], 2133000);
}
END_TEST

static const struct {
	const char *text, *wrong;
} mistakes[] = {
	{ "", "*rounds.csv:1: column 'step_us' is missing*" },
	{ "step\n1\n", "*rounds.csv:1: column 'step_us' is missing*" },
	{ "step_us\n", "*rounds.csv: has no steps" },
	{ "gap_us,step_us\n1,2\n3\n",
	  "*rounds.csv:3: column 'step_us' is missing in this row" },
	{ "step_us\n1\n-2\n", "*rounds.csv:3: column 'step_us': '-2' *" },
	{ "step_us\n0\n",
	  "*rounds.csv:2: column 'step_us': '0' is out of range, *1 to 100000000" },
	{ "step_us\n100000001\n",
	  "*rounds.csv:2: column 'step_us': '100000001' is out of range*" },
};

START_TEST(a_mistake_is_named_and_leaves_no_steps)
{
	ck_assert_int_eq(read_text(mistakes[_i].text), -SIM_EXIT_USER);
	ck_assert_msg(suite_is_like(err.text, mistakes[_i].wrong), "%s", err.text);
	ck_assert_uint_eq(steps.count, 0);
}
END_TEST

START_TEST(a_file_that_is_not_there_is_named)
{
	ck_assert_int_eq(torch_steps_read(path, &steps, &err), -SIM_EXIT_USER);
	ck_assert_msg(suite_is_like(err.text, "*rounds.csv: cannot read: No such file*"), "%s",
		      err.text);
}
END_TEST

static void add(u64 ns)
{
	ck_assert_int_eq(torch_steps_add(&steps, ns), 0);
}

/* Up to as many factors as there is room for are the steps themselves, by length. */
START_TEST(few_steps_are_their_own_factors)
{
	u32 factors[4];

	add(3000);
	add(1000);
	add(2500);
	ck_assert_uint_eq(torch_steps_factors(&steps, 2000, 1000, 2 * CFG_PPM, factors, 4), 3);
	ck_assert_uint_eq(factors[0], CFG_PPM / 2);
	ck_assert_uint_eq(factors[1], 1250000);
	ck_assert_uint_eq(factors[2], 1500000);
}
END_TEST

/* Seven steps in three parts, whose middles are the second, the fourth and the sixth. */
START_TEST(of_many_steps_the_middles_of_equal_parts_count)
{
	u32 factors[3];

	for (u64 i = 7; i; i--)
		add(i * 1000);
	ck_assert_uint_eq(torch_steps_factors(&steps, 1000, 1000, 100 * CFG_PPM, factors, 3),
			  3);
	ck_assert_uint_eq(factors[0], 2 * CFG_PPM);
	ck_assert_uint_eq(factors[1], 4 * CFG_PPM);
	ck_assert_uint_eq(factors[2], 6 * CFG_PPM);
}
END_TEST

START_TEST(factors_stay_in_their_bounds)
{
	u32 factors[2];

	add(1);
	add(1000000000);
	ck_assert_uint_eq(torch_steps_factors(&steps, 100000, 1000, 5 * CFG_PPM, factors, 2),
			  2);
	ck_assert_uint_eq(factors[0], 1000);
	ck_assert_uint_eq(factors[1], 5 * CFG_PPM);
}
END_TEST

START_TEST(without_steps_there_are_no_factors)
{
	u32 factor;

	ck_assert_uint_eq(torch_steps_factors(&steps, 1000, 1000, CFG_PPM, &factor, 1), 0);
	add(1000);
	ck_assert_uint_eq(torch_steps_factors(&steps, 0, 1000, CFG_PPM, &factor, 1), 0);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, steps_are_in_a_column_of_their_name);
	tcase_add_loop_test(tests, a_mistake_is_named_and_leaves_no_steps, 0,
			    (int)ARRAY_SIZE(mistakes));
	tcase_add_test(tests, a_file_that_is_not_there_is_named);
	tcase_add_test(tests, few_steps_are_their_own_factors);
	tcase_add_test(tests, of_many_steps_the_middles_of_equal_parts_count);
	tcase_add_test(tests, factors_stay_in_their_bounds);
	tcase_add_test(tests, without_steps_there_are_no_factors);
}

int main(void)
{
	return suite_run("torch_steps", make_folder, remove_folder, add_tests);
}
