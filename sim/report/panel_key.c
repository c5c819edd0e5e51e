// SPDX-License-Identifier: MIT OR GPL-2.0
#include "report/panel_key.h"

#include <math.h>
#include <string.h>

#include "config/message.h"
#include "report/html.h"

void panel_cell_name(const struct figure_data *data, const struct figure_cell *cell, char *text,
		     size_t size)
{
	const struct figure_panel *panel = &data->figure->panels[cell->panel];
	const struct figure_part *part = &panel->parts[cell->part];

	*text = '\0';
	if (data->figure->run_count > 1)
		cfg_append(text, size, "%s", data->figure->runs[cell->run].name);
	if (panel->part_count > 1)
		cfg_append(text, size, "%s%s", *text ? ", " : "",
			   part->label ? part->label : part->key);
	if (!*text)
		cfg_append(text, size, "%s", data->figure->runs[cell->run].name);
}

void panel_cell_number(const struct figure_data *data, const struct figure_cell *cell,
		       char *text, size_t size)
{
	const char *unit = data->figure->panels[cell->panel].unit;
	char ours[HTML_NUMBER_MAX], low[HTML_NUMBER_MAX], high[HTML_NUMBER_MAX];

	html_number(cell->pair.ours, unit, ours);
	html_number(cell->low, unit, low);
	html_number(cell->high, unit, high);
	if (isnan(cell->low))
		snprintf(text, size, "%s", ours);
	else
		snprintf(text, size, "%s [%s, %s]", ours, low, high);
}

bool panel_is_left_out(const struct figure_line *line)
{
	return line->curve && line->curve->right;
}

void panel_line_name(const struct figure_data *data, const struct figure_line *line, char *text,
		     size_t size)
{
	*text = '\0';
	if (!line->curve) {
		cfg_append(text, size, "%s", data->figure->published_label);
		return;
	}
	if (data->figure->run_count > 1)
		cfg_append(text, size, "%s", data->figure->runs[line->run].name);
	cfg_append(text, size, "%s%s", *text ? ", " : "", line->container);
	if (*line->curve->label)
		cfg_append(text, size, ", %s", line->curve->label);
}

void panel_line_class(const struct figure_data *data, const struct figure_line *line,
		      char *text, size_t size)
{
	size_t number = 0;

	if (!line->curve) {
		snprintf(text, size, "pub");
		return;
	}
	for (const struct figure_line *other = data->lines; other < line; other++)
		number += other->panel == line->panel && other->curve && other->count &&
			  !panel_is_left_out(other);
	snprintf(text, size, "s%zu%s", number % PANEL_COLOURS,
		 number >= PANEL_COLOURS ? " dashed" : "");
}

size_t panel_series(const struct figure_data *data, size_t panel, size_t run)
{
	const struct figure *figure = data->figure;
	const char *last = "";
	size_t count = 0;

	/* The points of a series follow each other. */
	for (size_t i = 0; i <= run; i++) {
		if (!figure_panel_has_run(figure, panel, i) ||
		    !strcmp(figure->runs[i].label, last))
			continue;
		last = figure->runs[i].label;
		count++;
	}
	return count ? count - 1 : 0;
}

/* A colour of the key and the text after it. */
static void print_entry(FILE *out, const char *class, const char *text)
{
	fprintf(out, "<li><span class=\"swatch %s\"></span>", class);
	html_text(out, text);
	fprintf(out, "</li>");
}

static void print_series(FILE *out, const struct figure_data *data, size_t panel)
{
	const struct figure *figure = data->figure;
	const char *last = "";
	char class[24];

	for (size_t run = 0; run < figure->run_count; run++) {
		if (!figure_panel_has_run(figure, panel, run) ||
		    !strcmp(figure->runs[run].label, last))
			continue;
		last = figure->runs[run].label;
		snprintf(class, sizeof(class), "s%zu",
			 panel_series(data, panel, run) % PANEL_COLOURS);
		print_entry(out, class, last);
	}
}

void panel_print_key(FILE *out, const struct figure_data *data, size_t panel)
{
	const struct figure_panel *shown = &data->figure->panels[panel];
	char class[24], text[160];

	fprintf(out, "<ul class=\"key\">");
	if (shown->layout == FIGURE_STACKED) {
		for (size_t i = 0; i < shown->part_count; i++) {
			snprintf(class, sizeof(class), "s%zu", i % PANEL_COLOURS);
			print_entry(out, class,
				    shown->parts[i].label ? shown->parts[i].label :
							    shown->parts[i].key);
		}
	} else if (shown->layout == FIGURE_LINES) {
		print_series(out, data, panel);
	}
	for (size_t i = 0; shown->layout == FIGURE_TIME && i < data->line_count; i++) {
		const struct figure_line *line = &data->lines[i];

		if (line->panel != panel || !line->count || panel_is_left_out(line))
			continue;
		panel_line_name(data, line, text, sizeof(text));
		panel_line_class(data, line, class, sizeof(class));
		print_entry(out, class, text);
	}
	fprintf(out, "</ul>\n");
}
