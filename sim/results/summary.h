/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The metrics of a run, container by container, as numbers and as summary.json.
 *
 * Each metric is named once: the metrics of every container in summary_metrics[], the metrics
 * of an application in its report (apps/report.h). The writer and the reader of summary.json,
 * the table on the terminal and the comparison of two runs all walk them with summary_metric(),
 * so they cannot disagree about a name or a unit.
 */
#ifndef SIM_RESULTS_SUMMARY_H
#define SIM_RESULTS_SUMMARY_H

#include <jansson.h>

#include "config/config.h"
#include "results/log_metrics.h"

struct machine;
struct sim_error;

#define SUMMARY_STATUS_MAX  160
#define SUMMARY_VERSION_MAX 64
#define SUMMARY_HASH_MAX    64
#define SUMMARY_TYPE_MAX    CFG_NAME_MAX
#define SUMMARY_UNKNOWN	    "unknown"  /* type of a container without a report */
#define SUMMARY_OK	    "ok"       /* status of a container that did not fail */
#define SUMMARY_AT_LEAST    "at_least" /* key of a value that the run only bounds */
#define SUMMARY_HARDWARE    "hardware" /* "source" of measurements; a simulation has no such key */

/* The metrics of every container, as an index into summary_metrics[] and values[]. */
enum summary_metric_id {
	SUMMARY_GMEM_CURRENT,
	/* over the samples in which it had any: it may have been watched before */
	SUMMARY_GMEM_MEAN,
	SUMMARY_GMEM_PEAK,
	SUMMARY_GMEM_SWAP,
	SUMMARY_EVENTS_HIGH,
	SUMMARY_EVENTS_HMEM,
	SUMMARY_EVENTS_OOM,
	SUMMARY_KERNELS_SUBMITTED,
	SUMMARY_KERNELS_ENDED,
	SUMMARY_KERNELS_PER_S,
	SUMMARY_FAULTS,
	SUMMARY_FAULT_BATCHES,
	SUMMARY_EVICTIONS,
	SUMMARY_BYTES_H2D,
	SUMMARY_BYTES_D2H,
	SUMMARY_GPU_SECONDS,
	SUMMARY_SLOW_SECONDS,
	SUMMARY_STALL_SECONDS,
	SUMMARY_STALL_CPU_SECONDS,
	SUMMARY_STALL_D2H_SECONDS,
	SUMMARY_STALL_H2D_SECONDS,
	SUMMARY_BLOCKED_SECONDS,
	SUMMARY_SWITCHING_SECONDS,
	SUMMARY_WAITED_SECONDS,
	SUMMARY_IDLE_SECONDS,
	SUMMARY_GPU_SHARE,
	SUMMARY_TRAPPED_ACCESSES,
	SUMMARY_TRAPPED_SUBMISSIONS,
	SUMMARY_TRAPPED_ENTRIES,
	SUMMARY_METRICS,
};

extern const struct metric summary_metrics[SUMMARY_METRICS];

/*
 * What became of the time of one GPU, as an index into summary_gpu_metrics[]. The shares add up
 * to 1.
 */
enum summary_gpu_metric_id {
	SUMMARY_GPU_BUSY,
	SUMMARY_GPU_SWITCHING,
	SUMMARY_GPU_STALLED,
	SUMMARY_GPU_IDLE,
	SUMMARY_GPU_SWITCHES,
	SUMMARY_GPU_METRICS,
};

extern const struct metric summary_gpu_metrics[SUMMARY_GPU_METRICS];

/* Results of one container. */
struct summary_container {
	char name[CFG_NAME_MAX];
	/* The report of its application. NULL: not known, as for a process without a log. */
	const struct app_report *report;
	char status[SUMMARY_STATUS_MAX];
	char gpu[CFG_NAME_MAX]; /* name of its GPU; empty: the machine has only one */
	/* By enum summary_metric_id; the values of the report's metrics follow. */
	struct summary_value values[SUMMARY_METRICS + REPORT_METRICS_MAX];
};

/* The memory of one GPU. */
struct summary_gpu {
	char name[CFG_NAME_MAX]; /* "gpu0", or its name in the scenario */
	u64 reserved;		 /* bytes of the device that no container can use */
};

/* The time of one GPU. */
struct summary_gpu_time {
	char name[CFG_NAME_MAX];
	struct summary_value values[SUMMARY_GPU_METRICS];
};

