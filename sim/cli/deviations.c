// SPDX-License-Identifier: MIT OR GPL-2.0
/* See deviations.h. */
#include "cli/deviations.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "engine/whole_file.h"
#include "figures/published.h"

#define BEGIN	    "<!-- gvmsim validate published: "
#define BEGIN_END   " -->"
#define END	    "<!-- end -->"
#define SPREAD	    " spread"
#define ORDER	    " order"
#define COLUMNS_MAX 32

/* A table of a figure: which row and column a published value stands in. */
struct grid {
	const struct published *published;
	const struct figure *figure;
	bool spread;
	bool has_x; /* rows are runs, columns their x; else rows are values and columns runs */
};

static const struct figure_panel *panel_of(const struct grid *grid, const struct score_row *row)
{
	for (size_t i = 0; i < grid->figure->panel_count; i++)
		if (!strcmp(grid->figure->panels[i].key, row->panel))
			return &grid->figure->panels[i];
	return NULL;
}

static bool is_of_figure(const struct grid *grid, const struct score_row *row)
{
	return !strcmp(row->figure, grid->figure->name) && row->published > 0;
}

static bool same_line(const struct grid *grid, const struct score_row *a,
		      const struct score_row *b)
{
	if (grid->has_x && strcmp(a->run, b->run) != 0)
		return false;
	return !strcmp(a->panel, b->panel) && !strcmp(a->part, b->part);
}

static bool same_column(const struct grid *grid, const struct score_row *a,
			const struct score_row *b)
{
	return grid->has_x ? a->x == b->x : !strcmp(a->run, b->run);
}

/* The name of a line: the run, or the value. */
static void print_line_name(const struct grid *grid, const struct score_row *row, FILE *out)
{
	const struct figure_panel *panel = panel_of(grid, row);

	if (grid->has_x) {
		fprintf(out, "| %s |", row->run);
		return;
	}
	fprintf(out, "| %s", panel->label);
	for (size_t i = 0; *row->part && i < panel->part_count; i++)
		if (!strcmp(panel->parts[i].key, row->part))
			fprintf(out, ", %s", panel->parts[i].label);
	fprintf(out, " |");
}

/* Print a ratio as "1.05"; below a tenth with two digits, as "0.017". */
static void print_ratio(double ratio, FILE *out)
{
	fprintf(out, ratio < 0.0995 ? "%.2g" : ratio < 9.95 ? "%.2f" : "%.0f", ratio);
}

static int print_cell(const struct grid *grid, size_t index, FILE *out)
{
	const struct published *published = grid->published;
	const struct score_row *row = &published->rows[index];
	struct score_spread spread;
	bool bold;

	if (!grid->spread) {
		bold = score_error(row) > log(SCORE_FACTOR);
		fputs(bold ? " **" : " ", out);
		if (row->predicted > 0)
			print_ratio(row->predicted / row->published, out);
		else
			fputs("none", out);
		fputs(bold ? "** |" : " |", out);
		return 0;
	}
	if (score_spread(&published->draws[index * published->seeds], published->seeds,
			 row->published, &spread))
		return -ENOMEM;
	if (isnan(spread.median)) {
		fputs(" none |", out);
		return 0;
	}
	fputs(spread.within ? " " : " **", out);
	print_ratio(spread.low / row->published, out);
	fputs(" to ", out);
	print_ratio(spread.high / row->published, out);
	fputs(spread.within ? " |" : "** |", out);
	return 0;
}

