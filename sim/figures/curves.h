/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Curves over time, from timeline.csv and requests.csv of the runs and from published files. */
#ifndef SIM_FIGURES_CURVES_H
#define SIM_FIGURES_CURVES_H

#include "figures/data.h"

/*
 * Fill data->lines with the curves of all panels over time: the published ones, which need no
 * run, and then the runs' own. Returns 0 or a negative enum sim_exit; figure_data_destroy()
 * frees the lines in any case.
 */
int curves_read_published(struct figure_data *data, struct sim_error *err);
int curves_take(struct figure_data *data, struct sim_error *err);

#endif
