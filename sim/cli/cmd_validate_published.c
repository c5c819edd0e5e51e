// SPDX-License-Identifier: MIT OR GPL-2.0
/* "gvmsim validate published", see cmd_validate_published.h. */
#include "cli/cmd_validate_published.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "figures/make.h"
#include "figures/published.h"
#include "terminal/signals.h"
#include "terminal/table.h"

static int run(int argc, char **argv, struct sim_error *err);

static const struct command_option options[] = {
	{ "set", "PATH=VALUE", true,
	  "change any key of the scenarios for all runs: what does the score depend on?" },
	{ "json", "FILE", false, "write all rows and scores to this file, too" },
	{ "fresh", NULL, false, "make all runs again, even if results/cache has them" },
	{ NULL, NULL, false, NULL },
};

const struct command command_validate_published = {
	.name = "gvmsim validate published",
	.operands = "[FIGURE]...",
	.summary = "all published values beside their predictions, and a score",
	.about =
		"Puts every published value that a figure compares (plots/reference) beside "
		"the\n"
		"figure's own prediction. The error is |ln(predicted / published)|: 0.22 is 25 "
		"%,\n"
		"0.69 is 2 times. A missing prediction is an infinite error. For each figure "
		"and for\n"
		"all: the median error, the share of rows within 25 % and within 2 times, and "
		"how many\n"
		"pairs of values that differ by more than 20 % are in the published order.\n",
	.options = options,
	.more = "A row that the reference file names a reason for counts in no score: claims, "
		"values\n"
		"that are 1 by definition, other machines. \"all\" counts each published value "
		"once,\n"
		"even if several figures draw it.\n",
	.examples = "    gvmsim validate published\n"
		    "  One figure, as JSON, too:\n"
		    "    gvmsim validate published isolation --json score.json\n",
	.run = run,
};

/* A parsed command line. Strings are borrowed from argv. */
struct published_args {
	struct figure_request request;
	const char **sets;
	const char *json; /* NULL: not wanted */
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct published_args *args = data;

	(void)err;
	if (!strcmp(option, "set"))
		args->sets[args->request.set_count++] = value;
	else if (!strcmp(option, "json"))
		args->json = value;
	else
		args->request.fresh = true;
	return 0;
}

static void print_row(struct table *table, const struct score_row *row)
{
	char x[32] = "";

	if (!isnan(row->x))
		snprintf(x, sizeof(x), " %g", row->x);
	table_add(table);
	table_set(table, 0, "  %s %s%s%s%s", row->panel, row->run, x, *row->part ? " " : "",
		  row->part);
	table_set(table, 1, "%.6g %s", row->published, row->unit);
	if (isnan(row->predicted)) {
		table_set(table, 2, "none");
		table_set(table, 3, "-");
	} else {
		table_set(table, 2, "%.6g %s", row->predicted, row->unit);
		table_set(table, 3, "%.3f", row->predicted / row->published);
	}
	if (score_counts(row))
		table_set(table, 4, "%.3f", score_error(row));
	else
		table_set(table, 4, "not scored: %s", row->unscored);
}

static void print_score(const char *label, const struct score *score)
{
	if (!score->rows)
		printf("%s: no row counts\n", label);
	else
		printf("%s: %zu rows, median error %.3f, within 25 %%: %.0f %%, within 2 "
		       "times: %.0f %%\n",
		       label, score->rows, score->median, 100 * score->near,
		       100 * score->factor);
}

/* Call @use for each panel of a figure with its pairs, and add up the pairs. */
static void count_order(const struct published *published, const struct figure *figure,
			void (*use)(void *data, const char *panel, size_t pairs, size_t kept),
			void *data, size_t *ret_pairs, size_t *ret_kept)
{
	for (size_t i = 0; i < figure->panel_count; i++) {
		const char *panel = figure->panels[i].key;
		size_t pairs, kept;

		score_order(published->rows, published->row_count, figure->name, panel, &pairs,
			    &kept);
		if (pairs)
			use(data, panel, pairs, kept);
		*ret_pairs += pairs;
		*ret_kept += kept;
	}
}

static void print_order(void *data, const char *panel, size_t pairs, size_t kept)
{
	(void)data;
	printf("  order of %s: %zu of %zu pairs\n", panel, kept, pairs);
}

static int print_figure(const struct published *published, const struct figure *figure,
			size_t *ret_pairs, size_t *ret_kept, struct sim_error *err)
{
	struct table table = { 0 };
	struct score score;

	table_add(&table);
	table_set(&table, 0, "%s", figure->name);
	table_set(&table, 1, "published");
	table_set(&table, 2, "predicted");
	table_set(&table, 3, "ratio");
	table_set(&table, 4, "error");
	for (size_t i = 0; i < published->row_count; i++)
		if (!strcmp(published->rows[i].figure, figure->name))
			print_row(&table, &published->rows[i]);
	table_print(&table, stdout);
	count_order(published, figure, print_order, NULL, ret_pairs, ret_kept);
	if (score_rows(published->rows, published->row_count, figure->name, &score))
		return sim_runtime_error(err, "out of memory");
	print_score(figure->name, &score);
	putchar('\n');
	return 0;
}

