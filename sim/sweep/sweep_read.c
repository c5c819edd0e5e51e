// SPDX-License-Identifier: MIT OR GPL-2.0
/* Reads a sweep file. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/paths.h"
#include "config/units.h"
#include "engine/error.h"
#include "engine/guess.h"
#include "figures/place.h"
#include "figures/seeds.h"
#include "gvm/port.h"
#include "results/estimate.h"
#include "results/summary.h"
#include "sweep/points.h"
#include "sweep/sweep.h"

#define SWEEPS_FOLDER	 "sweeps" /* in scenarios */
#define BLOCK_STANDARD	 30000000000ull
#define RESAMPLES_BLOCKS 200 /* each computes all metrics anew */
#define BLOCK_LEAST	 100000000ull

/* A copy of @text; without memory the reader fails. */
static char *copy(const struct place *place, const char *text)
{
	char *own = strdup(text);

	if (!own && !place->reader->status)
		place->reader->status = sim_runtime_error(place->reader->err, "out of memory");
	return own;
}

/* A value as --set takes it: a text without its quotes, or JSON. 0.1 stays 0.1. */
static char *read_value(const struct place *place)
{
	char *text, *own;

	if (json_is_string(place->json))
		return copy(place, json_string_value(place->json));
	if (!place->json) {
		place_fail(place, "is missing, allowed: a number, a text or any JSON");
		return NULL;
	}
	text = json_dumps(place->json, JSON_ENCODE_ANY | JSON_COMPACT | CFG_JSON_PRECISION);
	own = text ? copy(place, text) : copy(place, "");
	free(text);
	return own;
}

static struct sweep_axis *add_axis(struct sweep *sweep, const struct place *place,
				   const char *key)
{
	struct sweep_axis *axis = &sweep->axes[sweep->axis_count];

	if (sweep->axis_count == SWEEP_AXES_MAX) {
		place_fail(place, "is one key too many, allowed: %d keys", SWEEP_AXES_MAX);
		return NULL;
	}
	if (!strcmp(key, "seed")) {
		place_fail(place, "is the seed, allowed: \"seeds\" at the top of the file");
		return NULL;
	}
	sweep->axis_count++;
	axis->key = copy(place, key);
	return axis;
}

/* A value of an axis. Scenarios are texts. */
static char *read_axis_value(const struct sweep_axis *axis, const struct place *place)
{
	if (!strcmp(axis->key, SWEEP_SCENARIO) && !json_is_string(place->json)) {
		place_fail(place, "is no scenario, allowed: a name, or a path relative to "
				  "this file");
		return NULL;
	}
	return read_value(place);
}

static void read_choice(struct sweep_axis *axis, const struct place *list)
{
	size_t count = json_array_size(list->json);

	if (!axis->key || !place_is_array(list))
		return;
	axis->values = calloc(count, sizeof(*axis->values));
	if (!axis->values) {
		copy(list, "");
		return;
	}
	axis->value_count = count;
	for (size_t i = 0; i < count; i++) {
		struct place value = place_element(list, i);

		axis->values[i] = read_axis_value(axis, &value);
	}
}

/* The keys of a grid, or of random points, which also may have ranges. */
static void read_axes(struct sweep *sweep, const struct place *keys, bool ranges)
{
	static const char *const range_keys[] = { "from", "to", NULL };
	const char *key;
	json_t *value;

	if (!json_object_size(keys->json)) {
		place_fail(keys, "is wrong, allowed: an object with a list of values for "
				 "each key");
		return;
	}
	json_object_foreach(keys->json, key, value) {
		struct place place = place_member(keys, key);
		struct sweep_axis *axis = add_axis(sweep, &place, key);
		struct place end;

		if (!axis)
			return;
		if (!ranges || !json_is_object(value) || !strcmp(key, SWEEP_SCENARIO)) {
			read_choice(axis, &place);
			continue;
		}
		if (!place_is_object(&place, range_keys))
			return;
		end = place_member(&place, "from");
		axis->from = read_value(&end);
		end = place_member(&place, "to");
		axis->to = read_value(&end);
	}
}

