// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmsim figure interference": what page faults of a process do to a neighbour that has none (GVM
 * paper, section 7.5). How long a 100 us kernel takes beside a process whose kernels miss more and
 * more, by system; and the same loop as on real hardware, beside what was measured there.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/figure.h"
#include "cli/gnuplot.h"
#include "cli/run_cache.h"
#include "terminal/table.h"
#include "engine/error.h"
#include "gvm/port.h"
#include "results/csv.h"
#include "results/writer.h"

#define FIGURE_NAME	  "interference"
#define FIGURE_SCENARIO	  "interference"
#define MEASURED_SCENARIO "neighbour-h100"
#define NEIGHBOUR	  "neighbour"
#define SYSTEMS		  3
#define POINTS		  5
#define SWEEP		  (SYSTEMS * POINTS)
#define CASES		  3
#define RUNS		  (SWEEP + CASES)

static const struct {
	const char *name;
	const char *set;
} systems[SYSTEMS] = {
	{ "stock", "system.name=stock" },
	{ "gvm", "system.name=gvm" },
	{ "ghost", "system.name=ghost" },
};

/* Blocks of 2 MB that a kernel of the other process misses. */
static const struct {
	const char *blocks;
	const char *set;
} points[POINTS] = {
	{ "4", "containers.faulter.app.kernel_blocks=4" },
	{ "16", "containers.faulter.app.kernel_blocks=16" },
	{ "64", "containers.faulter.app.kernel_blocks=64" },
	{ "256", "containers.faulter.app.kernel_blocks=256" },
	{ "1024", "containers.faulter.app.kernel_blocks=1024" },
};

/* What was measured, as uvm_detail.cu calls it. */
static const struct {
	const char *name;
	const char *label;
	const char *sets[RUN_CACHE_SETS_MAX];
} cases[CASES] = {
	{ "nothing", "beside nothing", { "containers.faulter.enabled=false" } },
	{ "compute",
	  "beside 5 ms kernels",
	  { "containers.faulter.app.kernel_blocks=0", "containers.faulter.app.kernel_time=5ms",
	    "containers.faulter.app.prefetch_back=false" } },
	{ "fault", "beside 512 MiB of faults", { NULL } },
};

#define KEYS 4

/* Statistics of the neighbour's kernel. */
static const struct {
	const char *key;
	enum summary_metric_id metric;
} keys[KEYS] = {
	{ "mean", SUMMARY_ROUND_MEAN },
	{ "p50", SUMMARY_ROUND_P50 },
	{ "p99", SUMMARY_ROUND_P99 },
	{ "max", SUMMARY_ROUND_MAX },
};

/* Everything that is drawn: runs of the sweep, system by system, then the cases. */
struct interference {
	struct cached_run runs[RUNS];
	struct figure_pair cells[RUNS][KEYS];
};

static double run_value(const struct cached_run *run, enum summary_metric_id metric)
{
	size_t index = folder_find_name(&run->folder, NEIGHBOUR);
	const struct summary_value *value;

	if (index == SIZE_MAX)
		return (double)NAN;
	value = &run->folder.summary.containers[index].values[metric];
	return value->known ? summary_number(value, metric) : (double)NAN;
}

static int read_runs(void *data, struct sim_error *err)
{
	struct interference *interference = data;

	(void)err;
	for (size_t run = 0; run < RUNS; run++)
		for (size_t key = 0; key < KEYS; key++)
			interference->cells[run][key].ours =
				run_value(&interference->runs[run], keys[key].metric);
	return 0;
}

enum reference_column { REFERENCE_CASE, REFERENCE_KEY, REFERENCE_VALUE, REFERENCE_COLUMNS };

static const char *const reference_columns[REFERENCE_COLUMNS] = { "case", "key", "value" };

static int read_row(void *data, const struct csv *csv, struct sim_error *err)
{
	struct interference *interference = data;
	size_t i = 0, key = 0;

	while (i < CASES && strcmp(cases[i].name, csv_text(csv, REFERENCE_CASE)) != 0)
		i++;
	while (key < KEYS && strcmp(keys[key].key, csv_text(csv, REFERENCE_KEY)) != 0)
		key++;
	if (i == CASES || key == KEYS)
		return sim_user_error(err, "%s:%zu: no such case or key in this figure",
				      csv->file, csv->line);
	return csv_real(csv, REFERENCE_VALUE, &interference->cells[SWEEP + i][key].published,
			err);
}

