// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Reads measured requests as a trace: results of "vllm bench serve", and requests.csv of results
 * folders. Those here are written by hand; nothing in them was measured.
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
	const char *message; /* after the path */
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
	{ VLLM_HEAD VLLM_STARTS ", " VLLM_STARTS ", " VLLM_LISTS "}",
	  ":1:166: duplicate object key near '\"start_times\"'" },
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

/* requests.csv */

#define HEAD                                                                           \
	"container,id,kind,arrival_ns,first_ns,finish_ns,prompt_tokens,output_tokens," \
	"start_ns,preemptions,reason,outcome\n"
#define IMAGE "diffusion,0,image,5,,9,,,,,,completed\n"
/* Request 2 was refused, 3 was cut off; both are no part of a trace. 1 was sent first. */
#define VLLM_ROWS                                                              \
	"vllm,0,request,7000000001,7100000000,7200000000,10,3,,0,,completed\n" \
	"vllm,1,request,6000000000,6100000000,6200000000,20,1,,,,completed\n"  \
	"vllm,2,request,1000000000,,,30,0,,0,refused,failed\n"                 \
	"vllm,3,request,8000000000,8100000000,,40,7,,0,,dropped\n"
#define CHAT_ROW "chat,0,request,3,4,5,6,7,,0,,completed\n"

START_TEST(a_results_folder_is_a_trace_in_time_order)
{
	struct trace trace;

	ck_assert_msg(!read_text(HEAD IMAGE VLLM_ROWS, TRACE_BAD_ROWS_FAIL, &trace), "%s",
		      error.text);
	ck_assert_uint_eq(trace.count, 2);
	ck_assert_uint_eq(trace.failures, 2);
	ck_assert_uint_eq(trace.bad_rows, 0);
	assert_request(&trace, 0, 0, 20, 1, 1);
	assert_request(&trace, 1, 1000000001, 10, 3, 3);
	ck_assert(!trace.two_responses);
	ck_assert_str_eq(trace.attribution, "");
	trace_destroy(&trace);
}
END_TEST

static int read_container(const char *text, const char *container, struct trace *trace)
{
	put_file(in_path, text, strlen(text));
	memset(&error, 0, sizeof(error));
	trace_init(trace);
	return trace_read_container(in_path, container, TRACE_BAD_ROWS_FAIL, trace, &error);
}

START_TEST(a_container_of_several_can_be_chosen)
{
	struct trace trace;

	ck_assert_int_eq(read_container(HEAD CHAT_ROW VLLM_ROWS, "vllm", &trace), 0);
	ck_assert_uint_eq(trace.count, 2);
	assert_request(&trace, 0, 0, 20, 1, 1);
	trace_destroy(&trace);
	ck_assert_int_eq(read_container(HEAD VLLM_ROWS CHAT_ROW, "chat", &trace), 0);
	ck_assert_uint_eq(trace.count, 1);
	ck_assert_uint_eq(trace.failures, 0);
	assert_request(&trace, 0, 0, 6, 7, 7);
	trace_destroy(&trace);
}
END_TEST

#define NO_CONTAINERS                                                                        \
	": has no containers to choose from with --container, allowed is requests.csv of a " \
	"results folder"

static const struct {
	const char *text;
	const char *container;
	const char *message; /* after the path */
} malformed_results[] = {
	{ HEAD VLLM_ROWS CHAT_ROW, NULL,
	  ":6: column 'container': 'chat' has requests beside 'vllm', choose one with 'gvmsim "
	  "trace import --container NAME'" },
	{ HEAD IMAGE VLLM_ROWS, "diffusion",
	  ":6: no requests of container 'diffusion', there are some of 'vllm'" },
	{ HEAD IMAGE, NULL,
	  ":2: no rows of kind 'request' (bad rows: 0), allowed are results of at least one "
	  "LLM "
	  "server" },
	{ HEAD "vllm,2,request,1,,,30,0,,0,refused,failed\n", NULL,
	  ":2: no requests (failures: 1, bad rows: 0), allowed are files with at least one" },
	{ HEAD "vllm,2,request,1,,,30,1,,0,,ended\n", NULL,
	  ":2: column 'outcome': 'ended' is no outcome, allowed are completed, failed and "
	  "dropped" },
	{ HEAD "vllm,2,request,1.5,,,30,1,,0,,completed\n", NULL,
	  ":2: column 'arrival_ns': '1.5' is not a whole number, allowed are whole nanoseconds "
	  "from 0 to 18446744073709551615" },
	{ HEAD "vllm,2,request,1,,,30,,,0,,completed\n", NULL,
	  ":2: column 'output_tokens': '' is not a number, allowed are whole numbers from 0 to "
	  "4294967295" },
	{ HEAD "vllm,2,request,1,,,30,1,,0,completed\n", NULL,
	  ":2: 11 fields, allowed are the header's 12" },
	{ "container,kind,arrival_ns,prompt_tokens,output_tokens\n", NULL,
	  ":1: column 'outcome' is missing, needed beside 'arrival_ns'" },
	{ HEAD6 ROW6("5"), "vllm", NO_CONTAINERS },
	{ VLLM, "vllm", NO_CONTAINERS },
};

START_TEST(bad_results_are_named_with_their_row)
{
	char expected[512];
	struct trace trace;

	ck_assert_int_eq(read_container(malformed_results[_i].text,
					malformed_results[_i].container, &trace),
			 -SIM_EXIT_USER);
	snprintf(expected, sizeof(expected), "%s%s", in_path, malformed_results[_i].message);
	ck_assert_str_eq(error.text, expected);
	assert_empty(&trace);
}
END_TEST

/* A second container is no bad row. */
START_TEST(a_second_container_cannot_be_skipped)
{
	struct trace trace;

	ck_assert_int_eq(read_text(HEAD "vllm\n" VLLM_ROWS "vllm,9,request,1,,,0,1,,,,lost\n",
				   TRACE_BAD_ROWS_SKIP, &trace),
			 0);
	ck_assert_uint_eq(trace.count, 2);
	ck_assert_uint_eq(trace.bad_rows, 2);
	trace_destroy(&trace);
	ck_assert_int_eq(read_text(HEAD VLLM_ROWS CHAT_ROW, TRACE_BAD_ROWS_SKIP, &trace),
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
	tcase_add_test(tests, a_results_folder_is_a_trace_in_time_order);
	tcase_add_test(tests, a_container_of_several_can_be_chosen);
	tcase_add_loop_test(tests, bad_results_are_named_with_their_row, 0,
			    COUNT(malformed_results));
	tcase_add_test(tests, a_second_container_cannot_be_skipped);
}

int main(void)
{
	return fixture_run("trace_measured", add_tests);
}
