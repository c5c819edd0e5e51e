// SPDX-License-Identifier: MIT OR GPL-2.0
/* The trace importer: CSV files that it accepts, and its messages about the others. */
#include "trace/trace_parse.h"
#include "trace/trace_read.h"
#include "trace_fixture.h"

#include <stdio.h>
#include <string.h>

#define HEAD_GVM                                                                     \
	"gvm_index,t_trace_s,t_source,request_tokens,response_tokens_gvm_generated," \
	"response_tokens_true_est\n"

static int read_text(const char *text, enum trace_bad_rows bad_rows, struct trace *trace)
{
	return read_bytes(text, strlen(text), bad_rows, trace);
}

static void assert_refused(const char *text, const char *message)
{
	assert_refused_bytes(text, strlen(text), message);
}

/* Files that are accepted */

START_TEST(import_reads_the_first_rows_of_the_public_file)
{
	struct trace trace;

	must_read(FIRST400, &trace);
	assert_request(&trace, 0, 5 * NS_PER_SEC, 472, 18, 18);
	assert_request(&trace, 1, 45 * NS_PER_SEC, 1087, 230, 230);
	assert_request(&trace, 2, 118 * NS_PER_SEC, 417, 276, 276);
	assert_request(&trace, 382, 37274 * NS_PER_SEC, 67, 58, 58);
	ck_assert(!trace.two_responses);
	ck_assert_str_eq(trace.attribution, "BurstGPT (Wang et al., CC-BY-4.0)");
	trace_destroy(&trace);
}
END_TEST

/* It has the columns that a replay needs, as the tutorial says, and another author. */
START_TEST(a_file_of_ones_own_is_not_burstgpts)
{
	struct trace trace;

	ck_assert_int_eq(read_text("Timestamp,Request tokens,Response tokens\n1,2,3\n",
				   TRACE_BAD_ROWS_FAIL, &trace),
			 0);
	assert_request(&trace, 0, 1 * NS_PER_SEC, 2, 3, 3);
	ck_assert_str_eq(trace.attribution, "");
	trace_destroy(&trace);
}
END_TEST

START_TEST(import_counts_recorded_failures_and_leaves_them_out)
{
	struct trace trace;

	must_read(FIRST400, &trace);
	ck_assert_uint_eq(trace.count, 383);
	ck_assert_uint_eq(trace.failures, 17);
	ck_assert_uint_eq(trace.bad_rows, 0);
	trace_destroy(&trace);
}
END_TEST

START_TEST(import_reads_eight_columns_like_six)
{
	static const char text[] =
		"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,"
		"Total tokens,Log Type\n"
		"19440110.0,1722ac82-0a46-4bf0-aa08-89794e7a2b3f,43,GPT-4,906,446,1352,"
		"Conversation log\n"
		"19440161.5,,,ChatGPT,36,29,65,API log\n";
	struct trace trace;

	ck_assert_int_eq(read_text(text, TRACE_BAD_ROWS_FAIL, &trace), 0);
	ck_assert_uint_eq(trace.count, 2);
	assert_request(&trace, 0, UINT64_C(19440110000000000), 906, 446, 446);
	assert_request(&trace, 1, UINT64_C(19440161500000000), 36, 29, 29);
	trace_destroy(&trace);
}
END_TEST

START_TEST(import_finds_columns_by_name_in_any_order)
{
	struct trace trace;

	ck_assert_int_eq(read_text("Response tokens,Other,Timestamp,Request tokens\n2,x,3,4\n",
				   TRACE_BAD_ROWS_FAIL, &trace),
			 0);
	assert_request(&trace, 0, 3 * NS_PER_SEC, 4, 2, 2);
	trace_destroy(&trace);
}
END_TEST

START_TEST(import_keeps_both_responses_of_the_arrivals_form)
{
	struct trace trace;

	ck_assert_int_eq(read_text(HEAD_GVM "0,5.00,exact,472,18,18\n"
					    "1,118848.89,minute+uniform,238,2,209\n",
				   TRACE_BAD_ROWS_FAIL, &trace),
			 0);
	ck_assert(trace.two_responses);
	assert_request(&trace, 0, 5 * NS_PER_SEC, 472, 18, 18);
	assert_request(&trace, 1, UINT64_C(118848890000000), 238, 2, 209);
	ck_assert_str_eq(trace.attribution,
			 "BurstGPT (Wang et al., CC-BY-4.0), first 3256 valid requests as "
			 "replayed in the GVM paper; rebuilt from public leftovers");
	trace_destroy(&trace);
}
END_TEST

