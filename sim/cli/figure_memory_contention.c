// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmsim figure memory-contention": Figure 3 of the GVM paper, the memory that two applications
 * hold over time when they want more than there is, under the stock driver; ours beside the
 * authors' log.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/llm_server.h"
#include "cli/figure.h"
#include "cli/gnuplot.h"
#include "cli/run_cache.h"
#include "terminal/table.h"
#include "engine/error.h"
#include "results/csv.h"
#include "results/writer.h"

#define FIGURE_NAME	"memory-contention"
#define FIGURE_SCENARIO "memory-contention"
#define BYTES_PER_GIB	1073741824.0
#define NS_PER_S	1e9

/* How far back the last sample before a moment may be. */
#define MOMENT_S 2.0

enum process { PROCESS_LLM, PROCESS_DIFFUSION, PROCESSES };
enum source { SOURCE_OURS, SOURCE_PUBLISHED, SOURCES };

static const char *const process_names[PROCESSES] = { "vLLM", "Diffusion" };
static const char *const source_names[SOURCES] = { "ours", "published" };

static const enum cfg_app_type process_apps[PROCESSES] = {
	CFG_APP_LLM_SERVER,
	CFG_APP_DIFFUSION,
};

/* Memory of one process over time, in order of time. */
struct curve {
	struct {
		double time_s;
		double gib;
	} * points;
	size_t count;
};

struct contention {
	struct cached_run run;
	struct curve curves[SOURCES][PROCESSES];
};

/* What is read off the curves. */
enum measure_kind { MEASURE_MEAN, MEASURE_LEAST, MEASURE_LAST, MEASURE_MOST_OF_SUM };

static const struct {
	const char *label;
	enum measure_kind kind;
	enum process process;
	double from_s;
	double to_s;
} measures[] = {
	{ "diffusion, mean of 28 to 49 s", MEASURE_MEAN, PROCESS_DIFFUSION, 28, 49 },
	{ "vLLM, mean of 28 to 49 s", MEASURE_MEAN, PROCESS_LLM, 28, 49 },
	{ "diffusion, least in 110 to 165 s", MEASURE_LEAST, PROCESS_DIFFUSION, 110, 165 },
	{ "both together, most ever", MEASURE_MOST_OF_SUM, PROCESSES, 0, INFINITY },
	{ "diffusion, at 185 s", MEASURE_LAST, PROCESS_DIFFUSION, 185 - MOMENT_S, 185 },
};

static int curve_add(struct curve *curve, double time_s, double gib, struct sim_error *err)
{
	/* Room grows by doubling: it is full whenever the count is a power of two. */
	if (!(curve->count & (curve->count - 1))) {
		size_t room = curve->count ? 2 * curve->count : 1;
		void *points = realloc(curve->points, room * sizeof(*curve->points));

		if (!points)
			return sim_runtime_error(err, "out of memory");
		curve->points = points;
	}
	curve->points[curve->count].time_s = time_s;
	curve->points[curve->count++].gib = gib;
	return 0;
}

/* The first container of each type. */
static int read_runs(void *data, struct sim_error *err)
{
	struct contention *contention = data;
	const struct folder *folder = &contention->run.folder;
	int rc = 0;

	for (size_t process = 0; process < PROCESSES; process++) {
		size_t container = folder_find_type(folder, process_apps[process]);
		struct curve *curve = &contention->curves[SOURCE_OURS][process];

		for (size_t i = 0; !rc && i < folder->sample_count; i++) {
			const struct folder_sample *sample = &folder->samples[i];

			if (sample->container != container)
				continue;
			rc = curve_add(curve, (double)sample->time_ns / NS_PER_S,
				       (double)sample->resident_bytes / BYTES_PER_GIB, err);
		}
	}
	return rc;
}

enum reference_column { REFERENCE_TIME, REFERENCE_PROCESS, REFERENCE_GIB, REFERENCE_COLUMNS };

static const char *const reference_columns[REFERENCE_COLUMNS] = { "t_s", "process", "GiB" };

static int read_row(void *data, const struct csv *csv, struct sim_error *err)
{
	struct contention *contention = data;
	const char *name = csv_text(csv, REFERENCE_PROCESS);
	double time_s, gib;
	int rc = csv_real(csv, REFERENCE_TIME, &time_s, err);

	if (!rc)
		rc = csv_real(csv, REFERENCE_GIB, &gib, err);
	if (rc)
		return rc;
	for (size_t process = 0; process < PROCESSES; process++)
		if (!strcmp(name, process_names[process]))
			return curve_add(&contention->curves[SOURCE_PUBLISHED][process], time_s,
					 gib, err);
	return sim_user_error(err, "%s:%zu: unknown process \"%.40s\"", csv->file, csv->line,
			      name);
}

/* Mean, least or last value of a span; NAN: the curve has none there. */
static double measure_curve(const struct curve *curve, enum measure_kind kind, double from_s,
			    double to_s)
{
	double sum = 0, least = INFINITY, last = NAN;
	size_t count = 0;

	for (size_t i = 0; i < curve->count; i++) {
		if (curve->points[i].time_s < from_s || curve->points[i].time_s > to_s)
			continue;
		last = curve->points[i].gib;
		least = fmin(least, last);
		sum += last;
		count++;
	}
	if (!count || kind == MEASURE_LAST)
		return last;
	return kind == MEASURE_LEAST ? least : sum / (double)count;
}

