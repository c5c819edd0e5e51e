// SPDX-License-Identifier: MIT OR GPL-2.0
/* Reading the files of a results folder back. */
#include "results/csv.h"
#include "results/folder.h"
#include "results_fixture.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

START_TEST(a_folder_reads_back)
{
	const struct summary_container *vllm;
	const struct summary_value *itl;
	struct folder read;

	must_write();
	ck_assert_msg(!folder_load(&read, folder, &error), "%s", error.text);
	ck_assert_str_eq(read.summary.name, "golden");
	ck_assert_str_eq(read.gpu, "a100-40g");
	ck_assert_uint_eq(read.end_ns, 10 * SEC);
	ck_assert_uint_eq(read.record_count, 9);
	ck_assert_uint_eq(read.records[3].record.first_ns, 3 * SEC + 1);
	vllm = summary_find(&read.summary, "vllm");
	ck_assert_ptr_nonnull(vllm);
	ck_assert_uint_eq(vllm->values[SUMMARY_BYTES_H2D].count, 1ull << 40);
	ck_assert_ptr_nonnull(summary_find_metric(vllm, "client_itl_ms.p99", &itl));
	ck_assert(itl->real > 29.69999 && itl->real < 29.70001);
	ck_assert(!itl->bound);
	ck_assert_ptr_nonnull(summary_find_metric(vllm, "itl_ms.p90", &itl));
	ck_assert(itl->known && itl->bound);
	ck_assert(itl->real > 519.49999 && itl->real < 519.50001);
	ck_assert_ptr_null(summary_find(&read.summary, "nobody"));
	folder_destroy(&read);
}
END_TEST

/* A change in a file of a good folder, and the message after the path. */
#define REQUEST_NAMES                                                           \
	"container, id, kind, arrival_ns, first_ns, finish_ns, prompt_tokens, " \
	"output_tokens, start_ns, preemptions, outcome"
#define REQUEST_HEADER                                                   \
	"container,id,kind,arrival_ns,first_ns,finish_ns,prompt_tokens," \
	"output_tokens,start_ns,preemptions,outcome\n"

static const struct {
	const char *file;
	const char *text;
	const char *message;
} bad_files[] = {
	{ RESULTS_SUMMARY, "{", ":1:1: string or '}' expected near end of file" },
	{ RESULTS_SUMMARY, "{}", ":name: is missing, allowed: a string" },
	{ RESULTS_SUMMARY, "{\"name\": 3}", ":name: is not a string, allowed: a string" },
	{ RESULTS_SUMMARY,
	  "{\"name\": \"n\", \"system\": \"s\", \"config_hash\": \"\", \"version\": \"\", "
	  "\"sim_seconds\": 1, \"wall_seconds\": 1, \"complete\": true, \"containers\": "
	  "{\"vllm\": {\"type\": \"llm-server\", \"status\": \"ok\", \"requests\": "
	  "{\"arrived\": 1, \"completed\": -1}}}}",
	  ":containers.vllm.requests.completed: is of a wrong type, allowed: an integer that "
	  "is not negative, or null" },
	{ RESULTS_SUMMARY,
	  "{\"name\": \"n\", \"system\": \"s\", \"config_hash\": \"\", \"version\": \"\", "
	  "\"sim_seconds\": 1, \"wall_seconds\": 1, \"complete\": true, \"containers\": "
	  "{\"vllm\": {\"type\": \"toaster\", \"status\": \"ok\"}}}",
	  ":containers.vllm.type: is unknown, allowed: \"llm-server\", "
	  "*\"phases\", * or \"unknown\"" },
	{ RESULTS_CONFIG, "{}", ":gpu.profile: is missing, allowed: the name of a profile" },
	{ RESULTS_REQUESTS, "", ":1: is empty, allowed: a header with " REQUEST_NAMES },
	{ RESULTS_REQUESTS, "container,id,kind,arrival_ns\n",
	  ":1: no column \"first_ns\", allowed: a header with " REQUEST_NAMES },
	{ RESULTS_REQUESTS, REQUEST_HEADER "vllm,0,request,5,6,7,1,1,5,0,lost\n",
	  ":2: outcome: \"lost\", allowed: completed, failed, dropped" },
	{ RESULTS_REQUESTS, REQUEST_HEADER "vllm,0,request,5,4,7,1,1,5,0,completed\n",
	  ":2: an end before the arrival" },
	{ RESULTS_REQUESTS, REQUEST_HEADER "vllm,0,request,5,6,7,1,4294967296,5,0,completed\n",
	  ":2: output_tokens: 4294967296, allowed: at most 4294967295" },
	{ RESULTS_REQUESTS, REQUEST_HEADER "who,0,request,5,6,7,1,1,5,0,completed\n",
	  ":2: no container \"who\" in summary.json" },
	{ RESULTS_TIMELINE, "gpu_busy_ns,container,time_ns,resident_bytes\n1,vllm,5\n",
	  ":2: 3 fields, expected 4" },
	{ RESULTS_TIMELINE, "gpu_busy_ns,container,time_ns,resident_bytes\n-1,vllm,5,0\n",
	  ":2: gpu_busy_ns: \"-1\" is not a count, allowed: digits" },
	{ RESULTS_TIMELINE,
	  "gpu_busy_ns,container,time_ns,resident_bytes\n18446744073709551616,vllm,5,0\n",
	  ":2: gpu_busy_ns: \"18446744073709551616\" is not a count, allowed: digits" },
	{ RESULTS_TIMELINE, "gpu_busy_ns,container,time_ns,resident_bytes\n1 ,vllm,5,0\n",
	  ":2: gpu_busy_ns: \"1 \" is not a count, allowed: digits" },
	{ RESULTS_TIMELINE, "gpu_busy_ns,container,time_ns,resident_bytes\r\n1,who,5,0\r\n",
	  ":2: no container \"who\" in summary.json" },
	{ RESULTS_TIMELINE, "gpu_busy_ns,container,time_ns,resident_bytes\n1,who,5,0\n",
	  ":2: no container \"who\" in summary.json" },
};

