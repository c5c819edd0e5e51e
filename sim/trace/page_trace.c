// SPDX-License-Identifier: MIT OR GPL-2.0
#include "trace/page_trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/error.h"
#include "trace/trace_frame.h"
#include "trace/trace_lines.h"
#include "trace/trace_parse.h"

/* Rows of six numbers have under 100 bytes. */
#define LINE_MAX_BYTES 4096
#define COLUMNS_MAX    32

enum role { ROLE_KERNEL, ROLE_PAGE, ROLE_PAGES, ROLE_WRITE, ROLE_TIME, ROLE_START, ROLE_COUNT };

#define ROLE_OPTIONAL ROLE_TIME /* this one and those after it */

static const char *const role_names[] = {
	[ROLE_KERNEL] = "kernel", [ROLE_PAGE] = "page",	   [ROLE_PAGES] = "pages",
	[ROLE_WRITE] = "write",	  [ROLE_TIME] = "time_ns", [ROLE_START] = "start_ns",
};

/* A file while it is read. */
struct reader {
	struct trace_lines lines;
	u64 pages;		/* of the memory */
	int column[ROLE_COUNT]; /* of each role, from 0; -1: the file has none */
	int columns;
	u64 kernel; /* of the last row */
	size_t run_room;
	size_t kernel_room;
	struct page_trace *trace;
	char buf[LINE_MAX_BYTES + 1];
	char *cells[COLUMNS_MAX];
};

static int reader_header(struct reader *reader, struct sim_error *err)
{
	int status = trace_lines_next(&reader->lines, err);

	if (!status)
		return sim_user_error(err, "%s: is empty", reader->lines.path);
	if (status < 0)
		return status;
	/* Spreadsheets put a byte order mark in front of the first name. */
	if (!strncmp(reader->buf, "\xef\xbb\xbf", 3))
		memmove(reader->buf, reader->buf + 3, strlen(reader->buf + 3) + 1);
	reader->columns = trace_split(reader->buf, reader->cells, COLUMNS_MAX);
	if (reader->columns > COLUMNS_MAX)
		return sim_user_error(err, "%s:1: %d columns, allowed are up to %d",
				      reader->lines.path, reader->columns, COLUMNS_MAX);
	for (int role = 0; role < ROLE_COUNT; role++) {
		reader->column[role] = -1;
		for (int i = 0; i < reader->columns; i++) {
			if (strcmp(reader->cells[i], role_names[role]) != 0)
				continue;
			if (reader->column[role] >= 0)
				return sim_user_error(
					err,
					"%s:1: column '%s': is there twice, allowed is once",
					reader->lines.path, role_names[role]);
			reader->column[role] = i;
		}
		if (reader->column[role] < 0 && role < ROLE_OPTIONAL)
			return sim_user_error(
				err,
				"%s:1: column '%s' is missing, needed are kernel, "
				"page, pages, write",
				reader->lines.path, role_names[role]);
	}
	reader->trace->timed = reader->column[ROLE_TIME] >= 0;
	reader->trace->dated = reader->column[ROLE_START] >= 0;
	return 0;
}

/* The number in the column of @role, from @min to @max. 0 where there is no such column. */
static int reader_number(const struct reader *reader, enum role role, u64 min, u64 max,
			 u64 *ret_value, struct sim_error *err)
{
	char quoted[TRACE_QUOTE_BYTES];
	const char *cell, *problem;

	*ret_value = 0;
	if (reader->column[role] < 0)
		return 0;
	cell = reader->cells[reader->column[role]];
	problem = trace_parse_nanoseconds(cell, ret_value);
	if (!problem && (*ret_value < min || *ret_value > max))
		problem = "is out of range";
	if (!problem)
		return 0;
	return sim_user_error(
		err,
		"%s:%llu: column '%s': '%s' %s, allowed are whole numbers from %llu to %llu",
		reader->lines.path, reader->lines.line, role_names[role],
		trace_quote(cell, quoted), problem, min, max);
}

/* Room for one more element in a growing array. */
static void *grow(void *array, size_t count, size_t *room, size_t bytes)
{
	size_t more = *room ? 2 * *room : 1024;
	void *grown;

	if (count < *room)
		return array;
	grown = realloc(array, more * bytes);
	if (grown)
		*room = more;
	return grown;
}

/* Does the row begin a kernel, or go on with the last one? Checks that it does one of them. */
static int reader_kernel(struct reader *reader, u64 number, u64 time_ns, u64 start_ns,
			 struct sim_error *err)
{
	struct page_trace *trace = reader->trace;
	const struct page_kernel *last =
		trace->kernel_count ? &trace->kernels[trace->kernel_count - 1] : NULL;
	const char *path = reader->lines.path;
	struct page_kernel *kernels;
	u64 line = reader->lines.line;

	if (last && number < reader->kernel)
		return sim_user_error(
			err,
			"%s:%llu: column 'kernel': %llu comes after %llu, allowed "
			"is the same number or a greater one",
			path, line, number, reader->kernel);
	if (last && start_ns < last->start_ns)
		return sim_user_error(
			err,
			"%s:%llu: column 'start_ns': %llu is before the row above, "
			"allowed is %llu or later",
			path, line, start_ns, last->start_ns);
	if (last && number == reader->kernel) {
		if (time_ns != last->time_ns || start_ns != last->start_ns)
			return sim_user_error(err,
					      "%s:%llu: kernel %llu has another time_ns or "
					      "start_ns in the row above, allowed is the same",
					      path, line, number);
		if (trace->run_count - last->first_run == PAGE_TRACE_KERNEL_RUNS_MAX)
			return sim_user_error(
				err,
				"%s:%llu: kernel %llu has more than %zu rows, the "
				"most that is supported",
				path, line, number, PAGE_TRACE_KERNEL_RUNS_MAX);
		return 0;
	}
	kernels = grow(trace->kernels, trace->kernel_count, &reader->kernel_room,
		       sizeof(*kernels));
	if (!kernels)
		return sim_runtime_error(err, "%s: out of memory", path);
	trace->kernels = kernels;
	kernels[trace->kernel_count++] = (struct page_kernel){ .first_run = trace->run_count,
							       .time_ns = time_ns,
							       .start_ns = start_ns };
	reader->kernel = number;
	return 0;
}

