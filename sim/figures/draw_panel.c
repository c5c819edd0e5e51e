// SPDX-License-Identifier: MIT OR GPL-2.0
/* The variables of one panel: its texts, ranges, bars, series, parts, curves and levels. */
#include "figures/drawing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/message.h"
#include "figures/make.h"
#include "figures/show.h"
#include "figures/value.h"
#include "gvm/port.h"

/* The longest text of a variable. */
#define TEXT_MAX 512

static void add_string(struct drawing *drawing, const char *name, const char *value)
{
	char text[64];

	snprintf(text, sizeof(text), "%s_%zu", name, drawing->number);
	gnuplot_add_string(&drawing->gnuplot, text, value);
}

static void add_real(struct drawing *drawing, const char *name, double value)
{
	char text[64];

	snprintf(text, sizeof(text), "%s_%zu", name, drawing->number);
	gnuplot_add_real(&drawing->gnuplot, text, value);
}

/* The same for element @index of the panel, counted from 1. */
static void add_string_of(struct drawing *drawing, const char *name, size_t index,
			  const char *value)
{
	char text[64];

	snprintf(text, sizeof(text), "%s_%zu_%zu", name, drawing->number, index);
	gnuplot_add_string(&drawing->gnuplot, text, value);
}

static void add_real_of(struct drawing *drawing, const char *name, size_t index, double value)
{
	char text[64];

	snprintf(text, sizeof(text), "%s_%zu_%zu", name, drawing->number, index);
	gnuplot_add_real(&drawing->gnuplot, text, value);
}

/* Widen a range to include a value, if the value is above 0. The range 0 to 0 is empty. */
static void widen(double value, double *low, double *high)
{
	if (!(value > 0))
		return;
	*low = *low > 0 ? fmin(*low, value) : value;
	*high = fmax(*high, value);
}

/* The range of the panel's values, and whether any of them is published. */
static void add_range(struct drawing *drawing)
{
	const struct figure_data *data = drawing->data;
	bool stacked = data->figure->panels[drawing->panel].layout == FIGURE_STACKED;
	double low = 0, high = 0;
	bool published = false;

	for (size_t i = 0; i < data->cell_count; i++) {
		const struct figure_cell *cell = &data->cells[i];

		if (cell->panel != drawing->panel)
			continue;
		widen(cell->pair.ours + (stacked ? cell->below.ours : 0), &low, &high);
		if (!stacked) {
			widen(cell->low, &low, &high);
			widen(cell->high, &low, &high);
		}
		widen(cell->pair.published + (stacked ? cell->below.published : 0), &low,
		      &high);
		published = published || !isnan(cell->pair.published);
	}
	add_real(drawing, "low", low);
	add_real(drawing, "high", high);
	add_real(drawing, "published", published);
}

/*
 * The panel's bars lack a container: write its name. False: a run has all
 * containers of its bar.
 */
static bool bars_lack(const struct figure_data *data, size_t panel, char *name, size_t size)
{
	const struct figure_panel *shown = &data->figure->panels[panel];

	for (size_t i = 0; i < data->cell_count; i++)
		if (data->cells[i].panel == panel &&
		    !value_lacks(data, data->cells[i].run,
				 shown->parts[data->cells[i].part].value, name, size))
			return false;
	return shown->part_count > 0;
}

/* The text below a bar: its part's, its run's, or both where there are several of both. */
static void bar_tick(const struct figure *figure, const struct figure_panel *panel,
		     const struct figure_cell *cell, char *text, size_t size)
{
	const struct figure_run *run = &figure->runs[cell->run];
	const char *part = panel->parts[cell->part].label;

	if (panel->part_count == 1)
		snprintf(text, size, "%s", run->tick);
	else if (panel->run_count == 1 || figure->run_count == 1)
		snprintf(text, size, "%s", part);
	else
		snprintf(text, size, "%s\n%s", part, run->tick);
}

/*
 * The panel's bars in the order of their rows in the CSV file, and the number of the first row.
 */
