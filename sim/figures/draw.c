// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The variables that plots/figure.gp needs beside the CSV files: texts, ranges and counts. A
 * variable of panel 2 ends in "_2", and one of its third bar or curve in "_2_3".
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/message.h"
#include "figures/differences.h"
#include "figures/gnuplot.h"
#include "figures/make.h"
#include "figures/picture.h"
#include "figures/show.h"
#include "figures/value.h"
#include "gvm/port.h"
#include "results/writer.h"

#define TEXT_MAX   512
#define SERIES_MAX 64

/* A series of points as the key has it. Panels may have a series of the same name. */
struct drawn_series {
	const char *name;
	bool ours;
	bool published;
};

/* A drawing while its variables are added. */
struct drawing {
	const struct figure_data *data;
	struct gnuplot gnuplot;
	size_t panel;	  /* index in the figure */
	size_t number;	  /* on the page, from 1 */
	size_t key_chars; /* the longest title of a curve */
	struct drawn_series series[SERIES_MAX];
	size_t series_count;
};

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
		widen(cell->pair.published + (stacked ? cell->below.published : 0), &low,
		      &high);
		published = published || !isnan(cell->pair.published);
	}
	add_real(drawing, "low", low);
	add_real(drawing, "high", high);
	add_real(drawing, "published", published);
}

/* The panel's bars lack a container: write its name. False: a run has all containers of its bar. */
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
		const struct figure_run *run = &figure->runs[cell->run];
		char text[TEXT_MAX];

		if (cell->panel != drawing->panel)
			continue;
		if (!count++)
			first = i;
		snprintf(text, sizeof(text), "%s%s",
			 panel->part_count == 1 ? run->tick : panel->parts[cell->part].label,
			 figure_count_failed(data, cell->run) ? " *" : "");
		add_string_of(drawing, "tick", count, text);
		add_real_of(drawing, "run", count, (double)cell->run);
	}
	if (!bars_lack(data, drawing->panel, lacking, sizeof(lacking)))
		*lacking = '\0';
	add_string(drawing, "lacks", lacking);
	add_real(drawing, "bars", (double)count);
	add_real(drawing, "first", (double)first);
}

/* The place in the key of the series with this name, counted from 1: it is added if it is new. */
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
		bool ours = false, published = false;

		if (cell->panel != drawing->panel)
			continue;
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
		}
		add_real_of(drawing, "series_ours", count, ours);
		add_real_of(drawing, "series_published", count, published);
		add_real_of(drawing, "series_colour", count,
			    (double)add_key_series(drawing, data->figure->runs[cell->run].tick,
						   ours, published));
	}
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
 * The number of @line among its run's lines of the same curve, from 0: one for each container. Sets
 * *ret_several if there are more.
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
	if (!strcmp(line->curve->container, "*"))
		snprintf(text, size, "%s", line->container);
	else if (line->curve->draw == FIGURE_DRAW_MARKS)
		snprintf(text, size, "%zu %s, %s", line->count, line->curve->label, word);
	else if (figure->run_count == 1 && !*line->curve->label)
		snprintf(text, size, "ours, simulated");
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

/* Are all of the panel's curves of one run? Then their colours tell containers apart. */
static bool curves_of_one_run(const struct figure_data *data, size_t panel)
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

