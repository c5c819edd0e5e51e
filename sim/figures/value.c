// SPDX-License-Identifier: MIT OR GPL-2.0
/* See value.h. Expressions have been checked. */
#include "figures/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/units.h"
#include "engine/error.h"
#include "engine/guess.h"
#include "figures/data.h"
#include "figures/row_value.h"
#include "figures/value_check.h"
#include "gvm/port.h"
#include "results/asked.h"

#define NS_PER_S       1e9
#define VALUE_PATH_MAX 256

/* The value at a dotted path below @json; NULL: there is none. */
static const json_t *walk(const json_t *json, const char *path)
{
	while (json && *path) {
		size_t length = strcspn(path, ".");
		char key[64];

		if (length >= sizeof(key))
			return NULL;
		memcpy(key, path, length);
		key[length] = '\0';
		json = json_object_get(json, key);
		path += length + (path[length] == '.');
	}
	return json;
}

static double number(const json_t *json)
{
	return json_is_number(json) ? json_number_value(json) : (double)NAN;
}

/* A number of a container that is asked for by name. Not known: it is none. */
static struct summary_value asked_number(const struct figure_data *data, size_t run,
					 const char *name, const char *path)
{
	const struct summary *summary = &data->runs[run].folder.summary;
	const struct summary_container *container = summary_find(summary, name);
	struct summary_value value = { 0 };
	struct sim_error ignored = { 0 };
	struct metric unit = { 0 };
	struct asked asked;

	if (!container || !asked_is_key(path) ||
	    asked_parse(&asked, path, container->report, "", &ignored) ||
	    asked_read(data->runs[run].path, summary, container, &asked, 1, &value, &ignored))
		return (struct summary_value){ 0 };
	unit.unit = asked_unit(&asked);
	value.real = summary_number(&value, &unit);
	return value;
}

/* The number of a container at @path below it in summary.json, or one that is asked for. */
static double container_number(const struct figure_data *data, size_t run, const char *name,
			       const char *path)
{
	const json_t *containers = json_object_get(data->summaries[run], "containers");
	const json_t *found = walk(json_object_get(containers, name), path);
	struct summary_value asked = { 0 };

	if (!found)
		asked = asked_number(data, run, name, path);
	return asked.known && !asked.bound ? asked.real : number(found);
}

/* A statistic of one container, or the sum over all that have it. */
static double statistic(const struct figure_data *data, size_t run, const char *text)
{
	const json_t *containers = json_object_get(data->summaries[run], "containers");
	const char *path = strchr(text, '.') + 1;
	char name[64];
	const char *found, *key;
	double sum = 0;
	json_t *container;
	bool known = false;

	if (strncmp(text, "*.", 2) != 0) {
		snprintf(name, sizeof(name), "%.*s", (int)(path - 1 - text), text);
		found = figure_container(data, run, name);
		return found ? container_number(data, run, found, path) : (double)NAN;
	}
	json_object_foreach((json_t *)containers, key, container) {
		double value = container_number(data, run, key, path);

		if (isnan(value))
			continue;
		sum += value;
		known = true;
	}
	return known ? sum : (double)NAN;
}

/*
 * Offer the paths of the numbers below @json to @guess, "NAME.PATH" each. Is @wanted one of
 * them, or an object that has some?
 */
static bool offer_paths(struct guess *guess, const json_t *json, const char *name,
			const char *wanted)
{
	bool found = !strcmp(name, wanted);
	const char *key;
	json_t *member;

	if (!json_is_object(json)) {
		guess_offer(guess, name);
		return found;
	}
	json_object_foreach((json_t *)json, key, member) {
		char path[VALUE_PATH_MAX];

		snprintf(path, sizeof(path), "%s.%s", name, key);
		found = offer_paths(guess, member, path, wanted) || found;
	}
	return found;
}

/* Has a run's scenario a container of this name or type, be it one that is not enabled? */
static bool is_configured(const struct figure_data *data, const char *name)
{
	for (size_t run = 0; run < data->figure->run_count; run++) {
		json_t *containers = json_object_get(data->configs[run], "containers");
		const char *key;
		json_t *container;

		json_object_foreach(containers, key, container) {
			const json_t *app = json_object_get(container, "app");
			const char *type = json_string_value(json_object_get(app, "type"));

			if (!strcmp(key, name) || (type && !strcmp(type, name)))
				return true;
		}
	}
	return false;
}

