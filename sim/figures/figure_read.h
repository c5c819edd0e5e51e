/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Reading and checking the file of a figure, or of all in plots/figures. */
#ifndef SIM_FIGURES_FIGURE_READ_H
#define SIM_FIGURES_FIGURE_READ_H

#include "figures/figure.h"

/*
 * Read a figure. @name is the name of a file in plots/figures, without ".json", or the path of
 * a file that ends in ".json". A mistake names the file and the key. Returns 0 or a negative
 * enum sim_exit; on failure *figure is empty.
 */
int figure_read(struct figure *figure, const char *name, struct sim_error *err);

/*
 * As figure_read(), of a figure that the program has made: @root is what its file would hold,
 * and is taken over. NULL: there was no memory for it.
 */
int figure_read_made(struct figure *figure, json_t *root, const char *name,
		     struct sim_error *err);

/*
 * Call @use for each figure in plots/figures in the order of names: for lists, completion and
 * documents. Stops at the first failure, of @use or of reading a file, and returns it: a
 * negative enum sim_exit.
 */
int figure_each(int (*use)(void *data, const struct figure *figure, struct sim_error *err),
		void *data, struct sim_error *err);

#endif
