/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The timeline as a trace in the results folder. gvmcollect has none, so this
 * is no part of results.h.
 */
#ifndef SIM_RESULTS_TRACE_FILE_H
#define SIM_RESULTS_TRACE_FILE_H

struct machine;
struct sim_error;
struct writer;

/*
 * Write the trace of a finished run, if output.timeline asks for one; results_write() calls it.
 * Returns 0 or -SIM_EXIT_RUNTIME.
 */
int trace_file_write(struct writer *writer, const struct machine *machine,
		     struct sim_error *err);

#endif
