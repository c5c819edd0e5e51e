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

/*
 * Read the form that @file has. One byte tells the form, because ungetc() promises to put back
 * one: so a trace can also come through a pipe. No CSV header that is accepted starts with that
 * byte, nor with "{".
 */
static int trace_read_stream(FILE *file, const char *path, const char *container,
			     enum trace_bad_rows bad_rows, struct trace *trace,
			     struct sim_error *err)
{
	int first = getc(file);

	if (first == EOF && ferror(file))
		return sim_runtime_error(err, "%s: cannot read: %s", path, strerror(errno));
	if (first == EOF)
		return sim_user_error(err, "%s: is empty", path);
	ungetc(first, file);
	if (container && (first == TRACE_FRAME_FIRST_BYTE || first == '{'))
		return trace_csv_no_containers(path, err);
	if (first == TRACE_FRAME_FIRST_BYTE)
		return trace_file_read(file, path, trace, err);
	if (first == '{')
		return trace_json_read(file, path, bad_rows, trace, err);
	return trace_csv_read(file, path, container, bad_rows, trace, err);
}

int trace_read_container(const char *path, const char *container, enum trace_bad_rows bad_rows,
			 struct trace *trace, struct sim_error *err)
{
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
		status = trace_read_stream(file, path, container, bad_rows, trace, err);
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
