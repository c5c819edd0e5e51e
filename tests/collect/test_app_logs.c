// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Logs of real applications. tests/collect/logs/vllm-bench.json is written by hand in the
 * format of "vllm bench serve --save-result --save-detailed"; nothing in it was measured.
 */
#include "collect/app_logs.h"
#include "gvm/port.h"
#include "collect_fixture.h"
#include "engine/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS	  1000000ull
#define SEC	  1000000000ull
#define VLLM_FILE TEST_LOGS_DIR "/vllm-bench.json"
#define TEXT_MAX  8192

static struct app_log log_read;
static struct sim_error error;
static u64 outside;
static struct app_log_window window;

static void setup(void)
{
	window = (struct app_log_window){ 1000 * SEC, 1010 * SEC };
}

static void teardown(void)
{
	app_log_destroy(&log_read);
}

static void must_read_vllm(const char *file)
{
	ck_assert_msg(!app_logs_read_vllm(&log_read, file, &window, &outside, &error), "%s",
		      error.text);
}

START_TEST(requests_of_vllm_get_dates_since_the_collection_began)
{
	const struct app_record *records;

	must_read_vllm(VLLM_FILE);
	records = log_read.records;
	ck_assert_uint_eq(log_read.record_count, 4);
	ck_assert_uint_eq(log_read.end_ns, 1115 * MS + 1); /* the last request's end */
	ck_assert_uint_eq(outside, 0);
	ck_assert_uint_eq(records[0].arrival_ns, 250 * MS);
	ck_assert_uint_eq(records[0].first_ns, 350 * MS);
	ck_assert_uint_eq(records[0].finish_ns, 400 * MS);
	ck_assert_uint_eq(records[0].prompt_tokens, 10);
	ck_assert_uint_eq(records[0].output_tokens, 3);
	ck_assert_int_eq(records[0].outcome, APP_COMPLETED);
	ck_assert_uint_eq(records[1].finish_ns, records[1].first_ns);
	ck_assert_uint_eq(records[2].first_ns, 1050 * MS + 1); /* half a ns is rounded up */
	ck_assert_uint_eq(records[3].id, 3);
}
END_TEST

START_TEST(a_failed_request_has_no_end_and_no_gaps)
{
	must_read_vllm(VLLM_FILE);
	ck_assert_int_eq(log_read.records[3].outcome, APP_FAILED);
	ck_assert_uint_eq(log_read.records[3].arrival_ns, SEC);
	ck_assert_uint_eq(log_read.records[3].first_ns, 0);
	ck_assert_uint_eq(log_read.records[3].finish_ns, 0);
	ck_assert_uint_eq(log_read.gaps[APP_GAPS_COMPLETED].count, 5);
	ck_assert_uint_eq(log_read.gaps[APP_GAPS_COMPLETED].ns[0], 20 * MS);
	ck_assert_uint_eq(log_read.gaps[APP_GAPS_COMPLETED].ns[4], 40 * MS);
}
END_TEST

START_TEST(what_arrived_outside_the_collection_is_left_out_with_its_gaps)
{
	window.start_ns = 1000 * SEC + 400 * MS;
	window.end_ns = 1000 * SEC + 750 * MS;
	must_read_vllm(VLLM_FILE);
	ck_assert_uint_eq(outside, 2);
	ck_assert_uint_eq(log_read.record_count, 2);
	ck_assert_uint_eq(log_read.records[0].id, 1);
	ck_assert_uint_eq(log_read.records[0].arrival_ns, 100 * MS);
	ck_assert_uint_eq(log_read.gaps[APP_GAPS_COMPLETED].count, 3);
}
END_TEST

/* A change in the sample, and the message after the file's name. */
static const struct {
	const char *from; /* NULL: the file holds only @to */
	const char *to;
	const char *message;
} bad_vllm[] = {
	{ NULL, "{", ":1:1: string or '}' expected near end of file" },
	{ NULL, "[]", ":start_times: is missing, allowed: what \"vllm bench serve" },
	{ "\"start_times\"", "\"starts\"", ":start_times: is missing, allowed: what \"vllm" },
	{ "\"ttfts\": [0.1, 0.2, 0.3000000005, 0.0]", "\"ttfts\": 3",
	  ":ttfts: is not an array, allowed" },
	{ "[0.1, 0.2,", "[0.2,", ":ttfts: has 3 elements, allowed: 4, as start_times has" },
	{ "[0.1, 0.2,", "[0.1, \"x\",",
	  ":ttfts[1]: is not a time, allowed: seconds from 0 to 1e+09" },
	{ "1000.75", "-1", ":start_times[2]: is not a time, allowed" },
	{ "1000.75", "1e300", ":start_times[2]: is not a time, allowed" },
	{ "0.015", "null", ":itls[2][1]: is not a time, allowed" },
	{ "0.015", "6e8, 6e8", ":itls[2]: is not a time, allowed: a sum of up to 1e+09" },
	{ "[], [0.01", "7, [0.01", ":itls[1]: is not an array, allowed: an array of seconds" },
	{ "[10, 20,", "[10, 20.5,",
	  ":input_lens[1]: is not a count, allowed: 0 to 4294967295" },
	{ "[3, 1, 4, 0]", "[3, 1, 4, 4294967296]", ":output_lens[3]: is not a count, allowed" },
	{ "\"errors\": [\"\", \"\"", "\"errors\": [\"\", null",
	  ":errors[1]: is not a string, allowed: \"\" or an error" },
};

