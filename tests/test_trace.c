// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The trace module: what the importer accepts and refuses, that the compact form survives any
 * bytes, and golden statistics.
 *
 * Each test has a fresh folder, which must be empty again of temporary files when it ends.
 */
#include "cli/cmd_trace.h"
#include "engine/error.h"
#include "engine/stats.h"
#include "trace/trace.h"
#include "trace/trace_info.h"
#include "trace/trace_internal.h"

#include <check.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define HEAD6	"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
#define ROW6(t) t ",ChatGPT,472,18,490,Conversation log\n"
#define HEAD_GVM                                                                     \
	"gvm_index,t_trace_s,t_source,request_tokens,response_tokens_gvm_generated," \
	"response_tokens_true_est\n"
#define SHIPPED	       TEST_TRACES_DIR "/burstgpt1_gvm3256.trace"
#define FIRST400       TEST_TRACES_DIR "/burstgpt1_first400.csv"
#define NS_PER_SEC     UINT64_C(1000000000)
#define FILE_BYTES_MAX (1 << 20)

static char folder[64];
static char in_path[128];  /* a file in it to read */
static char out_path[128]; /* a file in it to write */
static struct sim_error error;

/* Thousands of small files: in memory where there is some, on a busy disk they take a minute. */
static void setup(void)
{
	snprintf(folder, sizeof(folder), "%s/test_trace.XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(in_path, sizeof(in_path), "%s/in", folder);
	snprintf(out_path, sizeof(out_path), "%s/out", folder);
}

static void teardown(void)
{
	char captured[128];

	for (int i = 0; i < 2; i++) {
		snprintf(captured, sizeof(captured), "%s/std%d", folder, i + 1);
		unlink(captured);
	}
	unlink(in_path);
	unlink(out_path);
	ck_assert_msg(!rmdir(folder), "a test left files behind in %s", folder);
}

static void put_file(const char *path, const void *bytes, size_t len)
{
	FILE *file = fopen(path, "wb");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
	ck_assert_int_eq(fclose(file), 0);
}

static size_t get_file(const char *path, void *bytes, size_t max)
{
	FILE *file = fopen(path, "rb");
	size_t len;

	ck_assert_ptr_nonnull(file);
	len = fread(bytes, 1, max, file);
	ck_assert(len < max);
	fclose(file);
	return len;
}

static int read_bytes(const void *bytes, size_t len, enum trace_bad_rows bad_rows,
		      struct trace *trace)
{
	put_file(in_path, bytes, len);
	memset(&error, 0, sizeof(error));
	trace_init(trace);
	return trace_read(in_path, bad_rows, trace, &error);
}

static int read_text(const char *text, enum trace_bad_rows bad_rows, struct trace *trace)
{
	return read_bytes(text, strlen(text), bad_rows, trace);
}

static void must_read(const char *path, struct trace *trace)
{
	trace_init(trace);
	ck_assert_msg(!trace_read(path, TRACE_BAD_ROWS_FAIL, trace, &error), "%s", error.text);
}

static void assert_empty(const struct trace *trace)
{
	ck_assert_ptr_null(trace->requests);
	ck_assert_uint_eq(trace->count, 0);
}

/* Reading @len bytes must fail with "PATH" followed by @message. */
static void assert_refused_bytes(const void *bytes, size_t len, const char *message)
{
	char expected[1024];
	struct trace trace;

	ck_assert_int_eq(read_bytes(bytes, len, TRACE_BAD_ROWS_FAIL, &trace), -SIM_EXIT_USER);
	snprintf(expected, sizeof(expected), "%s%s", in_path, message);
	ck_assert_str_eq(error.text, expected);
	assert_empty(&trace);
}

static void assert_refused(const char *text, const char *message)
{
	assert_refused_bytes(text, strlen(text), message);
}

static void assert_request(const struct trace *trace, size_t i, uint64_t arrival_ns,
			   uint32_t prompt, uint32_t generated, uint32_t recorded)
{
	const struct trace_request *request = &trace->requests[i];

	ck_assert_uint_lt(i, trace->count);
	ck_assert_uint_eq(request->arrival_ns, arrival_ns);
	ck_assert_uint_eq(request->prompt_tokens, prompt);
	ck_assert_uint_eq(request->response_tokens[TRACE_RESPONSE_GENERATED], generated);
	ck_assert_uint_eq(request->response_tokens[TRACE_RESPONSE_RECORDED], recorded);
}

static bool same_trace(const struct trace *a, const struct trace *b)
{
	bool same = a->count == b->count && a->failures == b->failures &&
		    a->bad_rows == b->bad_rows && a->two_responses == b->two_responses &&
		    !strcmp(a->attribution, b->attribution);

	for (size_t i = 0; same && i < a->count; i++) {
		const struct trace_request *x = &a->requests[i], *y = &b->requests[i];

		same = x->arrival_ns == y->arrival_ns && x->prompt_tokens == y->prompt_tokens &&
		       !memcmp(x->response_tokens, y->response_tokens,
			       sizeof(x->response_tokens));
	}
	return same;
}

/* Append a request whose lengths are all @tokens. */
static void add(struct trace *trace, uint64_t arrival_ns, uint32_t tokens)
{
	struct trace_request request = { arrival_ns, tokens, { tokens, tokens } };

	ck_assert_msg(!trace_append(trace, &request, &error), "%s", error.text);
}

/* CSV: what is accepted */

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
	for (uint32_t i = 0; i < 3; i++)
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
		uint64_t ns;
	} cases[] = {
		{ "0", 0 },
		{ "0.000000001", 1 },
		{ "0.1", 100000000 },
		{ "118848.89", UINT64_C(118848890000000) },
		{ "0007.50", UINT64_C(7500000000) },
		{ "18446744073.709551615", UINT64_MAX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t ns = 1;

		ck_assert_ptr_null(trace_parse_seconds(cases[i].text, &ns));
		ck_assert_uint_eq(ns, cases[i].ns);
	}
}
END_TEST

