// SPDX-License-Identifier: MIT OR GPL-2.0
/* The numbers of a figure, see data.h. */
#include "figures/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "figures/figure_find.h"
#include "gvm/port.h"
#include "results/csv.h"

bool figure_panel_has_run(const struct figure *figure, size_t panel, size_t run)
{
	const struct figure_panel *shown = &figure->panels[panel];

	for (size_t i = 0; i < shown->run_count; i++)
		if (!strcmp(shown->runs[i], figure->runs[run].label))
			return true;
	return !shown->runs;
}

double figure_ratio(const struct figure_pair *pair)
{
	return pair->published > 0 ? pair->ours / pair->published : (double)NAN;
}

struct figure_cell *figure_find_cell(const struct figure_data *data, size_t panel, size_t run,
				     size_t part)
{
	for (size_t i = 0; i < data->cell_count; i++)
		if (data->cells[i].panel == panel && data->cells[i].run == run &&
		    data->cells[i].part == part)
			return &data->cells[i];
	return NULL;
}

const char *figure_container(const struct figure_data *data, size_t run, const char *name)
{
	json_t *containers = json_object_get(data->summaries[run], "containers");
	const char *key;
	json_t *container;

	if (json_object_get(containers, name))
		return json_object_iter_key(json_object_iter_at(containers, name));
	json_object_foreach(containers, key, container) {
		const char *type = json_string_value(json_object_get(container, "type"));

		if (type && !strcmp(type, name))
			return key;
	}
	return NULL;
}

size_t figure_count_failed(const struct figure_data *data, size_t run)
{
	size_t most = 0;

	for (size_t i = run; i < figure_made_runs(data->figure); i += data->figure->run_count) {
		const struct summary *summary = &data->runs[i].folder.summary;
		size_t count = 0;

		for (size_t k = 0; k < summary->container_count; k++)
			count += summary_has_failed(&summary->containers[k]);
		most = max(most, count);
	}
	return most;
}

static int make_cells(struct figure_data *data, struct sim_error *err)
{
	const struct figure *figure = data->figure;
	size_t count = 0;

	for (size_t panel = 0; panel < figure->panel_count; panel++)
		count += figure->panels[panel].part_count * figure->run_count;
	data->cells = calloc(count + 1, sizeof(*data->cells));
	if (!data->cells)
		return sim_runtime_error(err, "out of memory");
	for (size_t panel = 0; panel < figure->panel_count; panel++)
		for (size_t run = 0; run < figure->run_count; run++)
			for (size_t part = 0; part < figure->panels[panel].part_count; part++)
				if (figure_panel_has_run(figure, panel, run))
					data->cells[data->cell_count++] = (struct figure_cell){
						.panel = panel,
						.run = run,
						.part = part,
						.pair = { NAN, NAN },
						.low = NAN,
						.high = NAN,
						.at_least = NAN,
					};
	return 0;
}

/* Indices of the reference file's columns in read_reference(). */
enum {
	REFERENCE_PANEL,
	REFERENCE_RUN,
	REFERENCE_X,
	REFERENCE_PART,
	REFERENCE_PUBLISHED,
	REFERENCE_ID,
	REFERENCE_UNSCORED,
	REFERENCE_COLUMNS
};

/*
 * Does a row of the reference file apply to this cell? Without a column, a row applies to all.
 */
static bool is_of_cell(const struct figure_data *data, const struct csv *csv,
		       const struct figure_cell *cell)
{
	const struct figure_reference *reference = &data->figure->reference;
	const struct figure_panel *panel = &data->figure->panels[cell->panel];
	const struct figure_run *run = &data->figure->runs[cell->run];
	struct sim_error ignored = { 0 };
	bool covered = !reference->panels;
	double x;

	for (size_t i = 0; !covered && i < reference->panel_count; i++)
		covered = !strcmp(reference->panels[i], panel->key);
	if (!covered ||
	    (reference->panel && strcmp(csv_text(csv, REFERENCE_PANEL), panel->key) != 0) ||
	    (reference->run && strcmp(csv_text(csv, REFERENCE_RUN), run->label) != 0) ||
	    (reference->part &&
	     strcmp(csv_text(csv, REFERENCE_PART), panel->parts[cell->part].key) != 0))
		return false;
	return !reference->x || (!csv_real(csv, REFERENCE_X, &x, &ignored) && x == run->x);
}

