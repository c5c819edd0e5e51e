// SPDX-License-Identifier: MIT OR GPL-2.0
/* See numbers.h. */
#include "figures/numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/error.h"
#include "figures/curves.h"
#include "figures/data.h"
#include "figures/place.h"
#include "figures/value.h"
#include "gvm/port.h"
#include "results/estimate.h"
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

/* Read the results of all runs. */
static int load_runs(struct figure_data *data, struct sim_error *err)
{
	struct sim_error ignored = { 0 };
	char file[FIGURE_FILE_MAX];
	int status = 0;

	for (size_t run = 0; !status && run < figure_made_runs(data->figure); run++) {
		if (data->runs[run].state == RUN_CACHE_LEFT_OUT && !*data->runs[run].path)
			continue;
		snprintf(file, sizeof(file), "%s/summary.json", data->runs[run].path);
		status = results_load_json(file, RESULTS_WRITTEN, &data->summaries[run], err);
		snprintf(file, sizeof(file), "%s/config.json", data->runs[run].path);
		if (!status &&
		    results_load_json(file, RESULTS_WRITTEN, &data->configs[run], &ignored))
			data->configs[run] = NULL;
	}
	return status;
}

/* The numbers under each seed, as those of a figure of its own. Borrows all but the curves. */
struct by_seed {
	struct figure_data data[FIGURE_SEEDS_MAX];
	size_t count;
};

/* Values may be read off curves, so each seed has its own. */
static int by_seed_take(struct by_seed *by_seed, const struct figure_data *data,
			struct sim_error *err)
{
	size_t runs = data->figure->run_count;
	int status = 0;

	by_seed->count = max(data->figure->seed_count, (size_t)1);
	by_seed->data[0] = *data;
	for (size_t seed = 1; seed < by_seed->count; seed++) {
		struct figure_data *own = &by_seed->data[seed];

		*own = *data;
		own->runs = &data->runs[seed * runs];
		own->summaries = &data->summaries[seed * runs];
		own->configs = &data->configs[seed * runs];
		own->lines = NULL;
		own->line_count = 0;
		if (!status)
			status = curves_take(own, err);
	}
	return status;
}

static void by_seed_destroy(struct by_seed *by_seed)
{
	for (size_t seed = 1; seed < by_seed->count; seed++)
		figure_lines_destroy(&by_seed->data[seed]);
}

/* The value of a cell under one seed. */
static struct run_value value_under(const struct figure_data *data,
				    const struct figure_cell *cell, const json_t *value)
{
	double number = value_of(data, cell->run, value, false);
	double at_least = isnan(number) ? value_at_least(data, cell->run, value) : number;

	return (struct run_value){
		.known = !isnan(at_least),
		.bound = isnan(number) && !isnan(at_least),
		.number = at_least,
	};
}

/* Estimate ours in a cell from the runs under its seeds. */
static int take_cell(const struct by_seed *by_seed, struct figure_cell *cell,
		     struct sim_error *err)
{
	const struct figure *figure = by_seed->data[0].figure;
	const struct figure_panel *panel = &figure->panels[cell->panel];
	const struct figure_part *part = &panel->parts[cell->part];
	struct run_value values[FIGURE_SEEDS_MAX];
	struct run_estimate estimate;
	char name[PLACE_PATH_MAX];

	for (size_t seed = 0; seed < by_seed->count; seed++)
		values[seed] = value_under(&by_seed->data[seed], cell, part->value);
	/* A plain statistic has the interval that a sweep gives it. */
	if (json_is_string(part->value))
		snprintf(name, sizeof(name), "%s", json_string_value(part->value));
	else
		snprintf(name, sizeof(name), "%s.%s", panel->key, part->key);
	if (estimate_runs(values, by_seed->count, figure->interval_of, ESTIMATE_RESAMPLES, name,
			  &estimate))
		return sim_runtime_error(err, "out of memory");
	if (estimate.value.known && estimate.value.bound)
		cell->at_least = estimate.value.number;
	else if (estimate.value.known)
		cell->pair.ours = estimate.value.number;
	if (estimate.interval) {
		cell->low = estimate.low;
		cell->high = estimate.high;
	}
	return 0;
}

int figure_data_take(struct figure_data *data, struct sim_error *err)
{
	const struct figure *figure = data->figure;
	struct by_seed *by_seed = calloc(1, sizeof(*by_seed));
	int status = by_seed ? load_runs(data, err) : sim_runtime_error(err, "out of memory");

	if (!status)
		status = check_names(data, err);
	if (!status)
		status = curves_take(data, err);
	if (!status)
		status = by_seed_take(by_seed, data, err);
	for (size_t i = 0; !status && i < data->cell_count; i++) {
		struct figure_cell *cell = &data->cells[i];
		const json_t *value = figure->panels[cell->panel].parts[cell->part].value;

		status = take_cell(by_seed, cell, err);
		/* A number that is published as a curve is read off that curve. */
		if (isnan(cell->pair.published))
			cell->pair.published = json_is_number(value) ?
						       (double)NAN :
						       value_of(data, cell->run, value, true);
	}
	if (by_seed)
		by_seed_destroy(by_seed);
	free(by_seed);
	/* Each part of a stack lies on the part before it in the same run. */
	for (size_t i = 1; !status && i < data->cell_count; i++) {
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
			      "ours_below,published_below,failed_containers,ours_at_least,"
			      "ours_low,ours_high\n");
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
		write_real(writer, cell->low);
		write_real(writer, cell->high);
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
