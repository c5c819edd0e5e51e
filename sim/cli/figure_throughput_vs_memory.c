// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmsim figure throughput-vs-memory": Figure 17 of the GVM paper, how fast diffusion alone is
 * with less and less of the memory that it wants; ours beside the published points.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/figure.h"
#include "cli/gnuplot.h"
#include "cli/run_cache.h"
#include "terminal/table.h"
#include "engine/error.h"
#include "results/csv.h"
#include "results/writer.h"

#define FIGURE_NAME	"throughput-vs-memory"
#define FIGURE_SCENARIO "vllm-diffusion-40g"
#define BYTES_PER_GIB	1073741824.0
#define WORKING_SET_GIB 19.45 /* of diffusion, as published */

enum curve_id { CURVE_STOCK, CURVE_GVM, CURVE_GHOST, CURVES };

/* A curve: one system, and what takes memory away from a container in it. */
static const struct {
	const char *system; /* as in the reference file, too */
	const char *set_system;
	const char *memory_key;
} curves[CURVES] = {
	[CURVE_STOCK] = { "stock", "system.name=stock", "gpu.memory" },
	[CURVE_GVM] = { "gvm", "system.name=gvm", "containers.diffusion.gmem.limit.high" },
	[CURVE_GHOST] = { "ghost", "system.name=ghost",
			  "containers.diffusion.gmem.limit.high" },
};

/* Its points: parts of the working set. The last one is without a limit. */
#define POINTS	       10
#define PERCENT_STEP   10
#define POINT_WHOLE    (POINTS - 1)
#define SET_TEXT_MAX   64
#define LABEL_MAX      16
#define PERCENT(point) (((point) + 1) * PERCENT_STEP)

/*
 * On a fresh machine, and long enough for five images at the least memory. What is published is
 * parts of the working set, which are pages: no context is taken from them.
 */
static const char *const defaults[] = { "duration=250s", "host.fragmented=false",
					"gpu.context=0", NULL };

/* Everything that is drawn. Runs are curve by curve. */
struct capped {
	struct cached_run runs[CURVES * POINTS];
	char labels[CURVES * POINTS][LABEL_MAX];
	char memory_sets[CURVES * POINTS][SET_TEXT_MAX];
	struct figure_pair points[CURVES][POINTS];
};

static struct cached_run *run_of(struct capped *capped, size_t curve, size_t point)
{
	return &capped->runs[curve * POINTS + point];
}

/* Median time of an image in seconds; NAN: none was completed. */
static double image_s(const struct capped *capped, size_t curve, size_t point)
{
	return figure_run_value(&capped->runs[curve * POINTS + point], CFG_APP_DIFFUSION,
				SUMMARY_LATENCY_P50);
}

static int read_runs(void *data, struct sim_error *err)
{
	struct capped *capped = data;

	(void)err;
	for (size_t curve = 0; curve < CURVES; curve++)
		for (size_t point = 0; point < POINTS; point++)
			capped->points[curve][point].ours =
				image_s(capped, curve, POINT_WHOLE) /
				image_s(capped, curve, point);
	return 0;
}

enum reference_column {
	REFERENCE_SYSTEM,
	REFERENCE_PERCENT,
	REFERENCE_THROUGHPUT,
	REFERENCE_COLUMNS
};

static const char *const reference_columns[REFERENCE_COLUMNS] = { "system", "memory_percent",
								  "throughput" };

static size_t find_curve(const char *system)
{
	size_t curve = 0;

	while (curve < CURVES && strcmp(curves[curve].system, system) != 0)
		curve++;
	return curve;
}

static int read_row(void *data, const struct csv *csv, struct sim_error *err)
{
	struct capped *capped = data;
	size_t curve = find_curve(csv_text(csv, REFERENCE_SYSTEM));
	uint64_t percent;
	int rc = csv_u64(csv, REFERENCE_PERCENT, &percent, err);

	if (rc)
		return rc;
	if (curve == CURVES || !percent || percent % PERCENT_STEP ||
	    percent > PERCENT(POINT_WHOLE))
		return sim_user_error(err, "%s:%zu: no such system or point in this figure",
				      csv->file, csv->line);
	return csv_real(csv, REFERENCE_THROUGHPUT,
			&capped->points[curve][percent / PERCENT_STEP - 1].published, err);
}

