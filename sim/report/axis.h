/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* An axis of a panel: where a value lies, and which values have a number. */
#ifndef SIM_REPORT_AXIS_H
#define SIM_REPORT_AXIS_H

#include <stdbool.h>
#include <stddef.h>

#define AXIS_TICKS_MAX 16

struct axis {
	double low, high; /* at its ends; both above 0 if log */
	double from, to;  /* the places of its ends, in units of the picture */
	bool log;
	double ticks[AXIS_TICKS_MAX];
	size_t tick_count;
};

/*
 * Set the ends and the ticks for values from @low to @high. A linear axis
 * begins at 0 if @from_zero; a logarithmic one begins half a decade below @low,
 * so that the shortest bar is one.
 */
void axis_set(struct axis *axis, double low, double high, bool log, bool from_zero);

/* The place of a value, within the axis. */
double axis_place(const struct axis *axis, double value);

/*
 * The unit after the number of tick @i, of an axis whose values have @unit: ms from 1000 on
 * are in seconds, and others beside them are in ms. *ret_value: the number.
 */
const char *axis_tick(const struct axis *axis, size_t i, const char *unit, double *ret_value);

#endif
