// SPDX-License-Identifier: MIT OR GPL-2.0
#include "sweep/sweep_print.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/message.h"
#include "config/units.h"
#include "engine/error.h"
#include "gvm/port.h"
#include "results/summary_text.h"
#include "terminal/table.h"

/* Names of columns beside the keys. */
struct columns {
	const char *names[SWEEP_METRICS_MAX + 3 * SWEEP_PLOTS_MAX + SEARCH_BOUNDS_MAX + 1];
	size_t count;
};

/* Add a metric, unless it is there or is a key of the points. */
static void add_column(struct columns *columns, const struct sweep *sweep, const char *name)
{
	if (!name || sweep_axis_find(sweep, name) != SIZE_MAX)
		return;
	for (size_t i = 0; i < columns->count; i++)
		if (!strcmp(columns->names[i], name))
			return;
	columns->names[columns->count++] = name;
}

static void collect_columns(struct columns *columns, const struct sweep *sweep,
			    const struct search *search)
{
	*columns = (struct columns){ 0 };
	add_column(columns, sweep, search->objective);
	for (size_t i = 0; i < search->bound_count; i++)
		add_column(columns, sweep, search->bounds[i].name);
	for (size_t i = 0; i < sweep->metric_count; i++)
		add_column(columns, sweep, sweep->metrics[i]);
	for (size_t i = 0; i < sweep->plot_count; i++) {
		add_column(columns, sweep, sweep->plots[i].x);
		add_column(columns, sweep, sweep->plots[i].y);
		add_column(columns, sweep, sweep->plots[i].value);
	}
}

int sweep_check_columns(struct sweep_runs *runs, struct search *search, struct sim_error *err)
{
	enum metric_unit unit;
	struct columns columns;
	int status = search_check(search, runs, err);

	collect_columns(&columns, runs->sweep, search);
	for (size_t i = 0; !status && i < columns.count; i++)
		status =
			sweep_check_name(runs, runs->sweep->file, columns.names[i], &unit, err);
	return status;
}

const char *sweep_short_key(const char *key)
{
	static const char before[] = "containers.";

	return strncmp(key, before, strlen(before)) != 0 ? key : key + strlen(before);
}

/* Append the words of an object or an array, those within it included. */
static void append_words(const json_t *json, char *text, size_t size)
{
	const char *key;
	json_t *member;
	size_t i;

	if (json_is_object(json)) {
		json_object_foreach((json_t *)json, key, member)
			append_words(member, text, size);
	} else if (json_is_array(json)) {
		json_array_foreach(json, i, member)
			append_words(member, text, size);
	} else {
		char *word = json_is_string(json) ?
				     NULL :
				     json_dumps(json, JSON_ENCODE_ANY | CFG_JSON_PRECISION);

		cfg_append(text, size, "%s%s", *text ? " " : "",
			   word ? word : json_string_value(json));
		free(word);
	}
}

void sweep_short_value(const char *value, char *text, size_t size)
{
	json_t *json = strchr("{[", *value) ? json_loads(value, 0, NULL) : NULL;

	*text = '\0';
	if (json)
		append_words(json, text, size);
	else
		snprintf(text, size, "%s", value);
	json_decref(json);
}

/* "1.92", "> 12.5", "1.92 [1.8, 2.1]" */
static void format_estimate(const struct run_estimate *estimate, char *text, size_t size)
{
	if (!estimate->value.known)
		snprintf(text, size, "-");
	else if (estimate->interval && isinf(estimate->high))
		snprintf(text, size, "%.4g [%.4g, -]", estimate->value.number, estimate->low);
	else if (estimate->interval)
		snprintf(text, size, "%.4g [%.4g, %.4g]", estimate->value.number, estimate->low,
			 estimate->high);
	else
		snprintf(text, size, "%s%.6g", estimate->value.bound ? "> " : "",
			 estimate->value.number);
}

int sweep_print_points(const struct sweep_numbers *numbers, const struct search *search,
		       struct sim_error *err)
{
	const struct sweep *sweep = numbers->runs->sweep;
	struct table table = { 0 };
	struct columns columns;
	char text[TABLE_CELL_MAX], over[96];
	int status = 0;

