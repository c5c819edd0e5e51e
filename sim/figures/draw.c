// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A figure as a picture: the variables of the page, and those of each panel (draw_panel.c).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/message.h"
#include "figures/differences.h"
#include "figures/drawing.h"
#include "figures/gnuplot.h"
#include "figures/make.h"
#include "figures/picture.h"
#include "figures/show.h"
#include "figures/value.h"
#include "gvm/port.h"
#include "results/estimate.h"
#include "results/writer.h"

/* The longest text of a variable. */
#define TEXT_MAX 512

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

static const char *gpu_of(const struct folder *folder)
{
	return *folder->gpu ? folder->gpu : "custom GPU";
}

/* Has a run before @run its scenario, and its GPU if @gpu? */
static bool has_before(const struct figure_data *data, size_t run, bool gpu)
{
	const struct folder *folder = &data->runs[run].folder;

	for (size_t i = 0; i < run; i++) {
		const struct folder *other = &data->runs[i].folder;

		if (!strcmp(other->summary.name, folder->summary.name) &&
		    (!gpu || !strcmp(other->gpu, folder->gpu)))
			return true;
	}
	return false;
}

/* The scenarios of all runs with their GPUs: "one on a100-40g, h100-80g, two on a100-80g". */
static void add_scenarios(const struct figure_data *data, char *text, size_t size)
{
	for (size_t run = 0; run < data->figure->run_count; run++) {
		const struct folder *first = &data->runs[run].folder;

		if (has_before(data, run, false))
			continue;
		cfg_append(text, size, "%s%s on %s", run ? ", " : "", first->summary.name,
			   gpu_of(first));
		for (size_t i = run + 1; i < data->figure->run_count; i++)
			if (!strcmp(data->runs[i].folder.summary.name, first->summary.name) &&
			    !has_before(data, i, true))
				cfg_append(text, size, ", %s", gpu_of(&data->runs[i].folder));
	}
}

/* "; mean with 95 % bootstrap over 5 seeds"; curves are not estimates */
static void add_seeds(const struct figure *figure, char *text, size_t size)
{
	char over[64];
	bool curves = false;

	for (size_t panel = 0; panel < figure->panel_count; panel++)
		curves = curves || figure->panels[panel].layout == FIGURE_TIME;
	estimate_describe_seeds(figure->interval_of, figure->seed_count, over, sizeof(over));
	cfg_append(text, size, "; %s with %s", estimate_word(figure->interval_of), over);
	if (curves)
		cfg_append(text, size, ", curves of seed %llu",
			   (unsigned long long)figure->seeds[0]);
}

/* Values of the reference are in tables only: the picture shows none of them. */
static bool hides_reference(const struct figure_data *data)
{
	if (!data->figure->reference.file)
		return false;
	for (size_t i = 0; i < data->cell_count; i++)
		if (data->figure->panels[data->cells[i].panel].layout != FIGURE_TABLE &&
		    !isnan(data->cells[i].pair.published))
			return false;
	return true;
}

/* "vllm-diffusion-40g on a100-40g, diffusion alone; published: GVM paper, Figure 17" */
static void add_subline(struct drawing *drawing)
{
	const struct figure *figure = drawing->data->figure;
	const struct folder *folder = &drawing->data->runs[figure->run_count - 1].folder;
	bool incomplete = false;
	char text[TEXT_MAX] = "";

	if (figure->folder_count)
		cfg_append(text, sizeof(text), "%s on %s", folder->summary.name,
			   gpu_of(folder));
	else
		add_scenarios(drawing->data, text, sizeof(text));
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
				   gpu_of(other));
		incomplete = incomplete || !other->summary.complete;
	}
	if (figure->seed_count > 1)
		add_seeds(figure, text, sizeof(text));
	if (figure->source && !figure->ours_alone && !hides_reference(drawing->data))
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

/*
 * Does any panel's value name a type of which the run has several containers? The first counts.
 */
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
 * A second line: what the user changed, the keys in which compared folders differ, and which
 * container counts where a type has several.
 */
static void add_changes(struct drawing *drawing, const struct figure_request *request)
{
	const struct figure_data *data = drawing->data;
	char text[TEXT_MAX] = "";

	figure_overrides(data->figure, request, text, sizeof(text));
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
			   figure->panels[panel].level_count ||
			   !drawing_of_one_run(drawing->data, panel);
	for (size_t run = 0; run < figure->run_count; run++)
		failed = failed || figure_count_failed(drawing->data, run);
	gnuplot_add_string(gnuplot, "headline", figure->title);
	gnuplot_add_string(gnuplot, "notes", figure->notes ? figure->notes : "");
	gnuplot_add_string(gnuplot, "word_key", figure->published_label);
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
	for (size_t i = 0; i < drawing->container_count; i++) {
		snprintf(name, sizeof(name), "key_container_%zu", i + 1);
		gnuplot_add_string(&drawing->gnuplot, name, drawing->containers[i].name);
		snprintf(name, sizeof(name), "key_colour_%zu", i + 1);
		gnuplot_add_count(&drawing->gnuplot, name, drawing->containers[i].colour);
	}
	gnuplot_add_count(&drawing->gnuplot, "key_containers", drawing->container_count);
	gnuplot_add_count(&drawing->gnuplot, "any_bounded", drawing->bounded);
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
		drawing_add_panel(&drawing);
	}
	gnuplot_add_count(&drawing.gnuplot, "panels", drawing.number);
	gnuplot_add_count(&drawing.gnuplot, "key_chars", drawing.key_chars);
	add_key(&drawing);
	status = picture_draw(&drawing.gnuplot, "figure.gp", data->figure->name,
			      request->use.fresh, request->use.signals, writer, err);
	gnuplot_destroy(&drawing.gnuplot);
	return status;
}
