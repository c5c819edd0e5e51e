// SPDX-License-Identifier: MIT OR GPL-2.0
/* Azure's and Mooncake's traces, read as they are published. */
#include "trace/trace_file.h"
#include "trace/trace_read.h"
#include "trace_fixture.h"

#include <stdio.h>
#include <string.h>

#define HEAD_AZURE  "TIMESTAMP,ContextTokens,GeneratedTokens\n"
#define AZURE_FIRST TEST_TRACES_DIR "/azure2023_conv_first200.csv"
#define AZURE	    TEST_TRACES_DIR "/azure2023_conv.trace"
#define MOON_FIRST  TEST_TRACES_DIR "/mooncake_conversation_first100.jsonl"
#define MOON	    TEST_TRACES_DIR "/mooncake_conversation.trace"
#define MOON_ROW                                                                             \
	"{\"timestamp\": 5, \"input_length\": 513, \"output_length\": 7, \"hash_ids\": [4, " \
	"5]}\n"
#define DATE_ALLOWED ", allowed are dates such as 2023-11-16 18:15:46.6805900"

static int read_text(const char *text, enum trace_bad_rows bad_rows, struct trace *trace)
{
	return read_bytes(text, strlen(text), bad_rows, trace);
}

/* The first row is zero; 2023-11-16 18:15:46.6805900 to 18:15:50.9951690 are 4.3145790 s. */
START_TEST(azure_rows_count_from_the_first_one)
{
	struct trace trace;

	must_read(AZURE_FIRST, &trace);
	ck_assert_uint_eq(trace.count, 200);
	assert_request(&trace, 0, 0, 374, 44, 44);
	assert_request(&trace, 1, 4314579000, 396, 109, 109);
	ck_assert_uint_eq(trace.hash_tokens, 0);
	ck_assert_str_eq(trace.attribution,
			 "Azure LLM inference trace, Azure Public Dataset (Microsoft, "
			 "CC-BY-4.0)");
	trace_destroy(&trace);
}
END_TEST

/* The shipped compact trace begins with the rows of the published file. */
START_TEST(azure_compact_trace_is_the_published_one)
{
	struct trace first, all;

	must_read(AZURE_FIRST, &first);
	must_read(AZURE, &all);
	ck_assert_uint_eq(all.count, 19366);
	for (size_t i = 0; i < first.count; i++)
		assert_request(&all, i, first.requests[i].arrival_ns,
			       first.requests[i].prompt_tokens,
			       first.requests[i].response_tokens[0],
			       first.requests[i].response_tokens[1]);
	trace_destroy(&first);
	trace_destroy(&all);
}
END_TEST

/* The files of 2024 have a zone. A leap day and the turn of a year lie between these rows. */
START_TEST(azure_dates_cross_days_months_and_years)
{
	static const char text[] = HEAD_AZURE "2023-12-31 23:59:59.5,10,1\r\n"
					      "2024-01-01 00:00:00.009930+00:00,11,2\r\n"
					      "2024-02-29 00:00:00+00:00,12,3\r\n"
					      "2024-03-01 00:00:00,13,4\r\n";
	struct trace trace;

	ck_assert_int_eq(read_text(text, TRACE_BAD_ROWS_FAIL, &trace), 0);
	assert_request(&trace, 0, 0, 10, 1, 1);
	assert_request(&trace, 1, 509930000, 11, 2, 2);
	assert_request(&trace, 2, 500000000 + 59ull * 86400 * NS_PER_SEC, 12, 3, 3);
	assert_request(&trace, 3, 500000000 + 60ull * 86400 * NS_PER_SEC, 13, 4, 4);
	trace_destroy(&trace);
}
END_TEST

/* 14 hashes for 6758 tokens; the third request shares block 0 with the first, and no other. */
START_TEST(mooncake_rows_have_hashes_of_512_tokens)
{
	struct trace trace;

	must_read(MOON_FIRST, &trace);
	ck_assert_uint_eq(trace.count, 100);
	ck_assert_uint_eq(trace.hash_tokens, 512);
	assert_request(&trace, 0, 0, 6758, 500, 500);
	assert_request(&trace, 2, 0, 7236, 794, 794);
	ck_assert_uint_eq(trace_hash_count(&trace, &trace.requests[0]), 14);
	ck_assert_uint_eq(trace.requests[1].first_hash, 14);
	ck_assert_uint_eq(trace.requests[2].first_hash, 29);
	ck_assert_uint_eq(trace.hashes[0], 0);
	ck_assert_uint_eq(trace.hashes[13], 13);
	ck_assert_uint_eq(trace.hashes[29], 0);
	ck_assert_uint_eq(trace.hashes[30], 28);
	ck_assert_str_eq(trace.attribution,
			 "Mooncake trace (Qin et al., FAST 2025, Apache-2.0)");
	trace_destroy(&trace);
}
END_TEST

