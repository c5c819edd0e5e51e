// SPDX-License-Identifier: MIT OR GPL-2.0
/* Quantities: exact, or refused. */
#include <check.h>
#include <stdlib.h>

#include "config/units.h"
#include "suite.h"

struct units_case {
	const char *text;
	enum units_status status;
	u64 value;
};

typedef enum units_status units_parser(const char *text, u64 *ret_value);

static void check_units(units_parser *parse, const struct units_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		u64 value = 0;

		ck_assert_msg(parse(cases[i].text, &value) == cases[i].status, "%s",
			      cases[i].text);
		ck_assert_msg(value == cases[i].value, "%s", cases[i].text);
	}
}

#define CHECK_UNITS(parse, ...)                                              \
	do {                                                                 \
		static const struct units_case cases[] = { __VA_ARGS__ };    \
		check_units(parse, cases, sizeof(cases) / sizeof(cases[0])); \
	} while (0)

START_TEST(sizes_are_exact)
{
	CHECK_UNITS(units_parse_size, { "0", 0, 0 }, { "4096", 0, 4096 },
		    { "6e9", 0, 6000000000 }, { "1.5e3", 0, 1500 }, { "25e-1K", 0, 2560 },
		    { "1B", 0, 1 }, { "1K", 0, 1024 }, { "2M", 0, 2097152 },
		    { "2MB", 0, 2000000 }, { "2MiB", 0, 2097152 }, { "1.5G", 0, 1610612736 },
		    { "0.5K", 0, 512 }, { "max", 0, UINT64_MAX },
		    { "18446744073709551615", 0, UINT64_MAX },
		    { "9007199254740993", 0, 9007199254740993 },
		    { "17179869183G", 0, UINT64_MAX - 1073741823 });
}
END_TEST

/* KB, MB and GB are decimal. K, M and G alone are binary, as in cgroup files. */
START_TEST(units_of_sizes_are_decimal_with_b_alone)
{
	CHECK_UNITS(units_parse_size, { "12K", 0, 12288 }, { "12KiB", 0, 12288 },
		    { "12KB", 0, 12000 }, { "12M", 0, 12582912 }, { "12MiB", 0, 12582912 },
		    { "12MB", 0, 12000000 }, { "12G", 0, 12884901888 },
		    { "2T", 0, 2199023255552 }, { "2TiB", 0, 2199023255552 },
		    { "2TB", 0, 2000000000000 }, { "12GiB", 0, 12884901888 },
		    { "12GB", 0, 12000000000 }, { "12kB", UNITS_BAD_SUFFIX, 0 },
		    { "12Gb", UNITS_BAD_SUFFIX, 0 });
}
END_TEST

/* Only a fraction of a larger unit is rounded, and never to nothing. */
START_TEST(fractions_of_a_unit_are_whole_bytes)
{
	CHECK_UNITS(units_parse_size, { "44.9G", 0, 48211007897 }, { "44.9GB", 0, 44900000000 },
		    { "0.1K", 0, 102 }, { "0.333KiB", 0, 340 }, { "1.0001KB", 0, 1000 },
		    { "0.0001K", UNITS_NOT_WHOLE, 0 }, { "1024.5", UNITS_NOT_WHOLE, 0 },
		    { "1024.5B", UNITS_NOT_WHOLE, 0 });
}
END_TEST

START_TEST(sizes_refuse_what_they_cannot_hold)
{
	CHECK_UNITS(units_parse_size, { "", UNITS_SYNTAX, 0 }, { "G", UNITS_SYNTAX, 0 },
		    { "-1", UNITS_NEGATIVE, 0 }, { ".5G", UNITS_SYNTAX, 0 },
		    { "1.G", UNITS_SYNTAX, 0 }, { " 1", UNITS_SYNTAX, 0 },
		    { "6Q", UNITS_BAD_SUFFIX, 0 }, { "6 G", UNITS_BAD_SUFFIX, 0 },
		    { "6e", UNITS_BAD_SUFFIX, 0 }, { "0x10", UNITS_BAD_SUFFIX, 0 },
		    { "0.5", UNITS_NOT_WHOLE, 0 }, { "1e-1", UNITS_NOT_WHOLE, 0 },
		    { "1e-99999", UNITS_NOT_WHOLE, 0 },
		    { "18446744073709551616", UNITS_OVERFLOW, 0 },
		    { "17179869184G", UNITS_OVERFLOW, 0 }, { "1e20", UNITS_OVERFLOW, 0 },
		    { "1e99999999999", UNITS_OVERFLOW, 0 });
}
END_TEST

