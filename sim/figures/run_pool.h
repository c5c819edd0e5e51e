/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Making the runs of a figure or a sweep in child processes, as many at a time as there are
 * cores.
 */
#ifndef SIM_FIGURES_RUN_POOL_H
#define SIM_FIGURES_RUN_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct cached_run;
struct signals;
struct sim_error;

/* The folder that keeps the runs. */
struct run_store {
	const char *folder; /* cached_run.path and .key of each run are made for it */
	size_t keep;	    /* older entries beyond so many are removed; SIZE_MAX: none is */
	size_t held;	    /* so many that were used last stay, whatever @keep is */
	bool shared;	    /* other hosts may work in it: unfinished runs are left alone */
	bool go_on; /* a mistake of the user in a run, or a signal that ends it, leaves the others */
};

/*
 * Make the @wanted runs whose state is RUN_CACHE_WANTED; each becomes an entry of @store. Draws
 * a line of progress, if the program has called progress_start(). The first run that fails ends
 * the others, unless @store says otherwise. So does one of @signals, which the caller has taken.
 * Returns 0 and the wall time, or a negative enum sim_exit: that of the first run that failed,
 * -SIM_EXIT_USER if others went on after it. Then no child and no temporary folder is left.
 */
int run_pool_make(struct cached_run *runs, size_t count, size_t wanted,
		  const struct run_store *store, const struct signals *signals,
		  double *ret_seconds, struct sim_error *err);

#endif
