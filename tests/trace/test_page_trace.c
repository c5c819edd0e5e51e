// SPDX-License-Identifier: MIT OR GPL-2.0
/* Recorded traces of pages: files that are accepted, and messages about the others. */
#include "trace/page_trace.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "trace_fixture.h"

#define HEAD  "kernel,page,pages,write\n"
#define PAGES 100

static struct page_trace trace;

static int read_file(const void *bytes, size_t len)
{
	int status;

	put_file(in_path, bytes, len);
	status = page_trace_read(in_path, PAGES, &trace, &error);
	remove(in_path);
	return status;
}

static void must_be(const char *text)
{
	ck_assert_msg(read_file(text, strlen(text)) == 0, "%s", error.text);
}

/* Reading fails with PATH and @message, and nothing is left. */
static void refused(const char *text, const char *message)
{
	ck_assert_int_eq(read_file(text, strlen(text)), -SIM_EXIT_USER);
	ck_assert_int_eq(strncmp(error.text, in_path, strlen(in_path)), 0);
	ck_assert_str_eq(error.text + strlen(in_path), message);
	ck_assert_ptr_null(trace.runs);
	ck_assert_ptr_null(trace.kernels);
	ck_assert_uint_eq(trace.kernel_count, 0);
}

static void expect_run(size_t index, u32 page, u32 pages, bool write)
{
	ck_assert_uint_lt(index, trace.run_count);
	ck_assert_uint_eq(trace.runs[index].page, page);
	ck_assert_uint_eq(trace.runs[index].pages, pages);
	ck_assert_int_eq(trace.runs[index].write, write);
}

START_TEST(rows_of_one_number_are_one_kernel)
{
	must_be(HEAD "3,0,32,0\n3,99,1,1\n7,5,95,0\n");
	ck_assert_uint_eq(trace.run_count, 3);
	expect_run(0, 0, 32, false);
	expect_run(1, 99, 1, true);
	expect_run(2, 5, 95, false);
	ck_assert_uint_eq(trace.kernel_count, 2);
	ck_assert_uint_eq(trace.kernels[1].first_run, 2);
	ck_assert_uint_eq(page_trace_runs_end(&trace, 0), 2);
	ck_assert_uint_eq(page_trace_runs_end(&trace, 1), 3);
	ck_assert_uint_eq(trace.most_runs, 2);
	ck_assert(!trace.timed && !trace.dated);
	page_trace_destroy(&trace);
}
END_TEST

START_TEST(columns_are_found_by_name_and_others_are_passed_over)
{
	must_be("\xef\xbb\xbfwrite,who,start_ns,pages,time_ns,page,kernel\r\n"
		"1,me,10,2,300,4,0\r\n0,you,10,1,300,9,0\r\n0,-,10,1,5,0,1");
	ck_assert(trace.timed && trace.dated);
	ck_assert_uint_eq(trace.kernel_count, 2);
	expect_run(0, 4, 2, true);
	ck_assert_uint_eq(trace.kernels[0].time_ns, 300);
	ck_assert_uint_eq(trace.kernels[0].start_ns, 10);
	ck_assert_uint_eq(trace.kernels[1].time_ns, 5);
	page_trace_destroy(&trace);
}
END_TEST

START_TEST(the_same_file_is_read_from_zstd)
{
	static const char text[] = HEAD "0,1,2,0\n1,3,4,1\n";
	char frame[256];
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	size_t len;

	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	len = ZSTD_compress2(zstd, frame, sizeof(frame), text, strlen(text));
	ZSTD_freeCCtx(zstd);
	ck_assert(!ZSTD_isError(len));
	ck_assert_msg(read_file(frame, len) == 0, "%s", error.text);
	ck_assert_uint_eq(trace.kernel_count, 2);
	expect_run(1, 3, 4, true);
	page_trace_destroy(&trace);
	/* The end is missing. */
	ck_assert_int_eq(read_file(frame, len - 1), -SIM_EXIT_USER);
	ck_assert_ptr_nonnull(strstr(error.text, "is cut off"));
}
END_TEST

START_TEST(a_mistake_is_named_with_its_line_and_column)
{
	refused("", ": is empty");
	refused(HEAD, ":1: no rows, allowed are files with at least one");
	refused("kernel,page,write\n0,0,0\n",
		":1: column 'pages' is missing, needed are kernel, page, pages, write");
	refused("kernel,page,pages,write,page\n",
		":1: column 'page': is there twice, allowed is once");
	refused(HEAD "0,0,1\n", ":2: 3 fields, allowed are the header's 4");
	refused(HEAD "0,100,1,0\n", ":2: column 'page': '100' is out of range, allowed are "
				    "whole numbers from 0 to 99");
	refused(HEAD "0,0,1,0\n0,99,2,0\n", ":3: column 'pages': '2' is out of range, allowed "
					    "are whole numbers from 1 to 1");
	refused(HEAD "0,0,0,0\n", ":2: column 'pages': '0' is out of range, allowed are whole "
				  "numbers from 1 to 100");
	refused(HEAD "0,0,1,2\n", ":2: column 'write': '2' is out of range, allowed are whole "
				  "numbers from 0 to 1");
	refused(HEAD "0,x\x1b,1,0\n", ":2: column 'page': 'x?' is not a number, allowed are "
				      "whole numbers from 0 to 99");
	refused(HEAD "4,0,1,0\n3,0,1,0\n", ":3: column 'kernel': 3 comes after 4, allowed is "
					   "the same number or a greater one");
	refused("kernel,page,pages,write,time_ns\n0,0,1,0,0\n",
		":2: column 'time_ns': '0' is out of range, allowed are whole numbers from 1 "
		"to 3600000000000");
	refused("kernel,page,pages,write,time_ns\n0,0,1,0,3600000000001\n",
		":2: column 'time_ns': '3600000000001' is out of range, allowed are whole "
		"numbers from 1 to 3600000000000");
	refused("kernel,page,pages,write,time_ns\n0,0,1,0,5\n0,1,1,0,6\n",
		":3: kernel 0 has another time_ns or start_ns in the row above, allowed is the "
		"same");
	refused("kernel,page,pages,write,start_ns\n0,0,1,0,5\n1,1,1,0,4\n",
		":3: column 'start_ns': 4 is before the row above, allowed is 5 or later");
}
END_TEST

/* More rows than the first room for them. */
START_TEST(a_long_trace_grows)
{
	size_t len = 0, room = 1 << 17;
	char *text = malloc(room);

	len += (size_t)snprintf(text, room, HEAD);
	for (u32 i = 0; i < 5000; i++)
		len += (size_t)snprintf(text + len, room - len, "%u,%u,1,0\n", i / 2,
					i % PAGES);
	ck_assert_int_eq(read_file(text, len), 0);
	free(text);
	ck_assert_uint_eq(trace.run_count, 5000);
	ck_assert_uint_eq(trace.kernel_count, 2500);
	expect_run(4999, 99, 1, false);
	page_trace_destroy(&trace);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, rows_of_one_number_are_one_kernel);
	tcase_add_test(tests, columns_are_found_by_name_and_others_are_passed_over);
	tcase_add_test(tests, the_same_file_is_read_from_zstd);
	tcase_add_test(tests, a_mistake_is_named_with_its_line_and_column);
	tcase_add_test(tests, a_long_trace_grows);
}

int main(void)
{
	return fixture_run("page_trace", add_tests);
}
