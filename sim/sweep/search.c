// SPDX-License-Identifier: MIT OR GPL-2.0
#include "sweep/search.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/units.h"
#include "engine/error.h"

/* Whether the unit is of the metric's kind is known when the metric is. */
static bool is_number_or_has_unit(const char *text)
{
	u64 value;
	char *end;

	if (isfinite(strtod(text, &end)) && end > text && !*end)
		return true;
	return units_parse_size(text, &value) == UNITS_OK ||
	       units_parse_duration(text, &value) == UNITS_OK;
}

int search_add_bound(struct search *search, const char *text, struct sim_error *err)
{
	struct search_bound *bound = &search->bounds[search->bound_count];
	size_t length = strcspn(text, "<>");
	const char *value = text + length;
	bool or_equal = *value && value[1] == '=';

	if (search->bound_count == SEARCH_BOUNDS_MAX)
		return sim_user_error(err, "--subject-to: %d bounds are the most that fit",
				      SEARCH_BOUNDS_MAX);
	if (!length || length >= sizeof(bound->name) || !*value || !value[1 + or_equal] ||
	    strlen(value + 1 + or_equal) >= sizeof(bound->text))
		return sim_user_error(
			err,
			"--subject-to: \"%s\" is no bound, allowed: METRIC<VALUE, "
			"also with <=, > or >=",
			text);
	snprintf(bound->name, sizeof(bound->name), "%.*s", (int)length, text);
	if (*value == '<')
		bound->relation = or_equal ? SEARCH_LESS_OR_EQUAL : SEARCH_LESS;
	else
		bound->relation = or_equal ? SEARCH_MORE_OR_EQUAL : SEARCH_MORE;
	snprintf(bound->text, sizeof(bound->text), "%s", value + 1 + or_equal);
	if (!is_number_or_has_unit(bound->text))
		return sim_user_error(
			err,
			"--subject-to: \"%s\" is no value, allowed: a number, also with "
			"a unit, such as 2s or 1.5G",
			bound->text);
	search->bound_count++;
	return 0;
}

/* The value of a bound of a key, whose values at all points must take the bound's unit. */
static double bound_of_key(const struct search_bound *bound, const struct sweep *sweep)
{
	size_t axis = sweep_axis_find(sweep, bound->name);
	u64 value;
	bool is_size = units_parse_size(bound->text, &value) == UNITS_OK;

	for (size_t point = 0; point < sweep->point_count; point++) {
		const char *text = sweep_text(sweep, point, axis);

		if (text && (is_size ? units_parse_size(text, &value) :
				       units_parse_duration(text, &value)) != UNITS_OK)
			return (double)NAN;
	}
	return sweep_number(bound->text);
}

/*
 * The bound's value in @unit, METRIC_UNITS for a key: "2s" is 2000 for a metric in ms. NAN: it
 * has none.
 */
static double bound_value(const struct search_bound *bound, enum metric_unit unit,
			  const struct sweep *sweep)
{
	char *end;
	double number = strtod(bound->text, &end);
	u64 value;

	if (!*end)
		return number;
	if (unit == METRIC_UNITS)
		return bound_of_key(bound, sweep);
	if (unit == METRIC_BYTES && units_parse_size(bound->text, &value) == UNITS_OK)
		return (double)value;
	if ((unit == METRIC_MS || unit == METRIC_S) &&
	    units_parse_duration(bound->text, &value) == UNITS_OK)
		return (double)value / (unit == METRIC_MS ? 1e6 : 1e9);
	return (double)NAN;
}

static bool relation_holds(enum search_relation relation, double value, double bound)
{
	switch (relation) {
	case SEARCH_LESS:
		return value < bound;
	case SEARCH_LESS_OR_EQUAL:
		return value <= bound;
	case SEARCH_MORE:
		return value > bound;
	default:
		return value >= bound;
	}
}

static bool is_from_above(const struct search_bound *bound)
{
	return bound->relation == SEARCH_LESS || bound->relation == SEARCH_LESS_OR_EQUAL;
}

const char *search_relation_text(enum search_relation relation)
{
	static const char *const texts[] = {
		[SEARCH_LESS] = "<",
		[SEARCH_LESS_OR_EQUAL] = "<=",
		[SEARCH_MORE] = ">",
		[SEARCH_MORE_OR_EQUAL] = ">=",
	};

	return texts[relation];
}

