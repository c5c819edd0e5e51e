/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Evaluating the values of a figure; value_check.h describes the expressions. */
#ifndef SIM_FIGURES_VALUE_H
#define SIM_FIGURES_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct figure_data;
struct sim_error;

/*
 * Does a checked expression in @run of the figure use the results of run @used? Curves count as
 * used by all runs.
 */
bool value_uses(const struct figure_data *data, size_t run, const json_t *value, size_t used);

/*
 * Find a container that a checked expression in @run names and that the run does not have.
 * Returns its name or type in ret_name, which has @size bytes. False: the run has all of them.
 */
bool value_lacks(const struct figure_data *data, size_t run, const json_t *value,
		 char *ret_name, size_t size);

/*
 * Does a checked expression name statistics that a run with their container has? The results of
 * the runs are known. @where: its place in the figure's file. Returns 0 or -SIM_EXIT_USER: none
 * has this one; a name that is near is in the message.
 */
int value_check_known(const struct figure_data *data, const json_t *value, const char *where,
		      struct sim_error *err);

/*
 * The value of a checked expression in @run of the figure; NAN: it is not known. @published:
 * take it from the published curves; expressions that use no curve are NAN then.
 */
double value_of(const struct figure_data *data, size_t run, const json_t *value,
		bool published);

/*
 * The lower bound of a checked expression that is one statistic of a run, where the
 * run tells no more than that bound: fewer requests had finished than the statistic
 * needs. NAN: it does not apply.
 */
double value_at_least(const struct figure_data *data, size_t run, const json_t *value);

#endif
