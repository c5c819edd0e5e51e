/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Two runs of one scenario, alone and shared, metric by metric. */
#ifndef SIM_RESULTS_COMPARE_H
#define SIM_RESULTS_COMPARE_H

#include "results/summary.h"
#include "results/writer.h"

enum compare_run { COMPARE_ALONE, COMPARE_SHARED, COMPARE_RUNS };

/* A metric of one container in both runs. A value that a run lacks is not known. */
struct compare_row {
	const struct summary_container *container; /* of the shared run, else of the other */
	const struct metric *metric;
	struct summary_value values[COMPARE_RUNS];
	struct summary_value ratio; /* shared over alone; real */
};

/*
 * Call @use for every compared metric of every container: first the containers of the shared
 * run in its order, then the containers that only the other run has.
 */
void compare_runs(const struct summary *alone, const struct summary *shared,
		  void (*use)(void *data, const struct compare_row *row), void *data);

/*
 * Write all rows as file @name: container, metric (key of summary.json), unit, alone, shared,
 * shared_over_alone. A bound is ">" and its number. Returns 0 or a negative enum sim_exit.
 */
int compare_write(const struct summary *alone, const struct summary *shared,
		  struct writer *writer, const char *name, struct sim_error *err);

#endif