/* A list of points, each an object of keys. */
static void read_list(struct sweep *sweep, const struct place *list)
{
	const char *key;
	json_t *value;

	if (!place_is_array(list))
		return;
	if (json_array_size(list->json) > SWEEP_POINTS_MAX) {
		place_fail(list, "has %zu points, allowed: up to %d",
			   json_array_size(list->json), SWEEP_POINTS_MAX);
		return;
	}
	sweep->point_count = json_array_size(list->json);
	for (size_t point = 0; point < sweep->point_count; point++) {
		struct place place = place_element(list, point);

		/* {} is the scenario as it is. */
		if (!json_is_object(place.json))
			place_fail(&place, "is wrong, allowed: an object with keys");
		json_object_foreach(place.json, key, value) {
			struct place member = place_member(&place, key);

			if (sweep_axis_find(sweep, key) == SIZE_MAX &&
			    !add_axis(sweep, &member, key))
				return;
		}
	}
	sweep->values = calloc(sweep->point_count * max(sweep->axis_count, (size_t)1),
			       sizeof(*sweep->values));
	for (size_t point = 0; sweep->values && point < sweep->point_count; point++) {
		struct place place = place_element(list, point);

		json_object_foreach(place.json, key, value) {
			struct place member = place_member(&place, key);
			size_t axis = sweep_axis_find(sweep, key);

			if (axis != SIZE_MAX)
				sweep->values[point * sweep->axis_count + axis] =
					read_axis_value(&sweep->axes[axis], &member);
		}
	}
}

static void read_points(struct sweep *sweep, const struct place *root)
{
	static const char *const kinds[] = { "grid", "list", "random" };
	static const char *const random_keys[] = { "points", "seed", "keys", NULL };
	struct place place = *root, keys;
	size_t found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (json_object_get(root->json, kinds[i])) {
			sweep->kind = (enum sweep_kind)i;
			place = place_member(root, kinds[i]);
			found++;
		}
	if (found != 1) {
		place_fail(root, "has %s, allowed: one of grid, list and random",
			   found ? "several kinds of points" : "no points");
		return;
	}
	switch (sweep->kind) {
	case SWEEP_GRID:
		read_axes(sweep, &place, false);
		break;
	case SWEEP_LIST:
		read_list(sweep, &place);
		break;
	case SWEEP_RANDOM:
		if (!place_is_object(&place, random_keys))
			return;
		sweep->random_points = place_integer(&place, "points", 1, SWEEP_POINTS_MAX, 10);
		sweep->random_seed = place_integer(&place, "seed", 0, INT64_MAX, 1);
		keys = place_member(&place, "keys");
		read_axes(sweep, &keys, true);
	}
	if (!root->reader->status && sweep->kind != SWEEP_LIST)
		root->reader->status = points_make(sweep, root->reader->err);
}

/* Keys that are the same for all points. */
static void read_sets(struct sweep *sweep, const struct place *root)
{
	struct place place = place_member(root, "set");
	const char *key;
	json_t *value;
	size_t count = 0;

	sweep->sets = calloc(json_object_size(place.json) + 1, sizeof(*sweep->sets));
	if (place.json && !json_is_object(place.json))
		place_fail(&place, "is wrong, allowed: an object with keys");
	if (!sweep->sets)
		return;
	json_object_foreach(place.json, key, value) {
		struct place member = place_member(&place, key);
		char *text = read_value(&member);

		if (text && asprintf(&sweep->sets[count], "%s=%s", key, text) >= 0)
			count++;
		free(text);
	}
}

static void read_seeds(struct sweep *sweep, const struct place *root)
{
	seeds_read(root, SWEEP_SEEDS_MAX, &sweep->seeds, &sweep->seed_count);
	if (sweep->point_count * max(sweep->seed_count, (size_t)1) > SWEEP_RUNS_MAX)
		place_fail(root, "%zu points with %zu seeds are %zu runs, allowed: up to %d",
			   sweep->point_count, sweep->seed_count,
			   sweep->point_count * sweep->seed_count, SWEEP_RUNS_MAX);
}

