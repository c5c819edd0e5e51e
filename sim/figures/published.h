/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * All published values beside their predictions: of every figure that has published values, the
 * rows that the figure compares, predicted by the figure's own runs. Nothing is drawn.
 *
 * A published value is of a single run, and so is its prediction. With seeds, the same runs are
 * made with jitter: arrivals are drawn anew (jitter.arrivals=gaps) and closed loops begin up to
 * FIGURE_JITTER_START later. The spread of these predictions says how far one run of the simulator
 * is from another.
 */
#ifndef SIM_FIGURES_PUBLISHED_H
#define SIM_FIGURES_PUBLISHED_H

#include "figures/data.h"
#include "figures/score.h"

struct figure_request;
struct run_cache_use;

#define PUBLISHED_SEEDS_MAX 1000

/* Figures and their rows. Owned by the caller: published_open(), then published_destroy(). */
struct published {
	struct figure *figures;
	size_t count;  /* of figures */
	size_t seeds;  /* 1 to seeds; 0: no jitter */
	size_t cycles; /* seeds + 1; the first is without jitter */
	struct published_cycle *by_seed;
	size_t run_count;	 /* of all figures, in one cycle */
	struct cached_run *runs; /* cycle by cycle, figure by figure */
	struct score_row *rows;	 /* figure by figure, panel by panel */
	size_t row_count;
	double *draws; /* of each row, its predictions under the seeds; NAN: none */
};

/*
 * Read the figures @names, or all of plots/figures that have published values if @count is 0,
 * and what is published. @request is for all of their runs; it and its strings are borrowed.
 * Returns 0 or a negative enum sim_exit; the caller destroys *published in any case.
 */
int published_open(struct published *published, const char *const *names, size_t count,
		   size_t seeds, const struct figure_request *request, struct sim_error *err);

/*
 * Get the runs that the rows need, many at once, and fill in rows and draws. Returns 0 or a
 * negative enum sim_exit.
 */
int published_predict(struct published *published, const struct run_cache_use *use,
		      struct sim_error *err);

/* A cell with a published value as a row of a score. Texts are borrowed from @data. */
void published_row(const struct figure_data *data, const struct figure_cell *cell,
		   struct score_row *ret_row);
void published_destroy(struct published *published);

#endif
