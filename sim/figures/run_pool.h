/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Runs of a figure that have to be made: child processes, as many at a time as there are cores. */
#ifndef SIM_FIGURES_RUN_POOL_H
#define SIM_FIGURES_RUN_POOL_H

#include <stddef.h>

struct cached_run;
struct signals;
struct sim_error;

/*
 * Make all of @runs that are WANTED, @wanted of them, and put each in place as an entry of
 * RUN_CACHE_FOLDER. Says on stderr what it did. The first run that fails ends the others, and so
 * does one of @signals, which the caller has taken. Returns 0 or a negative enum sim_exit; then no
 * child and no temporary folder is left.
 */
int run_pool_make(struct cached_run *runs, size_t count, size_t wanted,
		  const struct signals *signals, struct sim_error *err);

#endif
