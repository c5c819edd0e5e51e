/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The results folder of a run: summary.json, config.json, requests.csv, timeline.csv, and on
 * request controls.csv, evictions.csv and policy.csv.
 *
 * requests.csv: a row per request or image. Dates are integer nanoseconds of simulated time. A
 * date that did not happen is an empty field, and so is a value that is not known.
 *
 * timeline.csv: a row per container and interval (output.timeline_interval); time_ns is the end
 * of the interval. gpu_share is busy time over interval; link_*_use is bytes moved over what
 * the link could have moved in that direction. The container's kernels stood still on its own
 * faults while the CPU handled them (stall_cpu_ns) or waited for copies to and from host memory
 * (stall_d2h_ns, stall_h2d_ns), and on faults of others (blocked_ns). Sums over the rows of a
 * container are the totals of summary.json. An unknown value is an empty field.
 *
 * controls.csv (output.controls): a row for each change in a control file that a sample of the
 * timeline found; lines are joined by blanks. gvmcollect always writes it: it samples more
 * files than the timeline has columns.
 *
 * evictions.csv (output.evictions): a row per block that left the GPU, in that order: where it
 * is mapped, the chunk that it left, and how many of its pages of 64 KB were resident.
 *
 * activity.csv (output.activity): a row per time in which a container did one thing on its GPU.
 * The rows of a container follow each other without a gap while its process has a context;
 * their sums are the times of summary.json. "busy_ns" and "slow_ns" are of "runs" alone; the
 * rest of such a row waited for the host to launch.
 *
 * policy.csv (policy.file): a row per write that the policy of gvmd asked for, in order.
 */
#ifndef SIM_RESULTS_RESULTS_H
#define SIM_RESULTS_RESULTS_H

#include "machine/machine.h"
#include "results/summary.h"
#include "results/writer.h"

#define RESULTS_SUMMARY	   "summary.json"
#define RESULTS_CONFIG	   "config.json"
#define RESULTS_REQUESTS   "requests.csv"
#define RESULTS_TIMELINE   "timeline.csv"
#define RESULTS_CONTROLS   "controls.csv"
#define RESULTS_EVICTIONS  "evictions.csv"
#define RESULTS_POLICY	   "policy.csv"
#define RESULTS_ACTIVITY   "activity.csv"
#define RESULTS_TRACE	   "timeline.pftrace"
#define RESULTS_TRACE_ZSTD "timeline.pftrace.zst"

/* A column of a CSV file. The file's header and the reference document are made from it. */
struct results_column {
	const char *name;    /* NULL ends a list */
	const char *meaning; /* one line; it has the unit if the name has none */
};

/* A CSV file of the folder. */
struct results_file {
	const char *name;
	const struct results_column *columns;
};

/* All CSV files; an entry without a name ends the list. */
extern const struct results_file results_files[];

/*
 * Make sure that results can be written to @folder, and remove temporary files of killed runs. To
 * be called before anything is simulated. Results that are there will be replaced; where there are
 * none, a file with the name of one is a user's, and an error. Returns 0 with an open writer, or a negative enum sim_exit.
 */
int results_prepare(struct writer *writer, const char *folder, struct sim_error *err);

/* Does the folder have results, and not those of this configuration (NULL: any)? */
bool results_differ(const struct writer *writer, const char *config_hash);

/* The activities of activity.csv, by enum fifo_activity. */
extern const char *const results_activities[FIFO_ACTIVITIES];

/* The file of the trace, by enum cfg_trace; trace_file.h writes it. */
extern const char *const results_trace_names[];

/*
 * Write all files, or none, and close the writer. @write_more writes further ones; NULL: none.
 * Returns 0 or -SIM_EXIT_RUNTIME.
 */
int results_write(struct writer *writer, const struct machine *machine,
		  const struct summary *summary,
		  int (*write_more)(struct writer *writer, const struct machine *machine,
				    struct sim_error *err),
		  struct sim_error *err);

/*
 * Put the files in place, and remove other files of an earlier run's results.
 *
 * A kill in between leaves a folder without summary.json, which no command reads. If config.json
 * was written first, the next run knows such a folder as one of results and replaces them.
 * Returns 0 or -SIM_EXIT_RUNTIME.
 */
int results_commit(struct writer *writer, struct sim_error *err);

/*
 * Write single files, for results that do not come from a simulation: between results_prepare()
 * and results_commit(), config.json first and summary.json last. results_begin_*() writes the header of a CSV file,
 * results_put_*() adds rows, and writer_end() ends it. All return 0 or -SIM_EXIT_RUNTIME.
 */
int results_write_json(struct writer *writer, const char *name, const json_t *root,
		       struct sim_error *err);
int results_write_summary(struct writer *writer, const struct summary *summary,
			  struct sim_error *err);
int results_begin_requests(struct writer *writer, struct sim_error *err);
int results_begin_timeline(struct writer *writer, struct sim_error *err);
int results_begin_controls(struct writer *writer, struct sim_error *err);

/* A row of controls.csv. */
void results_put_control(struct writer *writer, u64 time_ns, const char *container,
			 const char *file, const char *value);

/* Put a row for each record of an application's log. Without a report there are none. */
void results_put_log(struct writer *writer, const char *container,
		     const struct app_report *report, const struct app_log *log);

/* The known fields of a row of timeline.csv, as a set of bits. Unknown fields are empty. */
#define RESULTS_RESIDENT (1u << 0)
#define RESULTS_SWAPPED	 (1u << 1)
#define RESULTS_PENDING	 (1u << 2)
#define RESULTS_USAGE	 (1u << 3) /* GPU time, stalls, evictions and copies */
#define RESULTS_ALL	 (RESULTS_RESIDENT | RESULTS_SWAPPED | RESULTS_PENDING | RESULTS_USAGE)

struct results_sample {
	const char *container; /* borrowed */
	unsigned int known;
	u64 time_ns;	    /* end of the interval */
	u64 interval_ns;    /* since the container's last sample */
	u64 link_bandwidth; /* bytes/s in each direction */
	u64 resident_bytes;
	u64 swapped_bytes;
	u64 pending_kernels;
	struct sim_usage usage; /* in the interval */
};

void results_put_sample(struct writer *writer, const struct results_sample *sample);

#endif