/* CSV: what is refused, and how */

#define ALLOWED_TIME   ", allowed are decimal seconds from 0 to 18446744073.709551615"
#define ALLOWED_TOKENS ", allowed are whole numbers from 0 to 4294967295"

static const struct {
	const char *text;
	const char *message; /* what follows the path */
} malformed[] = {
	{ "", ": is empty" },
	{ HEAD6,
	  ":1: no requests (failures: 0, bad rows: 0), allowed are files with at least one" },
	{ HEAD6 "5,m,0,0,0,l\n",
	  ":2: no requests (failures: 1, bad rows: 0), allowed are files with at least one" },
	{ "\n",
	  ":1: unknown header, its first column is ''; accepted are BurstGPT (columns "
	  "'Timestamp', 'Request tokens', 'Response tokens'), GVM arrivals ('t_trace_s', "
	  "'request_tokens', 'response_tokens_gvm_generated', 'response_tokens_true_est') "
	  "and compact traces" },
	{ "a\033[31mrather long name of a first column,b\n1,2\n",
	  ":1: unknown header, its first column is 'a?[31mrather long name of a firs...'; "
	  "accepted "
	  "are BurstGPT (columns 'Timestamp', 'Request tokens', 'Response tokens'), GVM "
	  "arrivals "
	  "('t_trace_s', 'request_tokens', 'response_tokens_gvm_generated', "
	  "'response_tokens_true_est') and compact traces" },
	{ "Timestamp,Request tokens,Response tokens,Timestamp\n1,2,3,4\n",
	  ":1: column 'Timestamp': stands there twice, allowed is once" },
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
	  ":2: column 'response_tokens_true_est': '0' contradicts "
	  "the other response, allowed is 0 "
	  "in both or in none" },
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
	struct trace_request bad[] = { { 9, 1, { 1, 1 } },
				       { 10, 0, { 1, 1 } },
				       { 10, 1, { 0, 1 } },
				       { 10, 1, { 1, 0 } } };
	struct trace trace;

	trace_init(&trace);
	add(&trace, 10, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_eq(trace_append(&trace, &bad[i], &error), -SIM_EXIT_USER);
	ck_assert_uint_eq(trace.count, 1);
	trace_destroy(&trace);
}
END_TEST

/* Compact form */

/* A compact file of the 383 requests in @bytes; returns its size. */
static size_t small_compact(uint8_t *bytes, struct trace *trace)
{
	must_read(FIRST400, trace);
	ck_assert_int_eq(trace_write(out_path, trace, &error), 0);
	return get_file(out_path, bytes, FILE_BYTES_MAX);
}

