// SPDX-License-Identifier: MIT OR GPL-2.0
/* "gvmsim validate published", see cmd_validate_published.h. */
#include "cli/cmd_validate_published.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/deviations.h"
#include "cli/figure_runs.h"
#include "cli/published_json.h"
#include "engine/error.h"
#include "engine/whole_file.h"
#include "figures/make.h"
#include "figures/figure_seeds.h"
#include "figures/published.h"
#include "terminal/signals.h"
#include "terminal/table.h"

static int run(int argc, char **argv, struct sim_error *err);

static const struct command_option options[] = {
	{ "set", "PATH=VALUE", true,
	  "change any key of the scenarios for all runs: what does the score depend on?" },
	{ "seeds", "N", false,
	  "make the runs N times more, with jitter of arrivals and phases: how far\n"
	  "is one run from another? 10 are a good number" },
	{ "json", "FILE", false, "write all rows and scores to this file, too" },
	{ "deviations", "FILE", false,
	  "rewrite the tables between marks in this document, DEVIATIONS.md" },
	{ "fresh", NULL, false, "make all runs again, even if results/cache has them" },
	{ NULL, NULL, false, NULL },
};

/* clang-format off */
const struct command command_validate_published = {
	.name = "gvmsim validate published",
	.operands = "[FIGURE]...",
	.summary = "published values beside predictions, with a score",
	.about =
"Puts every published value that a figure compares (plots/reference) beside the\n"
"figure's own prediction. The error is |ln(predicted / published)|: 0.22 is 25 %,\n"
"0.69 is 2 times. A missing prediction is an infinite error. For each figure and for\n"
"all: the median error, the share of rows within 25 % and within 2 times, and how many\n"
"pairs of values that differ by more than 20 % are in the published order.\n",
	.options = options,
	.more = "A row that the reference file names a reason for counts in no score: claims, "
		"values\n"
		"that are 1 by definition, other machines. \"all\" counts each published value "
		"once,\n"
		"even if several figures draw it.\n"
		"\n"
		"With --seeds, each prediction has a spread: the 10th, 50th and 90th "
		"percentile of "
		"the\n"
		"runs with seeds 1 to N, in which arrivals of a trace are drawn anew "
		"(jitter.arrivals is\n"
		"gaps) and closed loops begin up to " FIGURE_JITTER_START
		" later, and whether the published value,\n"
		"which is of one run, lies within. A container alone without a trace has no "
		"spread.\n",
	.examples =
"    gvmsim validate published\n"
"  One figure, as JSON, too:\n"
"    gvmsim validate published isolation --json score.json\n",
	.run = run,
};
/* clang-format on */

/* A parsed command line. Strings are borrowed from argv. */
struct published_args {
	struct figure_request request;
	const char **sets;
	const char *json;	/* NULL: not wanted */
	const char *deviations; /* likewise */
	size_t seeds;
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct published_args *args = data;

	if (!strcmp(option, "set")) {
		args->sets[args->request.set_count++] = value;
	} else if (!strcmp(option, "seeds")) {
		char *end;
		unsigned long seeds = strtoul(value, &end, 10);

		if (*value < '0' || *value > '9' || *end || seeds > PUBLISHED_SEEDS_MAX)
			return command_bad_value(&command_validate_published, option, err,
						 "'%s' is wrong, allowed: 0 to %d", value,
						 PUBLISHED_SEEDS_MAX);
		args->seeds = seeds;
	} else if (!strcmp(option, "deviations")) {
		args->deviations = value;
	} else if (!strcmp(option, "json")) {
		args->json = value;
	} else {
		args->request.use.fresh = true;
	}
	return 0;
}

/* The percentiles of a row under the seeds, and whether the published value is among them. */
static int print_spread(struct table *table, const struct published *published, size_t index,
			struct sim_error *err)
{
	const double *draws = &published->draws[index * published->seeds];
	struct score_spread spread;

	if (score_spread(draws, published->seeds, published->rows[index].published, &spread))
		return sim_runtime_error(err, "out of memory");
	if (isnan(spread.median)) {
		table_set(table, 4, "none");
		return 0;
	}
	table_set(table, 4, "%.4g", spread.low);
	table_set(table, 5, "%.4g", spread.median);
	table_set(table, 6, "%.4g", spread.high);
	table_set(table, 7, spread.within ? "within" : "outside");
	return 0;
}