static int print_all(const struct published *published, struct sim_error *err)
{
	size_t pairs = 0, kept = 0;
	struct score score;
	int status = 0;

	for (size_t i = 0; !status && i < published->count; i++)
		status = print_figure(published, &published->figures[i], &pairs, &kept, err);
	if (status)
		return status;
	if (score_rows(published->rows, published->row_count, NULL, &score))
		return sim_runtime_error(err, "out of memory");
	printf("order: %zu of %zu pairs are in the published order\n", kept, pairs);
	print_score("all", &score);
	return 0;
}

/* A number; null if it is not known or infinite. */
static json_t *json_of(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *json_of_row(const struct score_row *row)
{
	json_t *json =
		json_pack("{s:s, s:s, s:o, s:s, s:s, s:s, s:o, s:o, s:o, s:b}", "panel",
			  row->panel, "run", row->run, "x", json_of(row->x), "part", row->part,
			  "unit", row->unit, "id", row->id, "published",
			  json_of(row->published), "predicted", json_of(row->predicted),
			  "error", json_of(score_error(row)), "scored", (int)score_counts(row));

	if (json && *row->unscored)
		json_object_set_new(json, "unscored", json_string(row->unscored));
	return json;
}

static json_t *json_of_score(const struct score *score, size_t pairs, size_t kept)
{
	return json_pack("{s:I, s:o, s:o, s:o, s:I, s:I}", "rows", (json_int_t)score->rows,
			 "median_error", json_of(score->median), "within_25_percent",
			 json_of(score->near), "within_2_times", json_of(score->factor),
			 "order_pairs", (json_int_t)pairs, "order_kept", (json_int_t)kept);
}

static void add_order(void *data, const char *panel, size_t pairs, size_t kept)
{
	json_array_append_new(data, json_pack("{s:s, s:I, s:I}", "panel", panel, "pairs",
					      (json_int_t)pairs, "kept", (json_int_t)kept));
}

/* All of a figure; *ret_pairs and *ret_kept grow by its own. NULL: out of memory. */
static json_t *json_of_figure(const struct published *published, const struct figure *figure,
			      size_t *ret_pairs, size_t *ret_kept)
{
	json_t *rows = json_array(), *order = json_array();
	size_t pairs = 0, kept = 0;
	struct score score = { 0 };

	for (size_t i = 0; i < published->row_count; i++)
		if (!strcmp(published->rows[i].figure, figure->name))
			json_array_append_new(rows, json_of_row(&published->rows[i]));
	count_order(published, figure, add_order, order, &pairs, &kept);
	*ret_pairs += pairs;
	*ret_kept += kept;
	if (score_rows(published->rows, published->row_count, figure->name, &score)) {
		json_decref(rows);
		json_decref(order);
		return NULL;
	}
	return json_pack("{s:s, s:o, s:o, s:o}", "figure", figure->name, "rows", rows, "order",
			 order, "score", json_of_score(&score, pairs, kept));
}

static int write_json(const struct published *published, const char *file,
		      struct sim_error *err)
{
	json_t *figures = json_array(), *root;
	char temporary[PATH_MAX];
	size_t pairs = 0, kept = 0;
	struct score score;
	int status = 0;

	for (size_t i = 0; i < published->count; i++)
		json_array_append_new(figures, json_of_figure(published, &published->figures[i],
							      &pairs, &kept));
	if (score_rows(published->rows, published->row_count, NULL, &score)) {
		json_decref(figures);
		return sim_runtime_error(err, "out of memory");
	}
	root = json_pack("{s:s, s:o, s:o}", "version", GVMSIM_VERSION, "figures", figures,
			 "score", json_of_score(&score, pairs, kept));
	if (!root)
		return sim_runtime_error(err, "out of memory");
	snprintf(temporary, sizeof(temporary), "%s.tmp", file);
	if (json_dump_file(root, temporary, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) ||
	    rename(temporary, file)) {
		status = sim_runtime_error(err, "%s: cannot be written", file);
		remove(temporary);
	}
	json_decref(root);
	return status;
}

static int validate(const struct published_args *args, const struct command_line *line,
		    struct sim_error *err)
{
	struct published published;
	struct signals signals;
	int status = published_open(&published, (const char *const *)line->operands,
				    (size_t)line->operand_count, &args->request, err);

	if (!status) {
		signals_take(&signals);
		status = published_predict(&published, args->request.fresh, &signals, err);
		signals_release(&signals);
	}
	if (!status)
		status = print_all(&published, err);
	if (!status && args->json)
		status = write_json(&published, args->json, err);
	published_destroy(&published);
	return status;
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct published_args args = { 0 };
	struct command_line line;
	int status;

	args.sets = calloc((size_t)argc + 1, sizeof(*args.sets));
	if (!args.sets)
		return sim_runtime_error(err, "out of memory");
	args.request.sets = args.sets;
	status = command_parse(&command_validate_published, argc, argv, take_option, &args,
			       &line, err);
	if (!status && line.help)
		status = command_print_help(&command_validate_published, err);
	else if (!status)
		status = validate(&args, &line, err);
	free(args.sets);
	return status ? status : command_flush(err);
}
