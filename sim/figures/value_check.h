/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Values of a figure: small expressions in JSON over the results of a run.
 *
 *   12.5                             a number
 *   "diffusion.latency_s.mean"       a statistic of summary.json: a container's name or type,
 *                                    and a path; container "*": the sum over all containers
 *   { "of": "...", "run": "stock" }  the statistic of another run; with "x": of another point
 *   { "config": "gpu.memory" }       a key of config.json; durations are in seconds. A path
 *                                    that begins with a container is one of its keys
 *   { "add": [a, b, ...] }, "multiply"; { "subtract": [a, b] }, { "divide": [a, b] }
 *   { "when": [a, b] }               b if a is above 0, else no value
 *   { "covered": {...} }             the number of rows of requests.csv between two moments
 *   { "rows": {...} }                a statistic of rows of requests.csv, see row_value.h
 *   { "curve": {...} }               read off a panel's curves over time: ours or published
 *
 * A value that is not known (no such container, null, a division by 0) is NAN.
 */
#ifndef SIM_FIGURES_VALUE_CHECK_H
#define SIM_FIGURES_VALUE_CHECK_H

#include <stddef.h>

struct figure;
struct place;

/* An operator over a list of values, and the number of values that it takes. */
struct value_operator {
	const char *name;
	size_t least, most;
};

extern const struct value_operator value_operators[]; /* a name of NULL ends them */

/*
 * The number that "curve" takes from its curves. value_takes[] has the names; NULL ends them.
 */
enum value_take { VALUE_TAKE_MEAN, VALUE_TAKE_LEAST, VALUE_TAKE_LAST, VALUE_TAKE_MOST };

extern const char *const value_takes[];

/* The statistic of "rows". value_row_takes[] has the names; NULL ends them. */
enum value_row_take {
	VALUE_ROWS_MEAN,
	VALUE_ROWS_MEDIAN,
	VALUE_ROWS_PERCENTILE, /* "p99", or another one that asked_rank() reads */
	VALUE_ROWS_LEAST,
	VALUE_ROWS_MOST,
	VALUE_ROWS_SUM,
	VALUE_ROWS_COUNT,
	VALUE_ROWS_SLOPE, /* of a straight line through the values over "by" (least squares), */
	VALUE_ROWS_AT_ZERO, /* and where that line is at 0 */
};

extern const char *const value_row_takes[];

/* Check an expression; a mistake goes to the place's reader. */
void value_check(const struct place *place, const struct figure *figure);

/*
 * The text of member @key, which names a column of @file, RESULTS_REQUESTS or RESULTS_TIMELINE;
 * @standard if it is missing (place_text()). Another name is a mistake, which the place's reader
 * knows.
 */
const char *value_column(const struct place *object, const char *key, const char *file,
			 const char *standard);

#endif
