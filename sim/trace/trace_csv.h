/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * CSV traces: the public files of BurstGPT and Azure, and the arrivals of
 * the GVM paper's replay.
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
 * messages. Returns 0 or a negative enum sim_exit with *err filled; @trace may then hold a
 * part, which the caller destroys.
 */
int trace_csv_read(FILE *file, const char *path, enum trace_bad_rows bad_rows,
		   struct trace *trace, struct sim_error *err);

/*
 * Parse decimal seconds, "12" or "12.034", into nanoseconds without rounding. No sign, space
 * or exponent; digits below the nanosecond must be zeros. Returns NULL, or a problem, worded to
 * follow the quoted text; then *ret_ns is untouched.
 */
const char *trace_parse_seconds(const char *text, u64 *ret_ns);

#endif