/*
 * Is @text, after the name or type @name, a statistic of a container's time that can be asked
 * for? Its times are offered to @guess. Returns 1, 0 if it is none, or -SIM_EXIT_USER.
 */
static int find_asked(const struct summary_container *container, const char *name,
		      const char *text, const char *where, struct guess *guess,
		      struct sim_error *err)
{
	const char *key = text + strlen(name) + 1;
	struct asked asked;
	int status;

	if (!container || !asked_is_key(key))
		return 0;
	status = asked_parse(&asked, key, container->report, where, err);
	asked_offer(guess, name, key, container->report);
	return status < 0 ? status : !status;
}

/* Has any run the statistic @text, if it has the container? If not, say so. */
static int check_statistic(const struct figure_data *data, const char *text, const char *where,
			   struct sim_error *err)
{
	const char *path = strchr(text, '.');
	bool has_container = false, found = false;
	char name[64], place[FIGURE_FILE_MAX + 64];
	struct guess guess;
	int status;

	snprintf(name, sizeof(name), "%.*s", (int)(path - text), text);
	snprintf(place, sizeof(place), "%s:%s", data->figure->file, where);
	guess_begin(&guess, text);
	for (size_t run = 0; run < data->figure->run_count && !found; run++) {
		const json_t *containers = json_object_get(data->summaries[run], "containers");
		const char *container = figure_container(data, run, name);

		if (!container)
			continue;
		has_container = true;
		found = offer_paths(&guess, json_object_get(containers, container), name, text);
		status = find_asked(summary_find(&data->runs[run].folder.summary, container),
				    name, text, place, &guess, err);
		if (status < 0)
			return status;
		found = found || status;
	}
	/* Another scenario may lack the container: no mistake, and the picture says so, too. */
	if (!has_container && strcmp(name, "*") != 0 && !is_configured(data, name))
		fprintf(stderr,
			"gvmsim: note: %s:%s: no run has a container or an application "
			"\"%s\"\n",
			data->figure->file, where, name);
	if (!has_container || found)
		return 0;
	if (*guess.name)
		return sim_user_error(err,
				      "%s:%s: no run has the number \"%s\", did you mean "
				      "\"%s\"?",
				      data->figure->file, where, text, guess.name);
	return sim_user_error(err,
			      "%s:%s: no run has the number \"%s\", allowed: "
			      "CONTAINER.PATH of summary.json, such as %s.%s",
			      data->figure->file, where, text, name,
			      summary_metrics[SUMMARY_FAULTS].key);
}

int value_check_known(const struct figure_data *data, const json_t *value, const char *where,
		      struct sim_error *err)
{
	const char *text = json_string_value(value);
	json_t *operands = json_object_iter_value(json_object_iter((json_t *)value));
	int status = 0;

	if (text)
		return check_statistic(data, text, where, err);
	if (json_object_get(value, "of"))
		return check_statistic(data, json_string_value(json_object_get(value, "of")),
				       where, err);
	for (size_t i = 0; !status && i < json_array_size(operands); i++)
		status = value_check_known(data, json_array_get(operands, i), where, err);
	return status;
}

/*
 * Find the run that "of" names by its label and x. If the expression lacks one of them, the
 * label or x of @run counts.
 */
static size_t other_run(const struct figure_data *data, size_t run, const json_t *value)
{
	const struct figure_run *runs = data->figure->runs;
	const char *label = json_string_value(json_object_get(value, "run"));
	const json_t *x = json_object_get(value, "x");

	for (size_t i = 0; i < data->figure->run_count; i++) {
		bool same_x = isnan(runs[run].x) ? isnan(runs[i].x) : runs[i].x == runs[run].x;

		if (strcmp(runs[i].label, label ? label : runs[run].label) != 0)
			continue;
		if (x ? runs[i].x == json_number_value(x) : same_x)
			return i;
	}
	return run;
}

