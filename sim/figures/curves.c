// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * See curves.h. All curves in bins have the same bins, so that they can be compared and
 * stacked.
 */
#include "figures/curves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "figures/figure_find.h"
#include "gvm/port.h"
#include "results/csv.h"

#define NS_PER_S  1e9
#define BINS	  128 /* a picture does not show more */
#define BIN_S_MIN 1e-6

static struct figure_line *add_line(struct figure_data *data, struct sim_error *err)
{
	struct figure_line *lines =
		realloc(data->lines, (data->line_count + 1) * sizeof(*lines));

	if (!lines) {
		sim_runtime_error(err, "out of memory");
		return NULL;
	}
	data->lines = lines;
	lines[data->line_count] = (struct figure_line){ 0 };
	return &lines[data->line_count++];
}

/* Room grows by doubling: it is full whenever the count is a power of two. */
static int add_point(struct figure_line *line, double x_s, double y, struct sim_error *err)
{
	if (!(line->count & (line->count - 1))) {
		size_t room = line->count ? 2 * line->count : 1;
		void *points = realloc(line->points, room * sizeof(*line->points));

		if (!points)
			return sim_runtime_error(err, "out of memory");
		line->points = points;
	}
	line->points[line->count++] = (struct figure_point){ x_s, y, 0 };
	return 0;
}

/*
 * Read a panel's published curve: the rows of its file that have the curve's text in the
 * curve's column.
 */
static int read_published(struct figure_data *data, size_t panel, struct sim_error *err)
{
	const struct figure_published_curve *published = &data->figure->panels[panel].published;
	const char *const names[] = { published->x, published->y, published->column };
	struct figure_line *line = add_line(data, err);
	char file[PATH_MAX];
	struct csv csv;
	int status;

	if (!line)
		return -SIM_EXIT_RUNTIME;
	line->panel = panel;
	status = figure_find_reference(data->figure, published->file, file, sizeof(file), err);
	if (!status)
		status = csv_open(&csv, file, names, ARRAY_SIZE(names), err);
	if (status)
		return status;
	while ((status = csv_next(&csv, err)) == 1) {
		double x_s, y;

		if (strcmp(csv_text(&csv, 2), published->text) != 0)
			continue;
		status = csv_real(&csv, 0, &x_s, err);
		if (!status)
			status = csv_real(&csv, 1, &y, err);
		if (!status)
			status = add_point(line, x_s, y, err);
		if (status)
			break;
	}
	csv_close(&csv);
	return status;
}

int curves_read_published(struct figure_data *data, struct sim_error *err)
{
	int status = 0;

	for (size_t i = 0;
	     !status && !data->figure->ours_alone && i < data->figure->panel_count; i++)
		if (data->figure->panels[i].published.file)
			status = read_published(data, i, err);
	return status;
}

/* The values of a row of results that a curve needs. */
struct row {
	double x_ns;
	double y;     /* the column "y" less the column "minus" */
	bool y_known; /* the column "y" is not empty */
};

enum row_column { ROW_CONTAINER, ROW_X, ROW_Y, ROW_MINUS, ROW_OUTCOME, ROW_COLUMNS };

/* Call @use for each row of a curve's file that has its container and outcome. */
static int each_row(const struct figure_data *data, const struct figure_line *line,
		    int (*use)(void *user, const struct row *row, struct sim_error *err),
		    void *user, struct sim_error *err)
{
	const struct figure_curve *curve = line->curve;
	const char *names[ROW_COLUMNS] = {
		"container",
		curve->x,
		curve->y ? curve->y : curve->x,
		curve->minus ? curve->minus : curve->x,
		curve->outcome ? "outcome" : "container",
	};
	char file[FIGURE_FILE_MAX];
	struct csv csv;
	int status;

	snprintf(file, sizeof(file), "%s/%s.csv", data->runs[line->run].path, curve->file);
	status = csv_open(&csv, file, names, ROW_COLUMNS, err);
	if (status)
		return status;
	while ((status = csv_next(&csv, err)) == 1) {
		struct row row = { .y_known = csv_has(&csv, ROW_Y) };
		double minus = 0;

		if (strcmp(csv_text(&csv, ROW_CONTAINER), line->container) != 0 ||
		    (curve->outcome &&
		     strcmp(csv_text(&csv, ROW_OUTCOME), curve->outcome) != 0) ||
		    !csv_has(&csv, ROW_X))
			continue;
		status = csv_real(&csv, ROW_X, &row.x_ns, err);
		if (!status && row.y_known)
			status = csv_real(&csv, ROW_Y, &row.y, err);
		if (!status && curve->minus && csv_has(&csv, ROW_MINUS))
			status = csv_real(&csv, ROW_MINUS, &minus, err);
		row.y -= minus;
		if (!status)
			status = use(user, &row, err);
		if (status)
			break;
	}
	csv_close(&csv);
	return status;
}

