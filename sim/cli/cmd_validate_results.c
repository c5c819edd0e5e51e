// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmsim validate results": for every statistic that two results folders both know of a
 * container of the same name and application, and that is 0 in neither: measured, predicted,
 * and the error max(p/m, m/p) - 1, by which too high and too low count the same. The last line
 * has the median and the worst of them.
 *
 * Memory is compared by its mean and peak. The mean is over the samples in which the container
 * had any, since one side may have been watched before it began. Throughput is completed work
 * over the time from its first arrival to its last end.
 */
#include "cli/cmd_validate_results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "gvm/port.h"
#include "results/folder.h"
#include "terminal/table.h"

#define GIB	     1073741824.0
#define NS_PER_S     1e9
#define COLUMNS	     4
#define ROW_NAME_MAX (CFG_NAME_MAX + 32)

static int run(int argc, char **argv, struct sim_error *err);

const struct command command_validate_results = {
	.name = "gvmsim validate results",
	.operands = "MEASURED PREDICTED",
	.summary = "a simulation beside the collected results of a real host",
	.about = "Puts a results folder that gvmcollect wrote on real hardware beside a "
		 "simulated one.\n"
		 "For every statistic that both know of a container of the same name (times to "
		 "first\n"
		 "token and between tokens, image latency, throughput, memory): measured, "
		 "predicted,\n"
		 "and the error max(p/m, m/p) - 1. The last line has the median and the "
		 "worst.\n",
	.examples = "    gvmsim run vllm-diffusion-80g --system stock --out results/simulated\n"
		    "    gvmsim validate results results/hardware results/simulated\n",
	.run = run,
};

/* The statistics that are compared. */
enum value_id {
	VALUE_TTFT_MEAN,
	VALUE_TTFT_P50,
	VALUE_TTFT_P90,
	VALUE_TTFT_P99,
	VALUE_ITL_MEAN,
	VALUE_ITL_P50,
	VALUE_ITL_P90,
	VALUE_ITL_P99,
	VALUE_SLO,
	VALUE_LATENCY_MEAN,
	VALUE_LATENCY_P50,
	VALUE_LATENCY_P99,
	VALUE_THROUGHPUT,
	VALUE_MEMORY_MEAN,
	VALUE_MEMORY_PEAK,
	VALUES,
};

/* One statistic. */
struct value {
	const char *name;
	const char *unit;
	int digits;	    /* behind the point */
	const char *metric; /* its key in summary.json; NULL: computed here */
};

static const struct value values[VALUES] = {
	[VALUE_TTFT_MEAN] = { "TTFT mean", "ms", 1, "ttft_ms.mean" },
	[VALUE_TTFT_P50] = { "TTFT p50", "ms", 1, "ttft_ms.p50" },
	[VALUE_TTFT_P90] = { "TTFT p90", "ms", 1, "ttft_ms.p90" },
	[VALUE_TTFT_P99] = { "TTFT p99", "ms", 1, "ttft_ms.p99" },
	[VALUE_ITL_MEAN] = { "ITL mean", "ms", 1, "itl_ms.mean" },
	[VALUE_ITL_P50] = { "ITL p50", "ms", 1, "itl_ms.p50" },
	[VALUE_ITL_P90] = { "ITL p90", "ms", 1, "itl_ms.p90" },
	[VALUE_ITL_P99] = { "ITL p99", "ms", 1, "itl_ms.p99" },
	[VALUE_SLO] = { "SLO attainment", "", 4, "slo_attainment" },
	[VALUE_LATENCY_MEAN] = { "image latency mean", "s", 3, "latency_s.mean" },
	[VALUE_LATENCY_P50] = { "image latency p50", "s", 3, "latency_s.p50" },
	[VALUE_LATENCY_P99] = { "image latency p99", "s", 3, "latency_s.p99" },
	[VALUE_THROUGHPUT] = { "throughput", "1/s", 4, NULL },
	[VALUE_MEMORY_MEAN] = { "GPU memory mean", "GiB", 2, NULL },
	[VALUE_MEMORY_PEAK] = { "GPU memory peak", "GiB", 2, "gmem.peak" },
};

/* The two runs, in arrays by this index. */
enum side { SIDE_MEASURED, SIDE_PREDICTED, SIDES };

/* One comparison. */
struct row {
	char name[ROW_NAME_MAX]; /* "vllm TTFT p99" */
	enum value_id value;
	double numbers[SIDES];
	double error;
};

struct validation {
	struct folder folders[SIDES];
	struct row *rows;
	size_t count;
};

/* Mean bytes over the samples in which the container had any; NAN: not known. */
static double memory_mean(const struct folder *folder, size_t container)
{
	double sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < folder->sample_count; i++) {
		const struct folder_sample *sample = &folder->samples[i];

		if (sample->container != container || !sample->resident_known ||
		    !sample->resident_bytes)
			continue;
		sum += (double)sample->resident_bytes;
		count++;
	}
	return count ? sum / (double)count : NAN;
}

/* Completed requests or images a second. */
static double throughput(const struct folder *folder, size_t container)
{
	u64 first_ns = U64_MAX, last_ns = 0;
	size_t count = 0;

	for (size_t i = 0; i < folder->record_count; i++) {
		const struct app_record *record = &folder->records[i].record;

		if (folder->records[i].container != container ||
		    record->outcome != APP_COMPLETED)
			continue;
		first_ns = min(first_ns, (u64)record->arrival_ns);
		last_ns = max(last_ns, (u64)record->finish_ns);
		count++;
	}
	return last_ns > first_ns ? (double)count * NS_PER_S / (double)(last_ns - first_ns) :
				    NAN;
}

