/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Names and colours of what a panel shows. */
#ifndef SIM_REPORT_PANEL_KEY_H
#define SIM_REPORT_PANEL_KEY_H

#include <stdio.h>

#include "figures/data.h"

#define PANEL_COLOURS 6 /* classes s0 to s5 of series and curves */

/* "gvm, median TTFT": the name of a cell among those of its panel. */
void panel_cell_name(const struct figure_data *data, const struct figure_cell *cell, char *text,
		     size_t size);

/* Ours in a cell with its interval over seeds, if it has one: "153 ms [136 ms, 179 ms]". */
void panel_cell_number(const struct figure_data *data, const struct figure_cell *cell,
		       char *text, size_t size);

/* The colour of a series: its number among the labels of the panel, from 0. */
size_t panel_series(const struct figure_data *data, size_t panel, size_t run);

/*
 * A curve over time: its name, its class, and whether it is left out, since the page
 * has no axis to the right.
 */
void panel_line_name(const struct figure_data *data, const struct figure_line *line, char *text,
		     size_t size);
void panel_line_class(const struct figure_data *data, const struct figure_line *line,
		      char *text, size_t size);
bool panel_is_left_out(const struct figure_line *line);

/* What the colours of the panel mean, as a list for people. Empty for ours beside published. */
void panel_print_key(FILE *out, const struct figure_data *data, size_t panel);

#endif
