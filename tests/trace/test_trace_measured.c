// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Traces from what was measured: results of "vllm bench serve". The one in VLLM is
 * written by hand; nothing in it was measured.
 */
#include "trace/trace_file.h"
#include "trace/trace_read.h"
#include "trace_fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Requests 0 and 2 are answered, 1 has an error, 3 was sent first, 4 got no token. */
#define VLLM_HEAD                                                                    \
	"{\"date\": \"20260210-120000\", \"backend\": \"vllm\", \"num_prompts\": 5," \
	" \"timestamp\": \"of --metadata\", "
#define VLLM_STARTS	 "\"start_times\": [1000.5, 1000.75, 1001.0, 1000.25, 999.0]"
#define VLLM_INPUT_LENS	 "\"input_lens\": [10, 20, 30, 40, 50]"
#define VLLM_OUTPUT_LENS "\"output_lens\": [3, 1, 4, 2, 0]"
#define VLLM_TTFTS	 "\"ttfts\": [0.1, 0.2, 0.3, 0.1, 0.0]"
#define VLLM_ITLS	 "\"itls\": [[0.02, 0.03], [], [0.1, 0.1, 0.1], [0.2], []]"
#define VLLM_ERRORS	 "\"errors\": [\"\", \"Traceback\", \"\", \"\", \"\"]"
#define VLLM_LISTS \
	VLLM_INPUT_LENS ", " VLLM_OUTPUT_LENS ", " VLLM_TTFTS ", " VLLM_ITLS ", " VLLM_ERRORS
#define VLLM VLLM_HEAD VLLM_STARTS ", " VLLM_LISTS "}"

static int read_text(const char *text, enum trace_bad_rows bad_rows, struct trace *trace)
{
	return read_bytes(text, strlen(text), bad_rows, trace);
}

static void expect_vllm(const struct trace *trace)
{
	ck_assert_uint_eq(trace->count, 3);
	ck_assert_uint_eq(trace->failures, 2);
	ck_assert_uint_eq(trace->bad_rows, 0);
	assert_request(trace, 0, 0, 40, 2, 2);
	assert_request(trace, 1, 250000000, 10, 3, 3);
	assert_request(trace, 2, 750000000, 30, 4, 4);
	ck_assert(!trace->two_responses);
	ck_assert_uint_eq(trace->hash_tokens, 0);
	ck_assert_str_eq(trace->attribution, "");
}

START_TEST(a_result_of_vllm_is_a_trace_in_time_order)
{
	struct trace trace, again;

	ck_assert_msg(!read_text(VLLM, TRACE_BAD_ROWS_FAIL, &trace), "%s", error.text);
	expect_vllm(&trace);
	ck_assert_int_eq(trace_write(out_path, &trace, &error), 0);
	must_read(out_path, &again);
	expect_vllm(&again);
	trace_destroy(&again);
	trace_destroy(&trace);
	remove(out_path);
}
END_TEST

/* As tools print it: over many lines, with the lists at its head, or longer than a line may be. */
START_TEST(a_result_of_vllm_may_be_printed_anew)
{
	static char text[3 << 20];
	struct trace trace;

	ck_assert_int_eq(read_text("{\n  \"backend\": \"input_length\",\n  " VLLM_STARTS
				   ",\n" VLLM_LISTS "\n}\n",
				   TRACE_BAD_ROWS_FAIL, &trace),
			 0);
	expect_vllm(&trace);
	trace_destroy(&trace);
	snprintf(text, sizeof(text), "{\"generated_texts\": [\"%*s\"], " VLLM_STARTS ", %s}",
		 2 << 20, "", VLLM_LISTS);
	ck_assert_int_eq(read_text(text, TRACE_BAD_ROWS_FAIL, &trace), 0);
	expect_vllm(&trace);
	trace_destroy(&trace);
}
END_TEST

START_TEST(a_result_of_vllm_comes_through_a_pipe)
{
	struct trace trace;
	FILE *pipe_end;
	char path[32];
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(write(ends[1], VLLM, strlen(VLLM)), (int)strlen(VLLM));
	close(ends[1]);
	pipe_end = fdopen(ends[0], "r");
	ck_assert_ptr_nonnull(pipe_end);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	must_read(path, &trace);
	expect_vllm(&trace);
	trace_destroy(&trace);
	fclose(pipe_end);
}
END_TEST