START_TEST(durations_need_units)
{
	CHECK_UNITS(units_parse_duration, { "640s", 0, 640000000000 },
		    { "100ms", 0, 100000000 }, { "24.6ms", 0, 24600000 },
		    { "7.463s", 0, 7463000000 }, { "5us", 0, 5000 }, { "10ns", 0, 10 },
		    { "2min", 0, 120000000000 }, { "24h", 0, 86400000000000 }, { "0s", 0, 0 },
		    { "1e-9s", 0, 1 }, { "640", UNITS_NO_UNIT, 0 }, { "0", UNITS_NO_UNIT, 0 },
		    { "1.5ns", UNITS_NOT_WHOLE, 0 }, { "5 s", UNITS_BAD_SUFFIX, 0 },
		    { "5S", UNITS_BAD_SUFFIX, 0 }, { "18446744073709551615ns", 0, UINT64_MAX },
		    { "18446744074s", UNITS_OVERFLOW, 0 });
}
END_TEST

START_TEST(ratios_have_six_decimals)
{
	CHECK_UNITS(units_parse_ppm, { "0.7", 0, 700000 }, { "198.9", 0, 198900000 },
		    { "1", 0, 1000000 }, { "0.000001", 0, 1 }, { "1e-6", 0, 1 },
		    { "0.70000000", 0, 700000 }, { "0.0000001", UNITS_NOT_WHOLE, 0 },
		    { "70%", UNITS_BAD_SUFFIX, 0 }, { "nan", UNITS_SYNTAX, 0 },
		    { "20000000000000", UNITS_OVERFLOW, 0 });
}
END_TEST

START_TEST(integers_and_timeslices)
{
	CHECK_UNITS(units_parse_integer, { "312e12", 0, 312000000000000 }, { "300", 0, 300 },
		    { "6.43e9", 0, 6430000000 }, { "1.5", UNITS_NOT_WHOLE, 0 },
		    { "2K", UNITS_BAD_SUFFIX, 0 });
	CHECK_UNITS(units_parse_timeslice, { "2", 0, 2000 }, { "2ms", 0, 2000 },
		    { "0.5", 0, 500 }, { "512us", 0, 512 }, { "1.5us", UNITS_NOT_WHOLE, 0 },
		    { "2s", UNITS_BAD_SUFFIX, 0 });
}
END_TEST

START_TEST(formatted_units_read_back)
{
	static const struct {
		u64 ns;
		const char *text;
	} cases[] = {
		{ 0, "0s" },
		{ 1, "1ns" },
		{ 1000, "1us" },
		{ 1000000000, "1s" },
		{ 583750000000, "583.75s" },
		{ 24600000, "24.6ms" },
		{ 5000, "5us" },
		{ 59001, "59.001us" },
		{ 86400000000000, "86400s" },
		{ 1000000001, "1.000000001s" },
		{ UINT64_MAX, "18446744073.709551615s" },
	};
	char text[UNITS_TEXT_MAX];
	u64 back;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		units_format_duration(cases[i].ns, text, sizeof(text));
		ck_assert_str_eq(text, cases[i].text);
		ck_assert_int_eq(units_parse_duration(text, &back), UNITS_OK);
		ck_assert_uint_eq(back, cases[i].ns);
	}
	units_format_ppm(198900000, text, sizeof(text));
	ck_assert_str_eq(text, "198.9");
	units_format_ppm(UINT64_MAX, text, sizeof(text));
	ck_assert_int_eq(units_parse_ppm(text, &back), UNITS_OK);
	ck_assert_uint_eq(back, UINT64_MAX);
	units_format_size(UINT64_MAX, text, sizeof(text));
	ck_assert_str_eq(text, "max");
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, sizes_are_exact);
	tcase_add_test(tests, units_of_sizes_are_decimal_with_b_alone);
	tcase_add_test(tests, fractions_of_a_unit_are_whole_bytes);
	tcase_add_test(tests, sizes_refuse_what_they_cannot_hold);
	tcase_add_test(tests, durations_need_units);
	tcase_add_test(tests, ratios_have_six_decimals);
	tcase_add_test(tests, integers_and_timeslices);
	tcase_add_test(tests, formatted_units_read_back);
}

int main(void)
{
	return suite_run("units", NULL, NULL, add_tests);
}
