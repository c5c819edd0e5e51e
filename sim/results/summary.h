/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What a run came to: statistics of every container, as numbers and as summary.json.
 *
 * All statistics are named once, in a table (summary_metrics): what writes summary.json, what
 * reads it back, the table on the terminal and the comparison of two runs all walk it, so they
 * cannot disagree about a name or a unit.
 */
#ifndef SIM_RESULTS_SUMMARY_H
#define SIM_RESULTS_SUMMARY_H

#include <jansson.h>

#include "machine/machine.h"

#define SUMMARY_STATUS_MAX  160
#define SUMMARY_VERSION_MAX 64
#define SUMMARY_HASH_MAX    64
#define SUMMARY_TYPE_MAX    16
#define SUMMARY_OK	    "ok"       /* status of a container that nothing happened to */
#define SUMMARY_HARDWARE    "hardware" /* "source" of what was measured; else there is none */

/* Index into summary_metrics[] and summary_container.values[]. */
enum summary_metric_id {
	SUMMARY_ARRIVED,
	SUMMARY_COMPLETED,
	SUMMARY_FAILED,
	SUMMARY_DROPPED,
	SUMMARY_TTFT_MEAN,
	SUMMARY_TTFT_P50,
	SUMMARY_TTFT_P90,
	SUMMARY_TTFT_P99,
	SUMMARY_ITL_MEAN,
	SUMMARY_ITL_P50,
	SUMMARY_ITL_P90,
	SUMMARY_ITL_P99,
	SUMMARY_SLO_ATTAINMENT,
	SUMMARY_IMAGES,
	SUMMARY_LATENCY_MEAN,
	SUMMARY_LATENCY_P50,
	SUMMARY_LATENCY_P99,
	SUMMARY_ROUNDS,
	SUMMARY_ROUND_MEAN,
	SUMMARY_ROUND_P50,
	SUMMARY_ROUND_P99,
	SUMMARY_ROUND_MAX,
	SUMMARY_GMEM_CURRENT,
	SUMMARY_GMEM_PEAK,
	SUMMARY_GMEM_SWAP,
	SUMMARY_EVENTS_HIGH,
	SUMMARY_EVENTS_HMEM,
	SUMMARY_EVENTS_OOM,
	SUMMARY_FAULTS,
	SUMMARY_FAULT_BATCHES,
	SUMMARY_EVICTIONS,
	SUMMARY_BYTES_H2D,
	SUMMARY_BYTES_D2H,
	SUMMARY_GPU_SECONDS,
	SUMMARY_STALL_SECONDS,
	SUMMARY_STALL_CPU_SECONDS,
	SUMMARY_STALL_D2H_SECONDS,
	SUMMARY_STALL_H2D_SECONDS,
	SUMMARY_BLOCKED_SECONDS,
	SUMMARY_GPU_SHARE,
	SUMMARY_METRICS,
};

enum summary_unit {
	SUMMARY_UNIT_COUNT, /* an exact integer; so are bytes */
	SUMMARY_UNIT_BYTES,
	SUMMARY_UNIT_MS,
	SUMMARY_UNIT_S,
	SUMMARY_UNIT_SHARE, /* 0 to 1 */
};

/* Which containers have a metric: a set of these. */
#define SUMMARY_FOR_LLM	      (1u << CFG_APP_LLM_SERVER)
#define SUMMARY_FOR_DIFFUSION (1u << CFG_APP_DIFFUSION)
#define SUMMARY_FOR_PAGES     (1u << CFG_APP_PAGES)
#define SUMMARY_FOR_UNKNOWN   (1u << CFG_APP_UNKNOWN)
#define SUMMARY_FOR_ALL \
	(SUMMARY_FOR_LLM | SUMMARY_FOR_DIFFUSION | SUMMARY_FOR_PAGES | SUMMARY_FOR_UNKNOWN)

/* One statistic. */
struct summary_metric {
	const char *key;   /* dotted path below containers.<name> in summary.json */
	const char *label; /* for people */
	enum summary_unit unit;
	unsigned int apps;
	bool compared; /* a comparison of two runs shows it */
};

extern const struct summary_metric summary_metrics[SUMMARY_METRICS];

/* Its value, in its unit. */
struct summary_value {
	bool known;  /* false: no samples, no such metric, not measured; null in JSON */
	u64 count;   /* of counts and bytes */
	double real; /* of everything else */
};

struct summary_container {
	char name[CFG_NAME_MAX];
	enum cfg_app_type type;
	char status[SUMMARY_STATUS_MAX];
	char gpu[CFG_NAME_MAX]; /* that it was on; empty: the machine has one only */
	struct summary_value values[SUMMARY_METRICS];
};

/* A whole run. Owned by the caller: summary_compute() or summary_load(), summary_destroy(). */
struct summary {
	char name[CFG_NAME_MAX];
	char system[CFG_NAME_MAX];
	bool measured; /* on real hardware: has no seed, and both times are how long it took */
	bool complete; /* false: interrupted, everything is as of then */
	double sim_seconds;
	double wall_seconds; /* of the simulation alone */
	struct summary_value speedup;
	u64 seed;
	u64 gpu_reserved; /* bytes of each GPU that RM keeps for itself, in no container's memory */
	char config_hash[SUMMARY_HASH_MAX];
	char version[SUMMARY_VERSION_MAX];
	char **ignored_keys; /* of the scenario: the system has no such thing */
	size_t ignored_count;
	struct summary_container *containers; /* in the order of the scenario */
	size_t container_count;
};

/*
 * Compute the statistics of a finished or interrupted run. Returns 0 or a negative enum sim_exit
 * (memory); then *summary is empty.
 */
int summary_compute(struct summary *summary, const struct machine *machine,
		    struct sim_error *err);
void summary_destroy(struct summary *summary);

/* Set a statistic: an exact one, or one in its unit. */
void summary_set_count(struct summary_container *container, enum summary_metric_id metric,
		       u64 count);
void summary_set_real(struct summary_container *container, enum summary_metric_id metric,
		      double real);

/*
 * Set the statistics of what a container's application logged, which depend on its type.
 * @slo_ns: time to first token that was promised, 0: none. Returns 0 or -ENOMEM.
 */
int summary_set_log(struct summary_container *container, const struct app_log *log, u64 slo_ns);

/* NULL: there is no such container in the run. */
const struct summary_container *summary_find(const struct summary *summary, const char *name);

bool summary_has(const struct summary_container *container, enum summary_metric_id metric);

/* The value as a floating-point number, whatever its unit. */
double summary_number(const struct summary_value *value, enum summary_metric_id metric);

/* "llm-server", "diffusion" or "pages", as in a scenario, or "unknown". */
const char *summary_type_name(enum cfg_app_type type);

/* The content of summary.json, a new reference; NULL: out of memory. */
json_t *summary_json(const struct summary *summary);

/*
 * Read a JSON file of a results folder; a new reference. A file that is missing or no JSON is
 * the user's mistake. Returns 0 or a negative enum sim_exit.
 */
int results_load_json(const char *file, json_t **ret_root, struct sim_error *err);

/*
 * Read the file that summary_json() went to. What is missing or of a wrong type is reported as
 * "file:key.path: what is wrong, what is allowed". Returns 0 or a negative enum sim_exit.
 */
int summary_load(struct summary *summary, const char *file, struct sim_error *err);

#endif
