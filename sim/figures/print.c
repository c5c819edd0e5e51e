// SPDX-License-Identifier: MIT OR GPL-2.0
/* Tables of a figure, see show.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/message.h"
#include "figures/show.h"
#include "gvm/port.h"
#include "results/compare.h"
#include "results/estimate.h"
#include "results/summary_text.h"
#include "terminal/table.h"

/* "1.250 GiB", or "-" for NAN. A ratio has no unit. */
static void set_real(struct table *table, size_t column, double value, int digits,
		     const char *unit)
{
	if (isnan(value))
		table_set(table, column, "-");
	else if (fabs(value) >= 1e15) /* more digits than a double has */
		table_set(table, column, "%.6g%s%s", value, strcmp(unit, "x") != 0 ? " " : "",
			  strcmp(unit, "x") != 0 ? unit : "");
	else if (!strcmp(unit, "x"))
		table_set(table, column, "%.*f", digits, value);
	else
		table_set(table, column, "%.*f %s", digits, value, unit);
}

/*
 * Ours; "> 1.250 GiB" where the run tells a lower bound only, "1.250 [1.210, 1.300] GiB" over
 * seeds.
 */
static void set_ours(struct table *table, size_t column, const struct figure_cell *cell,
		     const struct figure_panel *panel)
{
	const char *unit = strcmp(panel->unit, "x") != 0 ? panel->unit : "";

	if (isnan(cell->pair.ours) && !isnan(cell->at_least))
		table_set(table, column, "> %.*f %s", panel->digits, cell->at_least, unit);
	else if (!isnan(cell->low) && fabs(cell->high) < 1e15)
		table_set(table, column, "%.*f [%.*f, %.*f]%s%s", panel->digits,
			  cell->pair.ours, panel->digits, cell->low, panel->digits, cell->high,
			  *unit ? " " : "", unit);
	else
		set_real(table, column, cell->pair.ours, panel->digits, panel->unit);
}

/* Three cells: ours, published and their ratio. */
static void set_pair(struct table *table, size_t column, const struct figure_cell *cell,
		     const struct figure_panel *panel)
{
	double ratio = figure_ratio(&cell->pair);

	set_ours(table, column, cell, panel);
	set_real(table, column + 1, cell->pair.published, panel->digits, panel->unit);
	if (isnan(ratio))
		table_set(table, column + 2, "-");
	else
		table_set(table, column + 2, "%.3g", ratio);
}

/* Is a number published for the panel, or for its runs of this label if @label is not NULL? */
static bool is_published(const struct figure_data *data, size_t panel, const char *label)
{
	for (size_t i = 0; i < data->cell_count; i++) {
		const struct figure_cell *cell = &data->cells[i];

		if (cell->panel == panel && !isnan(cell->pair.published) &&
		    (!label || !strcmp(data->figure->runs[cell->run].label, label)))
			return true;
	}
	return false;
}

/* Label a row by its run, its part, or both. A star marks a run with failed containers. */
static void set_row_label(struct table *table, const struct figure_data *data,
			  const struct figure_cell *cell)
{
	const struct figure_panel *panel = &data->figure->panels[cell->panel];
	const char *run = data->figure->runs[cell->run].label;
	const char *star = figure_count_failed(data, cell->run) ? " *" : "";

	if (panel->part_count == 1)
		table_set(table, 0, "  %s%s", run, star);
	else if (panel->run_count == 1 || data->figure->run_count == 1)
		table_set(table, 0, "  %s%s", panel->parts[cell->part].label, star);
	else
		table_set(table, 0, "  %s, %s%s", run, panel->parts[cell->part].label, star);
}

/* The table of a panel of bars or stacks: a row for each cell. */
static void add_rows(struct table *table, const struct figure_data *data, size_t index)
{
	const struct figure *figure = data->figure;
	const struct figure_panel *panel = &figure->panels[index];
	bool published = is_published(data, index, NULL);
	const struct figure_cell *over = NULL;

	table_add(table);
	table_set(table, 0, "%s", panel->label);
	table_set(table, 1, "ours");
	if (panel->over)
		table_set(table, 2, "over %s", panel->over);
	if (published) {
		table_set(table, 2, "%s", figure->published_label);
		table_set(table, 3, "ratio");
	}
	for (size_t i = 0; i < data->cell_count; i++) {
		const struct figure_cell *cell = &data->cells[i];

		if (cell->panel != index)
			continue;
		if (panel->over && !strcmp(figure->runs[cell->run].label, panel->over))
			over = cell;
		table_add(table);
		set_row_label(table, data, cell);
		if (published)
			set_pair(table, 1, cell, panel);
		else
			set_ours(table, 1, cell, panel);
		if (over && !published)
			set_real(table, 2, cell->pair.ours / over->pair.ours, 3, "x");
		if (panel->total && cell->part + 1 == panel->part_count) {
			const struct figure_cell total = {
				.pair = { cell->below.ours + cell->pair.ours,
					  cell->below.published + cell->pair.published },
				.low = NAN,
				.high = NAN,
				.at_least = NAN,
			};

			table_add(table);
			table_set(table, 0, "  all together");
			set_pair(table, 1, &total, panel);
		}
	}
}

