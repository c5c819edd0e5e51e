// SPDX-License-Identifier: MIT OR GPL-2.0
/* Panels of lines over x and of curves over time, see panel.h. */
#include <math.h>
#include <string.h>

#include "report/axis.h"
#include "report/html.h"
#include "report/panel.h"
#include "report/panel_key.h"

#define WIDTH	520
#define HEIGHT	270
#define LEFT	56
#define RIGHT	14
#define TOP	10
#define BOTTOM	42
#define BUCKETS 250 /* of a curve: each has its least and its largest value */
#define HOVERS	60  /* places in time that say the values there */

struct curves {
	FILE *out;
	const struct figure_data *data;
	const struct figure_panel *panel;
	size_t index; /* of the panel */
	struct axis x, y;
};

static double top_of(const struct figure_point *point)
{
	return point->below + point->y;
}

/* The axes, their lines and numbers. */
static void print_axes(struct curves *curves)
{
	FILE *out = curves->out;

	for (size_t i = 0; i < curves->y.tick_count; i++) {
		double y = axis_place(&curves->y, curves->y.ticks[i]);
		double value;
		const char *unit = axis_tick(&curves->y, i, curves->panel->unit, &value);

		fprintf(out,
			"<line class=\"g\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
			"<text class=\"r a\" x=\"%d\" y=\"%.1f\">%g%s</text>\n",
			LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4, value, unit);
	}
	for (size_t i = 0; i < curves->x.tick_count; i++) {
		fprintf(out, "<text class=\"a\" x=\"%.1f\" y=\"%d\">%g",
			axis_place(&curves->x, curves->x.ticks[i]), HEIGHT - BOTTOM + 16,
			curves->x.ticks[i]);
		html_text(out, curves->panel->x_unit ? curves->panel->x_unit : "");
		fprintf(out, "</text>\n");
	}
	fprintf(out, "<text class=\"a\" x=\"%d\" y=\"%d\">", (LEFT + WIDTH - RIGHT) / 2,
		HEIGHT - 6);
	html_text(out, curves->panel->layout == FIGURE_TIME && !*curves->panel->x_label ?
			       "time (s)" :
			       curves->panel->x_label);
	fprintf(out, "</text>\n");
}

/* The point of a cell, ours or published, which says its value. */
static void print_point(struct curves *curves, const struct figure_cell *cell, bool ours)
{
	double x = axis_place(&curves->x, curves->data->figure->runs[cell->run].x);
	double value = ours ? cell->pair.ours : cell->pair.published;
	size_t series = panel_series(curves->data, curves->index, cell->run) % PANEL_COLOURS;
	char name[128], number[3 * HTML_NUMBER_MAX];

	if (isnan(value))
		return;
	panel_cell_name(curves->data, cell, name, sizeof(name));
	if (ours)
		panel_cell_number(curves->data, cell, number, sizeof(number));
	else
		html_number(value, curves->panel->unit, number);
	/* The interval over seeds. */
	if (ours && cell->high > cell->low)
		fprintf(curves->out,
			"<path class=\"i\" d=\"M%.1f %.1fh6m-3 0V%.1fm-3 0h6\"/>\n", x - 3,
			axis_place(&curves->y, fmax(cell->low, curves->y.low)),
			axis_place(&curves->y, cell->high));
	fprintf(curves->out,
		"<circle class=\"%s s%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"><title>",
		ours ? "dot" : "hollow", series, x, axis_place(&curves->y, value),
		ours ? 4 : 6);
	html_text(curves->out, name);
	fputs(", ", curves->out);
	html_text(curves->out, ours ? "ours" : curves->data->figure->published_label);
	fputs(": ", curves->out);
	html_text(curves->out, number);
	fputs("</title></circle>\n", curves->out);
}

static void print_lines(struct curves *curves)
{
	const struct figure_data *data = curves->data;
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < data->cell_count; i++) {
		const struct figure_cell *cell = &data->cells[i];
		size_t series = panel_series(data, curves->index, cell->run);

		if (cell->panel != curves->index || isnan(cell->pair.ours))
			continue;
		if (series != last)
			fprintf(curves->out, "%s<polyline class=\"line s%zu\" points=\"",
				last == SIZE_MAX ? "" : "\"/>\n", series % PANEL_COLOURS);
		last = series;
		fprintf(curves->out, "%.1f,%.1f ",
			axis_place(&curves->x, data->figure->runs[cell->run].x),
			axis_place(&curves->y, cell->pair.ours));
	}
	if (last != SIZE_MAX)
		fprintf(curves->out, "\"/>\n");
	for (size_t i = 0; i < data->cell_count; i++) {
		if (data->cells[i].panel != curves->index)
			continue;
		print_point(curves, &data->cells[i], true);
		print_point(curves, &data->cells[i], false);
	}
}