static void assert_round_trip(const struct trace *trace)
{
	struct trace again;

	ck_assert_msg(!trace_write(out_path, trace, &error), "%s", error.text);
	must_read(out_path, &again);
	ck_assert(same_trace(trace, &again));
	trace_destroy(&again);
}

START_TEST(round_trip_keeps_one_response)
{
	struct trace trace;

	must_read(FIRST400, &trace);
	trace.bad_rows = 3;
	assert_round_trip(&trace);
	trace_destroy(&trace);
}
END_TEST

START_TEST(round_trip_keeps_two_responses_and_extremes)
{
	struct trace_request last = { UINT64_MAX, UINT32_MAX, { UINT32_MAX, 1 } };
	struct trace trace;

	trace_init(&trace);
	trace.two_responses = true;
	trace.failures = UINT64_MAX;
	memset(trace.attribution, 'x', sizeof(trace.attribution) - 1);
	add(&trace, 0, 127);
	add(&trace, 0, 128);
	ck_assert_int_eq(trace_append(&trace, &last, &error), 0);
	assert_round_trip(&trace);
	trace_destroy(&trace);
}
END_TEST

START_TEST(write_gives_the_same_bytes_again)
{
	static uint8_t once[FILE_BYTES_MAX], twice[FILE_BYTES_MAX];
	struct trace trace;
	size_t len;

	len = small_compact(once, &trace);
	ck_assert_int_eq(trace_write(out_path, &trace, &error), 0);
	ck_assert_uint_eq(get_file(out_path, twice, sizeof(twice)), len);
	ck_assert_mem_eq(once, twice, len);
	trace_destroy(&trace);
}
END_TEST

START_TEST(truncation_at_every_byte_fails_cleanly)
{
	static uint8_t bytes[FILE_BYTES_MAX];
	struct trace trace, cut;
	size_t len;

	len = small_compact(bytes, &trace);
	for (size_t i = 0; i < len; i++) {
		ck_assert_int_eq(read_bytes(bytes, i, TRACE_BAD_ROWS_FAIL, &cut),
				 -SIM_EXIT_USER);
		assert_empty(&cut);
		ck_assert_ptr_nonnull(strstr(error.text, in_path));
	}
	trace_destroy(&trace);
}
END_TEST