/* A whole run. Owned by the caller: summary_compute() or summary_load(), summary_destroy(). */
struct summary {
	char name[CFG_NAME_MAX];
	char system[CFG_NAME_MAX];
	/* on real hardware: no seed; both times are the length of the collection */
	bool measured;
	bool complete; /* false: interrupted; the metrics end at the interruption */
	double sim_seconds;
	double wall_seconds; /* of the simulation alone */
	struct summary_value speedup;
	u64 requests; /* of all traces and users that arrived, in simulated time */
	struct summary_value requests_per_wall_second; /* unknown without requests */
	u64 seed;
	struct summary_gpu gpus[1 + CFG_GPUS_MAX]; /* none if measured or read back */
	size_t gpu_count;
	/*
	 * The GPUs that were simulated: one for each container, if the system gives each its
	 * own.
	 */
	struct summary_gpu_time times[CFG_CONTAINERS_MAX + CFG_GPUS_MAX + 1];
	size_t time_count;
	char config_hash[SUMMARY_HASH_MAX];
	char version[SUMMARY_VERSION_MAX];
	/* The policy of gvmd; an empty name: none ran. */
	struct {
		char name[CFG_NAME_MAX];
		char status[SUMMARY_STATUS_MAX]; /* SUMMARY_OK, or why it was stopped */
		u64 steps;
		u64 writes;
		u64 refused; /* writes */
	} policy;
	char **ignored_keys; /* keys of the scenario that have no effect in this system */
	size_t ignored_count;
	struct summary_container *containers; /* in the order of the scenario */
	size_t container_count;
};

/*
 * Compute the statistics of a finished or interrupted run. Returns 0 or a negative enum
 * sim_exit (memory); then *summary is empty.
 */
int summary_compute(struct summary *summary, const struct machine *machine,
		    struct sim_error *err);
void summary_destroy(struct summary *summary);

/* Set a metric: a count or bytes, or a number in another unit. */
void summary_set_count(struct summary_container *container, enum summary_metric_id metric,
		       u64 count);
void summary_set_real(struct summary_container *container, enum summary_metric_id metric,
		      double real);

/*
 * Compute the metrics of the container's report from its application's log:
 * log_metrics_compute(). Without a report there are none. Returns 0 or -ENOMEM.
 */
int summary_set_log(struct summary_container *container, const struct app_log *log,
		    const u64 promises_ns[APP_PROMISES], u64 end_ns);

/* Did its context die or its application fail? Then its status says why. */
bool summary_has_failed(const struct summary_container *container);

/* The container of this name; NULL: the run has none. */
const struct summary_container *summary_find(const struct summary *summary, const char *name);

/*
 * Metric number @place of a container, in the order of summary.json, and its value. NULL: there
 * are no more.
 */
const struct metric *summary_metric(const struct summary_container *container, size_t place,
				    const struct summary_value **ret_value);

/* The metric with this key, with its value; NULL: the container has no such metric. */
const struct metric *summary_find_metric(const struct summary_container *container,
					 const char *key,
					 const struct summary_value **ret_value);

/*
 * Is there anything to tell people about the metric of this container? Metrics of the GPU say
 * nothing about an application that uses none. Files have them.
 */
bool summary_is_told(const struct summary_container *container, const struct metric *metric);

/* The value as a floating-point number, whatever its unit; of a bound, the bound. */
double summary_number(const struct summary_value *value, const struct metric *metric);

/* The application type as in a scenario, or "unknown". */
const char *summary_type_name(const struct summary_container *container);

/* The content of summary.json, a new reference; NULL: out of memory. */
json_t *summary_json(const struct summary *summary);

#define RESULTS_WRITTEN "a folder that gvmsim or gvmcollect wrote"

/*
 * Read a JSON file, such as one of a results folder. @wanted says what the user may name
 * instead, RESULTS_WRITTEN for such a folder. The caller owns *ret_root. A missing file or one
 * that is not JSON is the user's mistake. Returns 0 or a negative enum sim_exit.
 */
int results_load_json(const char *file, const char *wanted, json_t **ret_root,
		      struct sim_error *err);

/*
 * Read a summary.json. A missing key or a wrong type is reported as "file:key.path: what is
 * wrong, what is allowed". Returns 0 or a negative enum sim_exit.
 */
int summary_load(struct summary *summary, const char *file, struct sim_error *err);

#endif