/* Editors put a byte order mark in front, of JSON, too. */
START_TEST(mooncake_may_begin_with_a_byte_order_mark)
{
	struct trace trace;

	ck_assert_msg(!read_text("\xef\xbb\xbf{\"timestamp\": 2, \"input_length\": 3, "
				 "\"output_length\": 4}\r\n",
				 TRACE_BAD_ROWS_FAIL, &trace),
		      "%s", error.text);
	assert_request(&trace, 0, 2000000, 3, 4, 4);
	trace_destroy(&trace);
}
END_TEST

START_TEST(mooncake_without_hashes_is_a_trace)
{
	struct trace trace;

	ck_assert_int_eq(read_text("{\"timestamp\": 2, \"input_length\": 3, "
				   "\"output_length\": 4, \"more\": {}}\n"
				   "{\"timestamp\": 9, \"input_length\": 3, "
				   "\"output_length\": 0}\n",
				   TRACE_BAD_ROWS_FAIL, &trace),
			 0);
	assert_request(&trace, 0, 2000000, 3, 4, 4);
	ck_assert_uint_eq(trace.count, 1);
	ck_assert_uint_eq(trace.failures, 1);
	ck_assert_uint_eq(trace.hash_tokens, 0);
	trace_destroy(&trace);
}
END_TEST

static void expect_same_hashes(const struct trace *a, const struct trace *b)
{
	ck_assert_uint_eq(a->hash_tokens, b->hash_tokens);
	ck_assert_uint_le(a->hash_count, b->hash_count);
	ck_assert_int_eq(memcmp(a->hashes, b->hashes, a->hash_count * sizeof(*a->hashes)), 0);
}

/* Hashes that grow, shrink and take 63 bits come back; so do those of the shipped trace. */
START_TEST(compact_form_keeps_hashes)
{
	struct trace trace, again;

	ck_assert_int_eq(read_text(MOON_ROW "{\"timestamp\": 5, \"input_length\": 1000, "
					    "\"output_length\": 1, \"hash_ids\": "
					    "[9223372036854775807, 0]}\n",
				   TRACE_BAD_ROWS_FAIL, &trace),
			 0);
	ck_assert_uint_eq(trace.hash_count, 4);
	ck_assert_int_eq(trace_write(out_path, &trace, &error), 0);
	must_read(out_path, &again);
	ck_assert_uint_eq(again.hash_count, 4);
	expect_same_hashes(&trace, &again);
	trace_destroy(&trace);
	trace_destroy(&again);

	must_read(MOON_FIRST, &trace);
	must_read(MOON, &again);
	ck_assert_uint_eq(again.count, 12031);
	ck_assert_uint_eq(again.hash_count, 288500);
	expect_same_hashes(&trace, &again);
	trace_destroy(&trace);
	trace_destroy(&again);
	remove(out_path);
}
END_TEST