static void read_interval(struct sweep *sweep, const struct place *root)
{
	static const char *const keys[] = { "over", "of", "block", "resamples", NULL };
	static const char *const kinds[] = { "none", "seeds", "blocks", NULL };
	struct place place = place_member(root, "interval");
	struct place block = place_member(&place, "block");
	struct place of = place_member(&place, "of");
	const char *text;

	sweep->over = sweep->seed_count > 1 ? SWEEP_OVER_SEEDS : SWEEP_OVER_NONE;
	sweep->block_ns = BLOCK_STANDARD;
	sweep->resamples = ESTIMATE_RESAMPLES;
	if (!place.json || !place_is_object(&place, keys))
		return;
	sweep->over =
		(enum sweep_interval_kind)place_choice(&place, "over", kinds, sweep->over);
	sweep->resamples = place_integer(&place, "resamples", 20, 100000,
					 sweep->over == SWEEP_OVER_BLOCKS ? RESAMPLES_BLOCKS :
									    ESTIMATE_RESAMPLES);
	text = place_text(&place, "block", "30s");
	if (units_parse_duration(text, &sweep->block_ns) != UNITS_OK ||
	    sweep->block_ns < BLOCK_LEAST)
		place_fail(&block,
			   "\"%s\" is wrong, allowed: a duration from 100ms, such as 30s",
			   text);
	sweep->of = (enum estimate_kind)place_choice(&place, "of", estimate_kinds,
						     ESTIMATE_OF_MEAN);
	if (of.json && sweep->over != SWEEP_OVER_SEEDS)
		place_fail(&of, "is of no use, allowed: in an interval over seeds");
	if (sweep->over == SWEEP_OVER_BLOCKS && sweep->seed_count > 1)
		place_fail(&place, "is over blocks of one run for each point, allowed: no "
				   "\"seeds\", or one");
	if (sweep->over == SWEEP_OVER_SEEDS && sweep->seed_count < 2)
		place_fail(&place, "is over seeds, allowed: \"seeds\" of 2 or more");
}

static void read_metrics(struct sweep *sweep, const struct place *root)
{
	struct place place = place_member(root, "metrics");
	size_t count = json_array_size(place.json);

	if (!place.json || !place_is_array(&place))
		return;
	if (count > SWEEP_METRICS_MAX)
		place_fail(&place, "has %zu names, allowed: up to %d", count,
			   SWEEP_METRICS_MAX);
	for (size_t i = 0; i < count && i < SWEEP_METRICS_MAX; i++) {
		struct place name = place_element(&place, i);

		if (!json_is_string(name.json))
			place_fail(&name, "is not a name, allowed: CONTAINER.METRIC");
		else
			sweep->metrics[sweep->metric_count++] =
				copy(&name, json_string_value(name.json));
	}
}

/* A name of a plot. @axis: it has to be a key that differs between points. */
static char *read_name(const struct sweep *sweep, const struct place *plot, const char *key,
		       bool axis)
{
	struct place place = place_member(plot, key);
	const char *name = place_text(plot, key, PLACE_NEEDED);

	if (plot->reader->status)
		return NULL;
	if (axis && sweep_axis_find(sweep, name) == SIZE_MAX)
		place_fail(&place,
			   "\"%s\" does not differ between points, allowed: a key of "
			   "grid, list or random",
			   name);
	return copy(&place, name);
}

/* The one key of each kind of plot that the others do not have. */
static const char *const plot_own_keys[] = {
	[SWEEP_LINE] = "series",
	[SWEEP_HEAT] = "value",
	[SWEEP_PARETO] = "more",
};

/* A key that another kind has would change nothing: a mistake. */
static void check_plot_keys(const struct sweep_plot *plot, const struct place *place)
{
	for (size_t i = 0; i < ARRAY_SIZE(plot_own_keys); i++) {
		struct place own = place_member(place, plot_own_keys[i]);

		if (own.json && i != plot->kind)
			place_fail(&own, "is of no use, allowed: type, title, x, y, log, %s",
				   plot_own_keys[plot->kind]);
	}
}

/* Note for which of its two names a Pareto plot has more as better. */
static void read_more(struct sweep_plot *plot, const struct place *place)
{
	struct place more = place_member(place, "more");

	if (!more.json || !place_is_array(&more))
		return;
	for (size_t i = 0; i < json_array_size(more.json); i++) {
		struct place element = place_element(&more, i);
		const char *name = json_string_value(element.json);

		if (name && plot->x && !strcmp(name, plot->x))
			plot->more_x = true;
		else if (name && plot->y && !strcmp(name, plot->y))
			plot->more_y = true;
		else
			place_fail(&element, "is wrong, allowed: the name of x or of y");
	}
}