static void add_bars(struct drawing *drawing)
{
	const struct figure_data *data = drawing->data;
	const struct figure *figure = data->figure;
	const struct figure_panel *panel = &figure->panels[drawing->panel];
	size_t count = 0, first = 0;
	char lacking[64];

	for (size_t i = 0; i < data->cell_count; i++) {
		const struct figure_cell *cell = &data->cells[i];
		char text[TEXT_MAX];

		if (cell->panel != drawing->panel)
			continue;
		if (!count++)
			first = i;
		bar_tick(figure, panel, cell, text, sizeof(text));
		if (figure_count_failed(data, cell->run))
			cfg_append(text, sizeof(text), " *");
		add_string_of(drawing, "tick", count, text);
		add_real_of(drawing, "run", count, (double)cell->run);
	}
	if (!bars_lack(data, drawing->panel, lacking, sizeof(lacking)))
		*lacking = '\0';
	add_string(drawing, "lacks", lacking);
	add_real(drawing, "bars", (double)count);
	add_real(drawing, "parts", (double)panel->part_count);
	add_real(drawing, "first", (double)first);
}

/*
 * The place in the key of the series with this name, counted from 1: it is added if it is new.
 */
static size_t add_key_series(struct drawing *drawing, const char *name, bool ours,
			     bool published)
{
	size_t i = 0;

	while (i < drawing->series_count && strcmp(drawing->series[i].name, name) != 0)
		i++;
	if (i == SERIES_MAX)
		return SERIES_MAX;
	if (i == drawing->series_count)
		drawing->series[drawing->series_count++] =
			(struct drawn_series){ .name = name };
	drawing->series[i].ours |= ours;
	drawing->series[i].published |= published;
	return i + 1;
}

/* The panel's places on the axis of x, each once, and the names that they may have. */
static void add_places(struct drawing *drawing)
{
	const struct figure_data *data = drawing->data;
	bool named = false;
	size_t count = 0;

	for (size_t i = 0; i < data->cell_count; i++) {
		const struct figure_cell *cell = &data->cells[i];
		const struct figure_run *run = &data->figure->runs[cell->run];
		bool seen = cell->panel != drawing->panel;

		for (size_t k = 0; !seen && k < i; k++)
			seen = data->cells[k].panel == drawing->panel &&
			       data->figure->runs[data->cells[k].run].x == run->x;
		if (seen)
			continue;
		named = named || run->x_tick;
		add_real_of(drawing, "x", ++count, run->x);
		add_string_of(drawing, "x_tick", count, run->x_tick ? run->x_tick : "");
	}
	add_real(drawing, "places", (double)count);
	add_real(drawing, "named", named);
}

/* The panel's series in the order of the figure's runs, and the range of their x. */
static void add_series(struct drawing *drawing)
{
	const struct figure_data *data = drawing->data;
	double low = INFINITY, high = -INFINITY;
	size_t count = 0;
	const char *last = "";

	for (size_t i = 0; i < data->cell_count; i++) {
		const struct figure_cell *cell = &data->cells[i];
		const char *label = data->figure->runs[cell->run].label;
		bool ours = false, published = false, intervals = false;

		if (cell->panel != drawing->panel)
			continue;
		drawing->bounded = drawing->bounded || !isnan(cell->at_least);
		low = fmin(low, data->figure->runs[cell->run].x);
		high = fmax(high, data->figure->runs[cell->run].x);
		if (!strcmp(label, last))
			continue;
		last = label;
		add_string_of(drawing, "series", ++count, label);
		for (size_t k = i; k < data->cell_count; k++) {
			const struct figure_cell *point = &data->cells[k];

			if (point->panel != drawing->panel ||
			    strcmp(data->figure->runs[point->run].label, label) != 0)
				continue;
			ours = ours || !isnan(point->pair.ours);
			published = published || !isnan(point->pair.published);
			intervals = intervals || !isnan(point->low);
		}
		add_real_of(drawing, "series_intervals", count, intervals);
		add_real_of(drawing, "series_ours", count, ours);
		add_real_of(drawing, "series_published", count, published);
		add_real_of(drawing, "series_colour", count,
			    (double)add_key_series(drawing, data->figure->runs[cell->run].tick,
						   ours, published));
	}
	add_places(drawing);
	add_real(drawing, "series_count", (double)count);
	add_real(drawing, "low_x", isfinite(low) ? low : 0);
	add_real(drawing, "high_x", isfinite(high) ? high : 1);
}