/* The panel's curves that have points. */
static void add_curves(struct drawing *drawing)
{
	static const char *const draws[] = { "line", "points", "bars", "area", "marks" };
	const struct figure_data *data = drawing->data;
	bool one_run = curves_of_one_run(data, drawing->panel);
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

static void add_panel(struct drawing *drawing)
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

/* Marks: moments that all panels over time show. */
static void add_marks(struct drawing *drawing)
{
	const struct figure_data *data = drawing->data;
	struct gnuplot *gnuplot = &drawing->gnuplot;
	size_t count = 0;
	char name[32];

	for (size_t i = 0; i < data->figure->mark_count; i++) {
		double at = value_of(data, 0, data->figure->marks[i].value, false);

		if (!(at > 0 && at < data->end_s))
			continue;
		snprintf(name, sizeof(name), "mark_%zu", ++count);
		gnuplot_add_real(gnuplot, name, at);
		snprintf(name, sizeof(name), "mark_title_%zu", count);
		gnuplot_add_string(gnuplot, name, data->figure->marks[i].label);
	}
	gnuplot_add_count(gnuplot, "marks", count);
	gnuplot_add_real(gnuplot, "end_s", data->end_s);
	gnuplot_add_real(gnuplot, "bin_s", data->bin_s);
}

/* "vllm-diffusion-40g on a100-40g, diffusion alone; published: GVM paper, Figure 17" */
static void add_subline(struct drawing *drawing)
{
	const struct figure *figure = drawing->data->figure;
	const struct folder *folder = &drawing->data->runs[figure->run_count - 1].folder;
	bool incomplete = false;
	char text[TEXT_MAX];

	if (!figure->folder_count)
		folder = &drawing->data->runs[0].folder;
	snprintf(text, sizeof(text), "%s on %s", folder->summary.name,
		 *folder->gpu ? folder->gpu : "custom GPU");
	if (figure->subtitle)
		cfg_append(text, sizeof(text), ", %s", figure->subtitle);
	for (size_t run = 0; figure->folder_count && run < figure->run_count; run++) {
		const struct folder *other = &drawing->data->runs[run].folder;

		cfg_append(text, sizeof(text), "; %s: system %s",
			   figure_run_word(drawing->data, run), other->summary.system);
		/* Runs of different things can be compared, but the picture has to say so. */
		if (strcmp(other->summary.name, folder->summary.name) != 0 ||
		    strcmp(other->gpu, folder->gpu) != 0)
			cfg_append(text, sizeof(text), ", %s on %s", other->summary.name,
				   *other->gpu ? other->gpu : "custom GPU");
		incomplete = incomplete || !other->summary.complete;
	}
	if (figure->source && !figure->ours_alone)
		cfg_append(text, sizeof(text), "; %s: %s", figure->published_label,
			   figure->source);
	cfg_append(text, sizeof(text), "%s",
		   incomplete ? "; INCOMPLETE: a run was interrupted" : "");
	gnuplot_add_string(&drawing->gnuplot, "subline", text);
}

/* Does the value of a bar or a point name the container type @type? */
static bool names_type(const struct figure *figure, const char *type)
{
	bool named = false;

	for (size_t i = 0; i < figure->panel_count; i++)
		for (size_t k = 0; k < figure->panels[i].part_count; k++) {
			char *text = json_dumps(figure->panels[i].parts[k].value,
						JSON_ENCODE_ANY | JSON_COMPACT);
			const char *at = text ? strstr(text, type) : NULL;

			named = named || (at && at > text && at[-1] == '"');
			free(text);
		}
	return named;
}

/* Does any panel's value name a type of which the run has several containers? The first counts. */
static void add_first_of_type(const struct figure_data *data, char *text, size_t size)
{
	const struct summary *summary = &data->runs[0].folder.summary;

	for (size_t i = 0; data->cell_count && i < summary->container_count; i++) {
		const char *type = summary_type_name(&summary->containers[i]);
		const char *first = figure_container(data, 0, type);

		if (first && strcmp(first, summary->containers[i].name) != 0 &&
		    !strstr(text, type) && names_type(data->figure, type))
			cfg_append(text, size, "%sof several containers of type %s: %s",
				   *text ? "; " : "", type, first);
	}
}

/*
 * A second line: what the user changed, the keys in which compared folders differ, and which container
 * counts where a type has several.
 */
static void add_changes(struct drawing *drawing, const struct figure_request *request)
{
	const struct figure_data *data = drawing->data;
	char text[TEXT_MAX] = "";

	if (request->scenario || request->set_count)
		snprintf(text, sizeof(text), "%s",
			 data->figure->ours_alone ? "CHANGED, without published values:" :
						    "CHANGED, not the published set-up:");
	if (request->scenario)
		cfg_append(text, sizeof(text), " --scenario %s", request->scenario);
	for (size_t i = 0; i < request->set_count; i++)
		cfg_append(text, sizeof(text), "%s%s", i ? ", " : " ", request->sets[i]);
	if (data->figure->folder_count == 2)
		figure_differences(data, text, sizeof(text));
	add_first_of_type(data, text, sizeof(text));
	gnuplot_add_string(&drawing->gnuplot, "changes", text);
}

/* The layout of panels, and whether each panel needs a key of its own. */
static void add_page(struct drawing *drawing)
{
	const struct figure *figure = drawing->data->figure;
	struct gnuplot *gnuplot = &drawing->gnuplot;
	bool own_keys = false, failed = false;
	char name[WRITER_NAME_MAX];

	for (size_t panel = 0; panel < figure->panel_count; panel++)
		own_keys = own_keys || figure->panels[panel].curve_count > 1 ||
			   figure->panels[panel].level_count;
	for (size_t run = 0; run < figure->run_count; run++)
		failed = failed || figure_count_failed(drawing->data, run);
	gnuplot_add_string(gnuplot, "headline", figure->title);
	gnuplot_add_string(gnuplot, "notes", figure->notes ? figure->notes : "");
	snprintf(name, sizeof(name), "%s, measured", figure->published_label);
	gnuplot_add_string(gnuplot, "word_published",
			   strcmp(figure->published_label, "measured") != 0 ? name :
									      "measured");
	gnuplot_add_count(gnuplot, "page_width", figure->width);
	gnuplot_add_count(gnuplot, "page_height", figure->height);
	gnuplot_add_count(gnuplot, "columns", figure->columns);
	gnuplot_add_count(gnuplot, "across", figure->across);
	gnuplot_add_count(gnuplot, "own_keys", own_keys);
	gnuplot_add_count(gnuplot, "any_failed", failed);
}

/* The series of all panels, for one key. */
static void add_key(struct drawing *drawing)
{
	char name[64];

	for (size_t i = 0; i < drawing->series_count; i++) {
		const struct drawn_series *series = &drawing->series[i];

		snprintf(name, sizeof(name), "key_series_%zu", i + 1);
		gnuplot_add_string(&drawing->gnuplot, name, series->name);
		snprintf(name, sizeof(name), "key_ours_%zu", i + 1);
		gnuplot_add_count(&drawing->gnuplot, name, series->ours);
		snprintf(name, sizeof(name), "key_published_%zu", i + 1);
		gnuplot_add_count(&drawing->gnuplot, name, series->published);
	}
	gnuplot_add_count(&drawing->gnuplot, "key_series", drawing->series_count);
}

int figure_draw(const struct figure_data *data, const struct figure_request *request,
		struct writer *writer, struct sim_error *err)
{
	struct drawing drawing = { .data = data };
	char name[WRITER_NAME_MAX];
	int status;

	snprintf(name, sizeof(name), "%s.csv", data->figure->name);
	gnuplot_add_file(&drawing.gnuplot, "numbers_csv", writer, name);
	snprintf(name, sizeof(name), "%s-curves.csv", data->figure->name);
	gnuplot_add_file(&drawing.gnuplot, "curves_csv", writer, name);
	add_page(&drawing);
	add_subline(&drawing);
	add_changes(&drawing, request);
	add_marks(&drawing);
	for (drawing.panel = 0; drawing.panel < data->figure->panel_count; drawing.panel++) {
		if (data->figure->panels[drawing.panel].layout == FIGURE_TABLE)
			continue;
		drawing.number++;
		add_panel(&drawing);
	}
	gnuplot_add_count(&drawing.gnuplot, "panels", drawing.number);
	gnuplot_add_count(&drawing.gnuplot, "key_chars", drawing.key_chars);
	add_key(&drawing);
	status = picture_draw(&drawing.gnuplot, "figure.gp", data->figure->name,
			      request->use.fresh, request->use.signals, writer, err);
	gnuplot_destroy(&drawing.gnuplot);
	return status;
}