START_TEST(no_flipped_bit_gives_a_different_trace)
{
	static uint8_t bytes[FILE_BYTES_MAX];
	struct trace trace, flipped;
	size_t len, harmless = 0;

	len = small_compact(bytes, &trace);
	for (size_t bit = 0; bit < 8 * len; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (read_bytes(bytes, len, TRACE_BAD_ROWS_FAIL, &flipped)) {
			assert_empty(&flipped);
		} else {
			ck_assert_msg(same_trace(&trace, &flipped), "bit %zu", bit);
			harmless++;
		}
		trace_destroy(&flipped);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	/* zstd has bits that decide nothing: one is reserved, some code symbols that never come. */
	ck_assert_uint_lt(harmless, 8 * len / 100);
	trace_destroy(&trace);
}
END_TEST

START_TEST(bytes_after_the_frame_are_refused)
{
	static uint8_t bytes[FILE_BYTES_MAX];
	struct trace trace;
	char message[128];
	size_t len;

	len = small_compact(bytes, &trace);
	bytes[len] = '\n';
	snprintf(message, sizeof(message),
		 ": byte %zu: damaged compact trace: more bytes follow the frame", len);
	assert_refused_bytes(bytes, len + 1, message);
	trace_destroy(&trace);
}
END_TEST

/* Wrap @content into a frame and expect @message behind the path. */
static void assert_content_refused(const void *content, size_t len, const char *message)
{
	static uint8_t frame[FILE_BYTES_MAX];
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	size_t frame_len;

	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	frame_len = ZSTD_compress2(zstd, frame, sizeof(frame), content, len);
	ck_assert(!ZSTD_isError(frame_len));
	ZSTD_freeCCtx(zstd);
	assert_refused_bytes(frame, frame_len, message);
}

#define INVALID(at, problem) ": content byte " #at ": invalid compact trace: " problem
#define CONTENT(text, at, problem)                           \
	{                                                    \
		text, sizeof(text) - 1, INVALID(at, problem) \
	}

static const struct {
	const char *content;
	size_t len;
	const char *message;
} invalid[] = {
	CONTENT("", 0, "the magic is not GVMTRACE"),
	CONTENT("GVMTRASH\1\0", 0, "the magic is not GVMTRACE"),
	CONTENT("GVMTRACE", 8, "the version is cut off"),
	CONTENT("GVMTRACE\2\0\1\0\0\0\0\1\1", 8,
		"the version is not 1, the only one supported"),
	CONTENT("GVMTRACE\1\2\1\0\0\0\0\1\1", 9, "the flags have unknown bits"),
	CONTENT("GVMTRACE\1\0", 10, "the count is cut off"),
	CONTENT("GVMTRACE\1\0\0\0\0\0", 10, "the count is 0"),
	CONTENT("GVMTRACE\1\0\2\0\0\0\0\1\1\0\1", 10,
		"the count is more than the content can hold"),
	CONTENT("GVMTRACE\1\0\377\377\377\377\377\377\377\377\377\1\0\0\0\0\1\1", 10,
		"the count is more than the content can hold"),
	CONTENT("GVMTRACE\1\0\377\377\377\377\377\377\377\377\377\2\0\0\0\0\1\1", 10,
		"the count is too large"),
	CONTENT("GVMTRACE\1\0\201\0\0\0\0\0\1\1", 10, "the count is not in its shortest form"),
	CONTENT("GVMTRACE\1\0\1\0\0\200\4\0\1\1", 13, "the attribution's length is too large"),
	CONTENT("GVMTRACE\1\0\1\0\0\7GPT", 14, "the attribution is cut off"),
	CONTENT("GVMTRACE\1\0\1\0\0\3G\nT\0\1\1", 14, "the attribution has control characters"),
	CONTENT("GVMTRACE\1\0\1\0\0\0\0\0\1", 15, "the prompt is 0"),
	CONTENT("GVMTRACE\1\0\1\0\0\0\0\1\0", 16, "the generated response is 0"),
	CONTENT("GVMTRACE\1\1\1\0\0\0\0\1\1\0", 17, "the recorded response is 0"),
	CONTENT("GVMTRACE\1\0\1\0\0\0\0\200\200\200\200\20\1", 15, "the prompt is too large"),
	CONTENT("GVMTRACE\1\0\1\0\0\0\0\1\201", 16, "the generated response is cut off"),
	CONTENT("GVMTRACE\1\0\1\0\0\0\0\1\1\0", 17,
		"the content goes on after the last request"),
	CONTENT("GVMTRACE\1\0\2\0\0\0\1\1\1\377\377\377\377\377\377\377\377\377\1\1\1", 17,
		"the arrival is too large"),
};

START_TEST(invalid_content_is_refused_with_its_offset)
{
	assert_content_refused(invalid[_i].content, invalid[_i].len, invalid[_i].message);
}
END_TEST

START_TEST(a_frame_without_checksum_is_refused)
{
	uint8_t frame[128];
	size_t len;

	len = ZSTD_compress(frame, sizeof(frame), "GVMTRACE\1\0\1\0\0\0\0\1\1", 17, 3);
	assert_refused_bytes(
		frame, len,
		": byte 4: damaged compact trace: the frame has no content checksum");
}
END_TEST

/* 1 GiB and one byte of zeros, which compress to about 32 KiB. */
START_TEST(a_decompression_bomb_is_cut_off)
{
	static uint8_t zeros[1 << 20], frame[FILE_BYTES_MAX];
	ZSTD_outBuffer out = { frame, sizeof(frame), 0 };
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	ZSTD_inBuffer in;

	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	for (int i = 0; i <= 1024; i++) {
		in = (ZSTD_inBuffer){ zeros, i < 1024 ? sizeof(zeros) : 1, 0 };
		ZSTD_compressStream2(zstd, &out, &in, i < 1024 ? ZSTD_e_continue : ZSTD_e_end);
		ck_assert_uint_eq(in.pos, in.size);
	}
	ZSTD_freeCCtx(zstd);
	assert_refused_bytes(frame, out.pos,
			     ": the content exceeds 1 GiB, the most that is supported");
}
END_TEST

/* Writing */

START_TEST(an_unwritable_folder_is_named_and_left_empty)
{
	static const char path[] = "/proc/trace";
	struct trace trace;

	/* Not a folder without mode bits: those do not stop root, who runs many a CI. */
	trace_init(&trace);
	add(&trace, 1, 1);
	ck_assert_int_eq(trace_write(path, &trace, &error), -SIM_EXIT_RUNTIME);
	ck_assert_str_eq(error.text, "/proc/trace: cannot write: No such file or directory");
	trace_destroy(&trace);
}
END_TEST

/* teardown() proves that no temporary file is left. */
START_TEST(a_full_disk_is_named_and_leaves_the_old_file)
{
	const struct rlimit full = { 100, RLIM_INFINITY },
			    roomy = { RLIM_INFINITY, RLIM_INFINITY };
	char old[8] = "", expected[256];
	struct trace trace;

	must_read(FIRST400, &trace);
	put_file(out_path, "old", 3);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &full), 0);
	ck_assert_int_eq(trace_write(out_path, &trace, &error), -SIM_EXIT_RUNTIME);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &roomy), 0);
	snprintf(expected, sizeof(expected), "%s: cannot write: File too large", out_path);
	ck_assert_str_eq(error.text, expected);
	ck_assert_uint_eq(get_file(out_path, old, sizeof(old)), 3);
	ck_assert_str_eq(old, "old");
	trace_destroy(&trace);
}
END_TEST

