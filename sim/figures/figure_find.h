/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Where the files of figures are, and those with published numbers: in plots/figures and
 * plots/reference, or at a path of the user.
 */
#ifndef SIM_FIGURES_FIGURE_FIND_H
#define SIM_FIGURES_FIGURE_FIND_H

#include "figures/figure.h"

/* Of the names of all figures, for a message: an error of 1024 bytes has room for them. */
#define FIGURE_NAMES_MAX 896

/*
 * Find the file of a figure by its name or path, and set figure->name and figure->file. Returns
 * 0 or -SIM_EXIT_USER: no figure has the name.
 */
int figure_find(struct figure *figure, const char *name, struct sim_error *err);

/*
 * Find the file with published numbers that a figure names: in plots/reference, or, if the name
 * has a slash, from the folder of the figure's file on. Returns 0 or -SIM_EXIT_USER.
 */
int figure_find_reference(const struct figure *figure, const char *name, char *ret_path,
			  size_t size, struct sim_error *err);

/* The names in plots/figures, "a, b"; empty if there are none. */
void figure_list_names(char *text, size_t size);

#endif