/* A key of the configuration: a number, or a text with a duration, in seconds, or a number. */
static double config_value(const struct figure_data *data, size_t run, const char *path)
{
	const json_t *config = data->configs[run];
	const json_t *value = walk(config, path);
	const char *dot = strchr(path, '.');
	const char *text;
	char name[64], *end;
	double real;
	u64 ns;

	if (!value && dot) {
		snprintf(name, sizeof(name), "%.*s", (int)(dot - path), path);
		if (!figure_container(data, run, name))
			return (double)NAN;
		value = walk(json_object_get(json_object_get(config, "containers"),
					     figure_container(data, run, name)),
			     dot + 1);
	}
	if (!json_is_string(value))
		return number(value);
	text = json_string_value(value);
	if (units_parse_duration(text, &ns) == UNITS_OK)
		return (double)ns / NS_PER_S;
	real = strtod(text, &end);
	return *text && !*end ? real : (double)NAN;
}

/* A value over rows of requests.csv, see row_value.h. */
static double over_rows(const struct figure_data *data, size_t run, const json_t *value)
{
	const json_t *rows = json_object_get(value, "rows");
	const json_t *covered = json_object_get(value, "covered");
	const char *container = figure_container(
		data, run,
		json_string_value(json_object_get(rows ? rows : covered, "container")));
	double end_s = number(json_object_get(data->summaries[run], "sim_seconds"));
	char file[FIGURE_FILE_MAX];
	double from_s, to_s;

	snprintf(file, sizeof(file), "%s/requests.csv", data->runs[run].path);
	if (!container)
		return (double)NAN;
	if (rows)
		return row_value_statistic(file, container, rows);
	from_s = value_of(data, run, json_object_get(covered, "from"), false);
	to_s = value_of(data, run, json_object_get(covered, "to"), false);
	if (!(from_s < to_s) || end_s < to_s)
		return (double)NAN;
	return row_value_covered(file, container, covered, from_s, to_s);
}

/* Our first curve of a panel in @run, or the published one; NULL: there is none. */
static const struct figure_line *find_line(const struct figure_data *data, size_t run,
					   const char *panel, bool published)
{
	for (size_t i = 0; i < data->line_count; i++) {
		const struct figure_line *line = &data->lines[i];

		if (!strcmp(data->figure->panels[line->panel].key, panel) &&
		    (published ? !line->curve : line->curve && line->run == run))
			return line;
	}
	return NULL;
}

/*
 * The mean, least, last or greatest value of one curve, or of the sum of several, in a span of
 * time.
 */
static double read_off(const struct figure_data *data, size_t run, const json_t *value,
		       bool published)
{
	const json_t *panels = json_object_get(value, "panels");
	const json_t *to = json_object_get(value, "to_s");
	const char *take = json_string_value(json_object_get(value, "take"));
	double from_s = json_number_value(json_object_get(value, "from_s"));
	double to_s = to ? json_number_value(to) : (double)INFINITY;
	const struct figure_line *lines[8];
	size_t at[8] = { 0 };
	size_t count = min(json_array_size(panels), (size_t)8);
	double sum = 0, least = INFINITY, most = -INFINITY, last = NAN;
	size_t taken = 0;

	for (size_t i = 0; i < count; i++) {
		lines[i] = find_line(data, run, json_string_value(json_array_get(panels, i)),
				     published);
		if (!lines[i])
			return (double)NAN;
	}
	/* Use the moments that all curves have. */
	for (; at[0] < lines[0]->count; at[0]++) {
		double x_s = lines[0]->points[at[0]].x_s;
		double y = lines[0]->points[at[0]].y;
		size_t all = 1;

		for (size_t i = 1; i < count; i++) {
			const struct figure_line *line = lines[i];

			while (at[i] < line->count && line->points[at[i]].x_s < x_s)
				at[i]++;
			if (at[i] == line->count || line->points[at[i]].x_s > x_s)
				break;
			y += line->points[at[i]].y;
			all++;
		}
		if (all < count || x_s < from_s || x_s > to_s)
			continue;
		last = y;
		least = fmin(least, y);
		most = fmax(most, y);
		sum += y;
		taken++;
	}
	if (!taken)
		return (double)NAN;
	if (take && !strcmp(take, value_takes[VALUE_TAKE_LEAST]))
		return least;
	if (take && !strcmp(take, value_takes[VALUE_TAKE_MOST]))
		return most;
	return take && !strcmp(take, value_takes[VALUE_TAKE_LAST]) ? last : sum / (double)taken;
}

