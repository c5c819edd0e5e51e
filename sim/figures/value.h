/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Evaluating the values of a figure; value_check.h describes the expressions. */
#ifndef SIM_FIGURES_VALUE_H
#define SIM_FIGURES_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct figure_data;

/*
 * Does a checked expression in @run of the figure use the results of run @used? Curves count as
 * used by all runs.
 */
bool value_uses(const struct figure_data *data, size_t run, const json_t *value, size_t used);

/*
 * The value of a checked expression in @run of the figure; NAN: it is not known. @published:
 * take it from the published curves; expressions that use no curve are NAN then.
 */
double value_of(const struct figure_data *data, size_t run, const json_t *value,
		bool published);

#endif