START_TEST(write_does_not_replace_what_is_no_file)
{
	char expected[256];
	struct trace trace;

	trace_init(&trace);
	add(&trace, 1, 1);
	snprintf(expected, sizeof(expected), "%s: cannot write: is not a regular file", folder);
	ck_assert_int_eq(trace_write(folder, &trace, &error), -SIM_EXIT_USER);
	ck_assert_str_eq(error.text, expected);
	trace_destroy(&trace);
}
END_TEST

START_TEST(write_refuses_what_read_would_refuse)
{
	char expected[256];
	struct trace trace;

	trace_init(&trace);
	ck_assert_int_eq(trace_write(out_path, &trace, &error), -SIM_EXIT_USER);
	snprintf(expected, sizeof(expected), "%s: the trace has no requests", out_path);
	ck_assert_str_eq(error.text, expected);
	add(&trace, 1, 1);
	strcpy(trace.attribution, "two\nlines");
	ck_assert_int_eq(trace_write(out_path, &trace, &error), -SIM_EXIT_USER);
	snprintf(expected, sizeof(expected), "%s: the attribution has control characters",
		 out_path);
	ck_assert_str_eq(error.text, expected);
	trace_destroy(&trace);
}
END_TEST

/* The shipped trace */

START_TEST(the_shipped_trace_is_the_replayed_one)
{
	uint64_t prompt = 0, response[TRACE_RESPONSE_COUNT] = { 0 };
	struct trace trace;

	must_read(SHIPPED, &trace);
	ck_assert_uint_eq(trace.count, 3256);
	ck_assert_uint_eq(trace.failures, 0);
	ck_assert(trace.two_responses);
	assert_request(&trace, 0, 5 * NS_PER_SEC, 472, 18, 18);
	assert_request(&trace, 3255, UINT64_C(118848890000000), 238, 2, 209);
	for (size_t i = 0; i < trace.count; i++) {
		prompt += trace.requests[i].prompt_tokens;
		for (int kind = 0; kind < TRACE_RESPONSE_COUNT; kind++)
			response[kind] += trace.requests[i].response_tokens[kind];
	}
	ck_assert_uint_eq(prompt, 2090478);
	ck_assert_uint_eq(response[TRACE_RESPONSE_GENERATED], 729189);
	ck_assert_uint_eq(response[TRACE_RESPONSE_RECORDED], 858696);
	trace_destroy(&trace);
}
END_TEST

/* Two independent reconstructions: they must agree where they overlap. */
START_TEST(the_shipped_trace_begins_like_the_public_file)
{
	struct trace public, shipped;

	must_read(FIRST400, &public);
	must_read(SHIPPED, &shipped);
	for (size_t i = 0; i < public.count; i++) {
		const struct trace_request *request = &public.requests[i];

		ck_assert_uint_eq(request->arrival_ns, shipped.requests[i].arrival_ns);
		ck_assert_uint_eq(request->prompt_tokens, shipped.requests[i].prompt_tokens);
		ck_assert_uint_eq(request->response_tokens[TRACE_RESPONSE_RECORDED],
				  shipped.requests[i].response_tokens[TRACE_RESPONSE_RECORDED]);
	}
	trace_destroy(&public);
	trace_destroy(&shipped);
}
END_TEST

