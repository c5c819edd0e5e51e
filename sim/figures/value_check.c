// SPDX-License-Identifier: MIT OR GPL-2.0
/* See value_check.h. */
#include "figures/value_check.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "config/message.h"
#include "engine/guess.h"
#include "figures/figure.h"
#include "figures/place.h"
#include "gvm/port.h"
#include "results/asked.h"
#include "results/results.h"

#define DEPTH_MAX 8

const char *const value_takes[] = { "mean", "least", "last", "most", NULL };

const char *const value_row_takes[] = { "mean", "median", "p99",   "least",   "most",
					"sum",	"count",  "slope", "at_zero", NULL };

const struct value_operator value_operators[] = {
	{ "add", 2, 16 },   { "multiply", 2, 16 }, { "subtract", 2, 2 },
	{ "divide", 2, 2 }, { "when", 2, 2 },	   { NULL, 0, 0 },
};

static void check(const struct place *place, const struct figure *figure, size_t depth);

const char *value_column(const struct place *object, const char *key, const char *file,
			 const char *standard)
{
	const char *name = place_text(object, key, standard);
	const struct results_file *known = results_files;
	struct place member = place_member(object, key);
	char names[320] = "", right[384];

	if (!name || object->reader->status)
		return name;
	while (strcmp(known->name, file) != 0)
		known++;
	for (const struct results_column *column = known->columns; column->name; column++) {
		if (!strcmp(column->name, name))
			return name;
		cfg_append(names, sizeof(names), "%s%s", *names ? ", " : "", column->name);
	}
	guess_describe(name, names, right, sizeof(right));
	place_fail(&member, "\"%.40s\" is no column of %s, %s", name, file, right);
	return name;
}

static void check_statistic(const struct place *place)
{
	const char *text = json_string_value(place->json);
	const char *dot = text ? strchr(text, '.') : NULL;

	if (!dot || dot == text || !dot[1])
		place_fail(place, "is not a path, allowed: CONTAINER.PATH, such as "
				  "\"diffusion.latency_s.mean\"");
}

static void check_of(const struct place *place, const struct figure *figure)
{
	static const char *const keys[] = { "of", "run", "x", NULL };
	struct place of = place_member(place, "of");
	struct place run = place_member(place, "run");
	const char *label = place_text(place, "run", NULL);
	double x = place_real(place, "x", (double)NAN);
	bool found = false;

	if (!place_is_object(place, keys))
		return;
	check_statistic(&of);
	for (size_t i = 0; i < figure->run_count; i++)
		found = found || ((!label || !strcmp(figure->runs[i].label, label)) &&
				  (isnan(x) || figure->runs[i].x == x));
	if (!found)
		place_fail(&run, "no run has this label and x");
}

static void check_covered(const struct place *place, const struct figure *figure, size_t depth)
{
	static const char *const keys[] = { "container", "outcome", "begin", "end",
					    "from",	 "to",	    NULL };
	struct place from = place_member(place, "from"), to = place_member(place, "to");

	if (!place_is_object(place, keys))
		return;
	place_text(place, "container", PLACE_NEEDED);
	place_text(place, "outcome", PLACE_NEEDED);
	value_column(place, "begin", RESULTS_REQUESTS, PLACE_NEEDED);
	value_column(place, "end", RESULTS_REQUESTS, PLACE_NEEDED);
	check(&from, figure, depth);
	check(&to, figure, depth);
}

static void check_rows(const struct place *place)
{
	static const char *const keys[] = { "container", "outcome",    "value", "minus",
					    "over",	 "over_minus", "by",	"first",
					    "last",	 "take",       NULL };
	struct place by = place_member(place, "by");
	const char *text = json_string_value(json_object_get(place->json, "take"));
	size_t take = VALUE_ROWS_PERCENTILE;
	int rank, of;

	if (!place_is_object(place, keys))
		return;
	place_text(place, "container", PLACE_NEEDED);
	place_text(place, "outcome", PLACE_NEEDED);
	value_column(place, "value", RESULTS_REQUESTS, PLACE_NEEDED);
	value_column(place, "minus", RESULTS_REQUESTS, NULL);
	value_column(place, "over", RESULTS_REQUESTS, NULL);
	value_column(place, "by", RESULTS_REQUESTS, NULL);
	place_real(place, "over_minus", 0);
	place_real(place, "first", 0);
	place_real(place, "last", 0);
	if (!text || !asked_rank(text, &rank, &of))
		take = place_choice(place, "take", value_row_takes, VALUE_ROWS_MEAN);
	if ((take == VALUE_ROWS_SLOPE || take == VALUE_ROWS_AT_ZERO) && !by.json)
		place_fail(&by, "is missing, allowed: a column of requests.csv");
}

static void check_curve(const struct place *place)
{
	static const char *const keys[] = { "panels", "take", "from_s", "to_s", NULL };
	struct place panels = place_member(place, "panels");

	if (!place_is_object(place, keys) || !place_is_array(&panels))
		return;
	place_choice(place, "take", value_takes, VALUE_TAKE_MEAN);
	place_real(place, "from_s", 0);
	place_real(place, "to_s", 0);
	for (size_t i = 0; i < json_array_size(panels.json); i++) {
		struct place element = place_element(&panels, i);

		if (!json_is_string(element.json))
			place_fail(&element, "is not a text, allowed: the key of a panel");
	}
}

static void check_operator(const struct place *place, const struct figure *figure, size_t depth)
{
	const char *key = json_object_iter_key(json_object_iter(place->json));

	for (size_t i = 0; key && value_operators[i].name; i++) {
		struct place list = place_member(place, value_operators[i].name);
		size_t count = json_array_size(list.json);

		if (strcmp(key, value_operators[i].name) != 0)
			continue;
		if (json_object_size(place->json) != 1 || count < value_operators[i].least ||
		    count > value_operators[i].most) {
			place_fail(&list, "is wrong, allowed: an array of %zu to %zu values",
				   value_operators[i].least, value_operators[i].most);
			return;
		}
		for (size_t k = 0; k < count; k++) {
			struct place element = place_element(&list, k);

			check(&element, figure, depth);
		}
		return;
	}
	place_fail(place, "is not an expression, allowed: a number, a path, of, config, add, "
			  "subtract, multiply, divide, when, covered, rows, curve");
}

static void check(const struct place *place, const struct figure *figure, size_t depth)
{
	struct place inner;

	if (!depth) {
		place_fail(place, "is nested too deep, allowed: %d levels", DEPTH_MAX);
		return;
	}
	if (json_is_number(place->json))
		return;
	if (json_is_string(place->json)) {
		check_statistic(place);
		return;
	}
	if (json_object_get(place->json, "of")) {
		check_of(place, figure);
		return;
	}
	inner = place_member(place, "config");
	if (inner.json) {
		place_text(place, "config", PLACE_NEEDED);
		return;
	}
	inner = place_member(place, "covered");
	if (inner.json) {
		check_covered(&inner, figure, depth - 1);
		return;
	}
	inner = place_member(place, "rows");
	if (inner.json) {
		check_rows(&inner);
		return;
	}
	inner = place_member(place, "curve");
	if (inner.json) {
		check_curve(&inner);
		return;
	}
	check_operator(place, figure, depth - 1);
}

void value_check(const struct place *place, const struct figure *figure)
{
	check(place, figure, DEPTH_MAX);
}
