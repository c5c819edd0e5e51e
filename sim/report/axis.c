// SPDX-License-Identifier: MIT OR GPL-2.0
#include "report/axis.h"

#include <math.h>
#include <string.h>

/* A step of 1, 2 or 5 times a power of ten, about a fifth of @range. */
static double step_of(double range)
{
	double step = pow(10, floor(log10(range / 5)));
	double share = range / 5 / step;

	return step * (share >= 5 ? 5 : share >= 2 ? 2 : 1);
}

static void add_tick(struct axis *axis, double value)
{
	if (axis->tick_count < AXIS_TICKS_MAX)
		axis->ticks[axis->tick_count++] = value;
}

/* Powers of ten, and 2 and 5 times them on a short axis. */
static void set_log_ticks(struct axis *axis)
{
	static const double parts[] = { 1, 2, 5 };
	double decades = log10(axis->high / axis->low);
	int every = (int)ceil(decades / 8);

	every = every > 1 ? every : 1;
	for (int decade = (int)floor(log10(axis->low)); decade <= 15; decade += every)
		for (size_t part = 0; part < (decades < 2 ? 3 : 1); part++) {
			double value = parts[part] * pow(10, decade);

			if (value >= axis->low && value <= axis->high)
				add_tick(axis, value);
		}
}

void axis_set(struct axis *axis, double low, double high, bool log, bool from_zero)
{
	double step;

	axis->tick_count = 0;
	axis->log = log && low > 0 && high > 0;
	if (axis->log) {
		axis->low = from_zero ? low / 2.5 : low;
		axis->high = high > axis->low ? high * 1.05 : axis->low * 10;
		set_log_ticks(axis);
		return;
	}
	axis->low = from_zero ? 0 : low;
	axis->high = high > axis->low ? high : axis->low + 1;
	step = step_of(axis->high - axis->low);
	axis->high = from_zero ? axis->high * 1.02 : axis->high;
	for (double i = ceil(axis->low / step); i * step <= axis->high; i++)
		add_tick(axis, i * step);
}

double axis_place(const struct axis *axis, double value)
{
	double share;

	if (axis->log)
		share = value > 0 ? log10(value / axis->low) / log10(axis->high / axis->low) :
				    0;
	else
		share = (value - axis->low) / (axis->high - axis->low);
	share = fmin(fmax(share, 0), 1);
	return axis->from + share * (axis->to - axis->from);
}

const char *axis_tick(const struct axis *axis, size_t i, const char *unit, double *ret_value)
{
	double value = axis->ticks[i];
	bool seconds = !strcmp(unit, "ms") && axis->ticks[axis->tick_count - 1] >= 1000;

	*ret_value = seconds && value >= 1000 ? value / 1000 : value;
	return !seconds || value <= 0 ? "" : value >= 1000 ? " s" : " ms";
}