START_TEST(bad_files_are_one_line_and_exit_2)
{
	struct folder read;
	char expected[1024];

	must_write();
	put_file(bad_files[_i].file, bad_files[_i].text);
	ck_assert_int_eq(folder_load(&read, folder, &error), -SIM_EXIT_USER);
	snprintf(expected, sizeof(expected), "%s%s", path_of(bad_files[_i].file),
		 bad_files[_i].message);
	ck_assert_msg(suite_is_like(error.text, expected), "%s", error.text);
	ck_assert_ptr_null(read.records);
}
END_TEST

/* A reference file: comments, with commas or without, before the header, then numbers. */
START_TEST(csv_files_have_comments_and_reals)
{
	static const char *const names[] = { "value" };
	char file[512];
	double value;
	struct csv csv;

	must_write();
	put_file("r.csv", "# a, b, \n#\nname,value\nx,-1.5e3\n#y,0.25\nz,\nz,nan\nz,1x\n");
	snprintf(file, sizeof(file), "%s", path_of("r.csv"));
	ck_assert_int_eq(csv_open(&csv, file, names, 1, &error), 0);
	ck_assert_int_eq(csv_next(&csv, &error), 1);
	ck_assert_int_eq(csv_real(&csv, 0, &value, &error), 0);
	ck_assert_double_eq(value, -1500);
	ck_assert_int_eq(csv_next(&csv, &error), 1);
	ck_assert_int_eq(csv_real(&csv, 0, &value, &error), 0);
	ck_assert_double_eq(value, 0.25);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(csv_next(&csv, &error), 1);
		ck_assert_int_eq(csv_real(&csv, 0, &value, &error), -SIM_EXIT_USER);
	}
	ck_assert_ptr_nonnull(strstr(error.text, "r.csv:8: value: \"1x\" is not a number"));
	ck_assert_int_eq(csv_next(&csv, &error), 0);
	csv_close(&csv);
}
END_TEST

/* Spreadsheets put a byte order mark in front, also of a comment. */
START_TEST(a_byte_order_mark_is_no_part_of_a_name)
{
	static const char *const texts[] = { "\xef\xbb\xbf"
					     "a,b\r\n1,2\r\n",
					     "\xef\xbb\xbf# of a paper\na,b\n1,2\n" };
	static const char *const names[] = { "a", "b" };
	struct csv csv;
	u64 value;

	must_write();
	for (size_t i = 0; i < COUNT(texts); i++) {
		put_file("published.csv", texts[i]);
		ck_assert_msg(!csv_open(&csv, path_of("published.csv"), names, 2, &error), "%s",
			      error.text);
		ck_assert_int_eq(csv_next(&csv, &error), 1);
		ck_assert_int_eq(csv_u64(&csv, 0, &value, &error), 0);
		ck_assert_uint_eq(value, 1);
		csv_close(&csv);
	}
}
END_TEST