/*
 * A copy of a field in *ret_text, in place of an older one. NULL: the file has no such column.
 */
static int copy_field(const struct csv *csv, size_t column, bool named, char **ret_text,
		      struct sim_error *err)
{
	free(*ret_text);
	*ret_text = NULL;
	if (!named || !csv_has(csv, column))
		return 0;
	*ret_text = strdup(csv_text(csv, column));
	return *ret_text ? 0 : sim_runtime_error(err, "out of memory");
}

/* Give a row's published number to its cells. A row without a cell is a mistake. */
static int read_row(struct figure_data *data, const struct csv *csv, struct sim_error *err)
{
	const struct figure_reference *reference = &data->figure->reference;
	bool found = false;
	double published;
	int status = csv_real(csv, REFERENCE_PUBLISHED, &published, err);

	for (size_t i = 0; !status && i < data->cell_count; i++) {
		struct figure_cell *cell = &data->cells[i];

		if (!is_of_cell(data, csv, cell))
			continue;
		cell->pair.published = published;
		found = true;
		status = copy_field(csv, REFERENCE_ID, reference->id, &cell->id, err);
		if (!status)
			status = copy_field(csv, REFERENCE_UNSCORED, reference->unscored,
					    &cell->unscored, err);
	}
	if (status || found)
		return status;
	return sim_user_error(err, "%s:%zu: no value of the figure %s has this row's keys",
			      csv->file, csv->line, data->figure->file);
}

static int read_reference(struct figure_data *data, struct sim_error *err)
{
	const struct figure_reference *reference = &data->figure->reference;
	const char *const names[REFERENCE_COLUMNS] = {
		reference->panel ? reference->panel : reference->published,
		reference->run ? reference->run : reference->published,
		reference->x ? reference->x : reference->published,
		reference->part ? reference->part : reference->published,
		reference->published,
		reference->id ? reference->id : reference->published,
		reference->unscored ? reference->unscored : reference->published,
	};
	char file[PATH_MAX];
	struct csv csv;
	int status;

	if (!reference->file || data->figure->ours_alone)
		return 0;
	status = figure_find_reference(data->figure, reference->file, file, sizeof(file), err);
	if (!status)
		status = csv_open(&csv, file, names, REFERENCE_COLUMNS, err);
	if (status)
		return status;
	while ((status = csv_next(&csv, err)) == 1) {
		status = read_row(data, &csv, err);
		if (status)
			break;
	}
	csv_close(&csv);
	return status;
}

int figure_data_init(struct figure_data *data, const struct figure *figure,
		     struct cached_run *runs, struct sim_error *err)
{
	int status;

	*data = (struct figure_data){ .figure = figure, .runs = runs };
	data->summaries = calloc(figure_made_runs(figure) + 1, sizeof(*data->summaries));
	data->configs = calloc(figure_made_runs(figure) + 1, sizeof(*data->configs));
	if (!data->summaries || !data->configs)
		return sim_runtime_error(err, "out of memory");
	status = make_cells(data, err);
	return status ? status : read_reference(data, err);
}

void figure_lines_destroy(struct figure_data *data)
{
	for (size_t i = 0; i < data->line_count; i++)
		free(data->lines[i].points);
	free(data->lines);
	data->lines = NULL;
	data->line_count = 0;
}

void figure_data_destroy(struct figure_data *data)
{
	for (size_t run = 0; run < figure_made_runs(data->figure); run++) {
		if (data->summaries)
			json_decref(data->summaries[run]);
		if (data->configs)
			json_decref(data->configs[run]);
	}
	figure_lines_destroy(data);
	for (size_t i = 0; i < data->cell_count; i++) {
		free(data->cells[i].id);
		free(data->cells[i].unscored);
	}
	free(data->summaries);
	free(data->configs);
	free(data->cells);
}