/* The most that both hold at one time. */
static double measure_sum(const struct curve curves[PROCESSES])
{
	const struct curve *one = &curves[PROCESS_LLM], *other = &curves[PROCESS_DIFFUSION];
	double most = NAN;
	size_t j = 0;

	for (size_t i = 0; i < one->count; i++) {
		while (j < other->count && other->points[j].time_s < one->points[i].time_s)
			j++;
		if (j < other->count && other->points[j].time_s <= one->points[i].time_s)
			most = fmax(most, one->points[i].gib + other->points[j].gib);
	}
	return most;
}

static double measure(const struct contention *contention, size_t index, enum source source)
{
	const struct curve *curves = contention->curves[source];

	if (measures[index].kind == MEASURE_MOST_OF_SUM)
		return measure_sum(curves);
	return measure_curve(&curves[measures[index].process], measures[index].kind,
			     measures[index].from_s, measures[index].to_s);
}

static void print_measure(struct table *table, const struct contention *contention,
			  size_t index)
{
	struct figure_pair pair = {
		.ours = measure(contention, index, SOURCE_OURS),
		.published = measure(contention, index, SOURCE_PUBLISHED),
	};

	table_add(table);
	table_set(table, 0, "%s", measures[index].label);
	figure_table_pair(table, 1, &pair, 3, " GiB");
}

static void print_table(const void *data)
{
	const struct contention *contention = data;
	struct table table = { 0 };

	figure_table_head(&table, "GPU memory");
	for (size_t i = 0; i < ARRAY_SIZE(measures); i++)
		print_measure(&table, contention, i);
	table_print(&table, stdout);
	putchar('\n');
	figure_print_failures("", &contention->run.folder.summary);
}

/* Curve by curve, so that a line can be drawn through each. */
static void write_rows(const void *data, struct writer *writer)
{
	const struct contention *contention = data;

	writer_printf(writer, "process,source,time_s,gib\n");
	for (size_t i = 0; i < (size_t)PROCESSES * SOURCES; i++) {
		size_t process = i / SOURCES, source = i % SOURCES;
		const struct curve *curve = &contention->curves[source][process];

		for (size_t k = 0; k < curve->count; k++)
			writer_printf(writer, "%s,%s,%.12g,%.12g\n", process_names[process],
				      source_names[source], curve->points[k].time_s,
				      curve->points[k].gib);
	}
}

/* When diffusion starts, and when requests come: what the time axis is divided by. */
static void add_stages(struct gnuplot *gnuplot, const struct config *config)
{
	u64 diffusion_ns = 0, requests_ns = 0;

	for (size_t i = config->container_count; i-- > 0;) {
		const struct cfg_container *container = &config->containers[i];

		const struct cfg_llm *llm = container->app;

		if (cfg_app_type_of(container) == CFG_APP_DIFFUSION)
			diffusion_ns = container->start;
		else
			requests_ns = container->start + llm->client.first_request;
	}
	gnuplot_add_seconds(gnuplot, "diffusion_s", diffusion_ns);
	gnuplot_add_seconds(gnuplot, "requests_s", requests_ns);
	gnuplot_add_seconds(gnuplot, "end_s", config->duration);
	gnuplot_add_real(gnuplot, "memory_gib", (double)config->gpu.memory / BYTES_PER_GIB);
}

/* What happened to a process of ours: the picture has to say so. */
static void add_status(struct gnuplot *gnuplot, const struct contention *contention,
		       size_t process, const char *variable)
{
	const struct folder *folder = &contention->run.folder;
	size_t container = folder_find_type(folder, process_apps[process]);
	const char *status = "not in this scenario";

	if (container != SIZE_MAX)
		status = folder->summary.containers[container].status;
	gnuplot_add_string(gnuplot, variable, strcmp(status, SUMMARY_OK) != 0 ? status : "");
}

static void add_variables(const void *data, struct gnuplot *gnuplot)
{
	const struct contention *contention = data;

	gnuplot_add_string(gnuplot, "system", contention->run.folder.summary.system);
	add_stages(gnuplot, &contention->run.config);
	add_status(gnuplot, contention, PROCESS_LLM, "status_llm");
	add_status(gnuplot, contention, PROCESS_DIFFUSION, "status_diffusion");
}

static const struct figure_steps steps = {
	.name = FIGURE_NAME,
	.reference_columns = reference_columns,
	.reference_column_count = REFERENCE_COLUMNS,
	.read_row = read_row,
	.read_runs = read_runs,
	.print = print_table,
	.write = write_rows,
	.add_variables = add_variables,
};

static int draw(const struct figure_args *args, struct sim_error *err)
{
	struct contention contention = { 0 };
	int rc;

	figure_run_init(&contention.run, args, FIGURE_NAME, FIGURE_SCENARIO);
	rc = figure_make(&steps, args, &contention.run, 1, &contention, err);
	for (size_t i = 0; i < (size_t)SOURCES * PROCESSES; i++)
		free(contention.curves[i / PROCESSES][i % PROCESSES].points);
	return rc;
}

const struct figure figure_memory_contention = {
	.name = FIGURE_NAME,
	.usage = "[--out DIR] [--scenario FILE] [--set PATH=VALUE]... [--fresh]",
	.summary = "memory of two applications that want too much (GVM Figure 3)",
	.help = "Simulates " FIGURE_SCENARIO
		": an LLM server fills nine tenths of a GPU, then\n"
		"a diffusion pipeline starts, then requests come, all under the stock driver.\n"
		"Draws the memory that each of both holds over time beside the log of the GVM\n"
		"paper's Figure 3.\n",
	.example = "    gvmsim figure " FIGURE_NAME "\n",
	.runs = true,
	.draw = draw,
};
