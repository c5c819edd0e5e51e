// SPDX-License-Identifier: MIT OR GPL-2.0
/* Figures of bars, see figure_bars.h. */
#include "cli/figure_bars.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/gnuplot.h"
#include "terminal/table.h"
#include "engine/error.h"
#include "results/csv.h"
#include "results/writer.h"

/* Everything that is drawn. */
struct bars {
	const struct figure_bars *figure;
	size_t panel_count;
	struct cached_run runs[FIGURE_BARS_MAX];
	struct figure_pair cells[FIGURE_PANELS_MAX][FIGURE_BARS_MAX];
};

static double throughput(const struct cached_run *run, const struct cached_run *first)
{
	return figure_run_value(first, CFG_APP_DIFFUSION, SUMMARY_LATENCY_MEAN) /
	       figure_run_value(run, CFG_APP_DIFFUSION, SUMMARY_LATENCY_MEAN);
}

const struct figure_panel figure_ttft_p50 = {
	.key = "ttft_ms.p50",
	.label = "median TTFT",
	.title = "vLLM: median time to first token (ms)",
	.unit = "ms",
	.app = CFG_APP_LLM_SERVER,
	.metric = SUMMARY_TTFT_P50,
};

const struct figure_panel figure_ttft_p99 = {
	.key = "ttft_ms.p99",
	.label = "P99 TTFT",
	.title = "vLLM: P99 time to first token (ms)",
	.unit = "ms",
	.app = CFG_APP_LLM_SERVER,
	.metric = SUMMARY_TTFT_P99,
};

const struct figure_panel figure_itl_p50 = {
	.key = "itl_ms.p50",
	.label = "median ITL",
	.title = "vLLM: median inter-token latency (ms)",
	.unit = "ms",
	.app = CFG_APP_LLM_SERVER,
	.metric = SUMMARY_ITL_P50,
};

const struct figure_panel figure_itl_p99 = {
	.key = "itl_ms.p99",
	.label = "P99 ITL",
	.title = "vLLM: P99 inter-token latency (ms)",
	.unit = "ms",
	.app = CFG_APP_LLM_SERVER,
	.metric = SUMMARY_ITL_P99,
};

const struct figure_panel figure_throughput = {
	.key = "throughput",
	.label = "diffusion throughput",
	.title = "Diffusion: throughput, the first bar's is 1",
	.unit = "x",
	.value = throughput,
};

const struct figure_bar figure_systems[FIGURE_SYSTEMS] = {
	{ "exclusive", { "system.name=exclusive" } }, { "stock", { "system.name=stock" } },
	{ "gpreempt", { "system.name=gpreempt" } },   { "gvm", { "system.name=gvm" } },
	{ "ghost", { "system.name=ghost" } },
};

static size_t count_panels(const struct figure_bars *figure)
{
	size_t count = 0;

	while (count < FIGURE_PANELS_MAX && figure->panels[count])
		count++;
	return count;
}

static bool panel_is_ms(const struct figure_panel *panel)
{
	return !strcmp(panel->unit, "ms");
}

static int read_runs(void *data, struct sim_error *err)
{
	struct bars *bars = data;
	const struct figure_bars *figure = bars->figure;

	(void)err;
	for (size_t p = 0; p < bars->panel_count; p++) {
		const struct figure_panel *panel = figure->panels[p];

		for (size_t bar = 0; bar < figure->bar_count; bar++) {
			const struct cached_run *run = &bars->runs[bar];

			bars->cells[p][bar].ours =
				panel->value ? panel->value(run, &bars->runs[0]) :
					       figure_run_value(run, panel->app, panel->metric);
		}
	}
	return 0;
}

static size_t find_bar(const struct figure_bars *figure, const char *label)
{
	size_t bar = 0;

	while (bar < figure->bar_count && strcmp(figure->bars[bar].label, label) != 0)
		bar++;
	return bar;
}

static size_t find_panel(const struct bars *bars, const char *key)
{
	size_t panel = 0;

	while (panel < bars->panel_count && strcmp(bars->figure->panels[panel]->key, key) != 0)
		panel++;
	return panel;
}

enum reference_column { REFERENCE_BAR, REFERENCE_KEY, REFERENCE_VALUE, REFERENCE_COLUMNS };

static const char *const reference_columns[REFERENCE_COLUMNS] = { "bar", "key", "value" };

static int read_row(void *data, const struct csv *csv, struct sim_error *err)
{
	struct bars *bars = data;
	size_t bar = find_bar(bars->figure, csv_text(csv, REFERENCE_BAR));
	size_t panel = find_panel(bars, csv_text(csv, REFERENCE_KEY));

	if (bar == bars->figure->bar_count || panel == bars->panel_count)
		return sim_user_error(err, "%s:%zu: no such bar or key in this figure",
				      csv->file, csv->line);
	return csv_real(csv, REFERENCE_VALUE, &bars->cells[panel][bar].published, err);
}

/*
 * Containers of a run whose context died. Numbers of the others in that run are those of a
 * container that had the GPU to itself, and must not pass for results of sharing.
 */
static size_t count_failed(const struct bars *bars, size_t bar)
{
	const struct summary *summary = &bars->runs[bar].folder.summary;
	size_t count = 0;

	for (size_t i = 0; i < summary->container_count; i++)
		count += strchr(summary->containers[i].status, ':') != NULL;
	return count;
}

