/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Traces of what vLLM's benchmark client measured: trace_vllm.c. */
#ifndef SIM_TRACE_TRACE_VLLM_H
#define SIM_TRACE_TRACE_VLLM_H

#include <stdio.h>

#include "trace/trace_csv.h"

struct sim_error;
struct trace;

/* As trace_csv_read(), of a file as vllm_result.h tells it. */
int trace_vllm_read(FILE *file, const char *path, enum trace_bad_rows bad_rows,
		    struct trace *trace, struct sim_error *err);

#endif
