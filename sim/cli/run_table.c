// SPDX-License-Identifier: MIT OR GPL-2.0
/* See run_table.h. */
#include "cli/run_table.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "config/load.h"
#include "gvm/port.h"
#include "results/results.h"
#include "results/summary_text.h"
#include "terminal/command.h"
#include "terminal/table.h"

#define TABLE_GROUP 7 /* containers side by side */

#define LARGE_BYTES (32 << 20) /* of a file of results that the table tells of */

/* The categories of "where the time went". */
static const enum summary_metric_id time_metrics[] = {
	SUMMARY_GPU_SECONDS,	   SUMMARY_SLOW_SECONDS,      SUMMARY_STALL_CPU_SECONDS,
	SUMMARY_STALL_D2H_SECONDS, SUMMARY_STALL_H2D_SECONDS, SUMMARY_BLOCKED_SECONDS,
	SUMMARY_SWITCHING_SECONDS, SUMMARY_WAITED_SECONDS,    SUMMARY_IDLE_SECONDS,
};

/* Does "where the time went" tell the metric, as a sum or a share? */
static bool is_of_time(const struct metric *metric)
{
	for (size_t i = 0; i < ARRAY_SIZE(time_metrics); i++)
		if (metric == &summary_metrics[time_metrics[i]])
			return true;
	return metric == &summary_metrics[SUMMARY_STALL_SECONDS] ||
	       metric == &summary_metrics[SUMMARY_GPU_SHARE];
}

/* Does any of the containers use a GPU? */
static bool use_gpu(const struct summary_container *containers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!containers[i].report || !containers[i].report->no_gpu)
			return true;
	return false;
}

/* Seconds, and their share of the run. */
static void print_times(struct table *table, const struct summary *summary,
			const struct summary_container *containers, size_t count)
{
	table_add(table);
	table_set(table, 0, "where the time went");
	for (size_t m = 0; m < ARRAY_SIZE(time_metrics); m++) {
		table_add(table);
		table_set(table, 0, "  %s", summary_metrics[time_metrics[m]].label);
		for (size_t i = 0; i < count; i++) {
			double seconds = containers[i].values[time_metrics[m]].real;
			double run = summary->sim_seconds;

			if (!use_gpu(&containers[i], 1))
				continue;
			table_set(table, i + 1, "%.3f s %6.2f %%", seconds,
				  run > 0 ? 100 * seconds / run : 0.0);
		}
	}
}

/* A row of the table: a metric of all containers that have it. */
static void print_metric(struct table *table, const struct metric *metric,
			 const struct summary_container *containers, size_t count)
{
	const struct summary_value *value;
	char text[TABLE_CELL_MAX];

	table_add(table);
	table_set(table, 0, "%s", metric->label);
	for (size_t i = 0; i < count; i++) {
		if (summary_find_metric(&containers[i], metric->key, &value) != metric ||
		    !summary_is_told(&containers[i], metric))
			continue;
		summary_format(value, metric, text, sizeof(text));
		table_set(table, i + 1, "%s", text);
	}
}

/*
 * Has any of the containers anything to tell about a metric? A promise that was not made has
 * not, nor a cache that is not there, and neither has a reason for which nothing failed.
 */
static bool is_told(const struct metric *metric, const struct summary_container *containers,
		    size_t count)
{
	const struct summary_value *value;

	bool any = false;

	for (size_t i = 0; i < count; i++)
		any = any || summary_is_told(&containers[i], metric);
	if (metric->detail || !any)
		return false;
	if (!metric_is_of_promise(metric) && !metric_is_optional(metric) &&
	    metric->source != METRIC_FAILURES)
		return true;
	for (size_t i = 0; i < count; i++)
		if (summary_find_metric(&containers[i], metric->key, &value) == metric &&
		    value->known && (value->count || metric->source != METRIC_FAILURES))
			return true;
	return false;
}

/* Metrics of the containers' applications, in the order of reports, each report once. */
static void print_app_metrics(struct table *table, const struct summary_container *containers,
			      size_t count)
{
	const struct app_report *report;

	for (size_t r = 0; (report = app_report_at(r)); r++) {
		bool any = false;

		for (size_t i = 0; i < count; i++)
			any = any || containers[i].report == report;
		for (size_t i = 0; any && i < report->metric_count; i++)
			if (is_told(&report->metrics[i], containers, count))
				print_metric(table, &report->metrics[i], containers, count);
	}
}

static void print_containers(const struct summary *summary,
			     const struct summary_container *containers, size_t count)
{
	struct table table = { 0 };

	table_add(&table);
	for (size_t i = 0; i < count; i++)
		table_set(&table, i + 1, "%s", containers[i].name);
	table_add(&table);
	table_set(&table, 0, "application");
	for (size_t i = 0; i < count; i++)
		table_set(&table, i + 1, "%s", summary_type_name(&containers[i]));
	table_add(&table);
	table_set(&table, 0, "status");
	for (size_t i = 0; i < count; i++)
		/* "context died at 57.100 s: why" fits no column; stderr has it. */
		table_set(&table, i + 1, "%s",
			  summary_has_failed(&containers[i]) ? "FAILED" : containers[i].status);
	print_app_metrics(&table, containers, count);
	for (size_t i = 0; i < SUMMARY_METRICS; i++)
		if (!is_of_time(&summary_metrics[i]) &&
		    is_told(&summary_metrics[i], containers, count))
			print_metric(&table, &summary_metrics[i], containers, count);
	if (use_gpu(containers, count))
		print_times(&table, summary, containers, count);
	table_print(&table, stdout);
	putchar('\n');
}

