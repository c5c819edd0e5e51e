/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The numbers of a figure: taking them from the runs, and writing them as CSV files. */
#ifndef SIM_FIGURES_NUMBERS_H
#define SIM_FIGURES_NUMBERS_H

struct figure_data;
struct sim_error;
struct writer;

/*
 * Take all values and curves from the runs. The runs have been made and the published curves
 * have been read before. Returns 0 or a negative enum sim_exit.
 */
int figure_data_take(struct figure_data *data, struct sim_error *err);

/* Write a CSV file of all cells, or of all points of curves; see plots/figures/README.md. */
int figure_write_cells(const struct figure_data *data, struct writer *writer, const char *name,
		       struct sim_error *err);
int figure_write_lines(const struct figure_data *data, struct writer *writer, const char *name,
		       struct sim_error *err);

#endif
