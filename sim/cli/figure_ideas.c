// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmsim figure ideas": three ideas beyond the papers, each switched on alone, and all of them.
 * Nothing of it is published, so there is nothing beside ours.
 */
#include <stdio.h>
#include <string.h>

#include "cli/figure.h"
#include "cli/gnuplot.h"
#include "cli/run_cache.h"
#include "terminal/table.h"
#include "gvm/port.h"
#include "results/writer.h"

#define FIGURE_NAME	"ideas"
#define FIGURE_SCENARIO "what-if-ideas"

#define GIB		1073741824.0

enum bar_id { BAR_GHOST, BAR_CLEAN, BAR_PRIORITY, BAR_HINT, BAR_ALL, BARS };

#define IDEAS(clean_, priority_, hint_)                              \
	"system.name=ghost", "system.mechanisms.clean_drop=" clean_, \
		"system.mechanisms.priority_batches=" priority_,     \
		"system.mechanisms.hint_faults=" hint_

/* A bar of every panel: one run. */
static const struct {
	const char *label;
	const char *sets[RUN_CACHE_SETS_MAX];
} bars[BARS] = {
	[BAR_GHOST] = { "Ghost", { IDEAS("false", "false", "false") } },
	[BAR_CLEAN] = { "+clean_drop", { IDEAS("true", "false", "false") } },
	[BAR_PRIORITY] = { "+priority_batches", { IDEAS("false", "true", "false") } },
	[BAR_HINT] = { "+hint_faults", { IDEAS("false", "false", "true") } },
	[BAR_ALL] = { "all three", { IDEAS("true", "true", "true") } },
};

/* A panel: one statistic of all runs. */
struct panel {
	const char *key;
	const char *label;
	const char *unit;
	enum cfg_app_type app;
	enum summary_metric_id metric;
	bool is_sum; /* over all containers, bytes */
};

static const struct panel panels[] = {
	{ "image_s.mean", "mean image latency", "s", CFG_APP_DIFFUSION, SUMMARY_LATENCY_MEAN,
	  false },
	{ "ttft_ms.p50", "median TTFT", "ms", CFG_APP_LLM_SERVER, SUMMARY_TTFT_P50, false },
	{ "ttft_ms.p99", "P99 TTFT", "ms", CFG_APP_LLM_SERVER, SUMMARY_TTFT_P99, false },
	{ "itl_ms.p99", "P99 ITL", "ms", CFG_APP_LLM_SERVER, SUMMARY_ITL_P99, false },
	{ "in_gib", "host to device", "GiB", CFG_APP_LLM_SERVER, SUMMARY_BYTES_H2D, true },
	{ "out_gib", "device to host", "GiB", CFG_APP_LLM_SERVER, SUMMARY_BYTES_D2H, true },
};

#define PANELS ARRAY_SIZE(panels)

/* Everything that is drawn. */
struct ideas {
	struct cached_run runs[BARS];
	double cells[PANELS][BARS]; /* NAN: there is none */
};

static double sum_gib(const struct summary *summary, enum summary_metric_id metric)
{
	double bytes = 0;

	for (size_t i = 0; i < summary->container_count; i++)
		bytes += summary_number(&summary->containers[i].values[metric], metric);
	return bytes / GIB;
}

static double run_value(const struct cached_run *run, const struct panel *panel)
{
	if (panel->is_sum)
		return sum_gib(&run->folder.summary, panel->metric);
	return figure_run_value(run, panel->app, panel->metric);
}

static int read_runs(void *data, struct sim_error *err)
{
	struct ideas *ideas = data;

	(void)err;
	for (size_t panel = 0; panel < PANELS; panel++)
		for (size_t bar = 0; bar < BARS; bar++)
			ideas->cells[panel][bar] = run_value(&ideas->runs[bar], &panels[panel]);
	return 0;
}

static void ideas_init(struct ideas *ideas, const struct figure_args *args)
{
	for (size_t bar = 0; bar < BARS; bar++) {
		figure_run_init(&ideas->runs[bar], args, bars[bar].label, FIGURE_SCENARIO);
		memcpy(ideas->runs[bar].own_sets, bars[bar].sets, sizeof(bars[bar].sets));
	}
}

static void print_panel(struct table *table, const struct ideas *ideas, size_t panel)
{
	const double *cells = ideas->cells[panel];
	char unit[8];

	snprintf(unit, sizeof(unit), " %s", panels[panel].unit);
	if (panel)
		table_add(table);
	table_add(table);
	table_set(table, 0, "%s", panels[panel].label);
	table_set(table, 1, "ours");
	table_set(table, 2, "over Ghost");
	for (size_t bar = 0; bar < BARS; bar++) {
		table_add(table);
		table_set(table, 0, "  %s", bars[bar].label);
		figure_table_real(table, 1, cells[bar], 1, unit);
		figure_table_real(table, 2, cells[bar] / cells[BAR_GHOST], 3, "");
	}
}

static void print_table(const void *data)
{
	const struct ideas *ideas = data;
	struct table table = { 0 };
	char prefix[32];

	for (size_t panel = 0; panel < PANELS; panel++)
		print_panel(&table, ideas, panel);
	table_print(&table, stdout);
	putchar('\n');
	for (size_t bar = 0; bar < BARS; bar++) {
		snprintf(prefix, sizeof(prefix), "* %s, ", bars[bar].label);
		figure_print_failures(prefix, &ideas->runs[bar].folder.summary);
	}
}

static void write_rows(const void *data, struct writer *writer)
{
	const struct ideas *ideas = data;

	writer_printf(writer, "panel,bar,unit,ours\n");
	for (size_t panel = 0; panel < PANELS; panel++)
		for (size_t bar = 0; bar < BARS; bar++) {
			writer_printf(writer, "%s,%s,%s", panels[panel].key, bars[bar].label,
				      panels[panel].unit);
			figure_write_real(writer, ideas->cells[panel][bar]);
			writer_printf(writer, "\n");
		}
}

/* What the axis of a panel has to show. */
static void add_variables(const void *data, struct gnuplot *gnuplot)
{
	const struct ideas *ideas = data;

	for (size_t panel = 0; panel < PANELS; panel++) {
		struct figure_range range = { 0 };

		for (size_t bar = 0; bar < BARS; bar++)
			figure_range_take(&range, ideas->cells[panel][bar]);
		figure_range_add(&range, panel + 1, gnuplot);
	}
}

static const struct figure_steps steps = {
	.name = FIGURE_NAME,
	.read_runs = read_runs,
	.print = print_table,
	.write = write_rows,
	.add_variables = add_variables,
};

static int draw(const struct figure_args *args, struct sim_error *err)
{
	struct ideas ideas;

	ideas_init(&ideas, args);
	return figure_make(&steps, args, ideas.runs, BARS, &ideas, err);
}

const struct figure figure_ideas = {
	.name = FIGURE_NAME,
	.usage = "[--out DIR] [--scenario FILE] [--set PATH=VALUE]... [--fresh]",
	.summary = "what three ideas beyond the papers bring to Ghost",
	.help = "Simulates " FIGURE_SCENARIO
		" under ghost as it is in the papers, with each of\n"
		"system.mechanisms.clean_drop, .priority_batches and .hint_faults alone, and "
		"with\n"
		"all three. Draws image latency, the LLM server's latencies, and what crossed\n"
		"the link. Nothing of this was ever measured: there are no published bars.\n",
	.example = "    gvmsim figure " FIGURE_NAME "\n"
		   "    gvmsim figure " FIGURE_NAME " --scenario vllm-diffusion-40g\n",
	.runs = true,
	.draw = draw,
};