static void interference_init(struct interference *interference, const struct figure_args *args)
{
	for (size_t i = 0; i < RUNS; i++) {
		struct cached_run *run = &interference->runs[i];

		for (size_t key = 0; key < KEYS; key++)
			interference->cells[i][key].published = (double)NAN;
		if (i < SWEEP) {
			figure_run_init(run, args, systems[i / POINTS].name, FIGURE_SCENARIO);
			run->own_sets[0] = systems[i / POINTS].set;
			run->own_sets[1] = points[i % POINTS].set;
			continue;
		}
		figure_run_init(run, args, cases[i - SWEEP].name, MEASURED_SCENARIO);
		/* --scenario is about the sweep. */
		run->scenario = MEASURED_SCENARIO;
		memcpy(run->own_sets, cases[i - SWEEP].sets, sizeof(run->own_sets));
	}
}

static void print_sweep(const struct interference *interference)
{
	struct table table = { 0 };

	for (size_t key = 0; key < KEYS; key++) {
		if (key)
			table_add(&table);
		table_add(&table);
		table_set(&table, 0, "%s, by 2 MB blocks a kernel misses", keys[key].key);
		for (size_t point = 0; point < POINTS; point++)
			table_set(&table, point + 1, "%s", points[point].blocks);
		for (size_t system = 0; system < SYSTEMS; system++) {
			table_add(&table);
			table_set(&table, 0, "  %s", systems[system].name);
			for (size_t point = 0; point < POINTS; point++)
				figure_table_real(
					&table, point + 1,
					interference->cells[system * POINTS + point][key].ours,
					1, " ms");
		}
	}
	table_print(&table, stdout);
	putchar('\n');
}

static void print_cases(const struct interference *interference)
{
	struct table table = { 0 };

	for (size_t i = 0; i < CASES; i++) {
		if (i)
			table_add(&table);
		table_add(&table);
		table_set(&table, 0, "%s", cases[i].label);
		table_set(&table, 1, "ours, H100");
		table_set(&table, 2, "measured, H100");
		table_set(&table, 3, "ratio");
		for (size_t key = 0; key < KEYS; key++) {
			table_add(&table);
			table_set(&table, 0, "  %s", keys[key].key);
			figure_table_pair(&table, 1, &interference->cells[SWEEP + i][key], 2,
					  " ms");
		}
	}
	table_print(&table, stdout);
	putchar('\n');
}

static void print_tables(const void *data)
{
	print_sweep(data);
	print_cases(data);
}

static void write_rows(const void *data, struct writer *writer)
{
	const struct interference *interference = data;

	writer_printf(writer, "case,system,blocks,key,unit,ours,measured,ours_over_measured\n");
	for (size_t i = 0; i < RUNS; i++)
		for (size_t key = 0; key < KEYS; key++) {
			if (i < SWEEP)
				writer_printf(writer, "sweep,%s,%s", systems[i / POINTS].name,
					      points[i % POINTS].blocks);
			else
				writer_printf(writer, "%s,stock,", cases[i - SWEEP].name);
			writer_printf(writer, ",%s,ms", keys[key].key);
			figure_write_pair(writer, &interference->cells[i][key]);
			writer_printf(writer, "\n");
		}
}

/* The most of all values of a statistic, for its axis; 0: there is none. */
static void add_variables(const void *data, struct gnuplot *gnuplot)
{
	const struct interference *interference = data;
	double high = 0;

	for (size_t i = 0; i < RUNS; i++)
		for (size_t key = 0; key < KEYS; key++)
			high = fmax(high, fmax(interference->cells[i][key].ours,
					       interference->cells[i][key].published));
	gnuplot_add_real(gnuplot, "high", high);
}

static const struct figure_steps steps = {
	.name = FIGURE_NAME,
	.reference_columns = reference_columns,
	.reference_column_count = REFERENCE_COLUMNS,
	.read_row = read_row,
	.read_runs = read_runs,
	.print = print_tables,
	.write = write_rows,
	.add_variables = add_variables,
};

static int draw(const struct figure_args *args, struct sim_error *err)
{
	struct interference interference;

	interference_init(&interference, args);
	return figure_make(&steps, args, interference.runs, RUNS, &interference, err);
}

const struct figure figure_interference = {
	.name = FIGURE_NAME,
	.usage = "[--out DIR] [--scenario FILE] [--set PATH=VALUE]... [--fresh]",
	.summary = "what the page faults of one do to another (GVM section 7.5)",
	.help = "Simulates " FIGURE_SCENARIO
		" under stock, gvm and ghost: a neighbour launches\n"
		"100 us kernels and faults on nothing, beside a process whose kernels miss 4 "
		"to\n"
		"1024 blocks of 2 MB each. Draws how long the neighbour's kernel takes. Then\n"
		"simulates " MEASURED_SCENARIO
		", and draws it beside the same loop on an H100:\n"
		"plots/reference/hardware/uvm_detail.cu, neighbour. --scenario is about the\n"
		"first of them; it needs containers of the same names.\n",
	.example = "    gvmsim figure " FIGURE_NAME "\n",
	.runs = true,
	.draw = draw,
};
