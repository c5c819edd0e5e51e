// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmsim figure fault-breakdown": Figures 4 and 16 of the GVM paper, where the time of diffusion
 * goes when it pages, under the stock driver and under gvm; ours beside the published bars.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/figure.h"
#include "cli/gnuplot.h"
#include "cli/run_cache.h"
#include "terminal/table.h"
#include "engine/error.h"
#include "results/csv.h"
#include "results/writer.h"

#define FIGURE_NAME	"fault-breakdown"
#define FIGURE_SCENARIO "vllm-diffusion-40g"

enum panel_id { PANEL_STOCK, PANEL_GVM, PANELS };

/* A panel: one run, and one published bar. */
static const struct {
	const char *system; /* as in the reference file */
	const char *label;
	const char *defaults[4]; /* memory is of pages: without a context */
	const char *sets[RUN_CACHE_SETS_MAX];
} panels[PANELS] = {
	[PANEL_STOCK] = { "stock",
			  "stock, 3 GiB",
			  { "duration=300s", "host.fragmented=true", "gpu.context=0", NULL },
			  { "system.name=stock", "containers.vllm.enabled=false",
			    "gpu.memory=3GiB" } },
	/* 40 % of 19.45 GiB. */
	[PANEL_GVM] = { "gvm",
			"gvm, 7.78 GiB",
			{ "duration=300s", "host.fragmented=false", "gpu.context=0", NULL },
			{ "system.name=gvm", "containers.vllm.enabled=false",
			  "containers.diffusion.gmem.limit.high=8353711128" } },
};

/* GVM paper, section 2.3: "effective swap bandwidth", at 15 % of memory. For comparison only. */
#define PUBLISHED_SWAP_GBS 3.4

enum part_id { PART_COMPUTE, PART_CPU, PART_D2H, PART_H2D, PARTS };

/* A part of a bar, from below. */
static const struct {
	const char *key; /* as in the reference file */
	const char *label;
	enum summary_metric_id metric;
} parts[PARTS] = {
	[PART_COMPUTE] = { "compute", "compute", SUMMARY_GPU_SECONDS },
	[PART_CPU] = { "cpu", "CPU page-fault handling", SUMMARY_STALL_CPU_SECONDS },
	[PART_D2H] = { "d2h", "device-to-host copies", SUMMARY_STALL_D2H_SECONDS },
	[PART_H2D] = { "h2d", "host-to-device copies", SUMMARY_STALL_H2D_SECONDS },
};

/* Everything that is drawn, in units of the time that is computed. */
struct breakdown {
	struct cached_run runs[PANELS];
	struct figure_pair cells[PANELS][PARTS];
};

static double run_seconds(const struct breakdown *breakdown, size_t panel, size_t part)
{
	return figure_run_value(&breakdown->runs[panel], CFG_APP_DIFFUSION, parts[part].metric);
}

/* The unit of a panel; NAN: no image was completed, so it is not known what one costs. */
static double computing_s(const struct breakdown *breakdown, size_t panel)
{
	double images =
		figure_run_value(&breakdown->runs[panel], CFG_APP_DIFFUSION, SUMMARY_IMAGES);

	return images > 0 ? run_seconds(breakdown, panel, PART_COMPUTE) : (double)NAN;
}

static int read_runs(void *data, struct sim_error *err)
{
	struct breakdown *breakdown = data;

	(void)err;
	for (size_t panel = 0; panel < PANELS; panel++)
		for (size_t part = 0; part < PARTS; part++)
			breakdown->cells[panel][part].ours =
				run_seconds(breakdown, panel, part) /
				computing_s(breakdown, panel);
	return 0;
}

enum reference_column { REFERENCE_SYSTEM, REFERENCE_PART, REFERENCE_TIME, REFERENCE_COLUMNS };

static const char *const reference_columns[REFERENCE_COLUMNS] = { "system", "part", "time" };

static size_t find_panel(const char *system)
{
	size_t panel = 0;

	while (panel < PANELS && strcmp(panels[panel].system, system) != 0)
		panel++;
	return panel;
}

static size_t find_part(const char *key)
{
	size_t part = 0;

	while (part < PARTS && strcmp(parts[part].key, key) != 0)
		part++;
	return part;
}

static int read_row(void *data, const struct csv *csv, struct sim_error *err)
{
	struct breakdown *breakdown = data;
	size_t panel = find_panel(csv_text(csv, REFERENCE_SYSTEM));
	size_t part = find_part(csv_text(csv, REFERENCE_PART));

	if (panel == PANELS || part == PARTS)
		return sim_user_error(err, "%s:%zu: no such system or part in this figure",
				      csv->file, csv->line);
	return csv_real(csv, REFERENCE_TIME, &breakdown->cells[panel][part].published, err);
}

/* What stands below a part in its bar; below PARTS it is the whole. NAN: something is missing. */
static struct figure_pair sum_below(const struct breakdown *breakdown, size_t panel,
				    size_t part)
{
	struct figure_pair sum = { 0, 0 };

	for (size_t i = 0; i < part; i++) {
		sum.ours += breakdown->cells[panel][i].ours;
		sum.published += breakdown->cells[panel][i].published;
	}
	return sum;
}