/* Apply the operator @name to the values of a list, from left to right. */
static double apply(const struct figure_data *data, size_t run, const char *name,
		    const json_t *list, bool published)
{
	double result = value_of(data, run, json_array_get(list, 0), published);

	for (size_t i = 1; i < json_array_size(list); i++) {
		double next = value_of(data, run, json_array_get(list, i), published);

		if (!strcmp(name, "add"))
			result += next;
		else if (!strcmp(name, "multiply"))
			result *= next;
		else if (!strcmp(name, "subtract"))
			result -= next;
		else if (!strcmp(name, "divide"))
			result /= next;
		else
			result = result > 0 ? next : (double)NAN;
	}
	return isfinite(result) ? result : (double)NAN;
}

double value_of(const struct figure_data *data, size_t run, const json_t *value, bool published)
{
	const char *key;
	json_t *inner;

	if (json_is_number(value))
		return json_number_value(value);
	key = json_is_object(value) ? json_object_iter_key(json_object_iter((json_t *)value)) :
				      "";
	inner = json_object_get(value, "curve");
	if (inner)
		return read_off(data, run, inner, published);
	for (size_t i = 0; value_operators[i].name; i++)
		if (!strcmp(key, value_operators[i].name))
			return apply(data, run, key, json_object_get(value, key), published);
	/* The other expressions need the results of a run; published numbers have none. */
	if (published)
		return (double)NAN;
	if (json_is_string(value))
		return statistic(data, run, json_string_value(value));
	inner = json_object_get(value, "of");
	if (inner)
		return statistic(data, other_run(data, run, value), json_string_value(inner));
	inner = json_object_get(value, "config");
	if (inner)
		return config_value(data, run, json_string_value(inner));
	return over_rows(data, run, value);
}

double value_at_least(const struct figure_data *data, size_t run, const json_t *value)
{
	const char *text = json_string_value(value), *found, *path;
	const json_t *containers, *inner;
	struct summary_value asked = { 0 };
	char name[64];

	if (json_object_get(value, "of")) {
		run = other_run(data, run, value);
		text = json_string_value(json_object_get(value, "of"));
	}
	if (!text || !strncmp(text, "*.", 2))
		return (double)NAN;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "."), text);
	found = figure_container(data, run, name);
	containers = json_object_get(data->summaries[run], "containers");
	path = strchr(text, '.') + 1;
	inner = found ? walk(json_object_get(containers, found), path) : NULL;
	if (found && !inner)
		asked = asked_number(data, run, found, path);
	return asked.bound ? asked.real : number(json_object_get(inner, SUMMARY_AT_LEAST));
}

bool value_uses(const struct figure_data *data, size_t run, const json_t *value, size_t used)
{
	const char *key;
	json_t *inner;
	size_t i;

	if (json_object_get(value, "of"))
		return other_run(data, run, value) == used;
	if (json_is_string(value) || json_object_get(value, "config") ||
	    json_object_get(value, "rows") || json_object_get(value, "covered"))
		return run == used;
	if (json_object_get(value, "curve"))
		return true;
	json_object_foreach((json_t *)value, key, inner) {
		json_t *element;

		json_array_foreach(inner, i, element)
			if (value_uses(data, run, element, used))
				return true;
	}
	return false;
}

/* Write the name of a container that @run does not have. False: it has it. */
static bool lacks(const struct figure_data *data, size_t run, const char *name, size_t length,
		  char *ret_name, size_t size)
{
	snprintf(ret_name, size, "%.*s", (int)length, name);
	return strcmp(ret_name, "*") != 0 && !figure_container(data, run, ret_name);
}

bool value_lacks(const struct figure_data *data, size_t run, const json_t *value,
		 char *ret_name, size_t size)
{
	const char *text = json_string_value(value), *key;
	json_t *inner;
	size_t i;

	if (json_object_get(value, "of")) {
		run = other_run(data, run, value);
		text = json_string_value(json_object_get(value, "of"));
	}
	if (text)
		return lacks(data, run, text, strcspn(text, "."), ret_name, size);
	json_object_foreach((json_t *)value, key, inner) {
		json_t *element;

		text = json_string_value(json_object_get(inner, "container"));
		if (text)
			return lacks(data, run, text, strlen(text), ret_name, size);
		json_array_foreach(inner, i, element)
			if (value_lacks(data, run, element, ret_name, size))
				return true;
	}
	return false;
}
