// SPDX-License-Identifier: MIT OR GPL-2.0
#include "trace/trace_read.h"

#include "engine/error.h"
#include "trace/trace_file.h"
#include "trace/trace_frame.h"
#include "trace/trace_json.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define GZIP_FIRST_BYTE	   0x1f
#define COMPACT_FIRST_BYTE 'G'

/* The first byte after a byte order mark, which editors and spreadsheets put in front. */
static int first_byte(FILE *file)
{
	static const int mark[] = { 0xef, 0xbb, 0xbf };
	int byte = getc(file);

	for (size_t i = 0; i < sizeof(mark) / sizeof(mark[0]) && byte == mark[i]; i++)
		byte = getc(file);
	return byte;
}

/* Where a trace comes from, and where it goes. */
struct reading {
	const char *path;
	const char *container; /* whose requests are read; NULL: as trace_read() */
	enum trace_bad_rows bad_rows;
	struct trace *trace;
	struct sim_error *err;
};

/* Read the text of @file, which begins with the byte @first: JSON or CSV. */
static int read_text(const struct reading *reading, FILE *file, int first)
{
	ungetc(first, file);
	if (first == GZIP_FIRST_BYTE)
		return sim_user_error(reading->err,
				      "%s: is packed by gzip, allowed is a trace, plain or by "
				      "zstd",
				      reading->path);
	if (first == '{' && reading->container)
		return trace_csv_no_containers(reading->path, reading->err);
	if (first == '{')
		return trace_json_read(file, reading->path, reading->bad_rows, reading->trace,
				       reading->err);
	return trace_csv_read(file, reading->path, reading->container, reading->bad_rows,
			      reading->trace, reading->err);
}

/* Read @content, which a frame of zstd had, as text. */
static int read_unpacked(const struct reading *reading, const struct trace_content *content)
{
	FILE *text = fmemopen(content->data, content->len, "r");
	int status;

	if (!text)
		return sim_runtime_error(reading->err, "%s: out of memory", reading->path);
	status = read_text(reading, text, first_byte(text));
	fclose(text);
	return status;
}

/* Read a frame of zstd: a compact trace, or text, which begins with another byte. */
static int read_frame(const struct reading *reading, FILE *file)
{
	struct trace_content content = { .store.folder = reading->trace->store.folder };
	int status = trace_frame_decompress(file, reading->path, &content, reading->err);

	if (!status && content.len && content.data[0] != COMPACT_FIRST_BYTE)
		status = read_unpacked(reading, &content);
	else if (!status && reading->container)
		status = trace_csv_no_containers(reading->path, reading->err);
	else if (!status)
		status = trace_file_read(&content, reading->path, reading->trace, reading->err);
	trace_store_free(&content.store);
	return status;
}

/*
 * Read the form that @file has. One byte tells the form, because ungetc() promises to put back
 * one: so a trace can also come through a pipe. No CSV header that is accepted starts with one of
 * these bytes.
 */
static int read_stream(const struct reading *reading, FILE *file)
{
	int first = first_byte(file);

	if (first == EOF && ferror(file))
		return sim_runtime_error(reading->err, "%s: cannot read: %s", reading->path,
					 strerror(errno));
	if (first == EOF)
		return sim_user_error(reading->err, "%s: is empty", reading->path);
	if (first != TRACE_FRAME_FIRST_BYTE)
		return read_text(reading, file, first);
	ungetc(first, file);
	return read_frame(reading, file);
}

int trace_read_container(const char *path, const char *container, enum trace_bad_rows bad_rows,
			 struct trace *trace, struct sim_error *err)
{
	const struct reading reading = { path, container, bad_rows, trace, err };
	struct stat st;
	FILE *file;
	int status;

	assert(!trace->requests);
	file = fopen(path, "rbe");
	if (!file)
		return sim_user_error(err, "%s: cannot open: %s", path, strerror(errno));
	if (!fstat(fileno(file), &st) && S_ISDIR(st.st_mode))
		status = sim_user_error(err, "%s: is a folder, allowed is a trace", path);
	else
		status = read_stream(&reading, file);
	fclose(file);
	if (status)
		trace_destroy(trace);
	return status;
}

int trace_read(const char *path, enum trace_bad_rows bad_rows, struct trace *trace,
	       struct sim_error *err)
{
	return trace_read_container(path, NULL, bad_rows, trace, err);
}