static int compare_reals(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/*
 * The median error of a series, or of all series if @label is NULL. The error of a pair is the
 * larger of its numbers over the smaller one, less 1. NAN: there is no pair.
 */
static double median_error(const struct figure_data *data, size_t panel, const char *label)
{
	double *errors = calloc(data->cell_count + 1, sizeof(*errors));
	double median = NAN;
	size_t count = 0;

	for (size_t i = 0; errors && i < data->cell_count; i++) {
		const struct figure_cell *cell = &data->cells[i];
		const struct figure_run *run = &data->figure->runs[cell->run];
		double ratio = figure_ratio(&cell->pair);

		if (cell->panel == panel && ratio > 0 &&
		    run->x != data->figure->panels[panel].errors_without_x &&
		    (!label || !strcmp(run->label, label)))
			errors[count++] = fmax(ratio, 1 / ratio) - 1;
	}
	if (count) {
		qsort(errors, count, sizeof(*errors), compare_reals);
		median = (errors[(count - 1) / 2] + errors[count / 2]) / 2;
	}
	free(errors);
	return median;
}

/* Is the run the first one in the panel with its label? */
static bool is_first_of_series(const struct figure *figure, size_t panel, size_t run)
{
	for (size_t i = 0; i < run; i++)
		if (figure_panel_has_run(figure, panel, i) &&
		    !strcmp(figure->runs[i].label, figure->runs[run].label))
			return false;
	return figure_panel_has_run(figure, panel, run);
}

/* Is the run the first one in the panel with its x? */
static bool is_first_of_x(const struct figure *figure, size_t panel, size_t run)
{
	for (size_t i = 0; i < run; i++)
		if (figure_panel_has_run(figure, panel, i) &&
		    figure->runs[i].x == figure->runs[run].x)
			return false;
	return figure_panel_has_run(figure, panel, run);
}

/* A row of a panel of lines: the heads of columns, the cells of one x, or the median errors. */
enum line_row { LINE_HEAD, LINE_CELLS, LINE_ERRORS };

/* Add a row. Each series has one column, or three if numbers of it are published. */
static void add_line_row(struct table *table, const struct figure_data *data, size_t panel,
			 enum line_row what, double x)
{
	const struct figure *figure = data->figure;
	size_t column = 1;

	table_add(table);
	for (size_t run = 0; run < figure->run_count; run++) {
		const char *label = figure->runs[run].label;
		bool published = is_published(data, panel, label);

		if (!is_first_of_series(figure, panel, run))
			continue;
		if (what == LINE_HEAD) {
			table_set(table, column, "%s", label);
			if (published) {
				table_set(table, column + 1, "%s", figure->published_label);
				table_set(table, column + 2, "ratio");
				table->joined[column + 1] = true;
				table->joined[column + 2] = true;
			}
		} else if (what == LINE_ERRORS && published) {
			set_real(table, column + 2, 100 * median_error(data, panel, label), 1,
				 "%");
		}
		for (size_t i = run; what == LINE_CELLS && i < figure->run_count; i++) {
			const struct figure_cell *cell = figure_find_cell(data, panel, i, 0);

			if (!cell || strcmp(figure->runs[i].label, label) != 0 ||
			    figure->runs[i].x != x)
				continue;
			if (published)
				set_pair(table, column, cell, &figure->panels[panel]);
			else
				set_ours(table, column, cell, &figure->panels[panel]);
		}
		column += published ? 3 : 1;
	}
}

/* The table of a panel of lines: a row for each x, columns for each series. */
static void add_lines(struct table *table, const struct figure_data *data, size_t index)
{
	const struct figure *figure = data->figure;
	const struct figure_panel *panel = &figure->panels[index];

	add_line_row(table, data, index, LINE_HEAD, 0);
	table_set(table, 0, "%s", panel->label);
	for (size_t run = 0; run < figure->run_count; run++) {
		if (!is_first_of_x(figure, index, run))
			continue;
		add_line_row(table, data, index, LINE_CELLS, figure->runs[run].x);
		if (figure->runs[run].x_tick)
			table_set(table, 0, "  %s", figure->runs[run].x_tick);
		else
			table_set(table, 0, "  %g%s", figure->runs[run].x, panel->x_unit);
	}
	if (isnan(panel->errors_without_x))
		return;
	table_add(table);
	add_line_row(table, data, index, LINE_ERRORS, 0);
	table_set(table, 0, "median error");
	table_add(table);
	table_set(table, 0, "of all");
	set_real(table, 1, 100 * median_error(data, index, NULL), 1, "%");
}

/* Does any run of the panel have an x? Then the table has a row for each x. */
static bool has_points(const struct figure_data *data, size_t panel)
{
	for (size_t i = 0; i < data->cell_count; i++)
		if (data->cells[i].panel == panel &&
		    !isnan(data->figure->runs[data->cells[i].run].x))
			return true;
	return false;
}

/*
 * Print a line for each container that failed or did not finish. @prefix goes before its name.
 */
static void print_failures(const char *prefix, const struct summary *summary)
{
	for (size_t i = 0; i < summary->container_count; i++)
		if (strcmp(summary->containers[i].status, SUMMARY_OK) != 0)
			printf("%s%s: %s\n", prefix, summary->containers[i].name,
			       summary->containers[i].status);
}

void figure_print(const struct figure_data *data)
{
	const struct figure *figure = data->figure;
	char prefix[FIGURE_NAME_MAX + 48], over[64];

	for (size_t panel = 0; panel < figure->panel_count; panel++) {
		struct table table = { 0 };

		if (figure->panels[panel].layout == FIGURE_TIME)
			continue;
		if (has_points(data, panel))
			add_lines(&table, data, panel);
		else
			add_rows(&table, data, panel);
		table_print(&table, stdout);
		putchar('\n');
	}
	if (figure->seed_count > 1) {
		estimate_describe_seeds(figure->interval_of, figure->seed_count, over,
					sizeof(over));
		printf("%s [low, high]: %s\n", estimate_word(figure->interval_of), over);
	}
	for (size_t run = 0; run < figure_made_runs(figure); run++) {
		snprintf(prefix, sizeof(prefix), "* %s, ",
			 figure->runs[run % figure->run_count].name);
		if (figure->seed_count > 1)
			cfg_append(prefix, sizeof(prefix), "%s, ",
				   figure->seed_sets[run / figure->run_count]);
		print_failures(prefix, &data->runs[run].folder.summary);
	}
}

const char *figure_run_word(const struct figure_data *data, size_t run)
{
	bool measured = false, simulated = false;

	for (size_t i = 0; i < data->figure->run_count; i++) {
		measured = measured || data->runs[i].folder.summary.measured;
		simulated = simulated || !data->runs[i].folder.summary.measured;
	}
	if (measured && simulated)
		return data->runs[run].folder.summary.measured ? "measured" : "simulated";
	return data->figure->runs[run].label;
}

/* A table of two runs side by side while rows are added. */
struct comparison {
	struct table table;
	const struct figure_data *data;
	const struct summary_container *container; /* of the last row */
};

static void add_compared(void *user, const struct compare_row *row)
{
	struct comparison *comparison = user;
	const char *first = figure_run_word(comparison->data, COMPARE_ALONE);
	const char *second = figure_run_word(comparison->data, COMPARE_SHARED);
	char text[TABLE_CELL_MAX];

	if (row->container != comparison->container) {
		if (comparison->container)
			table_add(&comparison->table);
		comparison->container = row->container;
		table_add(&comparison->table);
		table_set(&comparison->table, 0, "%s (%s)", row->container->name,
			  summary_type_name(row->container));
		table_set(&comparison->table, 1, "%s", first);
		table_set(&comparison->table, 2, "%s", second);
		table_set(&comparison->table, 3, "%s/%s", second, first);
	}
	table_add(&comparison->table);
	table_set(&comparison->table, 0, "  %s", row->metric->label);
	for (int run = 0; run < COMPARE_RUNS; run++) {
		summary_format(&row->values[run], row->metric, text, sizeof(text));
		table_set(&comparison->table, (size_t)run + 1, "%s", text);
	}
	if (row->ratio.known)
		table_set(&comparison->table, 3, "%.2f", row->ratio.real);
	else
		table_set(&comparison->table, 3, "-");
}

void figure_print_comparison(const struct figure_data *data)
{
	struct comparison comparison = { .data = data };

	for (size_t run = 0; run < COMPARE_RUNS; run++) {
		const struct folder *folder = &data->runs[run].folder;
		const struct summary *summary = &folder->summary;
		char length[TABLE_CELL_MAX];

		summary_format_run(summary->sim_seconds, length, sizeof(length));
		printf("%-9s %s on %s, system %s, %s%s\n", figure_run_word(data, run),
		       summary->name,
		       *folder->gpu ? folder->gpu : "a GPU of its own description",
		       summary->system, length,
		       summary->complete ? "" : " (INCOMPLETE: interrupted)");
		print_failures("          ", summary);
	}
	putchar('\n');
	compare_runs(&data->runs[COMPARE_ALONE].folder.summary,
		     &data->runs[COMPARE_SHARED].folder.summary, add_compared, &comparison);
	table_print(&comparison.table, stdout);
	putchar('\n');
}