static void print_panel(struct table *table, const struct breakdown *breakdown, size_t panel)
{
	struct figure_pair whole = sum_below(breakdown, panel, PARTS);

	if (panel)
		table_add(table);
	figure_table_head(table, panels[panel].label);
	for (size_t part = 0; part < PARTS; part++) {
		table_add(table);
		table_set(table, 0, "  %s", parts[part].label);
		figure_table_pair(table, 1, &breakdown->cells[panel][part], 3, "");
	}
	table_add(table);
	table_set(table, 0, "  all together");
	figure_table_pair(table, 1, &whole, 3, "");
}

/* Bytes that came in over the time that was not computing, of the stock driver, in GB/s. */
static void print_swap_bandwidth(const struct breakdown *breakdown)
{
	const struct cached_run *run = &breakdown->runs[PANEL_STOCK];
	double bytes = figure_run_value(run, CFG_APP_DIFFUSION, SUMMARY_BYTES_H2D);
	double wall = figure_run_value(run, CFG_APP_DIFFUSION, SUMMARY_GPU_SECONDS) +
		      figure_run_value(run, CFG_APP_DIFFUSION, SUMMARY_STALL_SECONDS);
	double compute = figure_run_value(run, CFG_APP_DIFFUSION, SUMMARY_GPU_SECONDS);

	if (wall > compute)
		printf("Swap bandwidth of the stock driver, bytes in over wall minus compute: "
		       "%.1f GB/s, published %.1f\n",
		       bytes / (wall - compute) / 1e9, PUBLISHED_SWAP_GBS);
}

static void print_table(const void *data)
{
	const struct breakdown *breakdown = data;
	struct table table = { 0 };
	char prefix[32];

	printf("Where diffusion's time goes, 1 is what it computes\n");
	for (size_t panel = 0; panel < PANELS; panel++)
		print_panel(&table, breakdown, panel);
	table_print(&table, stdout);
	putchar('\n');
	print_swap_bandwidth(breakdown);
	for (size_t panel = 0; panel < PANELS; panel++) {
		snprintf(prefix, sizeof(prefix), "%s, ", panels[panel].label);
		figure_print_failures(prefix, &breakdown->runs[panel].folder.summary);
	}
}

static void write_rows(const void *data, struct writer *writer)
{
	const struct breakdown *breakdown = data;

	writer_printf(writer, "system,part,ours,published,ours_over_published,ours_below,"
			      "published_below\n");
	for (size_t panel = 0; panel < PANELS; panel++)
		for (size_t part = 0; part < PARTS; part++) {
			struct figure_pair below = sum_below(breakdown, panel, part);

			writer_printf(writer, "%s,%s", panels[panel].system, parts[part].key);
			figure_write_pair(writer, &breakdown->cells[panel][part]);
			figure_write_real(writer, below.ours);
			figure_write_real(writer, below.published);
			writer_printf(writer, "\n");
		}
}

/* Heights of the bars; 0 for one that is not known. */
static void add_variables(const void *data, struct gnuplot *gnuplot)
{
	const struct breakdown *breakdown = data;
	char name[24];

	for (size_t panel = 0; panel < PANELS; panel++) {
		struct figure_pair whole = sum_below(breakdown, panel, PARTS);

		snprintf(name, sizeof(name), "ours_%zu", panel + 1);
		gnuplot_add_real(gnuplot, name, fmax(whole.ours, 0));
		snprintf(name, sizeof(name), "published_%zu", panel + 1);
		gnuplot_add_real(gnuplot, name, fmax(whole.published, 0));
	}
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

static void breakdown_init(struct breakdown *breakdown, const struct figure_args *args)
{
	for (size_t panel = 0; panel < PANELS; panel++) {
		struct cached_run *run = &breakdown->runs[panel];

		figure_run_init(run, args, panels[panel].label, FIGURE_SCENARIO);
		run->defaults = panels[panel].defaults;
		memcpy(run->own_sets, panels[panel].sets, sizeof(run->own_sets));
		for (size_t part = 0; part < PARTS; part++)
			breakdown->cells[panel][part].published = (double)NAN;
	}
}

static int draw(const struct figure_args *args, struct sim_error *err)
{
	struct breakdown breakdown;

	breakdown_init(&breakdown, args);
	return figure_make(&steps, args, breakdown.runs, PANELS, &breakdown, err);
}

const struct figure figure_fault_breakdown = {
	.name = FIGURE_NAME,
	.usage = "[--out DIR] [--scenario FILE] [--set PATH=VALUE]... [--fresh]",
	.summary = "where the time of diffusion goes when it pages (GVM Figures 4, 16)",
	.help = "Simulates diffusion of " FIGURE_SCENARIO " alone, for 300 s: under the stock\n"
		"driver with 3 GiB of memory and the host's in pieces, as beside vLLM, and "
		"under\n"
		"gvm with 40 % of its working set of 19.45 GiB. Draws what it waits for (its "
		"page\n"
		"faults on the CPU, copies from and to the GPU) in units of what it computes,\n"
		"beside the bars of the GVM paper's Figures 4 and 16.\n",
	.example = "    gvmsim figure " FIGURE_NAME "\n",
	.runs = true,
	.draw = draw,
};