/* A curve over time. Of many points, the least and the largest of each bucket are enough. */
static void print_curve(struct curves *curves, const struct figure_line *line)
{
	size_t size = line->count / BUCKETS + 1;
	char class[24];

	panel_line_class(curves->data, line, class, sizeof(class));
	fprintf(curves->out, "<polyline class=\"line %s\" points=\"", class);
	for (size_t i = 0; i < line->count; i += size) {
		size_t end = i + size < line->count ? i + size : line->count;
		size_t low = i, high = i;

		for (size_t k = i; k < end; k++) {
			low = top_of(&line->points[k]) < top_of(&line->points[low]) ? k : low;
			high = top_of(&line->points[k]) > top_of(&line->points[high]) ? k :
											high;
		}
		for (size_t k = 0; k < 2; k++) {
			const struct figure_point *point =
				&line->points[(low < high) == !k ? low : high];

			if (k && low == high)
				continue;
			fprintf(curves->out, "%.1f,%.1f ", axis_place(&curves->x, point->x_s),
				axis_place(&curves->y, top_of(point)));
		}
	}
	fprintf(curves->out, "\"/>\n");
}

/* The last point of a curve up to a moment; NULL: there is none. */
static const struct figure_point *point_at(const struct figure_line *line, double x_s)
{
	const struct figure_point *found = NULL;

	for (size_t i = 0; i < line->count && line->points[i].x_s <= x_s; i++)
		found = &line->points[i];
	return found;
}

/* Strips that say the values of all curves at their moment. */
static void print_hovers(struct curves *curves)
{
	double width = (WIDTH - RIGHT - LEFT) / (double)HOVERS;
	const struct figure_data *data = curves->data;
	char name[160], number[HTML_NUMBER_MAX];

	for (size_t i = 0; i < HOVERS; i++) {
		double x_s = curves->x.high * ((double)i + 0.5) / HOVERS;

		fprintf(curves->out,
			"<rect class=\"strip\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
			"height=\"%d\">"
			"<title>%.0f s",
			LEFT + (double)i * width, TOP, width, HEIGHT - BOTTOM - TOP, x_s);
		for (size_t k = 0; k < data->line_count; k++) {
			const struct figure_line *line = &data->lines[k];
			const struct figure_point *point = point_at(line, x_s);

			if (line->panel != curves->index || panel_is_left_out(line) || !point)
				continue;
			panel_line_name(data, line, name, sizeof(name));
			html_number(point->y, curves->panel->unit, number);
			fputs("\n", curves->out);
			html_text(curves->out, name);
			fputs(": ", curves->out);
			html_text(curves->out, number);
		}
		fprintf(curves->out, "</title></rect>\n");
	}
}

/* The range of a panel of lines over x. */
static void set_line_axes(struct curves *curves)
{
	double low_x = INFINITY, high_x = -INFINITY, low = INFINITY, high = 0;
	const struct figure_data *data = curves->data;

	for (size_t i = 0; i < data->cell_count; i++) {
		const struct figure_cell *cell = &data->cells[i];
		double values[] = { cell->pair.ours, cell->pair.published };

		if (cell->panel != curves->index)
			continue;
		low_x = fmin(low_x, data->figure->runs[cell->run].x);
		high_x = fmax(high_x, data->figure->runs[cell->run].x);
		for (size_t k = 0; k < 2; k++) {
			if (!(values[k] > 0))
				continue;
			low = fmin(low, values[k]);
			high = fmax(high, values[k]);
		}
		if (cell->low > 0)
			low = fmin(low, cell->low);
		if (cell->high > 0)
			high = fmax(high, cell->high);
	}
	axis_set(&curves->x, isfinite(low_x) ? low_x : 0, isfinite(high_x) ? high_x : 1,
		 curves->panel->log_x, false);
	axis_set(&curves->y, isfinite(low) ? low : 0, high, curves->panel->log_y, true);
}

/* The range of a panel over time. */
static void set_time_axes(struct curves *curves)
{
	const struct figure_data *data = curves->data;
	double low = INFINITY, high = 0;

	for (size_t i = 0; i < data->line_count; i++) {
		const struct figure_line *line = &data->lines[i];

		if (line->panel != curves->index || panel_is_left_out(line))
			continue;
		for (size_t k = 0; k < line->count; k++) {
			double value = top_of(&line->points[k]);

			low = value > 0 ? fmin(low, value) : low;
			high = fmax(high, value);
		}
	}
	axis_set(&curves->x, 0, data->end_s, false, true);
	axis_set(&curves->y, isfinite(low) ? low : 0, high, curves->panel->log_y, true);
}

void panel_print_curves(FILE *out, const struct figure_data *data, size_t index)
{
	struct curves curves = {
		.out = out,
		.data = data,
		.panel = &data->figure->panels[index],
		.index = index,
		.x = { .from = LEFT, .to = WIDTH - RIGHT },
		.y = { .from = HEIGHT - BOTTOM, .to = TOP },
	};
	bool time = curves.panel->layout == FIGURE_TIME;

	fprintf(out, "viewBox=\"0 0 %d %d\">", WIDTH, HEIGHT);
	if (time)
		set_time_axes(&curves);
	else
		set_line_axes(&curves);
	print_axes(&curves);
	if (!time) {
		print_lines(&curves);
		return;
	}
	for (size_t i = 0; i < data->line_count; i++)
		if (data->lines[i].panel == index && data->lines[i].count &&
		    !panel_is_left_out(&data->lines[i]))
			print_curve(&curves, &data->lines[i]);
	print_hovers(&curves);
}