/* Two requests at one date stay in the order of the file. */
START_TEST(equal_dates_stay_in_file_order)
{
	static const char *const values[] = { "7.5", "1", "0.1", "[]", "\"\"" };
	static char text[65536], lists[5][8192], lengths[8192];
	struct trace trace;

	for (int i = 0; i < 500; i++) {
		for (int list = 0; list < COUNT(values); list++)
			strcat(strcat(lists[list], i ? "," : ""), values[list]);
		sprintf(lengths + strlen(lengths), "%s%d", i ? "," : "", i + 1);
	}
	snprintf(text, sizeof(text),
		 "{\"start_times\": [%s], \"input_lens\": [%s], \"output_lens\": [%s], "
		 "\"ttfts\": [%s], \"itls\": [%s], \"errors\": [%s]}",
		 lists[0], lengths, lists[1], lists[2], lists[3], lists[4]);
	ck_assert_msg(!read_text(text, TRACE_BAD_ROWS_FAIL, &trace), "%s", error.text);
	ck_assert_uint_eq(trace.count, 500);
	for (u32 i = 0; i < 500; i++)
		assert_request(&trace, i, 0, i + 1, 1, 1);
	trace_destroy(&trace);
}
END_TEST

#define VLLM_ALLOWED                                                                    \
	", allowed: what \"vllm bench serve --save-result --save-detailed\" writes in " \
	"versions since January 2026"

static const struct {
	const char *text;
	const char *message; /* behind the path */
} malformed[] = {
	{ VLLM_HEAD VLLM_LISTS "}", ":start_times: is missing" VLLM_ALLOWED },
	{ "{\"num_prompts\": 5, \"request_throughput\": 2.4}\n",
	  ":start_times: is missing" VLLM_ALLOWED },
	{ VLLM_HEAD VLLM_STARTS ", " VLLM_INPUT_LENS "}", ":ttfts: is missing" VLLM_ALLOWED },
	{ VLLM_HEAD VLLM_STARTS ", \"ttfts\": [0.1]}",
	  ":ttfts: has 1 elements, allowed: 5, as start_times has" },
	{ VLLM "\n" VLLM,
	  ":2:1: more follows the first result, allowed: one result a file, as \"vllm bench "
	  "serve\" writes without --append-result" },
	{ "{\"num_prompts\": 5,\n", ":2:0: string or '}' expected near end of file" },
	{ VLLM_HEAD VLLM_STARTS ", \"input_lens\": [10, 20, -1, 40, 50], " VLLM_OUTPUT_LENS
				", " VLLM_TTFTS ", " VLLM_ITLS ", " VLLM_ERRORS "}",
	  ":input_lens[2]: is not a count, allowed: 0 to 4294967295" },
	{ VLLM_HEAD VLLM_STARTS ", \"input_lens\": [10, 20, 0, 40, 50], " VLLM_OUTPUT_LENS
				", " VLLM_TTFTS ", " VLLM_ITLS ", " VLLM_ERRORS "}",
	  ":input_lens[2]: is an empty prompt, allowed: 0 only where output_lens is 0 too" },
	{ "{\"start_times\": [], \"input_lens\": [], \"output_lens\": [], \"ttfts\": [], "
	  "\"itls\": [], \"errors\": []}",
	  ": no requests (failures: 0, bad rows: 0), allowed are files with at least one" },
};

START_TEST(a_bad_result_is_named_with_its_key)
{
	assert_refused_bytes(malformed[_i].text, strlen(malformed[_i].text),
			     malformed[_i].message);
}
END_TEST

START_TEST(bad_requests_of_a_result_can_be_skipped)
{
	struct trace trace;

	ck_assert_int_eq(read_text(VLLM_HEAD VLLM_STARTS
				   ", \"input_lens\": [10, 20, null, 40, 50], " VLLM_OUTPUT_LENS
				   ", " VLLM_TTFTS ", " VLLM_ITLS ", " VLLM_ERRORS "}",
				   TRACE_BAD_ROWS_SKIP, &trace),
			 0);
	ck_assert_uint_eq(trace.count, 2);
	ck_assert_uint_eq(trace.bad_rows, 1);
	ck_assert_uint_eq(trace.failures, 2);
	trace_destroy(&trace);
	ck_assert_int_eq(read_text(VLLM_HEAD VLLM_LISTS "}", TRACE_BAD_ROWS_SKIP, &trace),
			 -SIM_EXIT_USER);
	assert_empty(&trace);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_result_of_vllm_is_a_trace_in_time_order);
	tcase_add_test(tests, a_result_of_vllm_may_be_printed_anew);
	tcase_add_test(tests, a_result_of_vllm_comes_through_a_pipe);
	tcase_add_test(tests, equal_dates_stay_in_file_order);
	tcase_add_loop_test(tests, a_bad_result_is_named_with_its_key, 0, COUNT(malformed));
	tcase_add_test(tests, bad_requests_of_a_result_can_be_skipped);
}

int main(void)
{
	return fixture_run("trace_measured", add_tests);
}
