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

/* Units in which a range can be, in the order in which they are tried. */
static const struct {
	enum units_status (*parse)(const char *text, u64 *ret_value);
	void (*format)(u64 value, char *text, size_t size);
} units[] = {
	{ units_parse_size, units_format_size },
	{ units_parse_duration, units_format_duration },
	{ units_parse_ppm, units_format_ppm },
};

/* Draw a value of @axis between its ends, both included. NULL: out of memory. */
static char *draw_between(const struct sweep_axis *axis, u64 *random)
{
	char text[UNITS_TEXT_MAX] = "";
	u64 from, to;

	for (size_t i = 0; i < ARRAY_SIZE(units) && !*text; i++) {
		if (units[i].parse(axis->from, &from) != UNITS_OK ||
		    units[i].parse(axis->to, &to) != UNITS_OK)
			continue;
		/* The span of 64 bits has no number; a range never is that long. */
		units[i].format(from + random_below(random, to - from + 1), text, sizeof(text));
	}
	return strdup(text);
}

/* Has a range two ends of one unit, the lower one first? */
static int check_range(const struct sweep *sweep, const struct sweep_axis *axis,
		       struct sim_error *err)
{
	u64 from, to;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (units[i].parse(axis->from, &from) == UNITS_OK &&
		    units[i].parse(axis->to, &to) == UNITS_OK)
			return from <= to && to - from < U64_MAX ?
				       0 :
				       sim_user_error(err,
						      "%s:random.keys.%s: %s is above %s, "
						      "allowed: from below to",
						      sweep->file, axis->key, axis->from,
						      axis->to);
	return sim_user_error(err,
			      "%s:random.keys.%s: \"%s\" and \"%s\" are no range, allowed: two "
			      "sizes, two durations or two numbers",
			      sweep->file, axis->key, axis->from, axis->to);
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
