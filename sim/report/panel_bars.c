// SPDX-License-Identifier: MIT OR GPL-2.0
/* Panels of bars and stacks, see panel.h. */
#include <math.h>
#include <string.h>

#include "report/axis.h"
#include "report/html.h"
#include "report/panel.h"
#include "report/panel_key.h"

#define WIDTH	   520
#define NAME	   150 /* room for names of runs */
#define NAME_CHARS 19  /* that fit there for certain */
#define NUMBER	   74  /* room for the number after a bar */
#define BAR	   13
#define GAP	   9
#define AXIS_ROOM  26

/* What is drawn of a panel. */
struct bars {
	FILE *out;
	const struct figure_data *data;
	const struct figure_panel *panel;
	size_t index; /* of the panel */
	bool published;
	struct axis axis;
	double y; /* top of the next bar */
};

/* A bar from @from to @to, which says @number when the pointer is over it. */
static void print_bar(struct bars *bars, const char *class, double from, double to,
		      const char *name, const char *word, const char *number)
{
	double x = axis_place(&bars->axis, from), end = axis_place(&bars->axis, to);

	fprintf(bars->out,
		"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"><title>",
		class, x, bars->y, fmax(end - x, 1), BAR);
	html_text(bars->out, name);
	fputs(", ", bars->out);
	html_text(bars->out, word);
	fputs(": ", bars->out);
	html_text(bars->out, number);
	fputs("</title></rect>\n", bars->out);
}

/* The interval over seeds, on the bar. */
static void print_interval(struct bars *bars, const struct figure_cell *cell)
{
	double low = axis_place(&bars->axis, fmax(cell->low, bars->axis.low));
	double high = axis_place(&bars->axis, cell->high), y = bars->y + BAR / 2.0;

	if (cell->high > cell->low)
		fprintf(bars->out, "<path class=\"i\" d=\"M%.1f %.1fv6m0 -3H%.1fm0 -3v6\"/>\n",
			low, y - 3, high);
}

/* The number after a bar that ends at @to; "> 12.5 s" of a value that is only bounded. */
static void print_number(struct bars *bars, double value, double at_least, double to)
{
	bool bound = isnan(value) && !isnan(at_least);
	char number[HTML_NUMBER_MAX];

	html_number(bound ? at_least : value, bars->panel->unit, number);
	fprintf(bars->out, "<text class=\"n\" x=\"%.1f\" y=\"%.1f\">",
		axis_place(&bars->axis, isnan(to) ? bars->axis.low : to) + 4,
		bars->y + BAR - 2.5);
	if (bound)
		html_text(bars->out, "> ");
	html_text(bars->out, number);
	fputs("</text>\n", bars->out);
}

/* A name that is longer than its room is drawn narrower. */
static void print_name(struct bars *bars, const char *name, double height)
{
	fprintf(bars->out, "<text class=\"r\" x=\"%d\" y=\"%.1f\"", NAME - 6,
		bars->y + height / 2 + 4);
	if (strlen(name) > NAME_CHARS)
		fprintf(bars->out, " textLength=\"%d\" lengthAdjust=\"spacingAndGlyphs\"",
			NAME - 10);
	fputs(">", bars->out);
	html_text(bars->out, name);
	fprintf(bars->out, "</text>\n");
}

/* One value: ours, and the published one below it. */
static void print_cell(struct bars *bars, const struct figure_cell *cell)
{
	bool failed = figure_count_failed(bars->data, cell->run);
	char name[128], number[3 * HTML_NUMBER_MAX];

	panel_cell_name(bars->data, cell, name, sizeof(name));
	print_name(bars, name, bars->published ? 2 * BAR : BAR);
	panel_cell_number(bars->data, cell, number, sizeof(number));
	if (cell->pair.ours > 0) {
		print_bar(bars, "ours", bars->axis.low, cell->pair.ours, name,
			  failed ? "ours, and a container of the run died" : "ours", number);
		print_interval(bars, cell);
	}
	print_number(bars, cell->pair.ours, cell->at_least,
		     cell->high > cell->pair.ours ? cell->high : cell->pair.ours);
	bars->y += BAR;
	if (bars->published && !isnan(cell->pair.published)) {
		html_number(cell->pair.published, bars->panel->unit, number);
		print_bar(bars, "pub", bars->axis.low, cell->pair.published, name,
			  bars->data->figure->published_label, number);
		print_number(bars, cell->pair.published, NAN, cell->pair.published);
	}
	bars->y += (bars->published ? BAR : 0) + GAP;
}

