/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Values of a figure: small expressions in JSON over the results of a run.
 *
 *   12.5                                a number
 *   "diffusion.latency_s.mean"          a statistic of summary.json: container, or its type, and path;
 *                                       the container "*" is the sum over all of them
 *   { "of": "...", "run": "stock" }     the statistic of another run; with "x": of another point
 *   { "config": "gpu.memory" }          a key of config.json; durations are in seconds. A path that
 *                                       begins with a container, or its type, is one of its keys
 *   { "add": [a, b, ...] }, "multiply"; { "subtract": [a, b] }, { "divide": [a, b] }
 *   { "when": [a, b] }                  b if a is above 0, else no value
 *   { "covered": {...} }                how many rows of requests.csv lie between two moments
 *   { "curve": {...} }                  read off the curves of a panel over time: ours or published
 *
 * A value that cannot be had (no such container, null, a division by 0) is NAN.
 */
#ifndef SIM_FIGURES_VALUE_H
#define SIM_FIGURES_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct figure;
struct figure_data;
struct place;

/* Check an expression; a mistake goes to the place's reader. */
void value_check(const struct place *place, const struct figure *figure);

/* Its value in @run of the figure. @published: read off published curves; else NAN if they are not
 * what it reads. */
double value_of(const struct figure_data *data, size_t run, const json_t *value,
		bool published);

#endif