/* The panel's parts, and the height of their stack. */
static void add_parts(struct drawing *drawing)
{
	const struct figure_data *data = drawing->data;
	const struct figure_panel *panel = &data->figure->panels[drawing->panel];
	struct figure_pair total = { 0, 0 };

	for (size_t i = 0; i < data->cell_count; i++)
		if (data->cells[i].panel == drawing->panel) {
			total.ours += data->cells[i].pair.ours;
			total.published += data->cells[i].pair.published;
		}
	for (size_t part = 0; part < panel->part_count; part++) {
		add_string_of(drawing, "part", part + 1, panel->parts[part].key);
		add_string_of(drawing, "part_label", part + 1, panel->parts[part].label);
	}
	add_real(drawing, "parts", (double)panel->part_count);
	add_real(drawing, "sum_ours", fmax(total.ours, 0));
	add_real(drawing, "sum_published", fmax(total.published, 0));
}

/*
 * The number of @line among its run's lines of the same curve, from 0: one for each container.
 * Sets *ret_several if there are more.
 */
static size_t line_index(const struct figure_data *data, const struct figure_line *line,
			 bool *ret_several)
{
	size_t index = 0, count = 0;

	for (size_t i = 0; i < data->line_count; i++) {
		const struct figure_line *other = &data->lines[i];

		if (other->panel != line->panel || other->curve != line->curve ||
		    other->run != line->run || !other->count)
			continue;
		index = other == line ? count : index;
		count++;
	}
	*ret_several = count > 1;
	return index;
}

/* The title of a curve in the key. */
static void line_title(const struct figure_data *data, const struct figure_line *line,
		       char *text, size_t size)
{
	const struct figure *figure = data->figure;
	const char *word, *system;
	bool several;

	if (!line->curve) {
		snprintf(text, size, "%s, measured", figure->published_label);
		return;
	}
	word = figure_run_word(data, line->run);
	system = data->runs[line->run].folder.summary.system;
	if (!strcmp(line->curve->container, "*") && drawing_of_one_run(data, line->panel))
		snprintf(text, size, "%s", line->container);
	else if (!strcmp(line->curve->container, "*"))
		snprintf(text, size, "%s, %s", line->container, word);
	else if (line->curve->draw == FIGURE_DRAW_MARKS)
		snprintf(text, size, "%zu %s, %s", line->count, line->curve->label, word);
	else if (figure->run_count == 1 && !*line->curve->label)
		snprintf(text, size, "ours, simulated");
	else if (!*line->curve->label && !strcmp(word, system))
		snprintf(text, size, "%s", word);
	else if (!*line->curve->label)
		snprintf(text, size, "%s (%s)", word, system);
	else if (line->curve->run || figure->run_count == 1)
		snprintf(text, size, "%s", line->curve->label);
	else
		snprintf(text, size, "%s, %s", line->curve->label, word);
	line_index(data, line, &several);
	if (several && strcmp(line->curve->container, "*") != 0)
		cfg_append(text, size, ": %s", line->container);
}

bool drawing_of_one_run(const struct figure_data *data, size_t panel)
{
	const struct figure_line *first = NULL;

	for (size_t i = 0; i < data->line_count; i++) {
		const struct figure_line *line = &data->lines[i];

		if (line->panel != panel || !line->curve || !line->count)
			continue;
		first = first ? first : line;
		if (line->run != first->run)
			return false;
	}
	return true;
}

/* Add a curve to the key that all panels share, if it is one of a curve for each container. */
static void add_key_container(struct drawing *drawing, const struct figure_line *line,
			      size_t colour)
{
	size_t i = 0;

	if (!line->curve || strcmp(line->curve->container, "*") != 0)
		return;
	while (i < drawing->container_count &&
	       strcmp(drawing->containers[i].name, line->container) != 0)
		i++;
	if (i < drawing->container_count || i == SERIES_MAX)
		return;
	drawing->containers[drawing->container_count++] =
		(struct drawn_container){ line->container, colour };
}