static void bars_init(struct bars *bars, const struct figure_bars *figure,
		      const struct figure_args *args)
{
	*bars = (struct bars){ .figure = figure, .panel_count = count_panels(figure) };
	for (size_t bar = 0; bar < figure->bar_count; bar++) {
		struct cached_run *run = &bars->runs[bar];

		figure_run_init(run, args, figure->bars[bar].label, figure->scenario);
		memcpy(run->own_sets, figure->bars[bar].sets, sizeof(run->own_sets));
		for (size_t panel = 0; panel < bars->panel_count; panel++)
			bars->cells[panel][bar].published = (double)NAN;
	}
}

static void print_panel(struct table *table, const struct bars *bars, size_t p)
{
	const struct figure_panel *panel = bars->figure->panels[p];
	bool is_ms = panel_is_ms(panel);

	if (p)
		table_add(table);
	figure_table_head(table, panel->label);
	for (size_t bar = 0; bar < bars->figure->bar_count; bar++) {
		table_add(table);
		table_set(table, 0, "  %s%s", bars->figure->bars[bar].label,
			  count_failed(bars, bar) ? " *" : "");
		figure_table_pair(table, 1, &bars->cells[p][bar], is_ms ? 1 : 3,
				  is_ms ? " ms" : "");
	}
}

static void print_table(const void *data)
{
	const struct bars *bars = data;
	struct table table = { 0 };
	char prefix[32];

	for (size_t panel = 0; panel < bars->panel_count; panel++)
		print_panel(&table, bars, panel);
	table_print(&table, stdout);
	putchar('\n');
	/* Why values are missing, and why others are no results of sharing. */
	for (size_t bar = 0; bar < bars->figure->bar_count; bar++) {
		snprintf(prefix, sizeof(prefix), "* %s, ", bars->figure->bars[bar].label);
		figure_print_failures(prefix, &bars->runs[bar].folder.summary);
	}
}

static void write_rows(const void *data, struct writer *writer)
{
	const struct bars *bars = data;

	writer_printf(writer, "panel,bar,unit,ours,published,ours_over_published,"
			      "failed_containers\n");
	for (size_t p = 0; p < bars->panel_count; p++) {
		const struct figure_panel *panel = bars->figure->panels[p];

		for (size_t bar = 0; bar < bars->figure->bar_count; bar++) {
			writer_printf(writer, "%s,%s,%s", panel->key,
				      bars->figure->bars[bar].label, panel->unit);
			figure_write_pair(writer, &bars->cells[p][bar]);
			writer_printf(writer, ",%zu\n", count_failed(bars, bar));
		}
	}
}

/* Set a variable of panel or bar @index, from 0: "high_1" for the first. */
static void add_real(struct gnuplot *gnuplot, const char *name, size_t index, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%s_%zu", name, index + 1);
	gnuplot_add_real(gnuplot, text, value);
}

static void add_string(struct gnuplot *gnuplot, const char *name, size_t index,
		       const char *value)
{
	char text[32];

	snprintf(text, sizeof(text), "%s_%zu", name, index + 1);
	gnuplot_add_string(gnuplot, text, value);
}

/* A panel, and what its axis has to show. */
static void add_panel(struct gnuplot *gnuplot, const struct bars *bars, size_t p)
{
	const struct figure_panel *panel = bars->figure->panels[p];
	struct figure_range range = { 0 };

	for (size_t bar = 0; bar < bars->figure->bar_count; bar++) {
		figure_range_take(&range, bars->cells[p][bar].ours);
		figure_range_take(&range, bars->cells[p][bar].published);
	}
	add_string(gnuplot, "panel", p, panel->key);
	add_string(gnuplot, "title", p, panel->title);
	add_real(gnuplot, "is_ms", p, panel_is_ms(panel));
	figure_range_add(&range, p + 1, gnuplot);
}

static void add_variables(const void *data, struct gnuplot *gnuplot)
{
	const struct bars *bars = data;
	const struct figure_bars *figure = bars->figure;

	gnuplot_add_string(gnuplot, "headline", figure->headline);
	gnuplot_add_string(gnuplot, "source", figure->source);
	gnuplot_add_string(gnuplot, "notes", figure->notes);
	gnuplot_add_count(gnuplot, "panels", bars->panel_count);
	gnuplot_add_count(gnuplot, "bars", figure->bar_count);
	for (size_t panel = 0; panel < bars->panel_count; panel++)
		add_panel(gnuplot, bars, panel);
	for (size_t bar = 0; bar < figure->bar_count; bar++) {
		add_string(gnuplot, "bar", bar, figure->bars[bar].label);
		add_real(gnuplot, "failed", bar, (double)count_failed(bars, bar));
	}
}

int figure_bars_make(const struct figure_bars *figure, const struct figure_args *args,
		     struct sim_error *err)
{
	const struct figure_steps steps = {
		.name = figure->name,
		.script = "bars",
		.reference_columns = reference_columns,
		.reference_column_count = REFERENCE_COLUMNS,
		.read_row = read_row,
		.read_runs = read_runs,
		.print = print_table,
		.write = write_rows,
		.add_variables = add_variables,
	};
	struct bars bars;

	bars_init(&bars, figure, args);
	return figure_make(&steps, args, bars.runs, figure->bar_count, &bars, err);
}