static int print_row(struct table *table, const struct published *published, size_t index,
		     struct sim_error *err)
{
	const struct score_row *row = &published->rows[index];
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
		table_set(table, 8, "%.3f", score_error(row));
	else
		table_set(table, 8, "not scored: %s", row->unscored);
	return published->seeds ? print_spread(table, published, index, err) : 0;
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

/* The order of each panel of a figure; @sum grows by all of them. */
static void print_orders(const struct published *published, const struct figure *figure,
			 struct score_order *sum)
{
	for (size_t i = 0; i < figure->panel_count; i++) {
		const char *panel = figure->panels[i].key;
		struct score_order order =
			score_order(published->rows, published->row_count, figure->name, panel);

		if (order.pairs)
			printf("  order of %s: %zu of %zu pairs\n", panel, order.kept,
			       order.pairs);
		score_order_add(sum, &order);
	}
}

static int print_figure(const struct published *published, const struct figure *figure,
			struct score_order *sum, struct sim_error *err)
{
	struct table table = { 0 };
	struct score score;
	int status = 0;

	table_add(&table);
	table_set(&table, 0, "%s", figure->name);
	table_set(&table, 1, "published");
	table_set(&table, 2, "predicted");
	table_set(&table, 3, "ratio");
	if (published->seeds) {
		table_set(&table, 4, "p10");
		table_set(&table, 5, "p50");
		table_set(&table, 6, "p90");
		table_set(&table, 7, "published is");
	}
	table_set(&table, 8, "error");
	for (size_t i = 0; !status && i < published->row_count; i++)
		if (!strcmp(published->rows[i].figure, figure->name))
			status = print_row(&table, published, i, err);
	table_print(&table, stdout);
	print_orders(published, figure, sum);
	if (status)
		return status;
	if (score_rows(published->rows, published->row_count, figure->name, &score))
		return sim_runtime_error(err, "out of memory");
	print_score(figure->name, &score);
	putchar('\n');
	return 0;
}

/*
 * How many published values lie within the spread, and the score of each seed's predictions:
 * its median, 10th and 90th percentile.
 */
static int print_spreads(const struct published *published, struct sim_error *err)
{
	struct score_row *rows = calloc(published->row_count + 1, sizeof(*rows));
	double *medians = calloc(published->seeds + 1, sizeof(*medians));
	size_t within = 0, counted = 0;
	struct score_spread spread;
	struct score score;
	int status = !rows || !medians;

	for (size_t i = 0; !status && i < published->row_count; i++) {
		rows[i] = published->rows[i];
		status = score_spread(&published->draws[i * published->seeds], published->seeds,
				      rows[i].published, &spread);
		counted += score_counts(&rows[i]);
		within += score_counts(&rows[i]) && spread.within;
	}
	for (size_t seed = 0; !status && seed < published->seeds; seed++) {
		for (size_t i = 0; i < published->row_count; i++)
			rows[i].predicted = published->draws[i * published->seeds + seed];
		status = score_rows(rows, published->row_count, NULL, &score);
		medians[seed] = score.median;
	}
	if (!status)
		status = score_spread(medians, published->seeds, 0, &spread);
	free(rows);
	free(medians);
	if (status)
		return sim_runtime_error(err, "out of memory");
	if (!counted)
		printf("seeds 1 to %zu: no row counts\n", published->seeds);
	else
		printf("seeds 1 to %zu: %zu of %zu published values lie within the spread; "
		       "median error of all %.3f, 10th to 90th percentile %.3f to %.3f\n",
		       published->seeds, within, counted, spread.median, spread.low,
		       spread.high);
	return 0;
}

static int print_all(const struct published *published, struct sim_error *err)
{
	struct score_order order = { 0 };
	struct score score;
	int status = 0;

	for (size_t i = 0; !status && i < published->count; i++)
		status = print_figure(published, &published->figures[i], &order, err);
	if (status)
		return status;
	if (score_rows(published->rows, published->row_count, NULL, &score))
		return sim_runtime_error(err, "out of memory");
	printf("order: %zu of %zu pairs are in the published order\n", order.kept, order.pairs);
	print_score("all", &score);
	return published->seeds ? print_spreads(published, err) : 0;
}

static int validate(struct published_args *args, const struct command_line *line,
		    struct sim_error *err)
{
	struct published published;
	struct signals signals;
	struct whole_file file;
	int status = 0;

	/* Minutes of runs come first: a file that cannot be written is said before them. */
	if (args->json) {
		status = whole_file_open(&file, args->json, err);
		if (status)
			return status;
		whole_file_abort(&file);
	}
	if (args->deviations) {
		status = deviations_check(args->deviations, err);
		if (status)
			return status;
	}
	status = published_open(&published, (const char *const *)line->operands,
				(size_t)line->operand_count, args->seeds, &args->request, err);

	if (!status) {
		figure_runs_begin(&args->request.use, &signals);
		status = published_predict(&published, &args->request.use, err);
		figure_runs_end(&signals);
	}
	if (!status)
		status = print_all(&published, err);
	if (!status && args->json)
		status = published_write_json(&published, args->json, err);
	if (!status && args->deviations)
		status = deviations_update(&published, args->deviations, !line->operand_count,
					   err);
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
