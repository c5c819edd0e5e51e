/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Figures of bars: panels of one statistic each, with the same bars in all of them, a run each,
 * ours beside the published ones. plots/bars.gp draws them all.
 */
#ifndef SIM_CLI_FIGURE_BARS_H
#define SIM_CLI_FIGURE_BARS_H

#include "cli/figure.h"
#include "cli/run_cache.h"

#define FIGURE_BARS_MAX	  8
#define FIGURE_PANELS_MAX 6 /* places on the picture */

/* A bar of every panel: one run. */
struct figure_bar {
	const char *label; /* as in the reference file */
	const char *sets[RUN_CACHE_SETS_MAX];
};

/* A panel: one statistic of all runs. */
struct figure_panel {
	const char *key; /* as in the reference file */
	const char *label;
	const char *title; /* of the picture */
	const char *unit;  /* "ms" has a logarithmic axis, "x" is a ratio */
	enum cfg_app_type app;
	enum summary_metric_id metric;
	/* The value if it is not the metric: of @run, compared with that of the first bar. */
	double (*value)(const struct cached_run *run, const struct cached_run *first);
};

/* What the papers show of an LLM server. */
extern const struct figure_panel figure_ttft_p50, figure_ttft_p99, figure_itl_p50,
	figure_itl_p99;

/*
 * The inverse of diffusion's mean image latency, over that of the first bar. An image that takes
 * long weighs more than it would in images per second, as in the papers.
 */
extern const struct figure_panel figure_throughput;

/* A run under each system; the papers' ideal comes first. */
#define FIGURE_SYSTEMS 5
extern const struct figure_bar figure_systems[FIGURE_SYSTEMS];

/* A figure. Its published values are rows "bar,container,key,value,unit". */
struct figure_bars {
	const char *name; /* of its files and of plots/reference/NAME.csv */
	const char *scenario;
	const char *headline;
	const char *source; /* of what is published */
	const char *notes;  /* lines beside the panels: what the bars are */
	const struct figure_bar *bars;
	size_t bar_count;
	const struct figure_panel *panels[FIGURE_PANELS_MAX]; /* NULL: no more */
};

/* Make the figure, as figure_make() does. Returns 0 or a negative enum sim_exit. */
int figure_bars_make(const struct figure_bars *figure, const struct figure_args *args,
		     struct sim_error *err);

#endif
