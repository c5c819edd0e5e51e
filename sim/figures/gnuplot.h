/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Drawing a figure: gnuplot runs a script of plots/. Variables that are set before the script
 * hold its texts and settings. All reading, counting and binning is done in C and written into
 * CSV files with named columns, so every number of a picture can be looked up in a file.
 */
#ifndef SIM_FIGURES_GNUPLOT_H
#define SIM_FIGURES_GNUPLOT_H

#include "gvm/port.h"

struct signals;
struct sim_error;
struct writer;

/* The variables of a script, each as "name=value". An all-zero struct has none. */
struct gnuplot {
	char **list;
	size_t count;
	bool failed; /* out of memory; gnuplot_draw() returns the error */
};

/* Add a variable. gnuplot_destroy() frees all of them. */
void gnuplot_add_string(struct gnuplot *gnuplot, const char *name, const char *value);
void gnuplot_add_count(struct gnuplot *gnuplot, const char *name, size_t value);
void gnuplot_add_real(struct gnuplot *gnuplot, const char *name, double value);
/* A duration, written in seconds. */
void gnuplot_add_seconds(struct gnuplot *gnuplot, const char *name, u64 ns);
/* The path of a file that @writer has put in place. */
void gnuplot_add_file(struct gnuplot *gnuplot, const char *name, const struct writer *writer,
		      const char *file);
void gnuplot_destroy(struct gnuplot *gnuplot);

/*
 * Draw @figure.png and @figure.svg by plots/@script into the writer's folder and commit them.
 * The script also gets the variables "terminal" ("png" or "svg"), "output" and "scripts" (the
 * folder plots). The caller has taken @signals; one of them ends the drawing. Returns 0 or a
 * negative enum sim_exit; then neither picture is there and the writer is aborted.
 */
int gnuplot_draw(struct gnuplot *gnuplot, const char *script, const char *figure,
		 const struct signals *signals, struct writer *writer, struct sim_error *err);

#endif
