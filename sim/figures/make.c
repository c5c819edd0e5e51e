// SPDX-License-Identifier: MIT OR GPL-2.0
/* See make.h. */
#include "figures/make.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "engine/whole_file.h"
#include "figures/curves.h"
#include "figures/data.h"
#include "figures/differences.h"
#include "figures/figure_find.h"
#include "figures/numbers.h"
#include "figures/show.h"
#include "results/compare.h"
#include "results/writer.h"
#include "terminal/command.h"

#define OVERRIDES_MAX 1024

int figure_prepare_runs(const struct figure *figure, const struct figure_request *request,
			struct cached_run *runs, struct sim_error *err)
{
	size_t folders = 0;
	int status = 0;

	for (size_t i = 0; !status && i < figure_made_runs(figure); i++) {
		const struct figure_run *run = &figure->runs[i % figure->run_count];
		const char *scenario = request->scenario ? request->scenario : figure->scenario;

		runs[i] = (struct cached_run){
			.label = run->name,
			.figure = figure->name,
			/*
			 * --scenario replaces the scenario of the figure, not one that a run
			 * has of its own.
			 */
			.scenario = run->scenario ? run->scenario : scenario,
			.defaults = (const char *const *)run->defaults,
			.sets = request->sets,
			.set_count = request->set_count,
			.own_sets = (const char *const *)run->sets,
			.seed_set = figure->seed_count ?
					    figure->seed_sets[i / figure->run_count] :
					    NULL,
		};
		if (!run->folder)
			continue;
		snprintf(runs[i].path, sizeof(runs[i].path), "%s", request->folders[folders++]);
		status = folder_load(&runs[i].folder, runs[i].path, err);
		if (!status)
			runs[i].state = RUN_CACHE_READ;
	}
	return status;
}

/* Write NAME.csv, and NAME-curves.csv if there are panels over time. */
static int write_numbers(const struct figure_data *data, struct writer *writer,
			 struct sim_error *err)
{
	char name[WRITER_NAME_MAX];
	int status;

	snprintf(name, sizeof(name), "%s.csv", data->figure->name);
	if (data->figure->comparison)
		status = compare_write(&data->runs[COMPARE_ALONE].folder.summary,
				       &data->runs[COMPARE_SHARED].folder.summary, writer, name,
				       err);
	else
		status = figure_write_cells(data, writer, name, err);
	snprintf(name, sizeof(name), "%s-curves.csv", data->figure->name);
	if (!status && data->line_count)
		status = figure_write_lines(data, writer, name, err);
	return status ? status : writer_commit(writer, err);
}

/* Print what the user asked for, after what he changed. */
static int print(const struct figure_data *data, const struct figure_request *request,
		 struct sim_error *err)
{
	char overrides[OVERRIDES_MAX] = "";

	if (request->quiet)
		return 0;
	figure_overrides(data->figure, request, overrides, sizeof(overrides));
	if (*overrides && !data->figure->no_table)
		printf("%s\n\n", overrides);
	if (data->figure->comparison)
		figure_print_comparison(data);
	else if (!data->figure->no_table)
		figure_print(data);
	return command_flush(err);
}

static int print_paths(const struct figure_data *data, const struct figure_request *request,
		       const char *folder, struct sim_error *err)
{
	const char *name = data->figure->name;

	if (request->quiet)
		return 0;
	printf("numbers     %s/%s.csv\n", folder, name);
	if (data->line_count)
		printf("curves      %s/%s-curves.csv\n", folder, name);
	printf("picture     %s/%s.svg\n%s/%s.png\n", folder, name, folder, name);
	return command_flush(err);
}

/* Tell the user if no seed makes a difference: an interval of no width says nothing. */
static void note_equal_seeds(const struct figure_data *data)
{
	bool any = false;

	for (size_t i = 0; i < data->cell_count; i++) {
		if (data->cells[i].low < data->cells[i].high)
			return;
		any = any || !isnan(data->cells[i].low);
	}
	if (any)
		fprintf(stderr,
			"gvmsim: note: %s: all seeds give the same numbers; seeds draw what "
			"jitter.arrivals and jitter.start set\n",
			data->figure->file);
}

/* The numbers are committed before drawing, which may fail. */
static int show(struct figure_data *data, const struct figure_request *request,
		struct writer *writer, struct sim_error *err)
{
	int status = figure_data_take(data, err);

	if (!status)
		note_equal_seeds(data);
	if (!status)
		status = print(data, request, err);
	if (!status)
		status = write_numbers(data, writer, err);
	if (!status)
		status = figure_draw(data, request, writer, err);
	if (status)
		writer_abort(writer);
	return status ? status : print_paths(data, request, writer->folder, err);
}

int figure_show(struct figure_data *data, const struct figure_request *request,
		struct sim_error *err)
{
	struct writer writer;
	int status = writer_open(&writer, request->out, err);

	return status ? status : show(data, request, &writer, err);
}

/* The numbers that are written must not replace those that are read. */
static int check_output(const struct figure *figure, const char *folder, struct sim_error *err)
{
	char read[PATH_MAX], written[FIGURE_FILE_MAX];
	struct sim_error ignored = { 0 };

	for (size_t i = 0; i <= figure->panel_count; i++) {
		bool curves = i < figure->panel_count;
		const char *file =
			curves ? figure->panels[i].published.file : figure->reference.file;

		snprintf(written, sizeof(written), "%s/%s%s.csv", folder, figure->name,
			 curves ? "-curves" : "");
		if (file &&
		    !figure_find_reference(figure, file, read, sizeof(read), &ignored) &&
		    whole_file_is(read, written))
			return sim_user_error(err,
					      "%s: has the published values of %s, which the "
					      "figure's numbers would replace",
					      written, figure->file);
	}
	return 0;
}

/* The output folder is prepared before anything runs. */
static int make(struct figure_data *data, const struct figure_request *request,
		struct sim_error *err)
{
	const struct figure *figure = data->figure;
	struct writer writer;
	int status = check_output(figure, request->out, err);

	if (!status)
		status = writer_open(&writer, request->out, err);
	if (status)
		return status;
	if (!figure->folder_count)
		status =
			run_cache_get(data->runs, figure_made_runs(figure), &request->use, err);
	if (!status)
		return show(data, request, &writer, err);
	writer_abort(&writer);
	return status;
}

int figure_make(const struct figure *figure, const struct figure_request *request,
		struct sim_error *err)
{
	struct cached_run *runs = calloc(figure_made_runs(figure) + 1, sizeof(*runs));
	struct figure shown = *figure; /* borrows all of it */
	struct figure_data data;
	int status;

	if (!runs)
		return sim_runtime_error(err, "out of memory");
	shown.ours_alone = request->scenario && figure->scenario &&
			   strcmp(request->scenario, figure->scenario) != 0;
	status = figure_prepare_runs(figure, request, runs, err);
	if (!status) {
		status = figure_data_init(&data, &shown, runs, err);
		if (!status)
			status = curves_read_published(&data, err);
		if (!status)
			status = make(&data, request, err);
		figure_data_destroy(&data);
	}
	run_cache_destroy(runs, figure_made_runs(figure));
	free(runs);
	return status;
}