/* Statistics */

START_TEST(percentiles_interpolate_like_numpy)
{
	static const uint64_t v[] = { 1, 2, 4, 8, 16, 1000 };

	ck_assert_double_eq(stats_percentile_u64(v, 6, 0), 1);
	ck_assert_double_eq(stats_percentile_u64(v, 6, 50), 6);
	ck_assert_double_eq(stats_percentile_u64(v, 6, 75), 14);
	ck_assert_double_eq(stats_percentile_u64(v, 6, 90), 508);
	ck_assert_double_eq(stats_percentile_u64(v, 6, 99), 950.8);
	ck_assert_double_eq(stats_percentile_u64(v, 6, 100), 1000);
	ck_assert_double_eq(stats_percentile_u64(v, 1, 99), 1);
}
END_TEST

START_TEST(sort_and_mean_are_exact_up_to_the_largest_numbers)
{
	uint64_t v[] = { UINT64_MAX, 3, 0, UINT64_MAX, 3 };
	static const uint64_t sorted[] = { 0, 3, 3, UINT64_MAX, UINT64_MAX };

	stats_sort_u64(v, 5);
	ck_assert_mem_eq(v, sorted, sizeof(v));
	ck_assert_double_eq(stats_mean_u64(v + 3, 2), (double)UINT64_MAX);
	ck_assert_double_eq(stats_mean_u64(v, 3), 2);
	ck_assert_double_eq(stats_percentile_u64(v, 5, 100), (double)UINT64_MAX);
}
END_TEST

/*
 * Arrivals at 2, 2.5, 3, 9, 12 s. Windows of 1 s from 2 s on: 2 1 0 0 0 0 0 1 0 0 1, eleven
 * with mean 5/11 and mean square 7/11: variance 52/121, dispersion 52/55. Of 10 s: 4 1, mean
 * 5/2, variance 9/4, dispersion 9/10. Gaps 0.5 0.5 6 3: mean 2.5, variance 5.125.
 */