/* The sample with one mistake, as a file. */
static const char *put_bad_vllm(const char *from, const char *to)
{
	static char text[TEXT_MAX], bad[2 * TEXT_MAX];
	FILE *stream = fopen(VLLM_FILE, "r");
	const char *at;

	ck_assert_ptr_nonnull(stream);
	text[fread(text, 1, sizeof(text) - 1, stream)] = '\0';
	fclose(stream);
	at = from ? strstr(text, from) : text;
	ck_assert_msg(at, "the sample has no %s", from);
	snprintf(bad, sizeof(bad), "%.*s%s%s", (int)(at - text), text, to,
		 from ? at + strlen(from) : "");
	tree_put("bad.json", bad);
	return tree_path("bad.json");
}

START_TEST(mistakes_in_vllm_results_name_the_key)
{
	const char *file = put_bad_vllm(bad_vllm[_i].from, bad_vllm[_i].to);

	ck_assert_int_eq(app_logs_read_vllm(&log_read, file, &window, &outside, &error),
			 -SIM_EXIT_USER);
	ck_assert_int_eq(strncmp(error.text, file, strlen(file)), 0);
	ck_assert_msg(!strncmp(error.text + strlen(file), bad_vllm[_i].message,
			       strlen(bad_vllm[_i].message)),
		      "%s", error.text);
}
END_TEST

START_TEST(a_log_that_is_not_there_is_named)
{
	ck_assert_int_eq(app_logs_read_vllm(&log_read, "/no.json", &window, &outside, &error),
			 -SIM_EXIT_USER);
	ck_assert_str_eq(error.text, "/no.json: cannot be read: No such file or directory");
	ck_assert_int_eq(app_logs_read_images(&log_read, "/no.csv", &window, &outside, &error),
			 -SIM_EXIT_USER);
	ck_assert_str_eq(error.text, "/no.csv: cannot be read: No such file or directory");
}
END_TEST

START_TEST(images_get_dates_since_the_collection_began)
{
	tree_put("images.csv", "# a comment\nprompt,end_ns,start_ns\n"
			       "cat,999500000000,999000000000\n"
			       "dog,1002500000000,1001000000000\n"
			       "owl,1011000000000,1009000000000\n"
			       "elk,,1009500000000\n");
	ck_assert_msg(!app_logs_read_images(&log_read, tree_path("images.csv"), &window,
					    &outside, &error),
		      "%s", error.text);
	ck_assert_uint_eq(outside, 1);
	ck_assert_uint_eq(log_read.record_count, 3);
	ck_assert_uint_eq(log_read.records[0].id, 1);
	ck_assert_uint_eq(log_read.records[0].arrival_ns, SEC);
	ck_assert_uint_eq(log_read.records[0].finish_ns, 2500 * MS);
	ck_assert_int_eq(log_read.records[1].outcome, APP_COMPLETED);
	ck_assert_int_eq(log_read.records[2].outcome, APP_DROPPED);
	ck_assert_uint_eq(log_read.records[2].finish_ns, 0);
}
END_TEST

static const struct {
	const char *text;
	const char *message;
} bad_images[] = {
	{ "", ":1: is empty, allowed: a header with start_ns, end_ns" },
	{ "start_ns,stop_ns\n", ":1: no column \"end_ns\", allowed: a header with start_ns, "
				"end_ns" },
	{ "start_ns,end_ns\n1\n", ":2: 1 fields, expected 2" },
	{ "start_ns,end_ns\n,5\n", ":2: start_ns: is empty, allowed: digits" },
	{ "start_ns,end_ns\n1.5,5\n", ":2: start_ns: \"1.5\" is not a count, allowed: digits" },
	{ "start_ns,end_ns\n1,2\n5,4\n", ":3: end_ns: is before start_ns" },
};

START_TEST(mistakes_in_image_logs_name_the_line)
{
	const char *file;

	tree_put("images.csv", bad_images[_i].text);
	file = tree_path("images.csv");
	ck_assert_int_eq(app_logs_read_images(&log_read, file, &window, &outside, &error),
			 -SIM_EXIT_USER);
	ck_assert_str_eq(error.text + strlen(file), bad_images[_i].message);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, requests_of_vllm_get_dates_since_the_collection_began);
	tcase_add_test(tests, a_failed_request_has_no_end_and_no_gaps);
	tcase_add_test(tests, what_arrived_outside_the_collection_is_left_out_with_its_gaps);
	tcase_add_loop_test(tests, mistakes_in_vllm_results_name_the_key, 0,
			    ARRAY_SIZE(bad_vllm));
	tcase_add_test(tests, a_log_that_is_not_there_is_named);
	tcase_add_test(tests, images_get_dates_since_the_collection_began);
	tcase_add_loop_test(tests, mistakes_in_image_logs_name_the_line, 0,
			    ARRAY_SIZE(bad_images));
}

int main(void)
{
	return tree_run("app_logs", add_tests, setup, teardown);
}
