/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The points of a grid, and those that are drawn at random. */
#ifndef SIM_SWEEP_POINTS_H
#define SIM_SWEEP_POINTS_H

struct sweep;
struct sim_error;

/*
 * Make the points of a sweep whose axes have been read; the first axis changes slowest. Returns
 * 0 or a negative enum sim_exit. @sweep owns the points.
 */
int points_make(struct sweep *sweep, struct sim_error *err);

#endif
