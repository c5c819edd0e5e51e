/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The results folder of a run: summary.json, config.json, requests.csv, timeline.csv.
 *
 * requests.csv: a row per request or image; dates and times are integer nanoseconds of simulated
 * time, and the field of a date that did not happen is empty.
 *
 * timeline.csv: a row per container and interval (output.timeline_interval); time_ns is the end
 * of the interval. gpu_share is busy time over interval; link_*_use is bytes moved over what the
 * link could have moved in that direction. The container's kernels stood still on its own faults
 * while the CPU handled them (stall_cpu_ns) or waited for copies to and from host memory
 * (stall_d2h_ns, stall_h2d_ns), and on faults of others (blocked_ns). Sums over the rows of a
 * container are the totals of summary.json.
 */
#ifndef SIM_RESULTS_RESULTS_H
#define SIM_RESULTS_RESULTS_H

#include "results/summary.h"
#include "results/writer.h"

#define RESULTS_SUMMARY	 "summary.json"
#define RESULTS_CONFIG	 "config.json"
#define RESULTS_REQUESTS "requests.csv"
#define RESULTS_TIMELINE "timeline.csv"

/*
 * Before simulating: make sure that results can be written to @folder. Returns 0 with an open
 * writer, or -SIM_EXIT_RUNTIME.
 */
int results_prepare(struct writer *writer, const char *folder, struct sim_error *err);

/* Write all four files, or none. Returns 0 or -SIM_EXIT_RUNTIME; the writer is done with. */
int results_write(struct writer *writer, const struct machine *machine,
		  const struct summary *summary, struct sim_error *err);

#endif
