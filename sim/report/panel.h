/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A panel of a figure as SVG inside the page. Colours are classes of the page's style sheet, so
 * that they follow light and dark. Each value says itself when the pointer is over it. Bars
 * lie: the names of runs have room, whatever their number.
 */
#ifndef SIM_REPORT_PANEL_H
#define SIM_REPORT_PANEL_H

#include <stdio.h>

#include "figures/data.h"

void panel_print(FILE *out, const struct figure_data *data, size_t panel);

/* Its size and all inside it, for panels of bars or stacks, and of lines or curves. */
void panel_print_bars(FILE *out, const struct figure_data *data, size_t panel);
void panel_print_curves(FILE *out, const struct figure_data *data, size_t panel);

#endif
