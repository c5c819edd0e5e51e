// SPDX-License-Identifier: MIT OR GPL-2.0
#include "sweep/points.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/units.h"
#include "engine/error.h"
#include "engine/random.h"
#include "gvm/port.h"
#include "sweep/sweep.h"

/* From this end on, a range of plain numbers is drawn whole, also where it has a point. */
#define WHOLE_FROM 1000000.0

/* Units in which a range can be, in the order in which they are tried. */
static const struct unit {
	enum units_status (*parse)(const char *text, u64 *ret_value);
	void (*format)(u64 value, char *text, size_t size);
} units[] = {
	{ units_parse_ppm, units_format_ppm },
	{ units_parse_size, units_format_size },
	{ units_parse_duration, units_format_duration },
};

/*
 * The unit of a range, and its ends in it. NULL: the ends have none in common. Plain numbers
 * are whole unless one is written with a point, as 0.0 and 1.0: these have 6 digits after it.
 */
static const struct unit *range_unit(const struct sweep_axis *axis, u64 *ret_from, u64 *ret_to)
{
	bool fine = (strchr(axis->from, '.') || strchr(axis->to, '.')) &&
		    strtod(axis->to, NULL) < WHOLE_FROM;

	for (size_t i = fine ? 0 : 1; i < ARRAY_SIZE(units); i++)
		if (units[i].parse(axis->from, ret_from) == UNITS_OK &&
		    units[i].parse(axis->to, ret_to) == UNITS_OK)
			return &units[i];
	return NULL;
}

/* Draw a value of @axis between its ends, both included. NULL: out of memory. */
static char *draw_between(const struct sweep_axis *axis, u64 *random)
{
	char text[UNITS_TEXT_MAX] = "";
	u64 from = 0, to = 0;
	const struct unit *unit = range_unit(axis, &from, &to);

	/* The span of 64 bits has no number; check_range() has refused it. */
	unit->format(from + random_below(random, to - from + 1), text, sizeof(text));
	return strdup(text);
}

/* Has a range two ends of one unit, the lower one first? */
static int check_range(const struct sweep *sweep, const struct sweep_axis *axis,
		       struct sim_error *err)
{
	u64 from = 0, to = 0;

	if (!range_unit(axis, &from, &to))
		return sim_user_error(err,
				      "%s:random.keys.%s: \"%s\" and \"%s\" are no range, "
				      "allowed: two sizes, two durations or two numbers",
				      sweep->file, axis->key, axis->from, axis->to);
	if (from > to)
		return sim_user_error(
			err, "%s:random.keys.%s: %s is above %s, allowed: from below to",
			sweep->file, axis->key, axis->from, axis->to);
	if (to - from == U64_MAX)
		return sim_user_error(err,
				      "%s:random.keys.%s: %s to %s is too wide, allowed: fewer "
				      "than 2^64 values",
				      sweep->file, axis->key, axis->from, axis->to);
	return 0;
}

static int count_points(struct sweep *sweep, struct sim_error *err)
{
	u64 count = sweep->kind == SWEEP_RANDOM ? sweep->random_points : 1;

	for (size_t axis = 0; sweep->kind == SWEEP_GRID && axis < sweep->axis_count; axis++)
		if (count <= SWEEP_POINTS_MAX)
			count *= sweep->axes[axis].value_count;
	if (!count || count > SWEEP_POINTS_MAX)
		return sim_user_error(err, "%s: has %s%llu points, allowed: 1 to %d",
				      sweep->file, count > SWEEP_POINTS_MAX ? "at least " : "",
				      (unsigned long long)count, SWEEP_POINTS_MAX);
	sweep->point_count = (size_t)count;
	return 0;
}

int points_make(struct sweep *sweep, struct sim_error *err)
{
	u64 random = random_begin(sweep->random_seed, "sweep");
	int status = count_points(sweep, err);

	for (size_t i = 0; !status && i < sweep->axis_count; i++)
		if (!sweep->axes[i].values)
			status = check_range(sweep, &sweep->axes[i], err);
	if (status)
		return status;
	sweep->values = calloc(sweep->point_count * sweep->axis_count, sizeof(*sweep->values));
	if (!sweep->values)
		return sim_runtime_error(err, "out of memory");
	for (size_t point = 0; point < sweep->point_count; point++) {
		size_t rest = point;

		for (size_t i = sweep->axis_count; i-- > 0;) {
			const struct sweep_axis *axis = &sweep->axes[i];
			char **value = &sweep->values[point * sweep->axis_count + i];

			if (!axis->values)
				*value = draw_between(axis, &random);
			else if (sweep->kind == SWEEP_RANDOM)
				*value = strdup(
					axis->values[random_below(&random, axis->value_count)]);
			else
				*value = strdup(axis->values[rest % axis->value_count]);
			rest /= max(axis->value_count, (size_t)1);
			if (!*value)
				return sim_runtime_error(err, "out of memory");
		}
	}
	return 0;
}
