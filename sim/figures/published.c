// SPDX-License-Identifier: MIT OR GPL-2.0
/* See published.h. */
#include "figures/published.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "figures/curves.h"
#include "figures/figure_read.h"
#include "figures/figure_seeds.h"
#include "figures/make.h"
#include "figures/numbers.h"
#include "figures/run_cache.h"
#include "figures/value.h"

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
		/* The draws of this command take the place of the figure's. */
		figure_forget_seeds(figure);
		published->count++;
		published->run_count += figure->run_count;
		return 0;
	}
	figure_destroy(figure);
	return needed ? sim_user_error(err, "figure %s: has no published values", name) : 0;
}

/*
 * For figure_each(): a figure is read a second time, since a figure that is lent is destroyed.
 */
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

/* One cycle of all runs: without jitter, or with a seed. */
struct published_cycle {
	struct figure_data *data; /* by figure */
	char seed[32];
	const char **sets; /* the user's, and those of jitter */
};

/* Describe the runs of a cycle, and read what is published. */
static int open_cycle(struct published *published, size_t index,
		      const struct figure_request *request, struct sim_error *err)
{
	struct published_cycle *cycle = &published->by_seed[index];
	struct cached_run *runs = &published->runs[index * published->run_count];
	struct figure_request own = *request;
	int status = 0;

	cycle->data = calloc(published->count + 1, sizeof(*cycle->data));
	cycle->sets = calloc(request->set_count + 3, sizeof(*cycle->sets));
	if (!cycle->data || !cycle->sets)
		return sim_runtime_error(err, "out of memory");
	snprintf(cycle->seed, sizeof(cycle->seed), "seed=%zu", index);
	own.sets = cycle->sets;
	for (size_t i = 0; i < request->set_count; i++)
		cycle->sets[i] = request->sets[i];
	if (index) {
		cycle->sets[own.set_count++] = "jitter.arrivals=gaps";
		cycle->sets[own.set_count++] = "jitter.start=" FIGURE_JITTER_START;
		cycle->sets[own.set_count++] = cycle->seed;
	}
	for (size_t i = 0; !status && i < published->count; i++) {
		const struct figure *figure = &published->figures[i];

		status = figure_prepare_runs(figure, &own, runs, err);
		if (!status)
			status = figure_data_init(&cycle->data[i], figure, runs, err);
		if (!status)
			status = curves_read_published(&cycle->data[i], err);
		runs += figure->run_count;
	}
	return status;
}

int published_open(struct published *published, const char *const *names, size_t count,
		   size_t seeds, const struct figure_request *request, struct sim_error *err)
{
	int status;

	*published = (struct published){ .seeds = seeds, .cycles = seeds + 1 };
	status = read_figures(published, names, count, err);
	if (status)
		return status;
	published->by_seed = calloc(published->cycles, sizeof(*published->by_seed));
	published->runs =
		calloc(published->cycles * published->run_count + 1, sizeof(*published->runs));
	if (!published->by_seed || !published->runs)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; !status && i < published->cycles; i++)
		status = open_cycle(published, i, request, err);
	return status;
}

/* Does a published value, or a curve, of the figure need this run? */
static bool is_needed(const struct figure_data *data, size_t run)
{
	const struct figure *figure = data->figure;

	for (size_t i = 0; i < figure->panel_count; i++)
		if (figure->panels[i].published.file)
			return true;
	for (size_t i = 0; i < data->cell_count; i++) {
		const struct figure_cell *cell = &data->cells[i];
		const struct figure_part *part = &figure->panels[cell->panel].parts[cell->part];

		if (!isnan(cell->pair.published) &&
		    value_uses(data, cell->run, part->value, run))
			return true;
	}
	return false;
}

/*
 * Does jitter matter to a run, by its results without? Not to a container alone that replays no
 * trace: all of it happens later, and that is all.
 */
static bool has_jitter(const struct cached_run *run)
{
	const struct summary *summary = &run->folder.summary;

	for (size_t i = 0; i < summary->container_count; i++)
		if (summary->containers[i].report == &report_requests)
			return true;
	return summary->container_count > 1;
}

