/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The lines of a text file, one by one, with their numbers for messages. */
#ifndef SIM_TRACE_TRACE_LINES_H
#define SIM_TRACE_TRACE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "engine/types.h"

struct sim_error;

/* A text file while it is read. Start with zeros but for the members that the caller sets. */
struct trace_lines {
	FILE *file;	  /* set by the caller, borrowed */
	const char *path; /* likewise, for messages */
	char *buf;	  /* likewise: room for @max bytes and a zero byte; the last line */
	size_t max;	  /* likewise */
	u64 line;	  /* number of that line, from 1 */
	bool cut;	  /* the rest of an over-long line is still unread */
};

/*
 * Read one line into @lines->buf, without its line end. Returns 1; 0 at the end of the file;
 * -SIM_EXIT_USER for a line that cannot be a row: it is too long or has a NUL byte;
 * -SIM_EXIT_RUNTIME.
 */
int trace_lines_next(struct trace_lines *lines, struct sim_error *err);

/*
 * The same for a row. A blank line at the end of the file is no row: editors and spreadsheets
 * leave one. Elsewhere it is a row, a bad one.
 */
int trace_lines_next_row(struct trace_lines *lines, struct sim_error *err);

/*
 * Cut @line at its commas into @cells, up to @most of them. Returns the number of fields, which
 * may exceed @most.
 */
int trace_split(char *line, char **cells, int most);

/* Room for what trace_quote() writes. */
#define TRACE_QUOTE_MAX	  32
#define TRACE_QUOTE_BYTES (TRACE_QUOTE_MAX + 4)

/*
 * Copy the head of @cell for a message, and return it. Control characters, which upset
 * terminals, become "?".
 */
const char *trace_quote(const char *cell, char quoted[TRACE_QUOTE_BYTES]);

/* All lines were read, and no row had a request. Returns -SIM_EXIT_USER. */
int trace_lines_no_requests(const struct trace_lines *lines, u64 failures, u64 bad_rows,
			    struct sim_error *err);

#endif
