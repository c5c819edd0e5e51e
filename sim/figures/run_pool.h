/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Making the runs of a figure in child processes, as many at a time as there are cores. */
#ifndef SIM_FIGURES_RUN_POOL_H
#define SIM_FIGURES_RUN_POOL_H

#include <stddef.h>

struct cached_run;
struct signals;
struct sim_error;

/*
 * Make the @wanted runs whose state is RUN_CACHE_WANTED; each becomes an entry of
 * RUN_CACHE_FOLDER. Draws a line of progress, if the program has called progress_start(). The
 * first run that fails ends the others. So does one of @signals, which the caller has taken.
 * Returns 0 and the wall time, or a negative enum sim_exit; then no child and no temporary
 * folder is left.
 */
int run_pool_make(struct cached_run *runs, size_t count, size_t wanted,
		  const struct signals *signals, double *ret_seconds, struct sim_error *err);

#endif
