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

#include "cli/figure.h"
#include "cli/gnuplot.h"
#include "cli/run_cache.h"
#include "cli/table.h"
#include "engine/error.h"
#include "results/csv.h"
#include "results/writer.h"

#define FIGURE_NAME	"memory-contention"
#define FIGURE_CSV	FIGURE_NAME ".csv"
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
static int read_ours(struct contention *contention, struct sim_error *err)
{
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

static int read_row(struct contention *contention, const struct csv *csv, struct sim_error *err)
{
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

static int read_published(struct contention *contention, struct sim_error *err)
{
	static const char *const columns[REFERENCE_COLUMNS] = { "t_s", "process", "GiB" };
	char file[PATH_MAX];
	struct csv csv;
	int rc = config_find_data("plots", "reference/" FIGURE_CSV, file, sizeof(file), err);

	if (!rc)
		rc = csv_open(&csv, file, columns, REFERENCE_COLUMNS, err);
	if (rc)
		return rc;
	while ((rc = csv_next(&csv, err)) == 1) {
		rc = read_row(contention, &csv, err);
		if (rc)
			break;
	}
	csv_close(&csv);
	return rc;
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
	double values[SOURCES];

	table_add(table);
	table_set(table, 0, "%s", measures[index].label);
	for (size_t source = 0; source < SOURCES; source++) {
		values[source] = measure(contention, index, (enum source)source);
		if (isnan(values[source]))
			table_set(table, source + 1, "-");
		else
			table_set(table, source + 1, "%.3f GiB", values[source]);
	}
	if (values[SOURCE_PUBLISHED] > 0 && !isnan(values[SOURCE_OURS]))
		table_set(table, 3, "%.2f", values[SOURCE_OURS] / values[SOURCE_PUBLISHED]);
	else
		table_set(table, 3, "-");
}

static int print_table(const struct contention *contention, struct sim_error *err)
{
	struct table table = { 0 };

	table_add(&table);
	table_set(&table, 0, "GPU memory");
	table_set(&table, 1, "ours");
	table_set(&table, 2, "published");
	table_set(&table, 3, "ratio");
	for (size_t i = 0; i < ARRAY_SIZE(measures); i++)
		print_measure(&table, contention, i);
	table_print(&table, stdout);
	putchar('\n');
	figure_print_failures("", &contention->run.folder.summary);
	return figure_flush(err);
}

/* Curve by curve, so that a line can be drawn through each. */
static int write_csv(const struct contention *contention, struct writer *writer,
		     struct sim_error *err)
{
	int rc = writer_begin(writer, FIGURE_CSV, err);

	if (rc)
		return rc;
	writer_printf(writer, "process,source,time_s,gib\n");
	for (size_t i = 0; i < (size_t)PROCESSES * SOURCES; i++) {
		size_t process = i / SOURCES, source = i % SOURCES;
		const struct curve *curve = &contention->curves[source][process];

		for (size_t k = 0; k < curve->count; k++)
			writer_printf(writer, "%s,%s,%.12g,%.12g\n", process_names[process],
				      source_names[source], curve->points[k].time_s,
				      curve->points[k].gib);
	}
	rc = writer_end(writer, err);
	return rc ? rc : writer_commit(writer, err);
}

/* When diffusion starts, and when requests come: what the time axis is divided by. */
static void add_stages(struct gnuplot *gnuplot, const struct config *config)
{
	u64 diffusion_ns = 0, requests_ns = 0;

	for (size_t i = config->container_count; i-- > 0;) {
		const struct cfg_container *container = &config->containers[i];

		if (container->app_type == CFG_APP_DIFFUSION)
			diffusion_ns = container->start;
		else
			requests_ns = container->start + container->llm.client.first_request;
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

static int draw_pictures(const struct figure_args *args, const struct contention *contention,
			 struct writer *writer, struct sim_error *err)
{
	const struct folder *folder = &contention->run.folder;
	struct gnuplot gnuplot = { 0 };
	int rc;

	gnuplot_add_file(&gnuplot, "curves_csv", writer, FIGURE_CSV);
	gnuplot_add_string(&gnuplot, "scenario", folder->summary.name);
	gnuplot_add_string(&gnuplot, "system", folder->summary.system);
	gnuplot_add_string(&gnuplot, "gpu", *folder->gpu ? folder->gpu : "custom GPU");
	gnuplot_add_count(&gnuplot, "changed", args->set_count || args->scenario);
	add_stages(&gnuplot, &contention->run.config);
	add_status(&gnuplot, contention, PROCESS_LLM, "status_llm");
	add_status(&gnuplot, contention, PROCESS_DIFFUSION, "status_diffusion");
	rc = gnuplot_draw(&gnuplot, FIGURE_NAME, writer, err);
	gnuplot_destroy(&gnuplot);
	return rc;
}

/* The data are kept also if they cannot be drawn. */
static int show(const struct figure_args *args, const struct contention *contention,
		struct writer *writer, struct sim_error *err)
{
	int rc = print_table(contention, err);

	if (!rc)
		rc = write_csv(contention, writer, err);
	if (!rc)
		rc = draw_pictures(args, contention, writer, err);
	if (rc)
		return rc;
	printf("numbers     %s/" FIGURE_CSV "\n", writer->folder);
	return figure_print_pictures(FIGURE_NAME, writer, err);
}

static int make(const struct figure_args *args, struct contention *contention,
		struct sim_error *err)
{
	struct writer writer;
	int rc = read_published(contention, err);

	if (!rc)
		rc = writer_open(&writer, args->out, err);
	if (rc)
		return rc;
	rc = run_cache_get(&contention->run, 1, args->fresh, err);
	if (!rc)
		rc = read_ours(contention, err);
	if (!rc)
		rc = show(args, contention, &writer, err);
	if (rc)
		writer_abort(&writer);
	return rc;
}

static int draw(const struct figure_args *args, struct sim_error *err)
{
	struct contention contention = {
		.run = { .label = FIGURE_NAME,
			 .scenario = args->scenario ? args->scenario : FIGURE_SCENARIO,
			 .sets = args->sets,
			 .set_count = args->set_count },
	};
	int rc = make(args, &contention, err);

	for (size_t i = 0; i < (size_t)SOURCES * PROCESSES; i++)
		free(contention.curves[i / PROCESSES][i % PROCESSES].points);
	run_cache_destroy(&contention.run, 1);
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