static void read_plot(struct sweep *sweep, const struct place *place)
{
	static const char *const keys[] = { "type",   "title", "x",   "y", "value",
					    "series", "more",  "log", NULL };
	static const char *const kinds[] = { "line", "heat", "pareto", NULL };
	struct sweep_plot *plot = &sweep->plots[sweep->plot_count];

	if (!place_is_object(place, keys))
		return;
	sweep->plot_count++;
	plot->kind = (enum sweep_plot_kind)place_choice(place, "type", kinds, SWEEP_LINE);
	check_plot_keys(plot, place);
	if (json_object_get(place->json, "title"))
		plot->title = copy(place, place_text(place, "title", PLACE_NEEDED));
	plot->log = place_bool(place, "log", false);
	plot->x = read_name(sweep, place, "x", plot->kind != SWEEP_PARETO);
	plot->y = read_name(sweep, place, "y", plot->kind == SWEEP_HEAT);
	if (plot->kind == SWEEP_HEAT)
		plot->value = read_name(sweep, place, "value", false);
	if (plot->kind == SWEEP_LINE && json_object_get(place->json, "series"))
		plot->series = read_name(sweep, place, "series", true);
	if (plot->kind == SWEEP_PARETO)
		read_more(plot, place);
}

static void read_plots(struct sweep *sweep, const struct place *root)
{
	struct place place = place_member(root, "plots");
	size_t count = json_array_size(place.json);

	if (!place.json || !place_is_array(&place))
		return;
	if (count > SWEEP_PLOTS_MAX)
		place_fail(&place, "has %zu plots, allowed: up to %d", count, SWEEP_PLOTS_MAX);
	for (size_t i = 0; i < count && !root->reader->status; i++) {
		struct place plot = place_element(&place, i);

		read_plot(sweep, &plot);
	}
}

/* The name is the file's without its folder and ending. */
static void take_name(struct sweep *sweep, const struct place *root)
{
	const char *base = strrchr(sweep->file, '/');
	size_t length;

	base = base ? base + 1 : sweep->file;
	length = strcspn(base, ".");
	snprintf(sweep->name, sizeof(sweep->name), "%.*s", (int)min(length, (size_t)40), base);
	if (!*sweep->name || strspn(sweep->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRS"
						 "TUVWXYZ0123456789-_") != strlen(sweep->name))
		place_fail(root, "the file's name names the results, allowed: letters, digits, "
				 "\"-\" and \"_\" before its ending");
}

/*
 * Read the scenario of all points, or of those that name none. A second scenario that no point
 * uses is a mistake.
 */
static void read_scenario(struct sweep *sweep, const struct place *root)
{
	struct place place = place_member(root, SWEEP_SCENARIO);
	size_t axis = sweep_axis_find(sweep, SWEEP_SCENARIO), without = 0;
	const char *scenario =
		place_text(root, SWEEP_SCENARIO, axis == SIZE_MAX ? PLACE_NEEDED : NULL);

	for (size_t point = 0; axis != SIZE_MAX && point < sweep->point_count; point++) {
		struct place list = place_member(root, "list");
		struct place entry = place_element(&list, point);

		if (sweep_text(sweep, point, axis))
			continue;
		without++;
		if (!scenario)
			place_fail(&entry, "has no scenario, allowed: one here, or one for "
					   "the whole sweep");
	}
	if (axis != SIZE_MAX && scenario && !without)
		place_fail(&place, "is set for each point, too, allowed: one of them");
	if (!root->reader->status && scenario)
		snprintf(sweep->scenario, sizeof(sweep->scenario), "%s", scenario);
}

void sweep_list_names(char *text, size_t size)
{
	struct sim_error ignored = { 0 };
	char folder[PATH_MAX];

	*text = '\0';
	if (!config_find_data("scenarios", SWEEPS_FOLDER, folder, sizeof(folder), &ignored))
		cfg_path_list_json(folder, text, size);
}

int sweep_find(const char *name, char *ret_path, size_t size, struct sim_error *err)
{
	char inside[PATH_MAX], known[512];
	struct guess guess;

	snprintf(ret_path, size, "%s", name);
	if (!access(name, F_OK) && !cfg_path_is_folder(name))
		return 0;
	if (strchr(name, '/') && access(name, F_OK) && errno == EACCES)
		return sim_user_error(err, "%s: cannot be read: %s", name, strerror(errno));
	snprintf(inside, sizeof(inside), SWEEPS_FOLDER "/%.300s", name);
	if (!strchr(name, '/') &&
	    cfg_path_find_data("scenarios", inside, ".json", ret_path, size))
		return 0;
	if (cfg_path_is_folder(name))
		return sim_user_error(err, "%s: is a folder, allowed: a file", name);
	sweep_list_names(known, sizeof(known));
	guess_begin(&guess, name);
	guess_offer_list(&guess, known);
	if (*guess.name)
		return sim_user_error(err, "%s: no such sweep, did you mean \"%s\"?", name,
				      guess.name);
	return sim_user_error(err, "%s: no such sweep, allowed: a file%s%s", name,
			      *known ? ", or one of " : "", known);
}

