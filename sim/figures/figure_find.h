/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Where the files of figures are: in plots/figures, or at a path of the user. */
#ifndef SIM_FIGURES_FIGURE_FIND_H
#define SIM_FIGURES_FIGURE_FIND_H

#include "figures/figure.h"

/*
 * Find the file of a figure by its name or path, and set figure->name and figure->file. Returns
 * 0 or -SIM_EXIT_USER: no figure has the name.
 */
int figure_find(struct figure *figure, const char *name, struct sim_error *err);

/* The names in plots/figures, "a, b"; empty if there are none. */
void figure_list_names(char *text, size_t size);

#endif
