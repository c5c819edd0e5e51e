// SPDX-License-Identifier: MIT OR GPL-2.0
/* See numbers.h. */
#include "figures/numbers.h"

#include <math.h>
#include <stdio.h>

#include "engine/error.h"
#include "figures/curves.h"
#include "figures/data.h"
#include "figures/value.h"
#include "results/writer.h"

/*
 * Do all expressions name numbers that runs have? Folders of hosts lack some, so figures of
 * folders are not checked.
 */
static int check_names(const struct figure_data *data, struct sim_error *err)
{
	const struct figure *figure = data->figure;
	int status = 0;

	for (size_t i = 0; i < figure->panel_count && !figure->folder_count; i++) {
		const struct figure_panel *panel = &figure->panels[i];

		for (size_t k = 0; !status && k < panel->part_count; k++) {
			char where[64];

			if (*panel->parts[k].key)
				snprintf(where, sizeof(where), "panels[%zu].parts[%zu].value",
					 i, k);
			else
				snprintf(where, sizeof(where), "panels[%zu].value", i);
			status = value_check_known(data, panel->parts[k].value, where, err);
		}
	}
	return status;
}

int figure_data_take(struct figure_data *data, struct sim_error *err)
{
	const struct figure *figure = data->figure;
	struct sim_error ignored = { 0 };
	char file[FIGURE_FILE_MAX];
	int status = 0;

	for (size_t run = 0; !status && run < figure->run_count; run++) {
		if (data->runs[run].state == RUN_CACHE_LEFT_OUT && !*data->runs[run].path)
			continue;
		snprintf(file, sizeof(file), "%s/summary.json", data->runs[run].path);
		status = results_load_json(file, RESULTS_WRITTEN, &data->summaries[run], err);
		snprintf(file, sizeof(file), "%s/config.json", data->runs[run].path);
		if (!status &&
		    results_load_json(file, RESULTS_WRITTEN, &data->configs[run], &ignored))
			data->configs[run] = NULL;
	}
	if (!status)
		status = check_names(data, err);
	if (!status)
		status = curves_take(data, err);
	for (size_t i = 0; !status && i < data->cell_count; i++) {
		struct figure_cell *cell = &data->cells[i];
		const json_t *value = figure->panels[cell->panel].parts[cell->part].value;

		cell->pair.ours = value_of(data, cell->run, value, false);
		if (isnan(cell->pair.ours))
			cell->at_least = value_at_least(data, cell->run, value);
		/* A number that is published as a curve is read off that curve. */
		if (isnan(cell->pair.published))
			cell->pair.published = json_is_number(value) ?
						       (double)NAN :
						       value_of(data, cell->run, value, true);
	}
	/* Each part of a stack lies on the part before it in the same run. */
	for (size_t i = 1; i < data->cell_count; i++) {
		struct figure_cell *cell = &data->cells[i], *before = cell - 1;

		if (cell->panel != before->panel || cell->run != before->run)
			continue;
		cell->below.ours = before->below.ours + before->pair.ours;
		cell->below.published = before->below.published + before->pair.published;
	}
	return status;
}

/* Write a comma and the number. For NAN the field stays empty. */
static void write_real(struct writer *writer, double value)
{
	if (isnan(value))
		writer_printf(writer, ",");
	else
		writer_printf(writer, ",%.12g", value);
}

int figure_write_cells(const struct figure_data *data, struct writer *writer, const char *name,
		       struct sim_error *err)
{
	const struct figure *figure = data->figure;
	int status = writer_begin(writer, name, err);

	if (status)
		return status;
	writer_printf(writer, "panel,run,x,part,unit,ours,published,ours_over_published,"
			      "ours_below,published_below,failed_containers,ours_at_least\n");
	for (size_t i = 0; i < data->cell_count; i++) {
		const struct figure_cell *cell = &data->cells[i];
		const struct figure_panel *panel = &figure->panels[cell->panel];
		const struct figure_run *run = &figure->runs[cell->run];
		bool stacked = panel->layout == FIGURE_STACKED;

		writer_printf(writer, "%s,%s", panel->key, run->label);
		write_real(writer, run->x);
		writer_printf(writer, ",%s,%s", panel->parts[cell->part].key, panel->unit);
		write_real(writer, cell->pair.ours);
		write_real(writer, cell->pair.published);
		write_real(writer, figure_ratio(&cell->pair));
		write_real(writer, stacked ? cell->below.ours : (double)NAN);
		write_real(writer, stacked ? cell->below.published : (double)NAN);
		writer_printf(writer, ",%zu", figure_count_failed(data, cell->run));
		write_real(writer, cell->at_least);
		writer_printf(writer, "\n");
	}
	return writer_end(writer, err);
}

int figure_write_lines(const struct figure_data *data, struct writer *writer, const char *name,
		       struct sim_error *err)
{
	const struct figure *figure = data->figure;
	int status = writer_begin(writer, name, err);

	if (status)
		return status;
	writer_printf(writer, "curve,panel,run,container,label,unit,time_s,value,below\n");
	for (size_t i = 0; i < data->line_count; i++) {
		const struct figure_line *line = &data->lines[i];
		const struct figure_panel *panel = &figure->panels[line->panel];

		for (size_t k = 0; k < line->count; k++)
			writer_printf(writer, "%zu,%s,%s,%s,%s,%s,%.12g,%.12g,%.12g\n", i + 1,
				      panel->key,
				      line->curve ? figure->runs[line->run].label : "published",
				      line->curve ? line->container : "",
				      line->curve ? line->curve->label : "", panel->unit,
				      line->points[k].x_s, line->points[k].y,
				      line->points[k].below);
	}
	return writer_end(writer, err);
}
