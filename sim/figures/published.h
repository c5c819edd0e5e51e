/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * All published values beside their predictions: of every figure that has published values, the rows that
 * the figure compares, predicted by the figure's own runs. Nothing is drawn.
 */
#ifndef SIM_FIGURES_PUBLISHED_H
#define SIM_FIGURES_PUBLISHED_H

#include "figures/data.h"
#include "figures/score.h"

struct figure_request;
struct signals;

/* Figures and their rows. Owned by the caller: published_open(), then published_destroy(). */
struct published {
	struct figure *figures;
	struct figure_data *data; /* by figure */
	size_t count;		  /* of figures */
	struct cached_run *runs;  /* of all figures, figure by figure */
	size_t run_count;
	struct score_row *rows; /* figure by figure, panel by panel */
	size_t row_count;
};

/*
 * Read the figures @names, or all of plots/figures that have published values if @count is 0, and what is
 * published. @request is for all of their runs; it and its strings are borrowed. Returns 0 or a negative
 * enum sim_exit; the caller destroys *published in any case.
 */
int published_open(struct published *published, const char *const *names, size_t count,
		   const struct figure_request *request, struct sim_error *err);

/*
 * Make the runs, all figures' at once, and fill in rows. The caller has taken @signals; one of them
 * ends the work. Returns 0 or a negative enum sim_exit.
 */
int published_predict(struct published *published, bool fresh, const struct signals *signals,
		      struct sim_error *err);
void published_destroy(struct published *published);

#endif
