/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * CSV traces: the public files of BurstGPT and Azure, the arrivals of the GVM paper's replay,
 * and requests.csv of results folders.
 */
#ifndef SIM_TRACE_TRACE_CSV_H
#define SIM_TRACE_TRACE_CSV_H

#include <stdio.h>

#include "engine/types.h"

struct sim_error;
struct trace;

/* How a reader treats a malformed row. */
enum trace_bad_rows {
	TRACE_BAD_ROWS_FAIL, /* refuse the file, naming line and reason */
	TRACE_BAD_ROWS_SKIP, /* count it in bad_rows and go on */
};

/*
 * Read a CSV trace from @file, whose first byte is next, into the empty @trace. @path is for
 * messages. @container is the one of requests.csv whose requests are read; NULL: the only one
 * that has any. Returns 0 or a negative enum sim_exit with *err filled; @trace may then hold a
 * part, which the caller destroys.
 */
int trace_csv_read(FILE *file, const char *path, const char *container,
		   enum trace_bad_rows bad_rows, struct trace *trace, struct sim_error *err);

/* A container was given for a file of another form. Returns -SIM_EXIT_USER. */
int trace_csv_no_containers(const char *path, struct sim_error *err);

#endif
