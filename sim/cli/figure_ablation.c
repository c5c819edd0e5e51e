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
#define FIGURE_CSV	FIGURE_NAME ".csv"
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

/* A number that may be missing: NAN then. */
struct cell {
	double ours;
	double published;
};

/* Everything that is drawn. */
struct ablation {
	struct cached_run runs[BARS];
	struct cell cells[PANELS][BARS];
};

static double ratio(const struct cell *cell)
{
	return cell->published > 0 ? cell->ours / cell->published : (double)NAN;
}

/* Of the first container of the type. */
static double run_value(const struct cached_run *run, size_t panel)
{
	size_t index = folder_find_type(&run->folder, panels[panel].app);
	const struct summary_value *value;

	if (index == SIZE_MAX)
		return (double)NAN;
	value = &run->folder.summary.containers[index].values[panels[panel].metric];
	return value->known ? summary_number(value, panels[panel].metric) : (double)NAN;
}

static void find_ours(struct ablation *ablation)
{
	for (size_t panel = 0; panel < PANELS; panel++) {
		double reference = run_value(&ablation->runs[BAR_UVM], panel);

		for (size_t bar = 0; bar < BARS; bar++) {
			double value = run_value(&ablation->runs[bar], panel);

			ablation->cells[panel][bar].ours =
				panels[panel].is_throughput ? reference / value : value;
		}
	}
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

static int read_row(struct ablation *ablation, const struct csv *csv, struct sim_error *err)
{
	size_t bar = find_bar(csv_text(csv, REFERENCE_BAR));
	size_t panel = find_panel(csv_text(csv, REFERENCE_KEY));

	if (bar == BARS || panel == PANELS)
		return sim_user_error(err, "%s:%zu: no such bar or key in this figure",
				      csv->file, csv->line);
	return csv_real(csv, REFERENCE_VALUE, &ablation->cells[panel][bar].published, err);
}

static int read_published(struct ablation *ablation, struct sim_error *err)
{
	static const char *const columns[REFERENCE_COLUMNS] = { "bar", "key", "value" };
	char file[PATH_MAX];
	struct csv csv;
	int rc = config_find_data("plots", "reference/" FIGURE_CSV, file, sizeof(file), err);

	if (!rc)
		rc = csv_open(&csv, file, columns, REFERENCE_COLUMNS, err);
	if (rc)
		return rc;
	while ((rc = csv_next(&csv, err)) == 1) {
		rc = read_row(ablation, &csv, err);
		if (rc)
			break;
	}
	csv_close(&csv);
	return rc;
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

		run->label = bars[bar].label;
		run->scenario = args->scenario ? args->scenario : FIGURE_SCENARIO;
		run->sets = args->sets;
		run->set_count = args->set_count;
		memcpy(run->own_sets, bars[bar].sets, sizeof(run->own_sets));
		for (size_t panel = 0; panel < PANELS; panel++)
			ablation->cells[panel][bar].published = (double)NAN;
	}
}

/* "26238.7 ms", "0.455", "-" */
static void print_cell(struct table *table, size_t column, double value, const char *unit)
{
	if (isnan(value))
		table_set(table, column, "-");
	else if (!strcmp(unit, "ms"))
		table_set(table, column, "%.1f ms", value);
	else
		table_set(table, column, "%.3f", value);
}

static void print_panel(struct table *table, const struct ablation *ablation, size_t panel)
{
	if (panel)
		table_add(table);
	table_add(table);
	table_set(table, 0, "%s", panels[panel].label);
	table_set(table, 1, "ours");
	table_set(table, 2, "published");
	table_set(table, 3, "ratio");
	for (size_t bar = 0; bar < BARS; bar++) {
		const struct cell *cell = &ablation->cells[panel][bar];

		table_add(table);
		table_set(table, 0, "  %s%s", bars[bar].label,
			  count_failed(ablation, bar) ? " *" : "");
		print_cell(table, 1, cell->ours, panels[panel].unit);
		print_cell(table, 2, cell->published, panels[panel].unit);
		if (isnan(ratio(cell)))
			table_set(table, 3, "-");
		else
			table_set(table, 3, "%.3g", ratio(cell));
	}
}

static int print_table(const struct ablation *ablation, struct sim_error *err)
{
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
	return figure_flush(err);
}

static void write_cell(struct writer *writer, double value)
{
	if (isnan(value))
		writer_printf(writer, ",");
	else
		writer_printf(writer, ",%.12g", value);
}