/* Leave out runs that no row needs, and under a seed those that jitter does not change. */
static void choose_runs(struct published *published, size_t cycle)
{
	for (size_t i = 0; i < published->count; i++) {
		const struct figure_data *data = &published->by_seed[cycle].data[i];
		const struct figure_data *plain = &published->by_seed[0].data[i];

		for (size_t run = 0; run < data->figure->run_count; run++) {
			struct cached_run *made = &data->runs[run];

			if (!is_needed(plain, run)) {
				made->state = RUN_CACHE_LEFT_OUT;
			} else if (cycle && !has_jitter(&plain->runs[run])) {
				made->state = RUN_CACHE_LEFT_OUT;
				snprintf(made->path, sizeof(made->path), "%s",
					 plain->runs[run].path);
			}
		}
	}
}

void published_row(const struct figure_data *data, const struct figure_cell *cell,
		   struct score_row *ret_row)
{
	const struct figure *figure = data->figure;
	const struct figure_panel *panel = &figure->panels[cell->panel];

	*ret_row = (struct score_row){
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

/* Read the numbers of a cycle off its runs. */
static int take_cycle(struct published *published, size_t cycle, struct sim_error *err)
{
	int status = 0;

	for (size_t i = 0; !status && i < published->count; i++)
		status = figure_data_take(&published->by_seed[cycle].data[i], err);
	return status;
}

/* Make rows of the cells with a published value, with their predictions under the seeds. */
static int make_rows(struct published *published, struct sim_error *err)
{
	size_t cells = 0;

	for (size_t i = 0; i < published->count; i++)
		cells += published->by_seed[0].data[i].cell_count;
	published->rows = calloc(cells + 1, sizeof(*published->rows));
	published->draws = calloc(cells * published->seeds + 1, sizeof(*published->draws));
	if (!published->rows || !published->draws)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i < published->count; i++) {
		const struct figure_data *data = &published->by_seed[0].data[i];

		for (size_t k = 0; k < data->cell_count; k++) {
			double *draws =
				&published->draws[published->row_count * published->seeds];

			if (isnan(data->cells[k].pair.published))
				continue;
			published_row(data, &data->cells[k],
				      &published->rows[published->row_count++]);
			for (size_t seed = 0; seed < published->seeds; seed++)
				draws[seed] =
					published->by_seed[seed + 1].data[i].cells[k].pair.ours;
		}
	}
	return 0;
}

int published_predict(struct published *published, const struct run_cache_use *use,
		      struct sim_error *err)
{
	size_t count = published->run_count;
	struct run_cache_use seeds = *use;
	int status;

	choose_runs(published, 0);
	status = run_cache_get(published->runs, count, use, err);
	if (!status)
		status = take_cycle(published, 0, err);
	for (size_t i = 1; i < published->cycles; i++)
		choose_runs(published, i);
	/* Runs that jitter does not change are read once more from their entries. */
	seeds.held += count;
	if (!status && published->seeds)
		status = run_cache_get(&published->runs[count], published->seeds * count,
				       &seeds, err);
	for (size_t i = 1; !status && i < published->cycles; i++)
		status = take_cycle(published, i, err);
	return status ? status : make_rows(published, err);
}

void published_destroy(struct published *published)
{
	for (size_t i = 0; published->by_seed && i < published->cycles; i++) {
		struct published_cycle *cycle = &published->by_seed[i];

		for (size_t k = 0; cycle->data && k < published->count; k++)
			if (cycle->data[k].figure)
				figure_data_destroy(&cycle->data[k]);
		free(cycle->data);
		free(cycle->sets);
	}
	if (published->runs)
		run_cache_destroy(published->runs, published->cycles * published->run_count);
	for (size_t i = 0; i < published->count; i++)
		figure_destroy(&published->figures[i]);
	free(published->by_seed);
	free(published->runs);
	free(published->figures);
	free(published->rows);
	free(published->draws);
	*published = (struct published){ 0 };
}