/* A line of any length that rows have is read. One without an end is no row, and takes no memory. */
START_TEST(a_line_without_end_is_refused)
{
	static const char *const names[] = { "a" };
	char file[512];
	struct csv csv;
	FILE *stream;

	must_write();
	put_file("r.csv", "");
	snprintf(file, sizeof(file), "%s", path_of("r.csv"));
	stream = fopen(file, "w");
	fprintf(stream, "a\n%0*d\n%0*d\n", 100000, 7, 2000000, 7);
	fclose(stream);
	ck_assert_int_eq(csv_open(&csv, file, names, 1, &error), 0);
	ck_assert_int_eq(csv_next(&csv, &error), 1);
	ck_assert_uint_eq(strlen(csv_text(&csv, 0)), 100000);
	ck_assert_int_eq(csv_next(&csv, &error), -SIM_EXIT_USER);
	ck_assert_msg(strstr(error.text, "r.csv:3: the line is too long"), "%s", error.text);
	csv_close(&csv);
	ck_assert_int_eq(csv_open(&csv, "/dev/zero", names, 1, &error), -SIM_EXIT_USER);
	ck_assert_msg(strstr(error.text, "/dev/zero:1: the line is too long"), "%s",
		      error.text);
}
END_TEST

/* Rows end with "\n", "\r\n" or the file. What stands after another end would be lost. */
START_TEST(a_row_that_is_cut_within_is_refused)
{
	static const char text[] = "a,b\r\n1,2\r\n3,4\n5,6\r";
	static const char *const names[] = { "a", "b" };
	static const struct {
		const char *text;
		size_t length;
		const char *message;
	} bad[] = { { "a,b\n1,\0\0\0\0\n", 11, ":2: a zero byte within the line" },
		    { "a,b\n1,2\0", 8, ":2: a zero byte within the line" },
		    { "a,b\r1,2\r", 8, ":1: a carriage return within the line" } };
	char file[512];
	struct csv csv;
	u64 value;

	must_write();
	put_file("r.csv", text);
	snprintf(file, sizeof(file), "%s", path_of("r.csv"));
	ck_assert_int_eq(csv_open(&csv, file, names, 2, &error), 0);
	for (u64 row = 0; row < 3; row++) {
		ck_assert_int_eq(csv_next(&csv, &error), 1);
		ck_assert_int_eq(csv_u64(&csv, 1, &value, &error), 0);
		ck_assert_uint_eq(value, 2 * row + 2);
	}
	ck_assert_int_eq(csv_next(&csv, &error), 0);
	csv_close(&csv);
	for (size_t i = 0; i < COUNT(bad); i++) {
		FILE *stream = fopen(file, "w");
		int status;

		fwrite(bad[i].text, 1, bad[i].length, stream);
		fclose(stream);
		status = csv_open(&csv, file, names, 2, &error);
		if (!status)
			status = csv_next(&csv, &error);
		ck_assert_int_eq(status, -SIM_EXIT_USER);
		ck_assert_msg(strstr(error.text, bad[i].message), "%s", error.text);
		if (csv.stream)
			csv_close(&csv);
	}
}
END_TEST

START_TEST(a_missing_summary_is_named)
{
	struct folder read;
	char expected[512];

	ck_assert_int_eq(folder_load(&read, folder, &error), -SIM_EXIT_USER);
	snprintf(expected, sizeof(expected),
		 "%s: cannot be read: No such file or directory, allowed: a folder that "
		 "gvmsim or gvmcollect wrote",
		 path_of(RESULTS_SUMMARY));
	ck_assert_str_eq(error.text, expected);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_folder_reads_back);
	tcase_add_loop_test(tests, bad_files_are_one_line_and_exit_2, 0, COUNT(bad_files));
	tcase_add_test(tests, csv_files_have_comments_and_reals);
	tcase_add_test(tests, a_byte_order_mark_is_no_part_of_a_name);
	tcase_add_test(tests, a_line_without_end_is_refused);
	tcase_add_test(tests, a_row_that_is_cut_within_is_refused);
	tcase_add_test(tests, a_missing_summary_is_named);
}

int main(void)
{
	return fixture_run("folder", add_tests);
}
