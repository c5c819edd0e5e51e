// SPDX-License-Identifier: MIT OR GPL-2.0
/* See published.h. */
#include "figures/published.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "figures/curves.h"
#include "figures/figure_read.h"
#include "figures/make.h"
#include "figures/numbers.h"
#include "figures/run_cache.h"

/* Are values of this figure published, and does it make its runs itself? */
static bool is_compared(const struct figure *figure)
{
	bool any = figure->reference.file != NULL;

	for (size_t i = 0; i < figure->panel_count; i++)
		any = any || figure->panels[i].published.file;
	return any && !figure->folder_count;
}

/* Read one more figure. Without @needed, a figure of no published value is left out. */
static int read_one(struct published *published, const char *name, bool needed,
		    struct sim_error *err)
{
	struct figure *grown = realloc(published->figures,
				       (published->count + 1) * sizeof(*published->figures));
	struct figure *figure;
	int status;

	if (!grown)
		return sim_runtime_error(err, "out of memory");
	published->figures = grown;
	figure = &grown[published->count];
	status = figure_read(figure, name, err);
	if (status)
		return status;
	if (is_compared(figure)) {
		published->count++;
		published->run_count += figure->run_count;
		return 0;
	}
	figure_destroy(figure);
	return needed ? sim_user_error(err, "figure %s: has no published values", name) : 0;
}

/* For figure_each(): a figure is read a second time, since a figure that is lent is destroyed. */
static int read_again(void *data, const struct figure *figure, struct sim_error *err)
{
	return read_one(data, figure->name, false, err);
}

static int read_figures(struct published *published, const char *const *names, size_t count,
			struct sim_error *err)
{
	int status = count ? 0 : figure_each(read_again, published, err);

	for (size_t i = 0; !status && i < count; i++)
		status = read_one(published, names[i], true, err);
	return status;
}

int published_open(struct published *published, const char *const *names, size_t count,
		   const struct figure_request *request, struct sim_error *err)
{
	struct cached_run *runs;
	int status;

	*published = (struct published){ 0 };
	status = read_figures(published, names, count, err);
	if (status)
		return status;
	published->runs = calloc(published->run_count + 1, sizeof(*published->runs));
	published->data = calloc(published->count + 1, sizeof(*published->data));
	if (!published->runs || !published->data)
		return sim_runtime_error(err, "out of memory");
	runs = published->runs;
	for (size_t i = 0; !status && i < published->count; i++) {
		const struct figure *figure = &published->figures[i];

		status = figure_prepare_runs(figure, request, runs, err);
		if (!status)
			status = figure_data_init(&published->data[i], figure, runs, err);
		if (!status)
			status = curves_read_published(&published->data[i], err);
		runs += figure->run_count;
	}
	return status;
}

static void add_row(struct published *published, const struct figure_data *data,
		    const struct figure_cell *cell)
{
	const struct figure *figure = data->figure;
	const struct figure_panel *panel = &figure->panels[cell->panel];

	published->rows[published->row_count++] = (struct score_row){
		.figure = figure->name,
		.panel = panel->key,
		.run = figure->runs[cell->run].label,
		.x = figure->runs[cell->run].x,
		.part = panel->parts[cell->part].key,
		.unit = panel->unit,
		.id = cell->id ? cell->id : "",
		.unscored = cell->unscored ? cell->unscored : "",
		.published = cell->pair.published,
		.predicted = cell->pair.ours,
	};
}

int published_predict(struct published *published, bool fresh, const struct signals *signals,
		      struct sim_error *err)
{
	size_t cells = 0;
	int status = run_cache_get(published->runs, published->run_count, fresh, signals, err);

	for (size_t i = 0; !status && i < published->count; i++) {
		status = figure_data_take(&published->data[i], err);
		cells += published->data[i].cell_count;
	}
	if (status)
		return status;
	free(published->rows);
	published->row_count = 0;
	published->rows = calloc(cells + 1, sizeof(*published->rows));
	if (!published->rows)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i < published->count; i++) {
		const struct figure_data *data = &published->data[i];

		for (size_t k = 0; k < data->cell_count; k++)
			if (!isnan(data->cells[k].pair.published))
				add_row(published, data, &data->cells[k]);
	}
	return 0;
}

void published_destroy(struct published *published)
{
	for (size_t i = 0; i < published->count; i++) {
		if (published->data && published->data[i].figure)
			figure_data_destroy(&published->data[i]);
		figure_destroy(&published->figures[i]);
	}
	if (published->runs)
		run_cache_destroy(published->runs, published->run_count);
	free(published->runs);
	free(published->data);
	free(published->figures);
	free(published->rows);
	*published = (struct published){ 0 };
}
