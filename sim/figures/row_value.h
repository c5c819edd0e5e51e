/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Values of a figure over the rows of requests.csv: requests and images one by one.
 *
 *   { "covered": { "container", "outcome", "begin", "end", "from", "to" } }
 *	how many rows lie between two moments; a row that lies there in part adds its share
 *   { "rows": { "container", "outcome", "value", "take", ... } }
 *	a statistic of a column over rows of that outcome. "minus" is a column to subtract,
 *	"over" one to divide by (less "over_minus"; rows where that is not positive are left
 *	out), "first" and "last" are the least and greatest "id". "by" is the column of the
 *	abscissa for slope and at_zero.
 */
#ifndef SIM_FIGURES_ROW_VALUE_H
#define SIM_FIGURES_ROW_VALUE_H

#include <jansson.h>

/*
 * The checked "covered" over the rows of @container in @file, between two moments. NAN: the
 * file cannot be read.
 */
double row_value_covered(const char *file, const char *container, const json_t *covered,
			 double from_s, double to_s);

/* The checked "rows". NAN: there is no such row, or the file cannot be read. */
double row_value_statistic(const char *file, const char *container, const json_t *rows);

#endif