	collect_columns(&columns, sweep, search);
	if (!columns.count)
		return 0;
	columns.count = min(columns.count, TABLE_COLUMNS_MAX - 1 - sweep->axis_count);
	table_add(&table);
	table_set(&table, 0, "point");
	for (size_t i = 0; i < sweep->axis_count; i++)
		table_set(&table, 1 + i, "%s", sweep_short_key(sweep->axes[i].key));
	for (size_t i = 0; i < columns.count; i++)
		table_set(&table, 1 + sweep->axis_count + i, "%s", columns.names[i]);
	for (size_t point = 0; point < sweep->point_count; point++) {
		size_t mistake = sweep_point_mistake(numbers->runs, point, &sweep_whole);

		table_add(&table);
		table_set(&table, 0, "%zu", point + 1);
		for (size_t i = 0; i < sweep->axis_count; i++) {
			const char *value = sweep_text(sweep, point, i);

			sweep_short_value(value ? value : "-", text, sizeof(text));
			table_set(&table, 1 + i, "%s", text);
		}
		for (size_t i = 0; i < columns.count; i++) {
			struct run_estimate estimate =
				sweep_estimate_named(numbers, point, columns.names[i]);

			format_estimate(&estimate, text, sizeof(text));
			table_set(&table, 1 + sweep->axis_count + i, "%s",
				  mistake == SIZE_MAX ? text : "not run");
		}
	}
	if (table.failed)
		status = sim_runtime_error(err, "out of memory");
	table_print(&table, stdout);
	table_destroy(&table);
	sweep_describe_interval(sweep, over, sizeof(over));
	if (*over)
		printf("%s%s[low, high]: %s\n",
		       sweep->over == SWEEP_OVER_SEEDS ? estimate_word(sweep->of) : "",
		       sweep->over == SWEEP_OVER_SEEDS ? " " : "", over);
	return status;
}

void sweep_print_mistakes(const struct sweep_runs *runs, const struct sweep_part *part,
			  bool tried)
{
	char text[1024];

	for (size_t point = 0; point < runs->sweep->point_count; point++) {
		size_t mistake = sweep_point_mistake(runs, point, part);

		if (mistake == SIZE_MAX || (*runs->runs[mistake].run.key != '\0') != tried)
			continue;
		sweep_describe_mistake(runs, mistake, text, sizeof(text));
		fprintf(stderr, "gvmsim: %s: %s\n", runs->sweep->file, text);
	}
}

/* Where no point keeps all bounds: which bound is to blame, and how near it is. */
static void print_obstacles(const struct sweep_numbers *numbers, const struct search *search,
			    const struct search_result *result)
{
	for (size_t i = 0; i < search->bound_count; i++) {
		const struct search_bound *bound = &search->bounds[i];
		struct run_estimate estimate;
		char text[TABLE_CELL_MAX];

		printf("            %s%s%s: %zu of %zu", bound->name,
		       search_relation_text(bound->relation), bound->text, result->kept[i],
		       numbers->runs->sweep->point_count);
		if (!result->kept[i] && result->nearest[i] != SIZE_MAX) {
			estimate =
				sweep_estimate_named(numbers, result->nearest[i], bound->name);
			format_estimate(&estimate, text, sizeof(text));
			printf(", the nearest is %s of point %zu", text,
			       result->nearest[i] + 1);
		}
		printf("\n");
	}
}

int sweep_print_best(const struct sweep_numbers *numbers, const struct search *search,
		     const struct search_result *result, struct sim_error *err)
{
	const struct sweep *sweep = numbers->runs->sweep;
	struct run_estimate estimate;
	char text[TABLE_CELL_MAX];

	if (search->bound_count)
		printf("%zu of %zu points keep %s.\n", result->satisfied, sweep->point_count,
		       search->bound_count == 1 ? "the bound" : "all bounds");
	if (!result->satisfied)
		print_obstacles(numbers, search, result);
	if (!result->satisfied)
		return sim_runtime_error(err, "%s: no point keeps %s", sweep->file,
					 search->bound_count == 1 ? "the bound" : "all bounds");
	if (!search->objective)
		return 0;
	if (result->best == SIZE_MAX)
		return sim_runtime_error(err, "%s: no point that keeps the bounds has %s",
					 sweep->file, search->objective);
	estimate = sweep_estimate_named(numbers, result->best, search->objective);
	format_estimate(&estimate, text, sizeof(text));
	if (sweep_axis_find(sweep, search->objective) != SIZE_MAX)
		snprintf(text, sizeof(text), "%s",
			 sweep_text(sweep, result->best,
				    sweep_axis_find(sweep, search->objective)));
	printf("best        point %zu: %s is %s\n", result->best + 1, search->objective, text);
	for (size_t i = 0; i < sweep->axis_count; i++) {
		const char *value = sweep_text(sweep, result->best, i);

		if (value && !strcmp(sweep->axes[i].key, SWEEP_SCENARIO))
			printf("            scenario %s\n", value);
		else if (value)
			printf("            --set %s=%s\n", sweep->axes[i].key, value);
	}
	for (size_t i = 0; i < search->bound_count; i++) {
		const struct search_bound *bound = &search->bounds[i];

		estimate = sweep_estimate_named(numbers, result->best, bound->name);
		format_estimate(&estimate, text, sizeof(text));
		printf("            %s is %s%s\n", bound->name, text,
		       search_is_close(bound, numbers, result->best) ?
			       ": the interval reaches beyond the bound" :
			       "");
	}
	return 0;
}

void sweep_print_value(const char *key, const char *value, char *text, size_t size)
{
	u64 bytes;

	if (strstr(key, ".gmem.limit.") && value[strspn(value, "0123456789")] == '\0' &&
	    units_parse_size(value, &bytes) == UNITS_OK)
		summary_format_bytes(bytes, text, size);
	else
		sweep_short_value(value, text, size);
}