/* The value of statistic @id in its unit; NAN: the folder does not know it. */
static double value_of(const struct folder *folder, size_t container, enum value_id id)
{
	const struct summary_container *summary = &folder->summary.containers[container];
	const struct summary_value *value;
	const struct metric *metric;
	double number;

	if (id == VALUE_THROUGHPUT)
		return throughput(folder, container);
	if (id == VALUE_MEMORY_MEAN)
		return memory_mean(folder, container) / GIB;
	metric = summary_find_metric(summary, values[id].metric, &value);
	if (!metric || !value->known)
		return NAN;
	number = summary_number(value, metric);
	return metric->unit == METRIC_BYTES ? number / GIB : number;
}

/* Add a row if both sides know the value and it is above 0. */
static void add_row(struct validation *validation, const size_t containers[SIDES],
		    enum value_id id)
{
	struct row *row = &validation->rows[validation->count];
	const struct folder *measured = &validation->folders[SIDE_MEASURED];

	*row = (struct row){ .value = id };
	for (int side = 0; side < SIDES; side++) {
		row->numbers[side] = value_of(&validation->folders[side], containers[side], id);
		if (!(row->numbers[side] > 0))
			return;
	}
	snprintf(row->name, sizeof(row->name), "%s %s",
		 measured->summary.containers[containers[SIDE_MEASURED]].name, values[id].name);
	row->error = row->numbers[SIDE_PREDICTED] / row->numbers[SIDE_MEASURED];
	row->error = fmax(row->error, 1 / row->error) - 1;
	validation->count++;
}

/* Compare two containers of one name: of the same application, or of an unknown one. */
static void compare_container(struct validation *validation, size_t measured)
{
	const struct folder *folders = validation->folders;
	const struct summary_container *container =
		&folders[SIDE_MEASURED].summary.containers[measured];
	size_t predicted = folder_find_name(&folders[SIDE_PREDICTED], container->name);
	const size_t both[SIDES] = { measured, predicted };
	const struct app_report *other;

	if (predicted == SIZE_MAX)
		return;
	other = folders[SIDE_PREDICTED].summary.containers[predicted].report;
	if (container->report && other && container->report != other)
		return;
	for (int i = 0; i < VALUES; i++)
		add_row(validation, both, (enum value_id)i);
}

static int by_error(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	return (left->error > right->error) - (left->error < right->error);
}

static void print_head(const struct validation *validation)
{
	static const char *const words[SIDES] = { "measured", "predicted" };

	for (int side = 0; side < SIDES; side++) {
		const struct folder *folder = &validation->folders[side];

		printf("%-9s  %s on %s, system %s, %.1f s%s\n", words[side],
		       folder->summary.name,
		       *folder->gpu ? folder->gpu : "a GPU of its own description",
		       folder->summary.system, folder->summary.sim_seconds,
		       folder->summary.complete ? "" : " (INCOMPLETE: interrupted)");
	}
	putchar('\n');
}

static void print_rows(const struct validation *validation)
{
	static const char *const head[COLUMNS] = { "", "measured", "predicted", "error" };
	struct table table = { 0 };

	table_add(&table);
	for (size_t i = 0; i < COLUMNS; i++)
		table_set(&table, i, "%s", head[i]);
	for (size_t i = 0; i < validation->count; i++) {
		const struct row *row = &validation->rows[i];

		table_add(&table);
		table_set(&table, 0, "%s", row->name);
		for (size_t side = 0; side < SIDES; side++)
			table_set(&table, side + 1, "%.*f %s", values[row->value].digits,
				  row->numbers[side], values[row->value].unit);
		table_set(&table, COLUMNS - 1, "%.1f %%", 100 * row->error);
	}
	table_print(&table, stdout);
}

/* Sorts the rows, so it comes last. */
static void print_errors(struct validation *validation)
{
	size_t count = validation->count;
	const struct row *rows = validation->rows;
	double median;

	qsort(validation->rows, count, sizeof(*rows), by_error);
	median = (rows[(count - 1) / 2].error + rows[count / 2].error) / 2;
	printf("\n%zu compared: median error %.1f %%, worst %.1f %% (%s)\n", count,
	       100 * median, 100 * rows[count - 1].error, rows[count - 1].name);
}

static int compare(struct validation *validation, const char *measured, const char *predicted,
		   struct sim_error *err)
{
	size_t count = validation->folders[SIDE_MEASURED].summary.container_count;

	validation->rows = calloc(count * VALUES + 1, sizeof(*validation->rows));
	if (!validation->rows)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i < count; i++)
		compare_container(validation, i);
	if (!validation->count)
		return sim_user_error(
			err,
			"%s and %s have nothing in common, allowed: folders with a "
			"container of the same name and application",
			measured, predicted);
	print_head(validation);
	print_rows(validation);
	print_errors(validation);
	return command_flush(err);
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct validation validation = { 0 };
	struct command_line line;
	int status =
		command_parse(&command_validate_results, argc, argv, NULL, NULL, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_validate_results, err);
	if (line.operand_count != SIDES)
		return command_mistake(&command_validate_results, err, "%d folders, expected 2",
				       line.operand_count);
	for (int side = 0; !status && side < SIDES; side++)
		status = folder_load(&validation.folders[side], line.operands[side], err);
	if (!status)
		status = compare(&validation, line.operands[SIDE_MEASURED],
				 line.operands[SIDE_PREDICTED], err);
	free(validation.rows);
	for (int side = 0; side < SIDES; side++)
		folder_destroy(&validation.folders[side]);
	return status;
}