START_TEST(import_accepts_equal_times_in_file_order)
{
	struct trace trace;

	ck_assert_int_eq(read_text(HEAD6 "5,m,1,1,2,l\n5,m,2,1,3,l\n5.000000000000,m,3,1,4,l\n",
				   TRACE_BAD_ROWS_FAIL, &trace),
			 0);
	ck_assert_uint_eq(trace.count, 3);
	for (u32 i = 0; i < 3; i++)
		assert_request(&trace, i, 5 * NS_PER_SEC, i + 1, 1, 1);
	trace_destroy(&trace);
}
END_TEST

START_TEST(import_accepts_crlf_byte_order_mark_and_no_final_newline)
{
	struct trace trace;

	ck_assert_int_eq(read_text("\xef\xbb\xbfTimestamp,Request tokens,Response tokens\r\n"
				   "1,2,3\r\n4,5,6",
				   TRACE_BAD_ROWS_FAIL, &trace),
			 0);
	ck_assert_uint_eq(trace.count, 2);
	assert_request(&trace, 0, 1 * NS_PER_SEC, 2, 3, 3);
	assert_request(&trace, 1, 4 * NS_PER_SEC, 5, 6, 6);
	trace_destroy(&trace);
}
END_TEST

START_TEST(import_parses_seconds_to_nanoseconds_exactly)
{
	static const struct {
		const char *text;
		u64 ns;
	} cases[] = {
		{ "0", 0 },
		{ "0.000000001", 1 },
		{ "0.1", 100000000 },
		{ "118848.89", UINT64_C(118848890000000) },
		{ "0007.50", UINT64_C(7500000000) },
		{ "18446744073.709551615", U64_MAX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		u64 ns = 1;

		ck_assert_ptr_null(trace_parse_seconds(cases[i].text, &ns));
		ck_assert_uint_eq(ns, cases[i].ns);
	}
}
END_TEST

/* Files that are refused */

#define ALLOWED_TIME   ", allowed are decimal seconds from 0 to 18446744073.709551615"
#define ALLOWED_TOKENS ", allowed are whole numbers from 0 to 4294967295"
#define ACCEPTED                                                                             \
	"accepted are BurstGPT (columns 'Timestamp', 'Request tokens', 'Response tokens'), " \
	"Azure ('TIMESTAMP', 'ContextTokens', 'GeneratedTokens'), GVM arrivals "             \
	"('t_trace_s', 'request_tokens', 'response_tokens_gvm_generated', "                  \
	"'response_tokens_true_est'), requests.csv of a results folder, Mooncake (JSON "     \
	"lines), "                                                                           \
	"results of vllm bench serve (JSON) and compact traces"

static const struct {
	const char *text;
	const char *message; /* the text after the path */
} malformed[] = {
	{ "", ": is empty" },
	{ HEAD6,
	  ":1: no requests (failures: 0, bad rows: 0), allowed are files with at least one" },
	{ HEAD6 "5,m,0,0,0,l\n",
	  ":2: no requests (failures: 1, bad rows: 0), allowed are files with at least one" },
	{ "\n", ":1: unknown header, its first column is ''; " ACCEPTED },
	{ "a\033[31mrather long name of a first column,b\n1,2\n",
	  ":1: unknown header, its first column is 'a?[31mrather long name of a "
	  "firs...'; " ACCEPTED },
	{ "Timestamp,Response tokens\n1,2\n",
	  ":1: column 'Request tokens' is missing, needed beside 'Timestamp'" },
	{ "Timestamp,Request tokens,Response tokens,Timestamp\n1,2,3,4\n",
	  ":1: column 'Timestamp': is there twice, allowed is once" },
	{ HEAD6 ROW6("5") "6,ChatGPT,472,18,490\n",
	  ":3: 5 fields, allowed are the header's 6" },
	{ HEAD6 ROW6("5") "6,ChatGPT,472,18,490,a,b\n",
	  ":3: 7 fields, allowed are the header's 6" },
	{ HEAD6 ROW6("5") "\n" ROW6("6"), ":3: 1 fields, allowed are the header's 6" },
	{ HEAD6 ROW6("x"), ":2: column 'Timestamp': 'x' is not a number" ALLOWED_TIME },
	{ HEAD6 ROW6(""), ":2: column 'Timestamp': '' is not a number" ALLOWED_TIME },
	{ HEAD6 ROW6("5."), ":2: column 'Timestamp': '5.' is not a number" ALLOWED_TIME },
	{ HEAD6 ROW6(".5"), ":2: column 'Timestamp': '.5' is not a number" ALLOWED_TIME },
	{ HEAD6 ROW6(" 5"), ":2: column 'Timestamp': ' 5' is not a number" ALLOWED_TIME },
	{ HEAD6 ROW6("+5"), ":2: column 'Timestamp': '+5' is not a number" ALLOWED_TIME },
	{ HEAD6 ROW6("1e3"), ":2: column 'Timestamp': '1e3' is not a number" ALLOWED_TIME },
	{ HEAD6 ROW6("nan"), ":2: column 'Timestamp': 'nan' is not a number" ALLOWED_TIME },
	{ HEAD6 ROW6("-5"), ":2: column 'Timestamp': '-5' is negative" ALLOWED_TIME },
	{ HEAD6 ROW6("0.0000000001"),
	  ":2: column 'Timestamp': '0.0000000001' is finer than a nanosecond" ALLOWED_TIME },
	{ HEAD6 ROW6("18446744073.709551616"),
	  ":2: column 'Timestamp': '18446744073.709551616' is too large" ALLOWED_TIME },
	{ HEAD6 ROW6("99999999999999999999999"),
	  ":2: column 'Timestamp': '99999999999999999999999' is too large" ALLOWED_TIME },
	{ HEAD6 "5,m,4.5,1,2,l\n",
	  ":2: column 'Request tokens': '4.5' is not a whole number" ALLOWED_TOKENS },
	{ HEAD6 "5,m,many,1,2,l\n",
	  ":2: column 'Request tokens': 'many' is not a number" ALLOWED_TOKENS },
	{ HEAD6 "5,m,1,-1,2,l\n",
	  ":2: column 'Response tokens': '-1' is negative" ALLOWED_TOKENS },
	{ HEAD6 "5,m,1,4294967296,2,l\n",
	  ":2: column 'Response tokens': '4294967296' is too large" ALLOWED_TOKENS },
	{ HEAD6 "5,m,0,1,1,l\n",
	  ":2: column 'Request tokens': '0' is an empty prompt, allowed is 0 "
	  "only where the response is 0 too" },
	{ HEAD_GVM "0,5,exact,9,0,7\n", ":2: column 'response_tokens_gvm_generated': '0' "
					"contradicts the other response, allowed "
					"is 0 in both or in none" },
	{ HEAD_GVM "0,5,exact,9,7,0\n",
	  ":2: column 'response_tokens_true_est': '0' contradicts the other response, allowed "
	  "is 0 in both or in none" },
};

START_TEST(import_refuses_malformed_text_saying_why)
{
	assert_refused(malformed[_i].text, malformed[_i].message);
}
END_TEST

START_TEST(import_rejects_decreasing_time_naming_its_line)
{
	assert_refused(
		HEAD6 ROW6("5") ROW6("45") ROW6("44.9"),
		":4: column 'Timestamp': '44.9' is earlier than the row before, allowed is "
		"the same time or later");
}
END_TEST

START_TEST(import_checks_the_time_of_recorded_failures_too)
{
	assert_refused(
		HEAD6 "50,m,9,0,9,l\n" ROW6("45"),
		":3: column 'Timestamp': '45' is earlier than the row before, allowed is the "
		"same time or later");
}
END_TEST

START_TEST(import_refuses_nul_bytes)
{
	static const char text[] = HEAD6 "5,ChatGPT\0,472,18,490,l\n";

	assert_refused_bytes(text, sizeof(text) - 1,
			     ":2: the line has a NUL byte, allowed is text");
}
END_TEST

START_TEST(import_refuses_over_long_lines)
{
	char text[8192] = HEAD6;

	memset(text + strlen(text), '5', 5000);
	assert_refused(text, ":2: the line is too long, allowed are 4096 bytes");
}
END_TEST

START_TEST(import_refuses_too_many_columns)
{
	char text[80];

	memset(text, ',', 40);
	strcpy(text + 40, "\n");
	assert_refused(text, ":1: 41 columns, allowed are up to 32");
}
END_TEST

START_TEST(import_stops_at_once_on_an_endless_line)
{
	struct trace trace;

	trace_init(&trace);
	ck_assert_int_eq(trace_read("/dev/zero", TRACE_BAD_ROWS_SKIP, &trace, &error),
			 -SIM_EXIT_USER);
	ck_assert_str_eq(error.text,
			 "/dev/zero:1: the line is too long, allowed are 4096 bytes");
}
END_TEST

START_TEST(skip_bad_counts_malformed_rows_and_goes_on)
{
	char text[8192] = HEAD6 ROW6("5") "6,ChatGPT,472\n" ROW6("x") ROW6("4");
	struct trace trace;
	size_t len;

	memset(text + strlen(text), 'y', 5000);
	strcat(text, "\n" ROW6("7") "8,m,0,0,0,l\n");
	len = strlen(text);
	memcpy(text + len, "9,\0m,1,1,2,l\n", 13);
	memcpy(text + len + 13, ROW6("9"), strlen(ROW6("9")));
	ck_assert_int_eq(
		read_bytes(text, len + 13 + strlen(ROW6("9")), TRACE_BAD_ROWS_SKIP, &trace), 0);
	ck_assert_uint_eq(trace.count, 3);
	ck_assert_uint_eq(trace.failures, 1);
	ck_assert_uint_eq(trace.bad_rows, 5);
	assert_request(&trace, 1, 7 * NS_PER_SEC, 472, 18, 18);
	assert_request(&trace, 2, 9 * NS_PER_SEC, 472, 18, 18);
	trace_destroy(&trace);
}
END_TEST

START_TEST(skip_bad_does_not_skip_an_unknown_header)
{
	struct trace trace;

	ck_assert_int_eq(read_text("a,b\n1,2\n", TRACE_BAD_ROWS_SKIP, &trace), -SIM_EXIT_USER);
}
END_TEST

START_TEST(import_takes_a_blank_line_only_at_the_end)
{
	static const char *const ends[] = { "\n", "\r\n" };
	struct trace trace;

	for (size_t i = 0; i < 2; i++) {
		char text[256];

		snprintf(text, sizeof(text), "%s%s", HEAD6 ROW6("5"), ends[i]);
		ck_assert_int_eq(read_text(text, TRACE_BAD_ROWS_FAIL, &trace), 0);
		ck_assert_uint_eq(trace.count, 1);
		trace_destroy(&trace);
		ck_assert_int_eq(read_text(text, TRACE_BAD_ROWS_SKIP, &trace), 0);
		ck_assert_uint_eq(trace.bad_rows, 0);
		trace_destroy(&trace);
	}
	assert_refused(HEAD6 ROW6("5") "\n" ROW6("6"),
		       ":3: 1 fields, allowed are the header's 6");
	assert_refused(HEAD6 ROW6("5") "\n\n", ":3: 1 fields, allowed are the header's 6");
}
END_TEST

START_TEST(read_refuses_a_folder)
{
	char expected[128];
	struct trace trace;

	trace_init(&trace);
	ck_assert_int_eq(trace_read(folder, TRACE_BAD_ROWS_FAIL, &trace, &error),
			 -SIM_EXIT_USER);
	snprintf(expected, sizeof(expected), "%s: is a folder, allowed is a trace", folder);
	ck_assert_str_eq(error.text, expected);
	assert_empty(&trace);
}
END_TEST

START_TEST(read_names_a_missing_file)
{
	struct trace trace;

	trace_init(&trace);
	ck_assert_int_eq(trace_read("/nonexistent/x.csv", TRACE_BAD_ROWS_FAIL, &trace, &error),
			 -SIM_EXIT_USER);
	ck_assert_str_eq(error.text,
			 "/nonexistent/x.csv: cannot open: No such file or directory");
}
END_TEST

START_TEST(append_refuses_what_no_trace_may_hold)
{
	struct trace_request bad[] = { { 9, 1, { 1, 1 }, 0 },
				       { 10, 0, { 1, 1 }, 0 },
				       { 10, 1, { 0, 1 }, 0 },
				       { 10, 1, { 1, 0 }, 0 } };
	struct trace trace;

	trace_init(&trace);
	add(&trace, 10, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_eq(trace_append(&trace, &bad[i], &error), -SIM_EXIT_USER);
	ck_assert_uint_eq(trace.count, 1);
	trace_destroy(&trace);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, import_reads_the_first_rows_of_the_public_file);
	tcase_add_test(tests, a_file_of_ones_own_is_not_burstgpts);
	tcase_add_test(tests, import_counts_recorded_failures_and_leaves_them_out);
	tcase_add_test(tests, import_reads_eight_columns_like_six);
	tcase_add_test(tests, import_finds_columns_by_name_in_any_order);
	tcase_add_test(tests, import_keeps_both_responses_of_the_arrivals_form);
	tcase_add_test(tests, import_accepts_equal_times_in_file_order);
	tcase_add_test(tests, import_accepts_crlf_byte_order_mark_and_no_final_newline);
	tcase_add_test(tests, import_parses_seconds_to_nanoseconds_exactly);
	tcase_add_loop_test(tests, import_refuses_malformed_text_saying_why, 0,
			    COUNT(malformed));
	tcase_add_test(tests, import_rejects_decreasing_time_naming_its_line);
	tcase_add_test(tests, import_checks_the_time_of_recorded_failures_too);
	tcase_add_test(tests, import_refuses_nul_bytes);
	tcase_add_test(tests, import_refuses_over_long_lines);
	tcase_add_test(tests, import_refuses_too_many_columns);
	tcase_add_test(tests, import_stops_at_once_on_an_endless_line);
	tcase_add_test(tests, skip_bad_counts_malformed_rows_and_goes_on);
	tcase_add_test(tests, skip_bad_does_not_skip_an_unknown_header);
	tcase_add_test(tests, import_takes_a_blank_line_only_at_the_end);
	tcase_add_test(tests, read_refuses_a_folder);
	tcase_add_test(tests, read_names_a_missing_file);
	tcase_add_test(tests, append_refuses_what_no_trace_may_hold);
}

int main(void)
{
	return fixture_run("trace_csv", add_tests);
}