static int compare_reals(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/*
 * Median of the factors by which ours and published are apart, less 1, over curves @from to
 * before @to. The last points are 1 by definition and do not count. NAN: there is no pair.
 */
static double median_error(const struct capped *capped, size_t from, size_t to)
{
	double errors[CURVES * POINTS];
	size_t count = 0;

	for (size_t i = from * POINTS; i < to * POINTS; i++) {
		double ratio = figure_ratio(&capped->points[i / POINTS][i % POINTS]);

		if (i % POINTS != POINT_WHOLE && ratio > 0)
			errors[count++] = fmax(ratio, 1 / ratio) - 1;
	}
	if (!count)
		return (double)NAN;
	qsort(errors, count, sizeof(*errors), compare_reals);
	return (errors[(count - 1) / 2] + errors[count / 2]) / 2;
}

/* Three columns of each curve that is published, one of Ghost's. */
#define COLUMN(curve) (1 + 3 * (curve))

static void print_head(struct table *table)
{
	table_add(table);
	table_set(table, 0, "memory");
	for (size_t curve = 0; curve < CURVES; curve++)
		table_set(table, COLUMN(curve), "%s", curves[curve].system);
	for (size_t curve = 0; curve < CURVE_GHOST; curve++) {
		table_set(table, COLUMN(curve) + 1, "published");
		table_set(table, COLUMN(curve) + 2, "ratio");
	}
}

static void print_point(struct table *table, const struct capped *capped, size_t point)
{
	table_add(table);
	table_set(table, 0, "%3d %%", PERCENT((int)point));
	for (size_t curve = 0; curve < CURVE_GHOST; curve++)
		figure_table_pair(table, COLUMN(curve), &capped->points[curve][point], 3, "");
	figure_table_real(table, COLUMN(CURVE_GHOST), capped->points[CURVE_GHOST][point].ours,
			  3, "");
}

static void print_errors(struct table *table, const struct capped *capped)
{
	table_add(table);
	table_add(table);
	table_set(table, 0, "median error");
	for (size_t curve = 0; curve < CURVE_GHOST; curve++)
		figure_table_real(table, COLUMN(curve) + 2,
				  100 * median_error(capped, curve, curve + 1), 1, " %");
	table_add(table);
	table_set(table, 0, "of both");
	figure_table_real(table, COLUMN(CURVE_GVM) + 2, 100 * median_error(capped, 0, CURVES),
			  1, " %");
}

static void print_table(const void *data)
{
	const struct capped *capped = data;
	struct table table = { 0 };
	char prefix[LABEL_MAX + 2];

	printf("Throughput of diffusion, 1 is without a limit\n");
	print_head(&table);
	for (size_t point = 0; point < POINTS; point++)
		print_point(&table, capped, point);
	print_errors(&table, capped);
	table_print(&table, stdout);
	putchar('\n');
	for (size_t i = 0; i < ARRAY_SIZE(capped->runs); i++) {
		snprintf(prefix, sizeof(prefix), "%s, ", capped->labels[i]);
		figure_print_failures(prefix, &capped->runs[i].folder.summary);
	}
}

/* Curve by curve, so that a line can be drawn through each. */
static void write_rows(const void *data, struct writer *writer)
{
	const struct capped *capped = data;

	writer_printf(writer, "system,memory_percent,image_p50_s,ours,published,"
			      "ours_over_published\n");
	for (size_t curve = 0; curve < CURVES; curve++)
		for (size_t point = 0; point < POINTS; point++) {
			writer_printf(writer, "%s,%zu", curves[curve].system, PERCENT(point));
			figure_write_real(writer, image_s(capped, curve, point));
			figure_write_pair(writer, &capped->points[curve][point]);
			writer_printf(writer, "\n");
		}
}

static void add_variables(const void *data, struct gnuplot *gnuplot)
{
	const struct capped *capped = data;
	double high = 1;

	for (size_t i = 0; i < (size_t)CURVES * POINTS; i++)
		high = fmax(high, capped->points[i / POINTS][i % POINTS].ours);
	gnuplot_add_real(gnuplot, "high", high);
	gnuplot_add_real(gnuplot, "working_set_gib", WORKING_SET_GIB);
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

/* Diffusion alone, with a part of its working set or, at the last point, with all that it wants. */
static void run_init(struct capped *capped, const struct figure_args *args, size_t curve,
		     size_t point)
{
	double bytes = PERCENT((double)point) / 100 * WORKING_SET_GIB * BYTES_PER_GIB;
	struct cached_run *run = run_of(capped, curve, point);
	char *label = capped->labels[run - capped->runs];
	char *memory = capped->memory_sets[run - capped->runs];

	snprintf(label, LABEL_MAX, "%s %zu %%", curves[curve].system, PERCENT(point));
	snprintf(memory, SET_TEXT_MAX, "%s=%.0f", curves[curve].memory_key, bytes);
	figure_run_init(run, args, label, FIGURE_SCENARIO);
	run->defaults = defaults;
	run->own_sets[0] = curves[curve].set_system;
	run->own_sets[1] = "containers.vllm.enabled=false";
	run->own_sets[2] = "containers.diffusion.gmem.limit.high=max";
	run->own_sets[3] = point == POINT_WHOLE ? NULL : memory;
}

static int draw(const struct figure_args *args, struct sim_error *err)
{
	struct capped capped;

	for (size_t i = 0; i < (size_t)CURVES * POINTS; i++) {
		run_init(&capped, args, i / POINTS, i % POINTS);
		capped.points[i / POINTS][i % POINTS].published = (double)NAN;
	}
	return figure_make(&steps, args, capped.runs, ARRAY_SIZE(capped.runs), &capped, err);
}

const struct figure figure_throughput_vs_memory = {
	.name = FIGURE_NAME,
	.usage = "[--out DIR] [--scenario FILE] [--set PATH=VALUE]... [--fresh]",
	.summary = "diffusion with less and less memory (GVM Figure 17)",
	.help = "Simulates diffusion of " FIGURE_SCENARIO
		" alone, for 250 s, with 10, 20, ...\n"
		"90 % of its working set of 19.45 GiB and with all that it wants: under the "
		"stock\n"
		"driver on a GPU that small, under gvm and ghost with gmem.limit.high. Draws "
		"its\n"
		"throughput (median image latency without a limit over that with it) beside "
		"the\n"
		"points of the GVM paper's Figure 17. The error of a point is the factor by "
		"which\n"
		"ours and published are apart, less 1; 100 % does not count, as it is 1 in "
		"both.\n",
	.example = "    gvmsim figure " FIGURE_NAME "\n",
	.runs = true,
	.draw = draw,
};
