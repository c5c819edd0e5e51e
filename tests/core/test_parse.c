// SPDX-License-Identifier: MIT OR GPL-2.0
/* The parsers of control files: numbers, sizes, timeslices. */
#include "core_world.h"
#include "gvm/control.h"

#define UNTOUCHED 0xdeadull

struct parse_case {
	const char *text;
	int error;
	u64 value;
};

static void expect_parse(int (*parse)(const char *text, u64 *ret_value),
			 const struct parse_case *c)
{
	u64 value = UNTOUCHED;

	ck_assert_msg(parse(c->text, &value) == c->error, "\"%s\"", c->text);
	ck_assert_msg(value == (c->error ? UNTOUCHED : c->value), "\"%s\" is %llu", c->text,
		      value);
}

static const struct parse_case u64_cases[] = {
	{ "0", 0, 0 },
	{ "007", 0, 7 },
	{ "18446744073709551615", 0, U64_MAX },
	{ "18446744073709551616", -ERANGE, 0 },
	{ "99999999999999999999999999999999999999999999", -ERANGE, 0 },
	{ "99999999999999999999999999999999999999999999x", -EINVAL, 0 },
	{ "", -EINVAL, 0 },
	{ "-0", -EINVAL, 0 },
	{ "+1", -EINVAL, 0 },
	{ " 1", -EINVAL, 0 },
	{ "1 ", -EINVAL, 0 },
	{ "0x10", -EINVAL, 0 },
	{ "1e3", -EINVAL, 0 },
	{ "max", -EINVAL, 0 },
	{ "1.0", -EINVAL, 0 },
};

START_TEST(plain_numbers_parse_exactly)
{
	expect_parse(gvm_parse_u64, &u64_cases[_i]);
}
END_TEST

static const struct parse_case bytes_cases[] = {
	{ "0", 0, 0 },
	{ "4096", 0, 4096 },
	{ "max", 0, U64_MAX },
	{ "1K", 0, 1024 },
	{ "3M", 0, 3ull << 20 },
	{ "40G", 0, 40ull << 30 },
	{ "0G", 0, 0 },
	{ "17179869183G", 0, 17179869183ull << 30 },
	{ "17179869184G", -ERANGE, 0 },
	{ "18014398509481984K", -ERANGE, 0 },
	{ "6e9", 0, 6000000000ull },
	{ "6E9", 0, 6000000000ull },
	{ "40e9", 0, 40000000000ull },
	{ "1e0", 0, 1 },
	{ "1e19", 0, 10000000000000000000ull },
	{ "1e20", -ERANGE, 0 },
	{ "2e19", -ERANGE, 0 },
	{ "0e99999999999999999999999", 0, 0 },
	{ "1e99999999999999999999999", -ERANGE, 0 },
	{ "99999999999999999999999K", -ERANGE, 0 },
	{ "99999999999999999999999e0", -ERANGE, 0 },
	{ "99999999999999999999999Q", -EINVAL, 0 },
	{ "1e99x", -EINVAL, 0 },
	{ "6e", -EINVAL, 0 },
	{ "6e+9", -EINVAL, 0 },
	{ "6e-9", -EINVAL, 0 },
	{ "6e9G", -EINVAL, 0 },
	{ "e9", -EINVAL, 0 },
	{ "K", -EINVAL, 0 },
	{ "1k", -EINVAL, 0 },
	{ "1KB", -EINVAL, 0 },
	{ "1T", -EINVAL, 0 },
	{ "1 K", -EINVAL, 0 },
	{ "1.5G", -EINVAL, 0 },
	{ "-1", -EINVAL, 0 },
	{ "", -EINVAL, 0 },
	{ "Max", -EINVAL, 0 },
	{ "max ", -EINVAL, 0 },
	{ "ma", -EINVAL, 0 },
};

START_TEST(sizes_parse_exactly)
{
	expect_parse(gvm_parse_bytes, &bytes_cases[_i]);
}
END_TEST

static const struct parse_case timeslice_cases[] = {
	{ "2", 0, 2000 },
	{ "2ms", 0, 2000 },
	{ "2us", 0, 2 },
	{ "0", 0, 0 },
	{ "18446744073709551615us", 0, U64_MAX },
	{ "18446744073709551", 0, 18446744073709551000ull },
	{ "18446744073709552", -ERANGE, 0 },
	{ "18446744073709551616us", -ERANGE, 0 },
	{ "18446744073709551616s", -EINVAL, 0 },
	{ "18446744073709552x", -EINVAL, 0 },
	{ "2s", -EINVAL, 0 },
	{ "2 ms", -EINVAL, 0 },
	{ "2msx", -EINVAL, 0 },
	{ "2m", -EINVAL, 0 },
	{ "2MS", -EINVAL, 0 },
	{ "1.5", -EINVAL, 0 },
	{ "ms", -EINVAL, 0 },
	{ "", -EINVAL, 0 },
	{ "-1", -EINVAL, 0 },
};

START_TEST(timeslices_parse_exactly)
{
	expect_parse(gvm_parse_timeslice_us, &timeslice_cases[_i]);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_loop_test(tests, plain_numbers_parse_exactly, 0, ARRAY_SIZE(u64_cases));
	tcase_add_loop_test(tests, sizes_parse_exactly, 0, ARRAY_SIZE(bytes_cases));
	tcase_add_loop_test(tests, timeslices_parse_exactly, 0, ARRAY_SIZE(timeslice_cases));
}

static void setup(void)
{
	world_init(WORLD_CHUNKS);
}

int main(void)
{
	Suite *suite = suite_create("parse");

	world_add_case(suite, "parsers", setup, world_destroy, add_tests);
	return world_run(suite);
}