/* One stack of ours, or of the published parts. */
static void print_stack(struct bars *bars, bool ours)
{
	const char *word = ours ? "ours" : bars->data->figure->published_label;
	double sum = 0;

	print_name(bars, ours ? "ours, simulated" : word, BAR);
	for (size_t i = 0; i < bars->data->cell_count; i++) {
		const struct figure_cell *cell = &bars->data->cells[i];
		double value = ours ? cell->pair.ours : cell->pair.published;
		double below = ours ? cell->below.ours : cell->below.published;
		char class[8], name[128], number[HTML_NUMBER_MAX];

		if (cell->panel != bars->index || !(value > 0))
			continue;
		panel_cell_name(bars->data, cell, name, sizeof(name));
		snprintf(class, sizeof(class), "s%zu", cell->part % PANEL_COLOURS);
		html_number(value, bars->panel->unit, number);
		print_bar(bars, class, below, below + value, name, word, number);
		sum = fmax(sum, below + value);
	}
	print_number(bars, sum, NAN, sum);
	bars->y += BAR + GAP;
}

/* The axis and its lines, from the top to @bottom. */
static void print_axis(const struct bars *bars, double bottom)
{
	for (size_t i = 0; i < bars->axis.tick_count; i++) {
		double x = axis_place(&bars->axis, bars->axis.ticks[i]);
		double value;
		const char *unit = axis_tick(&bars->axis, i, bars->panel->unit, &value);

		fprintf(bars->out,
			"<line class=\"g\" x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%.1f\"/>"
			"<text class=\"a\" x=\"%.1f\" y=\"%.1f\">%g%s</text>\n",
			x, x, bottom, x, bottom + 15, value, unit);
	}
}

/* Find the range of the panel's values. Returns how many rows of bars it has. */
static size_t find_range(struct bars *bars, double *ret_low, double *ret_high)
{
	bool stacked = bars->panel->layout == FIGURE_STACKED;
	size_t count = 0;

	*ret_low = INFINITY;
	*ret_high = 0;
	for (size_t i = 0; i < bars->data->cell_count; i++) {
		const struct figure_cell *cell = &bars->data->cells[i];
		double values[] = { cell->pair.ours + (stacked ? cell->below.ours : 0),
				    cell->pair.published +
					    (stacked ? cell->below.published : 0) };

		if (cell->panel != bars->index)
			continue;
		count++;
		for (size_t k = 0; k < 2; k++) {
			if (!(values[k] > 0))
				continue;
			*ret_low = fmin(*ret_low, values[k]);
			*ret_high = fmax(*ret_high, values[k]);
			bars->published = bars->published || k;
		}
		if (!stacked && cell->low > 0)
			*ret_low = fmin(*ret_low, cell->low);
		if (!stacked && cell->high > 0)
			*ret_high = fmax(*ret_high, cell->high);
	}
	*ret_low = isfinite(*ret_low) ? *ret_low : 0;
	return stacked ? (bars->published ? 2 : 1) : count;
}

void panel_print_bars(FILE *out, const struct figure_data *data, size_t index)
{
	struct bars bars = {
		.out = out, .data = data, .panel = &data->figure->panels[index], .index = index
	};
	bool stacked = bars.panel->layout == FIGURE_STACKED;
	double low, high, bottom;
	size_t count = find_range(&bars, &low, &high);

	bottom = (double)count * (BAR * (bars.published && !stacked ? 2 : 1) + GAP);
	fprintf(out, "viewBox=\"0 0 %d %.0f\">", WIDTH, bottom + AXIS_ROOM);
	bars.axis.from = NAME;
	bars.axis.to = WIDTH - NUMBER;
	axis_set(&bars.axis, low, high, bars.panel->log_y, true);
	bars.y = GAP / 2.0;
	print_axis(&bars, bottom);
	if (stacked) {
		print_stack(&bars, true);
		if (bars.published)
			print_stack(&bars, false);
		return;
	}
	for (size_t i = 0; i < data->cell_count; i++)
		if (data->cells[i].panel == index)
			print_cell(&bars, &data->cells[i]);
}