static int write_csv(const struct ablation *ablation, struct writer *writer,
		     struct sim_error *err)
{
	int rc = writer_begin(writer, FIGURE_CSV, err);

	if (rc)
		return rc;
	writer_printf(writer, "panel,bar,unit,ours,published,ours_over_published,"
			      "failed_containers\n");
	for (size_t panel = 0; panel < PANELS; panel++)
		for (size_t bar = 0; bar < BARS; bar++) {
			const struct cell *cell = &ablation->cells[panel][bar];

			writer_printf(writer, "%s,%s,%s", panels[panel].key, bars[bar].label,
				      panels[panel].unit);
			write_cell(writer, cell->ours);
			write_cell(writer, cell->published);
			write_cell(writer, ratio(cell));
			writer_printf(writer, ",%zu\n", count_failed(ablation, bar));
		}
	rc = writer_end(writer, err);
	return rc ? rc : writer_commit(writer, err);
}

/* What the axis of a panel has to show: 0 and 0 if there is nothing. */
static void add_range(struct gnuplot *gnuplot, const struct ablation *ablation, size_t panel)
{
	double low = 0, high = 0;
	char name[16];

	for (size_t i = 0; i < 2 * BARS; i++) {
		const struct cell *cell = &ablation->cells[panel][i / 2];
		double value = i % 2 ? cell->published : cell->ours;

		if (!(value > 0))
			continue;
		low = low > 0 ? fmin(low, value) : value;
		high = fmax(high, value);
	}
	snprintf(name, sizeof(name), "low_%zu", panel + 1);
	gnuplot_add_real(gnuplot, name, low);
	snprintf(name, sizeof(name), "high_%zu", panel + 1);
	gnuplot_add_real(gnuplot, name, high);
}

static void add_failed(struct gnuplot *gnuplot, const struct ablation *ablation, size_t bar)
{
	char name[16];

	snprintf(name, sizeof(name), "failed_%zu", bar + 1);
	gnuplot_add_count(gnuplot, name, count_failed(ablation, bar));
}

static int draw_pictures(const struct figure_args *args, const struct ablation *ablation,
			 struct writer *writer, struct sim_error *err)
{
	const struct folder *folder = &ablation->runs[0].folder;
	struct gnuplot gnuplot = { 0 };
	int rc;

	gnuplot_add_file(&gnuplot, "bars_csv", writer, FIGURE_CSV);
	gnuplot_add_string(&gnuplot, "scenario", folder->summary.name);
	gnuplot_add_string(&gnuplot, "gpu", *folder->gpu ? folder->gpu : "custom GPU");
	gnuplot_add_count(&gnuplot, "changed", args->set_count || args->scenario);
	for (size_t panel = 0; panel < PANELS; panel++)
		add_range(&gnuplot, ablation, panel);
	for (size_t bar = 0; bar < BARS; bar++)
		add_failed(&gnuplot, ablation, bar);
	rc = gnuplot_draw(&gnuplot, FIGURE_NAME, writer, err);
	gnuplot_destroy(&gnuplot);
	return rc;
}

/* The data are kept also if they cannot be drawn. */
static int show(const struct figure_args *args, const struct ablation *ablation,
		struct writer *writer, struct sim_error *err)
{
	int rc = print_table(ablation, err);

	if (!rc)
		rc = write_csv(ablation, writer, err);
	if (!rc)
		rc = draw_pictures(args, ablation, writer, err);
	if (rc)
		return rc;
	printf("numbers     %s/" FIGURE_CSV "\n", writer->folder);
	return figure_print_pictures(FIGURE_NAME, writer, err);
}

/* Nothing is run before it is sure that the figure can be kept. */
static int draw(const struct figure_args *args, struct sim_error *err)
{
	struct ablation ablation;
	struct writer writer;
	int rc;

	ablation_init(&ablation, args);
	rc = read_published(&ablation, err);
	if (!rc)
		rc = writer_open(&writer, args->out, err);
	if (rc)
		return rc;
	rc = run_cache_get(ablation.runs, BARS, args->fresh, err);
	if (!rc) {
		find_ours(&ablation);
		rc = show(args, &ablation, &writer, err);
	}
	if (rc)
		writer_abort(&writer);
	run_cache_destroy(ablation.runs, BARS);
	return rc;
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
