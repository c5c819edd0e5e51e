/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* One run of a figure: how it is made, and its results. */
#ifndef SIM_FIGURES_CACHED_RUN_H
#define SIM_FIGURES_CACHED_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "config/hash.h"
#include "results/folder.h"

#define RUN_CACHE_FOLDER "results/cache"

/* The progress of a run. */
enum run_cache_state {
	RUN_CACHE_WANTED,
	RUN_CACHE_RUNNING,
	RUN_CACHE_MADE,	    /* its entry is in the cache */
	RUN_CACHE_READ,	    /* its entry has been read into "folder" */
	RUN_CACHE_LEFT_OUT, /* it is not wanted; a path that the caller sets is another run's */
};

/* One run. The caller sets the first part; run_cache_destroy() frees the rest. */
struct cached_run {
	const char *label;  /* for people: "+MemIso" */
	const char *figure; /* name of the figure that has @own_sets; NULL: none */
	const char *scenario;
	const char *const *defaults; /* PATH=VALUE, applied first; NULL ends them; NULL: none */
	const char *const *sets;     /* from the user, applied next */
	size_t set_count;
	const char *const
		*own_sets; /* applied next; the user cannot change them; ends like defaults */
	const char *seed_set; /* "seed=1", applied last, as own_sets; NULL: none */

	char path[PATH_MAX];  /* its results folder */
	struct config config; /* the resolved configuration */
	struct folder folder; /* its results */

	char key[CFG_HASH_MAX];
	enum run_cache_state state;
	char why[600]; /* it failed for a mistake of the user, or was killed: its error; or empty */
	bool killed;	/* a signal has ended it; another try may succeed */
	pid_t child;	/* while RUNNING */
	int child_says; /* descriptor of the child's standard error */
};

/*
 * Setting @index of a run, as PATH=VALUE. Settings are in the order in which they apply. NULL:
 * there are no more.
 */
const char *cached_run_set(const struct cached_run *run, size_t index);

#endif
