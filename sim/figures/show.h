/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A figure as tables on the terminal and as pictures. */
#ifndef SIM_FIGURES_SHOW_H
#define SIM_FIGURES_SHOW_H

#include "figures/data.h"

struct figure_request;
struct writer;

/* Print the table of each panel, and a line for each container that failed. */
void figure_print(const struct figure_data *data);

/* Print the statistics of two runs side by side, for figures with "table": "comparison". */
void figure_print_comparison(const struct figure_data *data);

/*
 * Draw NAME.png and NAME.svg by plots/figure.gp, from files that the writer has put in place.
 * The picture says what @request changes. Returns 0 or a negative enum sim_exit.
 */
int figure_draw(const struct figure_data *data, const struct figure_request *request,
		struct writer *writer, struct sim_error *err);

/*
 * The word for a run: "measured" or "simulated" if the figure has both kinds, else its label.
 */
const char *figure_run_word(const struct figure_data *data, size_t run);

#endif