static const struct {
	const char *text;
	const char *message; /* after the path */
} malformed[] = {
	{ HEAD_AZURE "2023-11-16T18:15:46,1,1\n",
	  ":2: column 'TIMESTAMP': '2023-11-16T18:15:46' is not a date" DATE_ALLOWED },
	{ HEAD_AZURE "2023-13-16 18:15:46,1,1\n",
	  ":2: column 'TIMESTAMP': '2023-13-16 18:15:46' is not a date" DATE_ALLOWED },
	{ HEAD_AZURE "2023-04-31 18:15:46,1,1\n",
	  ":2: column 'TIMESTAMP': '2023-04-31 18:15:46' is not a date" DATE_ALLOWED },
	{ HEAD_AZURE "2023-02-29 18:15:46,1,1\n",
	  ":2: column 'TIMESTAMP': '2023-02-29 18:15:46' is not a date" DATE_ALLOWED },
	{ HEAD_AZURE "2100-02-29 18:15:46,1,1\n",
	  ":2: column 'TIMESTAMP': '2100-02-29 18:15:46' is not a date" DATE_ALLOWED },
	{ HEAD_AZURE "2024-02-29 18:15:46,1,1\n2024-02-30 18:15:46,1,1\n",
	  ":3: column 'TIMESTAMP': '2024-02-30 18:15:46' is not a date" DATE_ALLOWED },
	{ HEAD_AZURE "2023-11-16 18:15:46+01:00,1,1\n",
	  ":2: column 'TIMESTAMP': '2023-11-16 18:15:46+01:00' is not a date" DATE_ALLOWED },
	{ HEAD_AZURE "2023-11-16 18:15:46,1,1\n2023-11-16 18:15:45,1,1\n",
	  ":3: column 'TIMESTAMP': '2023-11-16 18:15:45' is earlier than the row before, "
	  "allowed is the same time or later" },
	{ HEAD_AZURE "2023-11-16 18:15:46,1,x\n",
	  ":2: column 'GeneratedTokens': 'x' is not a number, allowed are whole numbers from 0 "
	  "to 4294967295" },
	{ MOON_ROW "{\n", ":2:1: is not JSON, allowed is an object a line" },
	{ MOON_ROW "[]\n", ":2: is not an object, allowed is a request" },
	{ MOON_ROW "\n{}\n", ":2:0: is not JSON, allowed is an object a line" },
	{ MOON_ROW "{\"timestamp\": 5.5}\n",
	  ":2: \"timestamp\": is not a whole number, allowed are whole numbers from 0 to "
	  "9223372036854" },
	{ MOON_ROW "{\"timestamp\": 5}\n",
	  ":2: \"input_length\": is missing, allowed are whole numbers from 0 to 4294967295" },
	{ MOON_ROW "{\"timestamp\": 5, \"input_length\": -1}\n",
	  ":2: \"input_length\": is negative, allowed are whole numbers from 0 to 4294967295" },
	{ MOON_ROW "{\"timestamp\": 4, \"input_length\": 1, \"output_length\": 1, "
		   "\"hash_ids\": [1]}\n",
	  ":2: \"timestamp\": is earlier than that of the row before, allowed is the same time "
	  "or later" },
	{ MOON_ROW "{\"timestamp\": 5, \"input_length\": 512, \"output_length\": 1, "
		   "\"hash_ids\": [1, 2]}\n",
	  ":2: \"hash_ids\": is no list of 1 numbers, allowed is one for each 512 tokens of "
	  "\"input_length\"" },
	{ MOON_ROW "{\"timestamp\": 5, \"input_length\": 512, \"output_length\": 1, "
		   "\"hash_ids\": [\"a\"]}\n",
	  ":2: \"hash_ids\": number 1 is no whole number, allowed are those from 0 to "
	  "9223372036854775807" },
	{ "{\"timestamp\": 5, \"input_length\": 1, \"output_length\": 1}\n" MOON_ROW,
	  ":2: \"hash_ids\": is new here, allowed is in all rows or in none" },
	{ "{\"timestamp\": 5, \"input_length\": 0, \"output_length\": 0}\n",
	  ":1: no requests (failures: 1, bad rows: 0), allowed are files with at least one" },
};

START_TEST(a_bad_row_is_named)
{
	assert_refused_bytes(malformed[_i].text, strlen(malformed[_i].text),
			     malformed[_i].message);
}
END_TEST

START_TEST(bad_rows_can_be_skipped)
{
	struct trace trace;

	ck_assert_int_eq(
		read_text("{x\n" MOON_ROW "[]\n" MOON_ROW, TRACE_BAD_ROWS_SKIP, &trace), 0);
	ck_assert_uint_eq(trace.count, 2);
	ck_assert_uint_eq(trace.bad_rows, 2);
	trace_destroy(&trace);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, azure_rows_count_from_the_first_one);
	tcase_add_test(tests, azure_compact_trace_is_the_published_one);
	tcase_add_test(tests, azure_dates_cross_days_months_and_years);
	tcase_add_test(tests, mooncake_rows_have_hashes_of_512_tokens);
	tcase_add_test(tests, mooncake_may_begin_with_a_byte_order_mark);
	tcase_add_test(tests, mooncake_without_hashes_is_a_trace);
	tcase_add_test(tests, compact_form_keeps_hashes);
	tcase_add_loop_test(tests, a_bad_row_is_named, 0, COUNT(malformed));
	tcase_add_test(tests, bad_rows_can_be_skipped);
}

int main(void)
{
	return fixture_run("trace_published", add_tests);
}