static bool keeps(const struct search_bound *bound, const struct sweep_numbers *numbers,
		  size_t point)
{
	struct run_estimate estimate = sweep_estimate_named(numbers, point, bound->name);

	return estimate.value.known && !(estimate.value.bound && is_from_above(bound)) &&
	       relation_holds(bound->relation, estimate.value.number, bound->value);
}

/* How far a point is from keeping a bound; INFINITY: it has no value. */
static double distance(const struct search_bound *bound, const struct sweep_numbers *numbers,
		       size_t point)
{
	struct run_estimate estimate = sweep_estimate_named(numbers, point, bound->name);

	if (!estimate.value.known)
		return INFINITY;
	return is_from_above(bound) ? estimate.value.number : -estimate.value.number;
}

/* Count the points that keep a bound, and find the nearest one. */
static void search_one(const struct search_bound *bound, const struct sweep_numbers *numbers,
		       size_t *ret_kept, size_t *ret_nearest)
{
	double least = INFINITY;

	*ret_kept = 0;
	*ret_nearest = SIZE_MAX;
	for (size_t point = 0; point < numbers->runs->sweep->point_count; point++) {
		double far = distance(bound, numbers, point);

		*ret_kept += keeps(bound, numbers, point);
		if (far < least) {
			least = far;
			*ret_nearest = point;
		}
	}
}

/* A bound or an aim needs numbers. A key of the points may have texts, which have no order. */
static int check_numbers(const struct sweep *sweep, const char *option, const char *name,
			 struct sim_error *err)
{
	size_t axis = sweep_axis_find(sweep, name);

	for (size_t point = 0; axis != SIZE_MAX && point < sweep->point_count; point++) {
		const char *text = sweep_text(sweep, point, axis);

		if (text && !isnan(sweep_number(text)))
			return 0;
	}
	if (axis == SIZE_MAX)
		return 0;
	return sim_user_error(
		err,
		"%s: no value of %s is a number, allowed: a metric, or a key with "
		"numbers",
		option, name);
}

/* Does a name stand for numbers in the runs? Gives their unit. */
static int check_name(struct sweep_runs *runs, const char *option, const char *name,
		      enum metric_unit *ret_unit, struct sim_error *err)
{
	int status = sweep_check_name(runs, option, name, ret_unit, err);

	return status ? status : check_numbers(runs->sweep, option, name, err);
}

int search_check(struct search *search, struct sweep_runs *runs, struct sim_error *err)
{
	enum metric_unit unit;
	int status = 0;

	if (search->objective)
		status = check_name(runs, search->more ? "--maximise" : "--minimise",
				    search->objective, &unit, err);
	for (size_t i = 0; !status && i < search->bound_count; i++) {
		struct search_bound *bound = &search->bounds[i];

		status = check_name(runs, "--subject-to", bound->name, &unit, err);
		if (status)
			break;
		bound->value = bound_value(bound, unit, runs->sweep);
		if (isnan(bound->value))
			status = sim_user_error(err,
						"--subject-to: \"%s\" is no value of %s, "
						"allowed: a number in its unit, or with a unit "
						"of its kind",
						bound->text, bound->name);
	}
	return status;
}

void search_run(const struct search *search, const struct sweep_numbers *numbers,
		struct search_result *ret_result)
{
	double best = 0;

	*ret_result = (struct search_result){ .best = SIZE_MAX };
	for (size_t i = 0; i < search->bound_count; i++)
		search_one(&search->bounds[i], numbers, &ret_result->kept[i],
			   &ret_result->nearest[i]);
	for (size_t point = 0; point < numbers->runs->sweep->point_count; point++) {
		struct run_estimate estimate = { 0 };
		bool kept = true;

		for (size_t i = 0; i < search->bound_count; i++)
			kept = kept && keeps(&search->bounds[i], numbers, point);
		ret_result->satisfied += kept;
		if (search->objective)
			estimate = sweep_estimate_named(numbers, point, search->objective);
		if (!kept || !estimate.value.known || (estimate.value.bound && !search->more))
			continue;
		if (ret_result->best != SIZE_MAX &&
		    !(search->more ? estimate.value.number > best :
				     estimate.value.number < best))
			continue;
		best = estimate.value.number;
		ret_result->best = point;
	}
}

bool search_is_close(const struct search_bound *bound, const struct sweep_numbers *numbers,
		     size_t point)
{
	struct run_estimate estimate = sweep_estimate_named(numbers, point, bound->name);
	double reach = is_from_above(bound) ? estimate.high : estimate.low;

	return estimate.interval && !relation_holds(bound->relation, reach, bound->value);
}
