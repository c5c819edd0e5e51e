/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Shared by the tests of traces: a fresh folder for each test, and functions that read any
 * bytes as a trace. A test must leave no file in its folder.
 */
#ifndef TESTS_TRACE_FIXTURE_H
#define TESTS_TRACE_FIXTURE_H

#include "engine/error.h"
#include "trace/trace_csv.h"
#include "trace/trace.h"

#include <check.h>

#define HEAD6	       "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
#define ROW6(t)	       t ",ChatGPT,472,18,490,Conversation log\n"

#define SHIPPED	       TEST_TRACES_DIR "/burstgpt1_gvm3256.trace"
#define FIRST400       TEST_TRACES_DIR "/burstgpt1_first400.csv"
#define NS_PER_SEC     UINT64_C(1000000000)
#define FILE_BYTES_MAX (1 << 20)

#define COUNT(array)   ((int)(sizeof(array) / sizeof((array)[0])))

extern char folder[64];	       /* the test's folder */
extern char in_path[128];      /* a file in it to read */
extern char out_path[128];     /* a file in it to write */
extern struct sim_error error; /* of the last call that failed */

/* Run the tests that @add_tests adds, as a suite of that name. Returns an exit status. */
int fixture_run(const char *name, void (*add_tests)(TCase *tests));

void put_file(const char *path, const void *bytes, size_t len);

/* Read a file of less than @max bytes; returns its size. */
size_t get_file(const char *path, void *bytes, size_t max);

/* Read @len bytes, by way of in_path. Returns what trace_read() does. */
int read_bytes(const void *bytes, size_t len, enum trace_bad_rows bad_rows,
	       struct trace *trace);

/* Read a file and expect success. */
void must_read(const char *path, struct trace *trace);

void assert_empty(const struct trace *trace);

/* Reading @len bytes must fail with "PATH" followed by @message. */
void assert_refused_bytes(const void *bytes, size_t len, const char *message);

void assert_request(const struct trace *trace, size_t i, u64 arrival_ns, u32 prompt,
		    u32 generated, u32 recorded);

/* Append a request whose lengths are all @tokens. */
void add(struct trace *trace, u64 arrival_ns, u32 tokens);

#endif