/* A curve while its points are computed. */
struct making {
	const struct figure_data *data;
	struct figure_line *line;
	double *bins; /* NULL: the curve has no bins */
	size_t bin_count;
};

static int take_value(void *user, const struct row *row, struct sim_error *err)
{
	struct making *making = user;
	bool mark = making->line->curve->draw == FIGURE_DRAW_MARKS;

	/* A request without a first token has "first_ns" 0, and so a negative difference. */
	if (!mark && (!row->y_known || (making->line->curve->minus && row->y < 0)))
		return 0;
	return add_point(making->line, row->x_ns / NS_PER_S,
			 mark ? 1 : row->y * making->line->curve->scale, err);
}

static size_t bin_of(const struct making *making, double x_s)
{
	size_t bin = (size_t)(x_s / making->data->bin_s);

	return min(bin, making->bin_count - 1);
}

static double bin_begin(const struct making *making, size_t bin)
{
	return (double)bin * making->data->bin_s;
}

static double bin_width(const struct making *making, size_t bin)
{
	return fmin(making->data->bin_s, making->data->end_s - bin_begin(making, bin));
}

/* Add a row to its bin, or to all bins that it overlaps if it has a begin and an end. */
static int take_binned(void *user, const struct row *row, struct sim_error *err)
{
	struct making *making = user;
	double x_s = row->x_ns / NS_PER_S, end_s;

	(void)err;
	switch (making->line->curve->kind) {
	case FIGURE_CURVE_RATE:
		making->bins[bin_of(making, x_s)] += 1;
		break;
	case FIGURE_CURVE_SHARE:
		/* A sample describes the interval that ends at its time. */
		making->bins[bin_of(making, x_s > 0 ? (row->x_ns - 1) / NS_PER_S : 0)] +=
			row->y / NS_PER_S;
		break;
	default:
		/* A row without an end lasts to the end of the run. */
		end_s = row->y_known && row->y > 0 ? row->y / NS_PER_S : making->data->end_s;
		for (size_t bin = bin_of(making, x_s);
		     bin < making->bin_count && bin_begin(making, bin) < end_s; bin++) {
			double from = fmax(x_s, bin_begin(making, bin));
			double to =
				fmin(end_s, bin_begin(making, bin) + bin_width(making, bin));

			making->bins[bin] += fmax(to - from, 0);
		}
	}
	return 0;
}

static int take_bins(struct making *making, struct sim_error *err)
{
	double *bins;
	int status;

	making->bin_count = (size_t)ceil(making->data->end_s / making->data->bin_s);
	making->bin_count = max(making->bin_count, (size_t)1);
	bins = calloc(making->bin_count, sizeof(*bins));
	if (!bins)
		return sim_runtime_error(err, "out of memory");
	making->bins = bins;
	status = each_row(making->data, making->line, take_binned, making, err);
	for (size_t i = 0; !status && i < making->bin_count; i++) {
		double width = bin_width(making, i);

		if (width > 0)
			status = add_point(making->line, bin_begin(making, i) + width / 2,
					   bins[i] / width * making->line->curve->scale, err);
	}
	free(bins);
	return status;
}

/*
 * Note whether any value of the column is known. Real hardware reports no GPU time, for
 * example.
 */
static int take_known(void *user, const struct row *row, struct sim_error *err)
{
	bool *known = user;

	(void)err;
	*known = *known || row->y_known;
	return 0;
}

