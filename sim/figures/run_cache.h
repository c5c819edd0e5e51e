/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Runs that a figure needs, made in parallel by child processes ("gvmsim run") and kept in
 * results/cache, so that each is made once.
 *
 * An entry's name is a hash of all that a result depends on: the resolved configuration, the
 * contents of its traces, and this very program. So a change of code or constants never meets an
 * old result, and nobody has to remember to clear anything; the folder may be removed at any time.
 * Entries used longest ago go by themselves, see cache_folder.h. Children die with us, however we do.
 */
#ifndef SIM_FIGURES_RUN_CACHE_H
#define SIM_FIGURES_RUN_CACHE_H

#include <limits.h>
#include <sys/types.h>

#include "config/hash.h"
#include "results/folder.h"

struct signals;

#define RUN_CACHE_FOLDER "results/cache"

/* How far a run is. */
enum run_cache_state {
	RUN_CACHE_WANTED,
	RUN_CACHE_RUNNING,
	RUN_CACHE_MADE, /* its entry is in place */
	RUN_CACHE_READ, /* and in its folder here */
};

/* One run. The caller sets the first part, and destroys it by run_cache_destroy(). */
struct cached_run {
	const char *label; /* for people: "+MemIso" */
	const char *scenario;
	const char *const *defaults; /* PATH=VALUE, applied first; NULL ends them; NULL: none */
	const char *const *sets;     /* of the user's, applied next */
	size_t set_count;
	const char *const *own_sets; /* applied last, like defaults; not the user's to change */

	char path[PATH_MAX];  /* its results folder */
	struct config config; /* as it was run */
	struct folder folder; /* its results */

	char key[CFG_HASH_MAX];
	enum run_cache_state state;
	pid_t child;	/* while RUNNING */
	int child_says; /* descriptor: its standard error */
};

/*
 * Get @count runs: those that the cache has, unless @fresh, and the others from as many children
 * at a time as there are cores. Says on stderr what it did. An entry that cannot be read is made
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
