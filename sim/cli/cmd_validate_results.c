// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmsim validate results": for every metric that two results folders both know of a container
 * of the same name and application, and that is 0 in neither: measured, predicted, and the
 * error max(p/m, m/p) - 1, by which too high and too low count the same. The last line has the
 * median and the worst of them. The metrics are those that a comparison of two runs shows, but
 * for counts.
 *
 * Allocations that a limit refused, or that found no memory, are counts: they grow with the
 * length of a run. They have a row without an error if either side has some.
 *
 * A bound ("> 12.5 s") has no error. The client's view of a metric stands in where the metric
 * itself is a bound in one of the folders, and nowhere else, since it would count the same
 * requests twice.
 */
#include "cli/cmd_validate_results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "results/folder.h"
#include "results/summary_text.h"
#include "terminal/table.h"

#define COLUMNS	     4
#define ROW_NAME_MAX (CFG_NAME_MAX + 32)

static int run(int argc, char **argv, struct sim_error *err);

/* clang-format off */
const struct command command_validate_results = {
	.name = "gvmsim validate results",
	.operands = "MEASURED PREDICTED",
	.summary = "a simulation beside results of a real host",
	.about =
"Puts a results folder that gvmcollect wrote on real hardware beside a simulated one.\n"
"For every metric that both know of a container of the same name (times, rates, kernel\n"
"launches, SLO attainment, memory): measured, predicted, and the error max(p/m, m/p) - 1.\n"
"A bound, \"> 12.5 s\", has no error, nor has the number of allocations that found no memory.\n"
"The last line has the median and the worst.\n",
	.examples =
"    gvmsim run vllm-diffusion-80g --system stock --out results/simulated\n"
"    gvmsim validate results results/hardware results/simulated\n",
	.run = run,
};
/* clang-format on */

/* The two runs, in arrays by this index. */
enum side { SIDE_MEASURED, SIDE_PREDICTED, SIDES };

/* One comparison. */
struct row {
	char name[ROW_NAME_MAX]; /* "vllm TTFT p99" */
	const struct metric *metric;
	struct summary_value values[SIDES];
	bool bound; /* a value is a bound or a count: there is no error */
	double error;
};

struct validation {
	struct folder folders[SIDES];
	struct row *rows;
	size_t count;
	size_t bounds; /* rows without an error */
};

/* The values of a metric on both sides. False: one of them does not know it, or is 0. */
static bool find_values(const struct summary_container *const both[SIDES],
			const struct metric *metric, struct summary_value ret_values[SIDES])
{
	for (int side = 0; side < SIDES; side++) {
		const struct summary_value *value;

		if (summary_find_metric(both[side], metric->key, &value) != metric ||
		    !value->known || !(summary_number(value, metric) > 0))
			return false;
		ret_values[side] = *value;
	}
	return true;
}

/*
 * Does a metric over arrived records say, without a bound, what @metric says of the client's?
 */
static bool has_better(const struct summary_container *const both[SIDES],
		       const struct metric *metric)
{
	const struct app_report *report = both[SIDE_MEASURED]->report;
	struct summary_value values[SIDES];

	if (metric->view != METRIC_OF_CLIENT)
		return false;
	for (size_t i = 0; i < report->metric_count; i++) {
		const struct metric *other = &report->metrics[i];

		if (other->view == METRIC_OF_ARRIVED && other->source == metric->source &&
		    other->statistic == metric->statistic && other->promise == metric->promise)
			return find_values(both, other, values) &&
			       !values[SIDE_MEASURED].bound && !values[SIDE_PREDICTED].bound;
	}
	return false;
}

/* The same of allocations that were refused. False: one does not know it, or both are 0. */
static bool find_refusals(const struct summary_container *const both[SIDES],
			  const struct metric *metric, struct summary_value ret_values[SIDES])
{
	u64 sum = 0;

	if (metric < &summary_metrics[SUMMARY_EVENTS_HIGH] ||
	    metric > &summary_metrics[SUMMARY_EVENTS_OOM])
		return false;
	for (int side = 0; side < SIDES; side++) {
		const struct summary_value *value;

		if (summary_find_metric(both[side], metric->key, &value) != metric ||
		    !value->known)
			return false;
		ret_values[side] = *value;
		sum += value->count;
	}
	return sum > 0;
}

/* Name a row that is complete, and count it. */
static void keep_row(struct validation *validation, struct row *row,
		     const struct summary_container *container)
{
	snprintf(row->name, sizeof(row->name), "%s %s", container->name, row->metric->label);
	validation->bounds += row->bound;
	validation->count++;
}

