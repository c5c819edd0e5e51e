/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Runs that a figure needs, made in parallel by child processes ("gvmsim run") and kept in
 * results/cache, so that each is made once.
 *
 * An entry's name is a hash of all that a result depends on: the resolved configuration, the
 * contents of its traces, and this very program. A change of code or constants never meets an
 * old result, so the cache needs no clearing; the folder may be removed at any time. Entries that
 * were used longest ago go by themselves, see cache_folder.h. Children die with their parent, also
 * if it is killed.
 */
#ifndef SIM_FIGURES_RUN_CACHE_H
#define SIM_FIGURES_RUN_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "figures/cached_run.h"

struct signals;
struct sim_error;

#define RUN_CACHE_FOLDER "results/cache"

/*
 * Get @count runs: those that the cache has, unless @fresh, and the others from as many children
 * at a time as there are cores. Says on stderr what it did. A damaged entry is made
 * again. An entry appears complete or not at all.
 *
 * Returns 0 or a negative enum sim_exit: the first run's failure ends the others, and so does
 * one of @signals, which the caller has taken (-SIM_EXIT_INTERRUPTED). A container that dies in the simulation is a result and no
 * failure. *runs are to be destroyed in any case.
 */
int run_cache_get(struct cached_run *runs, size_t count, bool fresh,
		  const struct signals *signals, struct sim_error *err);
void run_cache_destroy(struct cached_run *runs, size_t count);

#endif
