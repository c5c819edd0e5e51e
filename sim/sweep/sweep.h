/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A sweep: many runs that differ in a few keys of their scenario, or in the scenario itself.
 *
 * A sweep file names the keys and their values as a grid (all combinations), a list, or random
 * draws. Each combination is a point. A point runs once for each seed. "scenario" can be one of
 * the keys: its values are scenarios. The file's format is taught by docs/sweeps.md.
 */
#ifndef SIM_SWEEP_SWEEP_H
#define SIM_SWEEP_SWEEP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "results/estimate.h"

struct sim_error;

#define SWEEP_AXES_MAX	  24
#define SWEEP_METRICS_MAX 12 /* that a file or a command line names */
#define SWEEP_PLOTS_MAX	  8
#define SWEEP_POINTS_MAX  100000
#define SWEEP_SEEDS_MAX	  1000
#define SWEEP_RUNS_MAX	  100000 /* points by seeds */

#define SWEEP_SCENARIO	  "scenario" /* the key whose values are scenarios */

/* A key that differs between points. */
struct sweep_axis {
	char *key;     /* as for --set, or SWEEP_SCENARIO */
	char **values; /* of a grid or of random choice; NULL: random draws from a range */
	size_t value_count;
	char *from, *to; /* of a range */
};

enum sweep_kind {
	SWEEP_GRID,
	SWEEP_LIST,
	SWEEP_RANDOM,
};

enum sweep_plot_kind {
	SWEEP_LINE,   /* y over x, a line for each value of series */
	SWEEP_HEAT,   /* value over x and y */
	SWEEP_PARETO, /* y over x, and the points that no other one beats in both */
};

/* A picture. A name is that of an axis or of a metric, "vllm.ttft_ms.p99". */
struct sweep_plot {
	enum sweep_plot_kind kind;
	char *title;	     /* NULL: made from the names */
	char *x, *y;	     /* of a line and a heat map, x is an axis; so is y of a heat map */
	char *value;	     /* of a heat map */
	char *series;	     /* of a line; NULL: one line */
	bool more_x, more_y; /* of Pareto: more is better; else less is */
	bool log;	     /* of y, or of the value */
};

/* What intervals of confidence are drawn from. */
enum sweep_interval_kind {
	SWEEP_OVER_NONE,
	SWEEP_OVER_SEEDS,
	SWEEP_OVER_BLOCKS, /* of the trace, in each run */
};

/* Owned by the caller: sweep_read(), sweep_destroy(). */
struct sweep {
	char name[CFG_NAME_MAX];
	char file[PATH_MAX];
	char scenario[PATH_MAX]; /* of points that name none; empty: each point names one */
	enum sweep_kind kind;
	char **sets; /* PATH=VALUE, the same for all points; NULL ends them */
	struct sweep_axis axes[SWEEP_AXES_MAX];
	size_t axis_count;
	u64 random_points, random_seed;
	u64 *seeds;
	size_t seed_count;
	char *metrics[SWEEP_METRICS_MAX];
	size_t metric_count;
	struct sweep_plot plots[SWEEP_PLOTS_MAX];
	size_t plot_count;
	enum sweep_interval_kind over;
	enum estimate_kind of; /* over seeds */
	u64 block_ns;
	u64 resamples;
	/* Texts by point and axis. NULL: a point of a list leaves the key alone. */
	char **values;
	size_t point_count;
};

/*
 * Find the sweep @name: a file, or else one that comes with gvmsim, with or without ".json".
 * Returns 0 or -SIM_EXIT_USER.
 */
int sweep_find(const char *name, char *ret_path, size_t size, struct sim_error *err);

/* The names of the sweeps that come with gvmsim, "a, b"; empty if there are none. */
void sweep_list_names(char *text, size_t size);

/*
 * Read a sweep file and make its points. A mistake names the file and the key. Returns 0 or a
 * negative enum sim_exit; on failure *sweep is empty.
 */
int sweep_read(struct sweep *sweep, const char *file, struct sim_error *err);
void sweep_destroy(struct sweep *sweep);

/* The text of an axis at a point; NULL: the point leaves the key alone. */
const char *sweep_text(const struct sweep *sweep, size_t point, size_t axis);

/* The axis of a key; SIZE_MAX: there is none. */
size_t sweep_axis_find(const struct sweep *sweep, const char *key);

/*
 * Write the scenario of a point: the path of a file that the sweep names relative to its own
 * folder, else the name as it is.
 */
void sweep_scenario(const struct sweep *sweep, size_t point, char *ret_path, size_t size);

/*
 * The number in a value's text: a duration in seconds, a size in bytes, or a plain number. NAN:
 * it is none.
 */
double sweep_number(const char *text);

#endif
