/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Many figures at once. Their runs are made together, so that all cores are busy until the last
 * one, and a run that several figures share is made once.
 */
#ifndef SIM_FIGURES_ALL_H
#define SIM_FIGURES_ALL_H

#include "figures/data.h"

struct figure_request;
struct run_cache_use;
struct sim_error;

/*
 * Figures, their data and their runs. Owned by the caller: figures_open(), figures_destroy().
 */
struct figures {
	struct figure *figures;
	struct figure_data *data; /* of each */
	size_t count;
	struct cached_run *runs; /* figure by figure */
	size_t run_count;
};

/*
 * Read the figures @names, or all of plots/figures that make their runs themselves if
 * @name_count is 0, and what is published. @request is for all of their runs; it
 * and its strings are borrowed. Returns 0 or a negative enum sim_exit; the caller
 * destroys *figures in any case.
 */
int figures_open(struct figures *figures, const char *const *names, size_t name_count,
		 const struct figure_request *request, struct sim_error *err);

/* Get all runs, many at once. Returns 0 or a negative enum sim_exit. */
int figures_get_runs(struct figures *figures, const struct run_cache_use *use,
		     struct sim_error *err);

void figures_destroy(struct figures *figures);

#endif