/* A table of predicted over published, or of its 10th to 90th percentile. */
static int print_grid(const struct grid *grid, FILE *out)
{
	const struct score_row *rows = grid->published->rows;
	size_t columns[COLUMNS_MAX], column_count = 0, count = grid->published->row_count;
	int status = 0;

	for (size_t i = 0; i < count && column_count < COLUMNS_MAX; i++) {
		size_t k = 0;

		if (!is_of_figure(grid, &rows[i]))
			continue;
		while (k < column_count && !same_column(grid, &rows[columns[k]], &rows[i]))
			k++;
		if (k == column_count)
			columns[column_count++] = i;
	}
	fputs("| |", out);
	for (size_t k = 0; k < column_count; k++)
		if (grid->has_x)
			fprintf(out, " %g%s |", rows[columns[k]].x,
				panel_of(grid, &rows[columns[k]])->x_unit);
		else
			fprintf(out, " %s |", rows[columns[k]].run);
	fputs("\n|---|", out);
	for (size_t k = 0; k < column_count; k++)
		fputs("---|", out);
	fputc('\n', out);
	for (size_t i = 0; !status && i < count; i++) {
		bool first = is_of_figure(grid, &rows[i]);

		for (size_t k = 0; first && k < i; k++)
			first = !is_of_figure(grid, &rows[k]) ||
				!same_line(grid, &rows[k], &rows[i]);
		if (!first)
			continue;
		print_line_name(grid, &rows[i], out);
		for (size_t k = 0; !status && k < column_count; k++) {
			size_t cell = i;

			while (cell < count &&
			       !(is_of_figure(grid, &rows[cell]) &&
				 same_line(grid, &rows[cell], &rows[i]) &&
				 same_column(grid, &rows[cell], &rows[columns[k]])))
				cell++;
			if (cell < count)
				status = print_cell(grid, cell, out);
			else
				fputs(" |", out);
		}
		fputc('\n', out);
	}
	return status;
}

/* A row for a pair of values, if any run has it in another order than the published one. */
static void print_pair(const struct grid *grid, size_t more, size_t less, FILE *out)
{
	const struct published *published = grid->published;
	const struct score_row *a = &published->rows[more], *b = &published->rows[less];
	const double *of_a = &published->draws[more * published->seeds];
	const double *of_b = &published->draws[less * published->seeds];
	bool plain = score_keeps_order(a, b, a->predicted, b->predicted);
	size_t kept = 0;

	for (size_t seed = 0; seed < published->seeds; seed++)
		kept += score_keeps_order(a, b, of_a[seed], of_b[seed]);
	if (plain && kept == published->seeds)
		return;
	print_line_name(grid, a, out);
	fprintf(out, " %s > %s | ", a->run, b->run);
	print_ratio(a->published / b->published, out);
	fprintf(out, " times | %s | %zu |\n", plain ? "yes" : "no", kept);
}

/* A table of the pairs of a figure that are not in the published order with every seed. */
static void print_pairs(const struct grid *grid, FILE *out)
{
	const struct score_row *rows = grid->published->rows;

	fprintf(out,
		"| | published | by | without jitter | seeds of %zu |\n"
		"|---|---|---|---|---|\n",
		grid->published->seeds);
	for (size_t i = 0; i < grid->published->row_count; i++) {
		if (!is_of_figure(grid, &rows[i]))
			continue;
		for (size_t k = i + 1; k < grid->published->row_count; k++) {
			if (!score_is_pair(&rows[i], &rows[k]))
				continue;
			if (rows[i].published > rows[k].published)
				print_pair(grid, i, k, out);
			else
				print_pair(grid, k, i, out);
		}
	}
}

static int print_score_line(const struct published *published, const char *figure, FILE *out)
{
	struct score score;
	int status = score_rows(published->rows, published->row_count, figure, &score);

	if (!status && score.rows)
		fprintf(out, "| %s | %zu | %.2f | %.0f %% | %.0f %% |\n",
			figure ? figure : "all", score.rows, score.median, 100 * score.near,
			100 * score.factor);
	return status;
}

static int print_scores(const struct published *published, FILE *out)
{
	int status = 0;

	fputs("| figure | values | median error | within 25 % | within 2 times |\n"
	      "|---|---|---|---|---|\n",
	      out);
	for (size_t i = 0; !status && i < published->count; i++)
		status = print_score_line(published, published->figures[i].name, out);
	return status ? status : print_score_line(published, NULL, out);
}

static bool ends_in(const char *name, const char *ending)
{
	size_t length = strlen(name), last = strlen(ending);

	return length > last && !strcmp(name + length - last, ending);
}

