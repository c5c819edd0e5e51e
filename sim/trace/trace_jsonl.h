/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Traces in JSON lines, as Mooncake publishes them: trace_jsonl.c. */
#ifndef SIM_TRACE_TRACE_JSONL_H
#define SIM_TRACE_TRACE_JSONL_H

#include <stdio.h>

#include "trace/trace_csv.h"

struct sim_error;
struct trace;

/* As trace_csv_read(), of a file in JSON lines. */
int trace_jsonl_read(FILE *file, const char *path, enum trace_bad_rows bad_rows,
		     struct trace *trace, struct sim_error *err);

#endif
