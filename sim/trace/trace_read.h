/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Reads a trace from a file. Three forms are understood, told apart by their content, never by
 * their name:
 *
 *  - the public BurstGPT CSV, 6 columns (Timestamp,Model,Request tokens,Response tokens,
 *    Total tokens,Log Type) or 8 (with Session ID and Elapsed time);
 *  - the arrivals CSV of the 3256-request head that the GVM paper replayed. It has two response
 *    columns: the tokens that the server generated and those that the trace asked for;
 *  - our own compact form (trace_file.c): zstd with checksum, delta-coded varints.
 */
#ifndef SIM_TRACE_TRACE_READ_H
#define SIM_TRACE_TRACE_READ_H

#include "trace/trace.h"
#include "trace/trace_csv.h"

struct sim_error;

/*
 * Read any supported form from the file @path into the empty @trace. On failure *trace is empty and
 * *err names file, line (CSV) or offset, and reason. Returns 0 or a negative enum sim_exit.
 */
int trace_read(const char *path, enum trace_bad_rows bad_rows, struct trace *trace,
	       struct sim_error *err);

#endif