/*
 * Print the rows of the table of this name. Returns 0; -ENOENT: its figure was not computed,
 * and the document keeps the old table; or -ENOMEM.
 */
static int print_table(const struct published *published, const char *name, bool all, FILE *out)
{
	struct grid grid = { .published = published };
	size_t length = strlen(name);
	bool order;

	if (!strcmp(name, "score"))
		return all ? print_scores(published, out) : -ENOENT;
	grid.spread = ends_in(name, SPREAD);
	order = ends_in(name, ORDER);
	length -= grid.spread ? strlen(SPREAD) : order ? strlen(ORDER) : 0;
	if ((grid.spread || order) && !published->seeds)
		return -ENOENT;
	for (size_t i = 0; i < published->count; i++)
		if (!strncmp(published->figures[i].name, name, length) &&
		    !published->figures[i].name[length])
			grid.figure = &published->figures[i];
	if (!grid.figure)
		return -ENOENT;
	for (size_t i = 0; i < published->row_count; i++)
		if (is_of_figure(&grid, &published->rows[i]))
			grid.has_x = grid.has_x || !isnan(published->rows[i].x);
	if (!order)
		return print_grid(&grid, out);
	if (grid.has_x)
		return -ENOENT;
	print_pairs(&grid, out);
	return 0;
}

/* The name in a line that begins a table; NULL: it begins none. The line is cut. */
static char *table_name(char *line)
{
	char *end;

	if (strncmp(line, BEGIN, strlen(BEGIN)) != 0)
		return NULL;
	end = strstr(line, BEGIN_END);
	if (!end)
		return NULL;
	*end = '\0';
	return line + strlen(BEGIN);
}

/* Copy the document with new tables. */
static int copy(const struct published *published, const char *file, bool all, FILE *in,
		FILE *out, struct sim_error *err)
{
	size_t line_number = 0, begun = 0, room = 0;
	bool replaced = false;
	char *line = NULL;
	int status = 0;

	while (!status && getline(&line, &room, in) >= 0) {
		bool ends = begun && !strncmp(line, END, strlen(END));
		char *name;

		line_number++;
		if (ends)
			begun = 0;
		if (!begun || !replaced)
			fputs(line, out);
		if (ends)
			replaced = false;
		name = table_name(line);
		if (!name)
			continue;
		if (begun)
			break;
		begun = line_number;
		status = print_table(published, name, all, out);
		replaced = status != -ENOENT;
		status = status == -ENOENT ? 0 : status;
	}
	free(line);
	if (status)
		return sim_runtime_error(err, "out of memory");
	return begun ? sim_user_error(err, "%s:%zu: this table has no end, allowed: " END, file,
				      begun) :
		       0;
}

int deviations_check(const char *path, struct sim_error *err)
{
	FILE *in = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;
	bool found = false;

	if (!in)
		return sim_user_error(err, "%s: cannot be read: %s", path, strerror(errno));
	while (!found && getline(&line, &room, in) >= 0)
		found = table_name(line) != NULL;
	free(line);
	fclose(in);
	if (found)
		return 0;
	return sim_user_error(err,
			      "%s: has no table to rewrite, allowed: lines " BEGIN
			      "FIGURE" BEGIN_END " and " END,
			      path);
}

int deviations_update(const struct published *published, const char *path, bool all,
		      struct sim_error *err)
{
	struct whole_file file;
	FILE *in = fopen(path, "r");
	int status;

	if (!in)
		return sim_user_error(err, "%s: cannot be read: %s", path, strerror(errno));
	status = whole_file_open(&file, path, err);
	if (status) {
		fclose(in);
		return status;
	}
	status = copy(published, path, all, in, file.stream, err);
	/* Without memory a line fails, too. Half a document must not replace the whole one. */
	if (!status && !feof(in))
		status =
			sim_runtime_error(err, "%s: cannot be read: %s", path, strerror(errno));
	fclose(in);
	if (!status)
		return whole_file_commit(&file, err);
	whole_file_abort(&file);
	return status;
}
