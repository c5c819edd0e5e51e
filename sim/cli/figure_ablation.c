// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmsim figure ablation": Figure 14 of the GVM paper, its mechanisms switched on one after the
 * other, with a bar for Ghost; ours beside the published bars.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/figure.h"
#include "cli/gnuplot.h"
#include "cli/run_cache.h"
#include "cli/table.h"
#include "engine/error.h"
#include "results/csv.h"
#include "results/writer.h"

#define FIGURE_NAME	"ablation"
#define FIGURE_SCENARIO "vllm-diffusion-40g"

enum bar_id { BAR_UVM, BAR_MEM_ISO, BAR_COM_ISO, BAR_SWAP_OPT, BAR_GHOST, BARS };

#define MECHANISMS(memory_, compute_, paging_)                   \
	"system.mechanisms.memory_isolation=" memory_,           \
		"system.mechanisms.compute_isolation=" compute_, \
		"system.mechanisms.fast_paging=" paging_

/* A bar of every panel: one run. */
static const struct {
	const char *label; /* as in the reference file */
	const char *sets[RUN_CACHE_SETS_MAX];
} bars[BARS] = {
	[BAR_UVM] = { "UVM", { "system.name=stock" } },
	[BAR_MEM_ISO] = { "+MemIso",
			  { "system.name=gvm", MECHANISMS("true", "false", "false") } },
	[BAR_COM_ISO] = { "+ComIso",
			  { "system.name=gvm", MECHANISMS("true", "true", "false") } },
	[BAR_SWAP_OPT] = { "+SwapOpt",
			   { "system.name=gvm", MECHANISMS("true", "true", "true") } },
	[BAR_GHOST] = { "Ghost", { "system.name=ghost" } },
};

#define PANELS 5

/* A panel: one statistic of all runs. */
static const struct {
	const char *key; /* as in the reference file */
	const char *label;
	const char *unit;
	enum cfg_app_type app;
	enum summary_metric_id metric;
	bool is_throughput; /* the inverse of the metric, over that of the UVM bar */
} panels[PANELS] = {
	{ "ttft_ms.p50", "median TTFT", "ms", CFG_APP_LLM_SERVER, SUMMARY_TTFT_P50, false },
	{ "ttft_ms.p99", "P99 TTFT", "ms", CFG_APP_LLM_SERVER, SUMMARY_TTFT_P99, false },
	{ "itl_ms.p50", "median ITL", "ms", CFG_APP_LLM_SERVER, SUMMARY_ITL_P50, false },
	{ "itl_ms.p99", "P99 ITL", "ms", CFG_APP_LLM_SERVER, SUMMARY_ITL_P99, false },
	{ "throughput", "diffusion throughput", "x", CFG_APP_DIFFUSION, SUMMARY_LATENCY_MEAN,
	  true },
};

/* Everything that is drawn. */
struct ablation {
	struct cached_run runs[BARS];
	struct figure_pair cells[PANELS][BARS];
};

static double run_value(const struct ablation *ablation, size_t panel, size_t bar)
{
	return figure_run_value(&ablation->runs[bar], panels[panel].app, panels[panel].metric);
}

static int read_runs(void *data, struct sim_error *err)
{
	struct ablation *ablation = data;

	(void)err;
	for (size_t panel = 0; panel < PANELS; panel++) {
		double reference = run_value(ablation, panel, BAR_UVM);

		for (size_t bar = 0; bar < BARS; bar++) {
			double value = run_value(ablation, panel, bar);

			ablation->cells[panel][bar].ours =
				panels[panel].is_throughput ? reference / value : value;
		}
	}
	return 0;
}

static size_t find_bar(const char *label)
{
	size_t bar = 0;

	while (bar < BARS && strcmp(bars[bar].label, label) != 0)
		bar++;
	return bar;
}

static size_t find_panel(const char *key)
{
	size_t panel = 0;

	while (panel < PANELS && strcmp(panels[panel].key, key) != 0)
		panel++;
	return panel;
}

enum reference_column { REFERENCE_BAR, REFERENCE_KEY, REFERENCE_VALUE, REFERENCE_COLUMNS };

static const char *const reference_columns[REFERENCE_COLUMNS] = { "bar", "key", "value" };

static int read_row(void *data, const struct csv *csv, struct sim_error *err)
{
	struct ablation *ablation = data;
	size_t bar = find_bar(csv_text(csv, REFERENCE_BAR));
	size_t panel = find_panel(csv_text(csv, REFERENCE_KEY));

	if (bar == BARS || panel == PANELS)
		return sim_user_error(err, "%s:%zu: no such bar or key in this figure",
				      csv->file, csv->line);
	return csv_real(csv, REFERENCE_VALUE, &ablation->cells[panel][bar].published, err);
}

/*
 * Containers of a run whose context died. Numbers of the others in that run are those of a
 * container that had the GPU to itself, and must not pass for results of sharing.
 */