int sweep_read(struct sweep *sweep, const char *file, struct sim_error *err)
{
	static const char *const keys[] = { "description", "scenario", "set",	"grid",
					    "list",	   "random",   "seeds", "interval",
					    "metrics",	   "plots",    NULL };
	struct place_reader reader = { .file = file, .err = err };
	struct place root = { .reader = &reader };
	int status;

	*sweep = (struct sweep){ 0 };
	status = results_load_json(file, "a sweep file", &root.json, err);
	if (status)
		return status;
	snprintf(sweep->file, sizeof(sweep->file), "%s", file);
	take_name(sweep, &root);
	if (place_is_object(&root, keys)) {
		place_text(&root, "description", NULL); /* for people */
		read_sets(sweep, &root);
		if (!reader.status)
			read_points(sweep, &root);
		if (!reader.status)
			read_scenario(sweep, &root);
		if (!reader.status)
			read_seeds(sweep, &root);
		if (!reader.status)
			read_interval(sweep, &root);
		read_metrics(sweep, &root);
		if (!reader.status)
			read_plots(sweep, &root);
	}
	json_decref(root.json);
	if (!reader.status && (!sweep->seeds || !sweep->sets || !sweep->values))
		reader.status = sim_runtime_error(err, "out of memory");
	if (reader.status)
		sweep_destroy(sweep);
	return reader.status;
}

void sweep_destroy(struct sweep *sweep)
{
	for (size_t i = 0; sweep->sets && sweep->sets[i]; i++)
		free(sweep->sets[i]);
	free(sweep->sets);
	for (size_t i = 0; sweep->values && i < sweep->point_count * sweep->axis_count; i++)
		free(sweep->values[i]);
	free(sweep->values);
	for (size_t i = 0; i < sweep->axis_count; i++) {
		struct sweep_axis *axis = &sweep->axes[i];

		for (size_t k = 0; axis->values && k < axis->value_count; k++)
			free(axis->values[k]);
		free(axis->values);
		free(axis->key);
		free(axis->from);
		free(axis->to);
	}
	for (size_t i = 0; i < sweep->metric_count; i++)
		free(sweep->metrics[i]);
	for (size_t i = 0; i < sweep->plot_count; i++) {
		free(sweep->plots[i].title);
		free(sweep->plots[i].x);
		free(sweep->plots[i].y);
		free(sweep->plots[i].value);
		free(sweep->plots[i].series);
	}
	free(sweep->seeds);
	*sweep = (struct sweep){ 0 };
}

const char *sweep_text(const struct sweep *sweep, size_t point, size_t axis)
{
	return sweep->values[point * sweep->axis_count + axis];
}

size_t sweep_axis_find(const struct sweep *sweep, const char *key)
{
	for (size_t i = 0; i < sweep->axis_count; i++)
		if (sweep->axes[i].key && !strcmp(sweep->axes[i].key, key))
			return i;
	return SIZE_MAX;
}

void sweep_scenario(const struct sweep *sweep, size_t point, char *ret_path, size_t size)
{
	size_t axis = sweep_axis_find(sweep, SWEEP_SCENARIO);
	const char *text = axis != SIZE_MAX ? sweep_text(sweep, point, axis) : NULL;
	char folder[PATH_MAX], path[PATH_MAX];

	text = text ? text : sweep->scenario;
	if (cfg_path_folder(sweep->file, folder, sizeof(folder)) &&
	    cfg_path_join(folder, text, path, sizeof(path)) && cfg_path_is_file(path))
		text = path;
	snprintf(ret_path, size, "%s", text);
}

double sweep_number(const char *text)
{
	u64 value;
	char *end;
	double number = strtod(text, &end);

	if (end != text && !*end && isfinite(number))
		return number;
	if (units_parse_duration(text, &value) == UNITS_OK)
		return (double)value / 1e9;
	if (units_parse_size(text, &value) == UNITS_OK && value < U64_MAX)
		return (double)value;
	return (double)NAN;
}
