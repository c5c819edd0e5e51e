/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Pictures of a sweep: plots/sweep.gp draws one of its plots. */
#ifndef SIM_SWEEP_SWEEP_DRAW_H
#define SIM_SWEEP_SWEEP_DRAW_H

#include "sweep/sweep_numbers.h"

struct signals;

/*
 * Can the plots be drawn from these points? A line with two values at one x, or a heat map with
 * two in one cell, is the user's mistake. To be called before anything runs.
 */
int sweep_check_plots(const struct sweep *sweep, struct sim_error *err);

/*
 * Draw plot number @index: NAME-INDEX.csv, .svg and .png in the writer's folder. @ret_drawn:
 * the number of points with a known value; without one there is no picture. The caller has
 * taken @signals. Returns 0 or a negative enum sim_exit.
 */
int sweep_draw(const struct sweep_numbers *numbers, size_t index, const struct signals *signals,
	       struct writer *writer, size_t *ret_drawn, struct sim_error *err);

/* The name of plot @index without its ending: "limits-1". */
void sweep_plot_name(const struct sweep *sweep, size_t index, char *text, size_t size);

#endif