/* The panel's curves that have points. */
static void add_curves(struct drawing *drawing)
{
	static const char *const draws[] = { "line", "points", "bars", "area", "marks" };
	const struct figure_data *data = drawing->data;
	bool one_run = drawing_of_one_run(data, drawing->panel);
	double highs[2] = { 0, 0 }; /* of the left and the right axis */
	size_t count = 0, areas = 0;
	char text[TEXT_MAX];

	for (size_t i = 0; i < data->line_count; i++) {
		const struct figure_line *line = &data->lines[i];
		const struct figure_curve *curve = line->curve;
		size_t colour;
		bool several;

		if (line->panel != drawing->panel || !line->count)
			continue;
		count++;
		colour = line_index(data, line, &several);
		if (!one_run)
			colour = line->run + colour * data->figure->run_count;
		for (size_t k = 0; k < line->count; k++)
			highs[curve && curve->right] =
				fmax(highs[curve && curve->right], line->points[k].y);
		areas += curve && curve->draw == FIGURE_DRAW_AREA;
		line_title(data, line, text, sizeof(text));
		add_key_container(drawing, line, colour + 1);
		add_real_of(drawing, "curve", count, (double)i + 1);
		add_string_of(drawing, "curve_title", count, text);
		add_string_of(drawing, "curve_draw", count,
			      curve ? draws[curve->draw] : "published");
		add_real_of(drawing, "curve_colour", count,
			    curve && curve->draw == FIGURE_DRAW_AREA ? (double)areas :
								       (double)colour + 1);
		add_real_of(drawing, "curve_several", count, several);
		drawing->key_chars = max(drawing->key_chars, strlen(text));
		add_real_of(drawing, "curve_points", count, (double)line->count);
		add_real_of(drawing, "curve_right", count, curve && curve->right);
	}
	add_real(drawing, "curves", (double)count);
	add_real(drawing, "empty", !(highs[0] > 0));
	add_real(drawing, "empty_right", !(highs[1] > 0));
}

/* The panel's levels, drawn as dashed lines, and the top of its axis if the figure sets it. */
static void add_levels(struct drawing *drawing)
{
	const struct figure_panel *panel = &drawing->data->figure->panels[drawing->panel];
	double top =
		panel->y_max ? value_of(drawing->data, 0, panel->y_max, false) : (double)NAN;
	size_t count = 0;

	for (size_t i = 0; i < panel->level_count; i++) {
		double at = value_of(drawing->data, drawing->data->figure->run_count - 1,
				     panel->levels[i].value, false);

		if (!(at > 0))
			continue;
		add_real_of(drawing, "level", ++count, at);
		add_string_of(drawing, "level_title", count, panel->levels[i].label);
	}
	add_real(drawing, "levels", (double)count);
	add_real(drawing, "top", top > 0 ? top : 0);
}

/* The panel's title. It says why a container's curve is missing or incomplete. */
static void add_title(struct drawing *drawing)
{
	const struct figure_data *data = drawing->data;
	const struct figure_panel *panel = &data->figure->panels[drawing->panel];
	bool one = panel->curve_count == 1 && strcmp(panel->curves->container, "*") != 0;
	const char *note = NULL;
	char text[TEXT_MAX];

	for (size_t run = 0; one && run < data->figure->run_count; run++) {
		const char *name = figure_container(data, run, panel->curves->container);
		const struct summary_container *container =
			name ? summary_find(&data->runs[run].folder.summary, name) : NULL;

		if (!container && !data->figure->folder_count)
			note = "not in this scenario";
		else if (container && strcmp(container->status, SUMMARY_OK) != 0)
			note = container->status;
	}
	snprintf(text, sizeof(text), "%s%s%s%s", panel->title, note ? "   (ours: " : "",
		 note ? note : "", note ? ")" : "");
	add_string(drawing, "title", text);
}

void drawing_add_panel(struct drawing *drawing)
{
	const struct figure_panel *panel = &drawing->data->figure->panels[drawing->panel];

	add_string(drawing, "key", panel->key);
	add_string(drawing, "layout", figure_layouts[panel->layout]);
	add_string(drawing, "unit", panel->unit);
	add_string(drawing, "xlabel", panel->x_label);
	add_string(drawing, "xunit", panel->x_unit);
	add_string(drawing, "ylabel", panel->y_label);
	add_string(drawing, "y2label", panel->y2_label);
	add_real(drawing, "log", panel->log_y);
	add_real(drawing, "log_x", panel->log_x);
	add_real(drawing, "by_run", panel->colour_by_run);
	add_title(drawing);
	add_range(drawing);
	add_levels(drawing);
	if (panel->layout == FIGURE_BARS)
		add_bars(drawing);
	else if (panel->layout == FIGURE_LINES)
		add_series(drawing);
	else if (panel->layout == FIGURE_STACKED)
		add_parts(drawing);
	else
		add_curves(drawing);
}