/* The line in reader->buf is a row. */
static int reader_row(struct reader *reader, struct sim_error *err)
{
	struct page_trace *trace = reader->trace;
	const u64 any = ~0ull, far = 1ull << 62; /* can still be added to another date */
	u64 kernel, page, pages, write, time_ns, start_ns;
	int fields = trace_split(reader->buf, reader->cells, COLUMNS_MAX);
	struct page_run *runs;
	size_t of_kernel;
	int status;

	if (fields != reader->columns)
		return sim_user_error(err, "%s:%llu: %d fields, allowed are the header's %d",
				      reader->lines.path, reader->lines.line, fields,
				      reader->columns);
	status = reader_number(reader, ROLE_KERNEL, 0, any, &kernel, err);
	if (!status)
		status = reader_number(reader, ROLE_PAGE, 0, reader->pages - 1, &page, err);
	if (!status)
		status =
			reader_number(reader, ROLE_PAGES, 1, reader->pages - page, &pages, err);
	if (!status)
		status = reader_number(reader, ROLE_WRITE, 0, 1, &write, err);
	if (!status)
		status = reader_number(reader, ROLE_TIME, 1, PAGE_TRACE_TIME_MAX_NS, &time_ns,
				       err);
	if (!status)
		status = reader_number(reader, ROLE_START, 0, far, &start_ns, err);
	if (!status)
		status = reader_kernel(reader, kernel, time_ns, start_ns, err);
	if (status)
		return status;
	if (trace->run_count == PAGE_TRACE_RUNS_MAX)
		return sim_user_error(err, "%s: more than %zu rows, the most that is supported",
				      reader->lines.path, PAGE_TRACE_RUNS_MAX);
	runs = grow(trace->runs, trace->run_count, &reader->run_room, sizeof(*runs));
	if (!runs)
		return sim_runtime_error(err, "%s: out of memory", reader->lines.path);
	trace->runs = runs;
	runs[trace->run_count++] = (struct page_run){ (u32)page, (u32)pages, write != 0 };
	of_kernel = trace->run_count - trace->kernels[trace->kernel_count - 1].first_run;
	if (of_kernel > trace->most_runs)
		trace->most_runs = of_kernel;
	return 1;
}

static int reader_read(struct reader *reader, struct sim_error *err)
{
	int status = reader_header(reader, err);

	if (status)
		return status;
	do {
		status = trace_lines_next_row(&reader->lines, err);
		if (status > 0)
			status = reader_row(reader, err);
	} while (status > 0);
	if (status)
		return status;
	return reader->trace->kernel_count ?
		       0 :
		       sim_user_error(err,
				      "%s:%llu: no rows, allowed are files with at least one",
				      reader->lines.path, reader->lines.line);
}

static int read_text(FILE *file, const char *path, u64 pages, struct page_trace *trace,
		     struct sim_error *err)
{
	struct reader reader = { .pages = pages, .trace = trace };

	reader.lines = (struct trace_lines){
		.file = file, .path = path, .buf = reader.buf, .max = LINE_MAX_BYTES
	};
	return reader_read(&reader, err);
}

static int read_frame(FILE *file, const char *path, u64 pages, struct page_trace *trace,
		      struct sim_error *err)
{
	struct trace_content content = { 0 };
	int status = trace_frame_decompress(file, path, &content, err);
	FILE *text = NULL;

	if (!status && !content.len)
		status = sim_user_error(err, "%s: is empty", path);
	if (!status) {
		text = fmemopen(content.data, content.len, "r");
		status = text ? read_text(text, path, pages, trace, err) :
				sim_runtime_error(err, "%s: out of memory", path);
	}
	if (text)
		fclose(text);
	trace_store_free(&content.store);
	return status;
}

int page_trace_read(const char *path, u64 pages, struct page_trace *ret_trace,
		    struct sim_error *err)
{
	struct stat st;
	FILE *file = fopen(path, "rbe");
	int status, first;

	*ret_trace = (struct page_trace){ 0 };
	if (!file)
		return sim_user_error(err, "%s: cannot open: %s", path, strerror(errno));
	if (!fstat(fileno(file), &st) && S_ISDIR(st.st_mode)) {
		fclose(file);
		return sim_user_error(err, "%s: is a folder, allowed is a trace of pages",
				      path);
	}
	first = getc(file);
	if (first != EOF)
		ungetc(first, file);
	status = first == TRACE_FRAME_FIRST_BYTE ?
			 read_frame(file, path, pages, ret_trace, err) :
			 read_text(file, path, pages, ret_trace, err);
	fclose(file);
	if (status)
		page_trace_destroy(ret_trace);
	return status;
}

void page_trace_destroy(struct page_trace *trace)
{
	free(trace->runs);
	free(trace->kernels);
	*trace = (struct page_trace){ 0 };
}
