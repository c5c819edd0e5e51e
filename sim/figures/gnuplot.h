/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Drawing a figure: gnuplot runs a script of plots/, which finds what it needs in variables that are
 * set before it. All reading, counting and binning is done by us, into CSV files with named
 * columns. Every number of a picture can be looked up there.
 */
#ifndef SIM_FIGURES_GNUPLOT_H
#define SIM_FIGURES_GNUPLOT_H

#include "gvm/port.h"

struct signals;
struct sim_error;
struct writer;

/* Variables of a script, each as "name=value". All-zero is none. */
struct gnuplot {
	char **list;
	size_t count;
	bool failed; /* out of memory: gnuplot_draw() tells */
};

/* Add a variable. gnuplot_destroy() forgets all. */
void gnuplot_add_string(struct gnuplot *gnuplot, const char *name, const char *value);
void gnuplot_add_count(struct gnuplot *gnuplot, const char *name, size_t value);
void gnuplot_add_real(struct gnuplot *gnuplot, const char *name, double value);
/* A length of time, in seconds. */
void gnuplot_add_seconds(struct gnuplot *gnuplot, const char *name, u64 ns);
/* The path of a file that @writer has put in place. */
void gnuplot_add_file(struct gnuplot *gnuplot, const char *name, const struct writer *writer,
		      const char *file);
void gnuplot_destroy(struct gnuplot *gnuplot);

/*
 * Draw @figure.png and @figure.svg by plots/figure.gp into the writer's folder and commit them.
 * The script gets the variables "terminal" ("png" or "svg"), "output" and "scripts" (the folder
 * plots), too. The caller has taken @signals: one of them ends it. Returns 0 or a negative enum
 * sim_exit; then neither picture is there, and the caller aborts the writer.
 */
int gnuplot_draw(struct gnuplot *gnuplot, const char *figure, const struct signals *signals,
		 struct writer *writer, struct sim_error *err);

#endif