/* Add a row if both sides know the value and it is above 0. */
static void add_row(struct validation *validation,
		    const struct summary_container *const both[SIDES],
		    const struct metric *metric)
{
	struct row *row = &validation->rows[validation->count];

	*row = (struct row){ .metric = metric };
	if (find_refusals(both, metric, row->values)) {
		row->bound = true;
		keep_row(validation, row, both[SIDE_MEASURED]);
		return;
	}
	if (!metric->compared || metric->unit == METRIC_COUNT ||
	    !find_values(both, metric, row->values) || has_better(both, metric))
		return;
	row->error = summary_number(&row->values[SIDE_PREDICTED], metric) /
		     summary_number(&row->values[SIDE_MEASURED], metric);
	row->error = fmax(row->error, 1 / row->error) - 1;
	row->bound = row->values[SIDE_MEASURED].bound || row->values[SIDE_PREDICTED].bound;
	keep_row(validation, row, both[SIDE_MEASURED]);
}

/* Compare two containers of one name: of the same application, or of an unknown one. */
static void compare_container(struct validation *validation,
			      const struct summary_container *measured)
{
	const struct summary_container *const both[SIDES] = {
		measured,
		summary_find(&validation->folders[SIDE_PREDICTED].summary, measured->name),
	};
	const struct summary_container *predicted = both[SIDE_PREDICTED];
	const struct summary_value *unused;
	const struct metric *metric;

	if (!predicted ||
	    (measured->report && predicted->report && measured->report != predicted->report))
		return;
	for (size_t i = 0; (metric = summary_metric(measured, i, &unused)); i++)
		add_row(validation, both, metric);
}

/* By error; bounds come last. */
static int by_error(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	if (left->bound != right->bound)
		return left->bound ? 1 : -1;
	return (left->error > right->error) - (left->error < right->error);
}

static void print_head(const struct validation *validation)
{
	static const char *const words[SIDES] = { "measured", "predicted" };

	for (int side = 0; side < SIDES; side++) {
		const struct folder *folder = &validation->folders[side];
		char length[TABLE_CELL_MAX];

		summary_format_run(folder->summary.sim_seconds, length, sizeof(length));
		printf("%-9s  %s on %s, system %s, %s%s\n", words[side], folder->summary.name,
		       *folder->gpu ? folder->gpu : "a GPU of its own description",
		       folder->summary.system, length,
		       folder->summary.complete ? "" : " (INCOMPLETE: interrupted)");
	}
	putchar('\n');
}

static void print_rows(const struct validation *validation)
{
	static const char *const head[COLUMNS] = { "", "measured", "predicted", "error" };
	struct table table = { 0 };

	table_add(&table);
	for (size_t i = 0; i < COLUMNS; i++)
		table_set(&table, i, "%s", head[i]);
	for (size_t i = 0; i < validation->count; i++) {
		const struct row *row = &validation->rows[i];

		table_add(&table);
		table_set(&table, 0, "%s", row->name);
		for (size_t side = 0; side < SIDES; side++) {
			char text[TABLE_CELL_MAX];

			summary_format(&row->values[side], row->metric, text, sizeof(text));
			table_set(&table, side + 1, "%s", text);
		}
		if (row->bound)
			table_set(&table, COLUMNS - 1, "-");
		else
			table_set(&table, COLUMNS - 1, "%.1f %%", 100 * row->error);
	}
	table_print(&table, stdout);
}

/* Sorts the rows, so it comes last. */
static void print_errors(struct validation *validation)
{
	size_t count = validation->count - validation->bounds;
	const struct row *rows = validation->rows;
	double median;

	qsort(validation->rows, validation->count, sizeof(*rows), by_error);
	if (!count) {
		printf("\nnone compared: all values are bounds or counts\n");
		return;
	}
	median = (rows[(count - 1) / 2].error + rows[count / 2].error) / 2;
	printf("\n%zu compared: median error %.1f %%, worst %.1f %% (%s)\n", count,
	       100 * median, 100 * rows[count - 1].error, rows[count - 1].name);
}

static int compare(struct validation *validation, const char *measured, const char *predicted,
		   struct sim_error *err)
{
	const struct summary *summary = &validation->folders[SIDE_MEASURED].summary;
	size_t count = summary->container_count;

	validation->rows = calloc(count * (SUMMARY_METRICS + REPORT_METRICS_MAX) + 1,
				  sizeof(*validation->rows));
	if (!validation->rows)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i < count; i++)
		compare_container(validation, &summary->containers[i]);
	if (!validation->count)
		return sim_user_error(
			err,
			"%s and %s have nothing in common, allowed: folders with a "
			"container of the same name and application",
			measured, predicted);
	print_head(validation);
	print_rows(validation);
	print_errors(validation);
	return command_flush(err);
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct validation validation = { 0 };
	struct command_line line;
	int status =
		command_parse(&command_validate_results, argc, argv, NULL, NULL, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_validate_results, err);
	if (line.operand_count != SIDES)
		return command_mistake(&command_validate_results, err, "%d folders, expected 2",
				       line.operand_count);
	for (int side = 0; !status && side < SIDES; side++)
		status = folder_load(&validation.folders[side], line.operands[side], err);
	if (!status)
		status = compare(&validation, line.operands[SIDE_MEASURED],
				 line.operands[SIDE_PREDICTED], err);
	free(validation.rows);
	for (int side = 0; side < SIDES; side++)
		folder_destroy(&validation.folders[side]);
	return status;
}
