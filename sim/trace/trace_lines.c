// SPDX-License-Identifier: MIT OR GPL-2.0
#include "trace/trace_lines.h"

#include "engine/error.h"

#include <errno.h>
#include <string.h>

int trace_lines_next(struct trace_lines *lines, struct sim_error *err)
{
	size_t len = 0;
	int c = 0;

	/*
	 * Skip the rest of an over-long line only now, when the caller goes on after it. The
	 * file may be /dev/zero, whose line has no end.
	 */
	while (lines->cut && c != EOF && c != '\n')
		c = getc_unlocked(lines->file);
	lines->cut = false;
	while ((c = getc_unlocked(lines->file)) != EOF && c != '\n') {
		if (len == lines->max) {
			lines->cut = true;
			return sim_user_error(
				err, "%s:%llu: the line is too long, allowed are %zu bytes",
				lines->path, ++lines->line, lines->max);
		}
		lines->buf[len++] = (char)c;
	}
	if (c == EOF && ferror(lines->file))
		return sim_runtime_error(err, "%s: cannot read: %s", lines->path,
					 strerror(errno));
	if (c == EOF && !len)
		return 0;
	lines->line++;
	lines->buf[len] = '\0';
	if (strlen(lines->buf) < len)
		return sim_user_error(err, "%s:%llu: the line has a NUL byte, allowed is text",
				      lines->path, lines->line);
	if (len && lines->buf[len - 1] == '\r')
		lines->buf[len - 1] = '\0';
	return 1;
}

int trace_lines_next_row(struct trace_lines *lines, struct sim_error *err)
{
	int status = trace_lines_next(lines, err);
	int c;

	if (status <= 0 || *lines->buf)
		return status;
	c = getc_unlocked(lines->file);
	if (c == EOF)
		return trace_lines_next(lines, err);
	ungetc(c, lines->file);
	return status;
}

int trace_split(char *line, char **cells, int most)
{
	int count = 0;

	while (line) {
		char *cell = strsep(&line, ",");

		if (count < most)
			cells[count] = cell;
		count++;
	}
	return count;
}

const char *trace_quote(const char *cell, char quoted[TRACE_QUOTE_BYTES])
{
	size_t i;

	for (i = 0; cell[i] && i < TRACE_QUOTE_MAX; i++)
		quoted[i] = cell[i] >= ' ' && cell[i] <= '~' ? cell[i] : '?';
	strcpy(quoted + i, cell[i] ? "..." : "");
	return quoted;
}

int trace_lines_no_requests(const struct trace_lines *lines, u64 failures, u64 bad_rows,
			    struct sim_error *err)
{
	return sim_user_error(err,
			      "%s:%llu: no requests (failures: %llu, bad rows: %llu), allowed "
			      "are files with at least one",
			      lines->path, lines->line, failures, bad_rows);
}