/* What became of the time of each GPU: "gpu0: busy 63.10 %, switching 2.20 %, ...". */
static void print_gpu_times(const struct summary *summary)
{
	char text[TABLE_CELL_MAX];

	for (size_t i = 0; i < summary->time_count; i++) {
		printf("%s:", summary->times[i].name);
		for (int k = 0; k < SUMMARY_GPU_METRICS; k++) {
			summary_format(&summary->times[i].values[k], &summary_gpu_metrics[k],
				       text, sizeof(text));
			printf("%s %s %s", k ? "," : "", summary_gpu_metrics[k].label, text);
		}
		putchar('\n');
	}
}

static void print_ignored(const struct summary *summary)
{
	if (!summary->ignored_count)
		return;
	printf("note: %s cannot honour and ignores:", summary->system);
	for (size_t i = 0; i < summary->ignored_count; i++)
		printf("%s %s", i ? "," : "", summary->ignored_keys[i]);
	putchar('\n');
}

static const char *gpu_words(const struct cfg_gpu *gpu)
{
	return *gpu->profile ? gpu->profile : "a GPU of its own description";
}

/*
 * The profile's gpu.memory leaves out the driver's own memory. A scenario may leave out more.
 */
static void print_memory(const char *name, const struct cfg_gpu *gpu)
{
	char all[TABLE_CELL_MAX], usable[TABLE_CELL_MAX];

	summary_format_bytes(gpu->memory_total, all, sizeof(all));
	summary_format_bytes(gpu->memory, usable, sizeof(usable));
	printf("%s: containers can use %s of %s\n", name, usable, all);
}

/* Requests of all traces that arrived, and how many of them a second of wall time simulates. */
static void print_speed(const struct summary *summary)
{
	char length[TABLE_CELL_MAX];

	summary_format_run(summary->sim_seconds, length, sizeof(length));
	printf("%s simulated in %.2f s of wall time", length, summary->wall_seconds);
	if (summary->speedup.known)
		printf(summary->speedup.real < 1 ? ", %.2g times real time" :
						   ", %.0f times real time",
		       summary->speedup.real);
	if (summary->requests_per_wall_second.known)
		printf("; %llu requests of the trace, %.0f a second", summary->requests,
		       summary->requests_per_wall_second.real);
	putchar('\n');
}

/*
 * The CSV files of @folder above LARGE_BYTES, with the key that makes them small. They stay
 * whole: statistics over a sample would not be those of summary.json.
 */
static void print_large_files(const char *folder)
{
	for (const struct results_file *file = results_files; file->name; file++) {
		char path[PATH_MAX], size[32];
		struct stat info;

		if (snprintf(path, sizeof(path), "%s/%s", folder, file->name) >= PATH_MAX ||
		    stat(path, &info) || info.st_size < LARGE_BYTES)
			continue;
		summary_format_bytes((u64)info.st_size, size, sizeof(size));
		printf("note: %s has %s; output.compress=zstd writes it compressed\n",
		       file->name, size);
	}
}

int run_table_print(const struct summary *summary, const struct config *config,
		    const struct cfg_override *overrides, size_t override_count,
		    const char *folder, struct sim_error *err)
{
	static const char system[] = "system.name=";
	bool gpus = use_gpu(summary->containers, summary->container_count);
	size_t count;

	printf("%s on %s", summary->name, gpu_words(&config->gpu));
	for (size_t i = 0; i < config->gpu_count; i++)
		printf(" and %s", gpu_words(&config->gpus[i]));
	printf(", system %s%s\n", summary->system, summary->complete ? "" : " (INCOMPLETE)");
	for (size_t i = 0; i < override_count; i++)
		if (!overrides[i].key &&
		    strncmp(overrides[i].path_and_value, system, strlen(system)) != 0)
			printf("  with %s\n", overrides[i].path_and_value);
	putchar('\n');
	for (size_t i = 0; i < summary->container_count; i += count) {
		count = min(summary->container_count - i, (size_t)TABLE_GROUP);
		print_containers(summary, &summary->containers[i], count);
	}
	if (gpus)
		print_gpu_times(summary);
	print_ignored(summary);
	for (size_t i = 0; gpus && i < summary->gpu_count; i++)
		print_memory(config->gpu_count ? summary->gpus[i].name : "each GPU",
			     i ? &config->gpus[i - 1] : &config->gpu);
	print_speed(summary);
	printf("results in %s\n", folder);
	print_large_files(folder);
	return command_flush(err);
}
