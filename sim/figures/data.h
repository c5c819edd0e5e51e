/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The numbers of a figure: ours, from the results of its runs, and the published ones. */
#ifndef SIM_FIGURES_DATA_H
#define SIM_FIGURES_DATA_H

#include "figures/figure.h"
#include "figures/cached_run.h"

/* The two numbers of a cell. NAN: not known. */
struct figure_pair {
	double ours;
	double published;
};

/* One value of one run in a panel that is not over time. */
struct figure_cell {
	size_t panel, run, part; /* indices into the figure and the panel */
	struct figure_pair pair;
	struct figure_pair below; /* in a stack: the sum of the parts below this one */
	double low, high; /* of the interval over seeds, in which ours is the mean; NAN: none */
	double at_least; /* where ours is NAN: its lower bound, of a value the run bounds; NAN */
	char *id, *unscored; /* of the reference file; NULL: nothing is said; owned */
};

struct figure_point {
	double x_s;
	double y;     /* in the unit of its panel */
	double below; /* in an area: the sum of the areas below it; else 0 */
};

/* A curve of one run, or a panel's published curve. Points are in the order of time. */
struct figure_line {
	size_t panel;
	const struct figure_curve *curve; /* NULL: published */
	size_t run;			  /* unless published */
	const char *container;		  /* unless published; borrowed from the results */
	struct figure_point *points;
	size_t count;
};

/* All of a figure. Owned by the caller: figure_data_init(), figure_data_destroy(). */
struct figure_data {
	const struct figure *figure;
	/*
	 * By run of the figure, under its first seed; those under the other ones follow, see
	 * figure_made_runs().
	 */
	struct cached_run *runs;
	json_t **summaries;	   /* summary.json of each, filled by figure_data_take() */
	json_t **configs;	   /* config.json of each; NULL: it has none */
	struct figure_cell *cells; /* panel by panel, run by run, part by part */
	size_t cell_count;
	struct figure_line *lines; /* panel by panel */
	size_t line_count;
	double end_s; /* end of the longest run */
	double bin_s; /* width of the bins of curves */
};

/*
 * Make the cells of @figure, and read the published numbers. @runs has figure_made_runs() and is
 * borrowed. Returns 0 or a negative enum sim_exit; the caller destroys *data in
 * any case.
 */
int figure_data_init(struct figure_data *data, const struct figure *figure,
		     struct cached_run *runs, struct sim_error *err);
void figure_data_destroy(struct figure_data *data);

/* Free the curves alone. */
void figure_lines_destroy(struct figure_data *data);

/* Is @run in @panel? */
bool figure_panel_has_run(const struct figure *figure, size_t panel, size_t run);

/* Ours over published; NAN if one of them is not known. */
double figure_ratio(const struct figure_pair *pair);

/* The cell of a panel for a run and a part; NULL: there is none. */
struct figure_cell *figure_find_cell(const struct figure_data *data, size_t panel, size_t run,
				     size_t part);

/*
 * Count the containers of a run whose context died, under the seed with the most. The run's other
 * containers had the GPU to themselves from then on, so the figure marks their numbers.
 */
size_t figure_count_failed(const struct figure_data *data, size_t run);

/*
 * The container of a run whose name is @name, or else the first whose type is @name; NULL:
 * there is none. Borrowed from the results.
 */
const char *figure_container(const struct figure_data *data, size_t run, const char *name);

#endif