START_TEST(dispersion_peak_and_cv_match_a_count_by_hand)
{
	static const uint64_t half_s[] = { 4, 5, 6, 18, 24 };
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
	for (uint64_t i = 0; i < 1000; i++)
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
	add(&trace, UINT64_MAX, 3);
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
	add(&trace, UINT64_MAX, 3);
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

/* What was published on the requests whose times are known to the second. */
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

/* Command line */

static char cli_out[FILE_BYTES_MAX];
static char cli_err[FILE_BYTES_MAX];

/* Point the stream @fd to a file in the folder; returns what it was. */
static int divert(int fd)
{
	char path[128];
	int saved = dup(fd), file;

	snprintf(path, sizeof(path), "%s/std%d", folder, fd);
	file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	ck_assert_int_ge(file, 0);
	ck_assert_int_ge(dup2(file, fd), 0);
	close(file);
	return saved;
}

static void restore(int fd, int saved, char *text)
{
	char path[128];

	dup2(saved, fd);
	close(saved);
	snprintf(path, sizeof(path), "%s/std%d", folder, fd);
	text[get_file(path, text, FILE_BYTES_MAX)] = '\0';
}

/* Run "trace" with the words @args up to NULL, filling cli_out and cli_err. */
static int cli(const char *const *args)
{
	char words[8][600], *argv[9];
	int argc = 0, ret, out, err;

	for (; args[argc]; argc++)
		argv[argc] = strcpy(words[argc], args[argc]);
	argv[argc] = NULL;
	fflush(NULL);
	out = divert(STDOUT_FILENO);
	err = divert(STDERR_FILENO);
	ret = cmd_trace(argc, argv);
	fflush(NULL);
	restore(STDOUT_FILENO, out, cli_out);
	restore(STDERR_FILENO, err, cli_err);
	return ret;
}

#define CLI(...) cli((const char *const[]){ "trace", __VA_ARGS__, NULL })

START_TEST(cli_import_reports_its_counts)
{
	struct trace trace;
	char expected[512];
	struct stat st;

	ck_assert_int_eq(CLI("import", FIRST400, out_path), SIM_EXIT_OK);
	ck_assert_int_eq(stat(out_path, &st), 0);
	snprintf(expected, sizeof(expected),
		 "requests             383\n"
		 "failures skipped     17\n"
		 "bad rows skipped     0\n"
		 "attribution          BurstGPT (Wang et al., CC-BY-4.0)\n"
		 "bytes                16840 in, %jd out\n",
		 (intmax_t)st.st_size);
	ck_assert_str_eq(cli_out, expected);
	ck_assert_str_eq(cli_err, "");
	must_read(out_path, &trace);
	ck_assert_uint_eq(trace.count, 383);
	trace_destroy(&trace);
}
END_TEST

START_TEST(cli_import_takes_an_attribution_and_skips_bad_rows)
{
	struct trace trace;

	put_file(in_path, HEAD6 ROW6("5") "oops\n", strlen(HEAD6 ROW6("5") "oops\n"));
	ck_assert_int_eq(CLI("import", in_path, out_path), SIM_EXIT_USER);
	ck_assert_int_ne(access(out_path, F_OK), 0);
	ck_assert_int_eq(CLI("import", "--skip-bad", in_path, "--attribution", "me, CC0",
			     out_path),
			 SIM_EXIT_OK);
	must_read(out_path, &trace);
	ck_assert_uint_eq(trace.bad_rows, 1);
	ck_assert_str_eq(trace.attribution, "me, CC0");
	trace_destroy(&trace);
}
END_TEST

START_TEST(cli_import_refuses_an_attribution_that_does_not_fit)
{
	char text[513];

	memset(text, 'x', 512);
	text[512] = '\0';
	ck_assert_int_eq(CLI("import", FIRST400, out_path, "--attribution", text),
			 SIM_EXIT_USER);
	ck_assert_str_eq(cli_err,
			 "gvmsim: trace import: --attribution: 512 bytes, allowed are 511\n");
}
END_TEST

START_TEST(cli_import_does_not_overwrite_its_input)
{
	char text[64] = "";

	put_file(in_path, "precious", 8);
	ck_assert_int_eq(CLI("import", in_path, in_path), SIM_EXIT_USER);
	ck_assert_ptr_nonnull(strstr(cli_err, "cannot write: is the file to import\n"));
	get_file(in_path, text, sizeof(text));
	ck_assert_str_eq(text, "precious");
}
END_TEST

START_TEST(cli_info_prints_the_replayed_statistics)
{
	ck_assert_int_eq(CLI("info", SHIPPED, "--divide", "198.9"), SIM_EXIT_OK);
	ck_assert_str_eq(cli_out,
			 "attribution          BurstGPT (Wang et al., CC-BY-4.0), first 3256 "
			 "valid requests "
			 "as replayed in the GVM paper; rebuilt from public leftovers\n"
			 "requests             3256\n"
			 "failures skipped     0\n"
			 "bad rows skipped     0\n"
			 "times divided by     1989/10\n"
			 "span                 597.506 s, from 0.025 s\n"
			 "mean rate            5.4493 req/s\n"
			 "inter-arrival CV     5.38\n"
			 "\n"
			 "arrivals in windows        1 s      10 s      60 s     300 s\n"
			 "peak                        30       184       811      1661\n"
			 "index of dispersion       7.70     61.76    294.22      0.67\n"
			 "\n"
			 "tokens                     min      mean       p50       p90       "
			 "p99       max  "
			 "        sum\n"
			 "prompt                       8     642.0     457.5    1591.0    "
			 "2126.0      3407  "
			 "    2090478\n"
			 "response, generated          1     224.0     174.0     515.0    "
			 "1014.1      2048  "
			 "     729189\n"
			 "response, recorded           1     263.7     225.0     526.0    "
			 "1025.0      2048  "
			 "     858696\n");
}
END_TEST

static const struct {
	const char *args[4];
	const char *message;
} misuse[] = {
	{ { NULL }, "trace: what to do is missing, allowed are import, info and --help" },
	{ { "export" }, "trace: unknown word 'export', allowed are import, info and --help" },
	{ { "import", "a" },
	  "trace import: 1 file names, expected 2, usage: gvmsim trace import IN OUT "
	  "[--skip-bad] [--attribution TEXT]" },
	{ { "info", "a", "--divide" },
	  "trace info: option '--divide' needs a value, usage: gvmsim "
	  "trace info FILE [--divide NUMBER]" },
	{ { "info", "a", "--skip-bad" },
	  "trace info: option '--skip-bad' is not valid here, usage: "
	  "gvmsim trace info FILE [--divide NUMBER]" },
	{ { "info", "a", "-xh" },
	  "trace info: option '-x' is not valid here, usage: gvmsim trace info "
	  "FILE [--divide NUMBER]" },
	{ { "info", "a", "--divide=-2" },
	  "trace info: option '--divide': '-2' is negative, allowed are decimal numbers above "
	  "0 "
	  "with "
	  "up to 9 decimals, below 18446744073" },
	{ { "info", "/nonexistent" }, "/nonexistent: cannot open: No such file or directory" },
};

START_TEST(cli_misuse_is_one_line_and_exit_2)
{
	const char *const *args = misuse[_i].args;
	char expected[512];

	ck_assert_int_eq(CLI(args[0], args[1], args[2]), SIM_EXIT_USER);
	snprintf(expected, sizeof(expected), "gvmsim: %s\n", misuse[_i].message);
	ck_assert_str_eq(cli_err, expected);
	ck_assert_str_eq(cli_out, "");
}
END_TEST

START_TEST(cli_help_teaches_by_examples)
{
	ck_assert_int_eq(CLI("--help"), SIM_EXIT_OK);
	ck_assert_ptr_nonnull(strstr(cli_out, "--divide 198.9\n"));
	ck_assert_int_eq(CLI("import", "--help"), SIM_EXIT_OK);
	ck_assert_ptr_nonnull(strstr(cli_out, "Examples:\n"));
	ck_assert_str_eq(cli_err, "");
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static void add_csv_tests(TCase *tests)
{
	tcase_add_test(tests, import_reads_the_first_rows_of_the_public_file);
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

static void add_compact_tests(TCase *tests)
{
	tcase_add_test(tests, round_trip_keeps_one_response);
	tcase_add_test(tests, round_trip_keeps_two_responses_and_extremes);
	tcase_add_test(tests, write_gives_the_same_bytes_again);
	tcase_add_test(tests, truncation_at_every_byte_fails_cleanly);
	tcase_add_test(tests, no_flipped_bit_gives_a_different_trace);
	tcase_add_test(tests, bytes_after_the_frame_are_refused);
	tcase_add_loop_test(tests, invalid_content_is_refused_with_its_offset, 0,
			    COUNT(invalid));
	tcase_add_test(tests, a_frame_without_checksum_is_refused);
	tcase_add_test(tests, a_decompression_bomb_is_cut_off);
	tcase_add_test(tests, an_unwritable_folder_is_named_and_left_empty);
	tcase_add_test(tests, a_full_disk_is_named_and_leaves_the_old_file);
	tcase_add_test(tests, write_does_not_replace_what_is_no_file);
	tcase_add_test(tests, write_refuses_what_read_would_refuse);
	tcase_add_test(tests, the_shipped_trace_is_the_replayed_one);
	tcase_add_test(tests, the_shipped_trace_begins_like_the_public_file);
}

static void add_info_tests(TCase *tests)
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

static void add_cli_tests(TCase *tests)
{
	tcase_add_test(tests, cli_import_reports_its_counts);
	tcase_add_test(tests, cli_import_takes_an_attribution_and_skips_bad_rows);
	tcase_add_test(tests, cli_import_refuses_an_attribution_that_does_not_fit);
	tcase_add_test(tests, cli_import_does_not_overwrite_its_input);
	tcase_add_test(tests, cli_info_prints_the_replayed_statistics);
	tcase_add_loop_test(tests, cli_misuse_is_one_line_and_exit_2, 0, COUNT(misuse));
	tcase_add_test(tests, cli_help_teaches_by_examples);
}

static void add_case(Suite *suite, const char *name, void (*add_tests)(TCase *tests))
{
	TCase *tests = tcase_create(name);

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 120); /* thousands of files, and sanitizers are slow */
	add_tests(tests);
	suite_add_tcase(suite, tests);
}

int main(void)
{
	Suite *suite = suite_create("trace");
	SRunner *runner = srunner_create(suite);
	int failed;

	add_case(suite, "csv", add_csv_tests);
	add_case(suite, "compact", add_compact_tests);
	add_case(suite, "info", add_info_tests);
	add_case(suite, "cli", add_cli_tests);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
