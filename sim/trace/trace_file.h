/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The compact form of a trace: its bytes are told in trace_file.c. */
#ifndef SIM_TRACE_TRACE_FILE_H
#define SIM_TRACE_TRACE_FILE_H

#include <stdbool.h>

struct sim_error;
struct trace;
struct trace_content;

/*
 * Read a compact trace from its decompressed @content into the empty @trace. @path is for
 * messages. Returns 0 or a negative enum sim_exit with *err filled; @trace may then hold a
 * part, which the caller destroys.
 */
int trace_file_read(const struct trace_content *content, const char *path, struct trace *trace,
		    struct sim_error *err);

/* Does the file @path begin as a compact trace does? */
bool trace_file_is(const char *path);

/*
 * Write the compact form: to a neighbour of @path, which is then renamed to @path, so that a
 * full disk leaves no half file. Returns 0 or a negative enum sim_exit.
 */
int trace_write(const char *path, const struct trace *trace, struct sim_error *err);

#endif