/* Add one curve: of one run and one container. */
static int take_line(struct figure_data *data, size_t panel, const struct figure_curve *curve,
		     size_t run, const char *container, struct sim_error *err)
{
	struct figure_line *line = add_line(data, err);
	struct making making = { .data = data, .line = line };
	bool known = false;
	int status;

	if (!line)
		return -SIM_EXIT_RUNTIME;
	*line = (struct figure_line){
		.panel = panel, .curve = curve, .run = run, .container = container
	};
	if (curve->kind == FIGURE_CURVE_VALUES)
		return each_row(data, line, take_value, &making, err);
	if (curve->kind == FIGURE_CURVE_SHARE) {
		status = each_row(data, line, take_known, &known, err);
		if (status || !known)
			return status;
	}
	return take_bins(&making, err);
}

/*
 * Add a curve for each run that it applies to, and for each container of the run that has the
 * curve's name. Without a container of that name it is a type, and "*" is all of them.
 */
static int take_curve(struct figure_data *data, size_t panel, const struct figure_curve *curve,
		      struct sim_error *err)
{
	const struct figure *figure = data->figure;
	int status = 0;

	for (size_t run = 0; !status && run < figure->run_count; run++) {
		json_t *containers = json_object_get(data->summaries[run], "containers");
		bool all = !strcmp(curve->container, "*");
		bool named = json_object_get(containers, curve->container);
		const char *name;
		json_t *container;

		if (!figure_panel_has_run(figure, panel, run) ||
		    (curve->run && strcmp(curve->run, figure->runs[run].label) != 0))
			continue;
		json_object_foreach(containers, name, container) {
			const char *type =
				json_string_value(json_object_get(container, "type"));

			if (status || (named && strcmp(name, curve->container) != 0) ||
			    (!named && !all && (!type || strcmp(type, curve->container) != 0)))
				continue;
			status = take_line(data, panel, curve, run, name, err);
		}
	}
	return status;
}

/*
 * Find the end of the longest run, and the width of bins: a round number that gives at most
 * BINS bins, rounded up to a multiple of the timeline's interval.
 */
static void find_time(struct figure_data *data)
{
	static const double steps[] = { 1, 2, 5 };
	static const char *const names[] = { "time_ns" };
	struct sim_error ignored = { 0 };
	double interval_s = 0, decade = BIN_S_MIN, width = decade;

	for (size_t run = 0; run < data->figure->run_count; run++) {
		const json_t *seconds = json_object_get(data->summaries[run], "sim_seconds");
		char file[FIGURE_FILE_MAX];
		struct csv csv;
		double ns;

		data->end_s = fmax(data->end_s, json_number_value(seconds));
		/* On real hardware, logs may go on after the last sample. */
		data->end_s =
			fmax(data->end_s, (double)data->runs[run].folder.end_ns / NS_PER_S);
		snprintf(file, sizeof(file), "%s/timeline.csv", data->runs[run].path);
		if (csv_open(&csv, file, names, 1, &ignored))
			continue;
		if (csv_next(&csv, &ignored) == 1 && !csv_real(&csv, 0, &ns, &ignored))
			interval_s = fmax(interval_s, ns / NS_PER_S);
		csv_close(&csv);
	}
	data->end_s = fmax(data->end_s, BIN_S_MIN);
	for (size_t i = 0; decade * steps[i] < data->end_s / BINS;) {
		if (++i == ARRAY_SIZE(steps)) {
			decade *= 10;
			i = 0;
		}
		width = decade * steps[i];
	}
	data->bin_s = width;
	if (interval_s > 0 && interval_s < data->end_s)
		data->bin_s = ceil(width / interval_s - 1e-9) * interval_s;
}

/* Stack the areas of each panel and run: each lies on the one before, bin by bin. */
static void stack_areas(struct figure_data *data)
{
	for (size_t i = 1; i < data->line_count; i++) {
		struct figure_line *line = &data->lines[i], *before = line - 1;

		if (!line->curve || line->curve->draw != FIGURE_DRAW_AREA ||
		    before->curve != line->curve || before->run != line->run)
			continue;
		for (size_t k = 0; k < min(line->count, before->count); k++)
			line->points[k].below = before->points[k].below + before->points[k].y;
	}
}

int curves_take(struct figure_data *data, struct sim_error *err)
{
	const struct figure *figure = data->figure;
	int status = 0;

	find_time(data);
	for (size_t panel = 0; !status && panel < figure->panel_count; panel++)
		for (size_t i = 0; !status && i < figure->panels[panel].curve_count; i++)
			status = take_curve(data, panel, &figure->panels[panel].curves[i], err);
	stack_areas(data);
	return status;
}
