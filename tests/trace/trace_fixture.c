// SPDX-License-Identifier: MIT OR GPL-2.0
#include "trace_fixture.h"

#include "suite.h"
#include "trace/trace_read.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

char folder[64];
char in_path[128];
char out_path[128];
struct sim_error error;

static void setup(void)
{
	suite_make_folder(folder, sizeof(folder));
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

void put_file(const char *path, const void *bytes, size_t len)
{
	FILE *file = fopen(path, "wb");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
	ck_assert_int_eq(fclose(file), 0);
}

size_t get_file(const char *path, void *bytes, size_t max)
{
	FILE *file = fopen(path, "rb");
	size_t len;

	ck_assert_ptr_nonnull(file);
	len = fread(bytes, 1, max, file);
	ck_assert(len < max);
	fclose(file);
	return len;
}

int read_bytes(const void *bytes, size_t len, enum trace_bad_rows bad_rows, struct trace *trace)
{
	put_file(in_path, bytes, len);
	memset(&error, 0, sizeof(error));
	trace_init(trace);
	return trace_read(in_path, bad_rows, trace, &error);
}

void must_read(const char *path, struct trace *trace)
{
	trace_init(trace);
	ck_assert_msg(!trace_read(path, TRACE_BAD_ROWS_FAIL, trace, &error), "%s", error.text);
}

void assert_empty(const struct trace *trace)
{
	ck_assert_ptr_null(trace->requests);
	ck_assert_uint_eq(trace->count, 0);
}

void assert_refused_bytes(const void *bytes, size_t len, const char *message)
{
	char expected[1024];
	struct trace trace;

	ck_assert_int_eq(read_bytes(bytes, len, TRACE_BAD_ROWS_FAIL, &trace), -SIM_EXIT_USER);
	snprintf(expected, sizeof(expected), "%s%s", in_path, message);
	ck_assert_str_eq(error.text, expected);
	assert_empty(&trace);
}

void assert_request(const struct trace *trace, size_t i, u64 arrival_ns, u32 prompt,
		    u32 generated, u32 recorded)
{
	const struct trace_request *request = &trace->requests[i];

	ck_assert_uint_lt(i, trace->count);
	ck_assert_uint_eq(request->arrival_ns, arrival_ns);
	ck_assert_uint_eq(request->prompt_tokens, prompt);
	ck_assert_uint_eq(request->response_tokens[TRACE_RESPONSE_GENERATED], generated);
	ck_assert_uint_eq(request->response_tokens[TRACE_RESPONSE_RECORDED], recorded);
}

void add(struct trace *trace, u64 arrival_ns, u32 tokens)
{
	struct trace_request request = { arrival_ns, tokens, { tokens, tokens }, 0 };

	ck_assert_msg(!trace_append(trace, &request, &error), "%s", error.text);
}

int fixture_run(const char *name, void (*add_tests)(TCase *tests))
{
	return suite_run(name, setup, teardown, add_tests);
}
