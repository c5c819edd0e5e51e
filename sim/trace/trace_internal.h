/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the files of the trace module share among themselves. Nothing else includes it. */
#ifndef SIM_TRACE_TRACE_INTERNAL_H
#define SIM_TRACE_TRACE_INTERNAL_H

#include "trace/trace.h"

#include <stdio.h>

/*
 * The most requests that a trace may hold: twelve times the largest public BurstGPT file. It
 * bounds memory (1.5 GiB) when a damaged or hostile file claims or really has more.
 */
#define TRACE_REQUESTS_MAX ((size_t)1 << 26)

/*
 * Add *@request at the end of @trace, growing it. The last check before the inside trusts a
 * trace: refuses time that runs backwards and lengths of 0. Returns 0; -SIM_EXIT_USER for a
 * request that no trace may hold or for too many of them; -SIM_EXIT_RUNTIME without memory.
 * On failure @trace is unchanged and *err says why, without naming a file.
 */
int trace_append(struct trace *trace, const struct trace_request *request,
		 struct sim_error *err);

/* Put "@path: " in front of *@err. Returns @status, the negative enum sim_exit that it came with. */
int trace_error_at(const char *path, struct sim_error *err, int status);

/*
 * Can the @len bytes at @text be an attribution: short enough, and free of control characters,
 * since it is printed to terminals? Returns NULL, or what is wrong with it.
 */
const char *trace_attribution_problem(const char *text, size_t len);

/*
 * Parse decimal seconds, "12" or "12.034", into nanoseconds without rounding. No sign, space
 * or exponent; digits below the nanosecond must be zeros. Returns NULL, or what is wrong,
 * worded to follow the quoted text; then *ret_ns is untouched.
 */
const char *trace_parse_seconds(const char *text, u64 *ret_ns);

/*
 * Read one form from @file, at its first byte, into the empty @trace. @path only names it in
 * errors. Both return 0 or a negative enum sim_exit with *err filled; on failure @trace may
 * hold a part, which the caller destroys.
 */
int trace_csv_read(FILE *file, const char *path, enum trace_bad_rows bad_rows,
		   struct trace *trace, struct sim_error *err);
int trace_file_read(FILE *file, const char *path, struct trace *trace, struct sim_error *err);

/* The first byte of a compact file: of the zstd magic number, little-endian 0xFD2FB528. */
#define TRACE_FILE_FIRST_BYTE 0x28

#endif
