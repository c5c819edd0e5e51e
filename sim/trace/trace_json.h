/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Tells the forms of traces in JSON apart and reads them: trace_json.c. */
#ifndef SIM_TRACE_TRACE_JSON_H
#define SIM_TRACE_TRACE_JSON_H

#include <stdio.h>

#include "trace/trace_csv.h"

struct sim_error;
struct trace;

/* As trace_csv_read(), of a file in JSON. */
int trace_json_read(FILE *file, const char *path, enum trace_bad_rows bad_rows,
		    struct trace *trace, struct sim_error *err);

#endif
