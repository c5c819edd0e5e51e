/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The numbers of a sweep: every metric of every run, and an estimate for each point.
 *
 * An estimate over seeds is the mean of the runs (results/estimate.h); one over blocks is the
 * value of the one run, and its interval is a 95 % percentile bootstrap of the metric over
 * blocks of arrivals that are drawn with replacement (blocks.h).
 */
#ifndef SIM_SWEEP_SWEEP_NUMBERS_H
#define SIM_SWEEP_SWEEP_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "apps/report.h"
#include "config/config.h"
#include "results/estimate.h"
#include "results/summary.h"
#include "sweep/sweep_runs.h"

struct sim_error;
struct writer;

#define SWEEP_CSV	"sweep.csv"
#define SWEEP_INTERVALS "intervals.csv"

struct sweep_metric {
	/* "vllm.ttft_ms.p99": container, then path in summary.json */
	char name[SWEEP_NAME_MAX];
	enum metric_unit unit;
};

/* The values of one run; a metric beyond value_count is not known. */
struct sweep_row {
	struct run_value *values;
	size_t value_count;
	char failed[CFG_TEXT_MAX]; /* names of containers that died, joined by blanks */
	char why[CFG_NAME_MAX + SUMMARY_STATUS_MAX + 2]; /* the first of them, and its status */
};

/* Owned by the caller: sweep_numbers_take(), sweep_numbers_destroy(). */
struct sweep_numbers {
	const struct sweep_runs *runs;
	struct sweep_metric *metrics;
	size_t metric_count;
	struct sweep_row *rows;		/* by run */
	struct run_estimate *estimates; /* by point and metric */
};

/*
 * Read the results of all runs that could be made, and estimate. Returns 0 or a negative
 * enum sim_exit; the caller destroys *numbers in any case.
 */
int sweep_numbers_take(struct sweep_numbers *numbers, const struct sweep_runs *runs,
		       struct sim_error *err);
void sweep_numbers_destroy(struct sweep_numbers *numbers);

/* The metric of a name; SIZE_MAX: no run has it. */
size_t sweep_metric_find(const struct sweep_numbers *numbers, const char *name);

/*
 * The estimate of a name at a point: of a metric, or the number in the text of a key that
 * differs between points. Not known if it is neither, or if the point has a run that cannot be
 * made.
 */
struct run_estimate sweep_estimate_named(const struct sweep_numbers *numbers, size_t point,
					 const char *name);

/*
 * Write SWEEP_CSV, a row per run with its point, seed, folder, keys and all metrics, and, if
 * there are intervals, SWEEP_INTERVALS. A value that is only bounded is ">1.5". A run that cannot
 * be made has the reason in the last column, and no values. Returns 0 or a negative enum sim_exit.
 */
int sweep_numbers_write(const struct sweep_numbers *numbers, struct writer *writer,
			struct sim_error *err);

/* What intervals are over, in words: "95 % bootstrap over 5 seeds"; empty: there are none. */
void sweep_describe_interval(const struct sweep *sweep, char *text, size_t size);

#endif
