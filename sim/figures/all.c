// SPDX-License-Identifier: MIT OR GPL-2.0
/* See all.h. */
#include "figures/all.h"

#include <stdlib.h>

#include "engine/error.h"
#include "figures/curves.h"
#include "figures/figure_read.h"
#include "figures/figure_seeds.h"
#include "figures/make.h"
#include "figures/run_cache.h"

/*
 * Read one more figure, to be made with @seeds unless they are 0. @needed: a figure of results
 * folders is a mistake, else left out.
 */
static int read_one(struct figures *figures, const char *name, size_t seeds, bool needed,
		    struct sim_error *err)
{
	struct figure *grown =
		realloc(figures->figures, (figures->count + 1) * sizeof(*figures->figures));
	struct figure *figure;
	int status;

	if (!grown)
		return sim_runtime_error(err, "out of memory");
	figures->figures = grown;
	figure = &grown[figures->count];
	status = figure_read(figure, name, err);
	if (status)
		return status;
	if (!figure->folder_count) {
		figures->count++;
		status = seeds ? figure_take_seeds(figure, seeds, err) : 0;
		figures->run_count += figure_made_runs(figure);
		return status;
	}
	figure_destroy(figure);
	return needed ? sim_user_error(err, "figure %s: needs results folders", name) : 0;
}

/* Figures while all are read. */
struct reading {
	struct figures *figures;
	size_t seeds;
};

/* For figure_each(): a figure that is lent is destroyed, so it is read a second time. */
static int read_again(void *data, const struct figure *figure, struct sim_error *err)
{
	const struct reading *reading = data;

	return read_one(reading->figures, figure->name, reading->seeds, false, err);
}

int figures_open(struct figures *figures, const char *const *names, size_t name_count,
		 const struct figure_request *request, struct sim_error *err)
{
	struct reading reading = { figures, request->seeds };
	struct cached_run *runs;
	int status;

	*figures = (struct figures){ 0 };
	status = name_count ? 0 : figure_each(read_again, &reading, err);
	for (size_t i = 0; !status && i < name_count; i++)
		status = read_one(figures, names[i], request->seeds, true, err);
	if (status)
		return status;
	figures->data = calloc(figures->count + 1, sizeof(*figures->data));
	figures->runs = calloc(figures->run_count + 1, sizeof(*figures->runs));
	if (!figures->data || !figures->runs)
		return sim_runtime_error(err, "out of memory");
	runs = figures->runs;
	for (size_t i = 0; !status && i < figures->count; i++) {
		const struct figure *figure = &figures->figures[i];

		status = figure_prepare_runs(figure, request, runs, err);
		if (!status)
			status = figure_data_init(&figures->data[i], figure, runs, err);
		if (!status)
			status = curves_read_published(&figures->data[i], err);
		runs += figure_made_runs(figure);
	}
	return status;
}

int figures_get_runs(struct figures *figures, const struct run_cache_use *use,
		     struct sim_error *err)
{
	return run_cache_get(figures->runs, figures->run_count, use, err);
}

void figures_destroy(struct figures *figures)
{
	for (size_t i = 0; figures->data && i < figures->count; i++)
		if (figures->data[i].figure)
			figure_data_destroy(&figures->data[i]);
	if (figures->runs)
		run_cache_destroy(figures->runs, figures->run_count);
	for (size_t i = 0; i < figures->count; i++)
		figure_destroy(&figures->figures[i]);
	free(figures->figures);
	free(figures->data);
	free(figures->runs);
	*figures = (struct figures){ 0 };
}
