/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Runs that a figure needs, made in parallel by child processes ("gvmsim run") and kept in
 * results/cache, so that each is made once.
 *
 * An entry's name is a hash of everything that a result depends on: the resolved configuration,
 * the contents of its traces, and this program itself. A changed program never finds an old
 * result, so the cache needs no clearing. The folder may be removed at any time. Entries that
 * were used longest ago are removed automatically, see cache_folder.h. Children die with their
 * parent, even if it is killed.
 */
#ifndef SIM_FIGURES_RUN_CACHE_H
#define SIM_FIGURES_RUN_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "figures/cached_run.h"

struct signals;
struct sim_error;

#define RUN_CACHE_FOLDER "results/cache"

/* How to get runs. */
struct run_cache_use {
	bool fresh;  /* make all runs again */
	size_t held; /* entries of earlier calls that the caller still reads, at most so many */
	const struct signals *signals; /* taken by the caller; one of them ends the work */
	/*
	 * Called when @made runs were made, in @seconds, and @read were read, of @count runs
	 * that are not left out. The others are the same as a run that was made.
	 */
	void (*ready)(size_t count, size_t made, size_t read, double seconds);
};

/*
 * Get @count runs, except those that are RUN_CACHE_LEFT_OUT. Runs in the cache are read, unless
 * use->fresh; the others are made, as many at a time as there are cores. A damaged entry is
 * made again. An entry appears complete or not at all.
 *
 * Returns 0 or a negative enum sim_exit. The first run that fails ends the others. So does a
 * signal (-SIM_EXIT_INTERRUPTED). A container that dies in the simulation is a result and no
 * failure. The caller destroys the runs in any case.
 */
int run_cache_get(struct cached_run *runs, size_t count, const struct run_cache_use *use,
		  struct sim_error *err);
void run_cache_destroy(struct cached_run *runs, size_t count);

/* Hash this program: another version may give other results. Returns 0 or an enum sim_exit. */
int run_cache_hash_program(char ret_hash[CFG_HASH_MAX], struct sim_error *err);

/*
 * Load the configuration of a run, and set the name and the path of its entry in @folder.
 * @program: run_cache_hash_program(). Returns 0 or a negative enum sim_exit.
 */
int run_cache_name(struct cached_run *run, const char *program, const char *folder,
		   struct sim_error *err);

#endif
