/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Drawing a figure: gnuplot runs a script of plots/. Variables that are set before the script
 * hold its texts and settings. All reading, counting and binning is done in C and written into
 * CSV files with named columns, so every number of a picture can be looked up in a file.
 */
#ifndef SIM_FIGURES_GNUPLOT_H
#define SIM_FIGURES_GNUPLOT_H

#include <limits.h>

#include "gvm/port.h"

struct signals;
struct sim_error;
struct writer;

/* A picture is drawn once for each terminal, whose name is also the ending of its file. */
#define GNUPLOT_TERMINALS 2
extern const char *const gnuplot_terminals[GNUPLOT_TERMINALS];

#define GNUPLOT_FILES_MAX 2

/* The variables of a script, each as "name=value". An all-zero struct has none. */
struct gnuplot {
	char **list;
	size_t count;
	/* Files that the script reads. Variables hold their paths. */
	char files[GNUPLOT_FILES_MAX][PATH_MAX];
	size_t file_count;
	bool failed; /* out of memory; gnuplot_draw() returns the error */
};

/* Add a variable. gnuplot_destroy() frees all of them. */
void gnuplot_add_string(struct gnuplot *gnuplot, const char *name, const char *value);
void gnuplot_add_count(struct gnuplot *gnuplot, const char *name, size_t value);
void gnuplot_add_real(struct gnuplot *gnuplot, const char *name, double value);
/* The path of a file that @writer has put in place; at most GNUPLOT_FILES_MAX of them. */
void gnuplot_add_file(struct gnuplot *gnuplot, const char *name, const struct writer *writer,
		      const char *file);
void gnuplot_destroy(struct gnuplot *gnuplot);

/*
 * Draw @figure.png and @figure.svg by plots/@script into temporary files of the writer, which
 * the caller commits or aborts. The script also gets the variables "terminal" ("png" or "svg"),
 * "output" and "scripts" (the folder plots). The caller has taken @signals; one of them ends
 * the drawing. Returns 0 or a negative enum sim_exit.
 */
int gnuplot_draw(struct gnuplot *gnuplot, const char *script, const char *figure,
		 const struct signals *signals, struct writer *writer, struct sim_error *err);

#endif