static size_t count_failed(const struct ablation *ablation, size_t bar)
{
	const struct summary *summary = &ablation->runs[bar].folder.summary;
	size_t count = 0;

	for (size_t i = 0; i < summary->container_count; i++)
		count += strchr(summary->containers[i].status, ':') != NULL;
	return count;
}

static void ablation_init(struct ablation *ablation, const struct figure_args *args)
{
	*ablation = (struct ablation){ 0 };
	for (size_t bar = 0; bar < BARS; bar++) {
		struct cached_run *run = &ablation->runs[bar];

		figure_run_init(run, args, bars[bar].label, FIGURE_SCENARIO);
		memcpy(run->own_sets, bars[bar].sets, sizeof(run->own_sets));
		for (size_t panel = 0; panel < PANELS; panel++)
			ablation->cells[panel][bar].published = (double)NAN;
	}
}

static void print_panel(struct table *table, const struct ablation *ablation, size_t panel)
{
	bool is_ms = !strcmp(panels[panel].unit, "ms");

	if (panel)
		table_add(table);
	figure_table_head(table, panels[panel].label);
	for (size_t bar = 0; bar < BARS; bar++) {
		table_add(table);
		table_set(table, 0, "  %s%s", bars[bar].label,
			  count_failed(ablation, bar) ? " *" : "");
		figure_table_pair(table, 1, &ablation->cells[panel][bar], is_ms ? 1 : 3,
				  is_ms ? " ms" : "");
	}
}

static void print_table(const void *data)
{
	const struct ablation *ablation = data;
	struct table table = { 0 };
	char prefix[16];

	for (size_t panel = 0; panel < PANELS; panel++)
		print_panel(&table, ablation, panel);
	table_print(&table, stdout);
	putchar('\n');
	/* Why values are missing, and why others are no results of sharing. */
	for (size_t bar = 0; bar < BARS; bar++) {
		snprintf(prefix, sizeof(prefix), "* %s, ", bars[bar].label);
		figure_print_failures(prefix, &ablation->runs[bar].folder.summary);
	}
}

static void write_rows(const void *data, struct writer *writer)
{
	const struct ablation *ablation = data;

	writer_printf(writer, "panel,bar,unit,ours,published,ours_over_published,"
			      "failed_containers\n");
	for (size_t panel = 0; panel < PANELS; panel++)
		for (size_t bar = 0; bar < BARS; bar++) {
			writer_printf(writer, "%s,%s,%s", panels[panel].key, bars[bar].label,
				      panels[panel].unit);
			figure_write_pair(writer, &ablation->cells[panel][bar]);
			writer_printf(writer, ",%zu\n", count_failed(ablation, bar));
		}
}

/* What the axis of a panel has to show. */
static void add_range(struct gnuplot *gnuplot, const struct ablation *ablation, size_t panel)
{
	struct figure_range range = { 0 };

	for (size_t bar = 0; bar < BARS; bar++) {
		figure_range_take(&range, ablation->cells[panel][bar].ours);
		figure_range_take(&range, ablation->cells[panel][bar].published);
	}
	figure_range_add(&range, panel + 1, gnuplot);
}

static void add_failed(struct gnuplot *gnuplot, const struct ablation *ablation, size_t bar)
{
	char name[16];

	snprintf(name, sizeof(name), "failed_%zu", bar + 1);
	gnuplot_add_count(gnuplot, name, count_failed(ablation, bar));
}

static void add_variables(const void *data, struct gnuplot *gnuplot)
{
	const struct ablation *ablation = data;

	for (size_t panel = 0; panel < PANELS; panel++)
		add_range(gnuplot, ablation, panel);
	for (size_t bar = 0; bar < BARS; bar++)
		add_failed(gnuplot, ablation, bar);
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
	struct ablation ablation;

	ablation_init(&ablation, args);
	return figure_make(&steps, args, ablation.runs, BARS, &ablation, err);
}

const struct figure figure_ablation = {
	.name = FIGURE_NAME,
	.usage = "[--out DIR] [--scenario FILE] [--set PATH=VALUE]... [--fresh]",
	.summary = "GVM's mechanisms one after the other, and Ghost (GVM Figure 14)",
	.help = "Simulates " FIGURE_SCENARIO " under the stock driver (UVM), under gvm with\n"
		"memory isolation only, with compute isolation too, with fast paging too, and\n"
		"under ghost. Draws latencies of the LLM server and throughput of diffusion "
		"(mean\n"
		"image latency of UVM over that of the bar) beside the bars of the GVM "
		"paper's\n"
		"Figure 14. A container that failed has no value, and the others of its run "
		"are\n"
		"marked with a star: they had the GPU to themselves.\n",
	.example = "    gvmsim figure " FIGURE_NAME "\n",
	.runs = true,
	.draw = draw,
};
