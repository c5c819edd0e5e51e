// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmsim compare", see cmd_compare.h. The picture is a figure that is made for these folders.
 */
#include "cli/cmd_compare.h"
#include "cli/compare_together.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/message.h"
#include "engine/error.h"
#include "engine/whole_file.h"
#include "figures/figure_read.h"
#include "figures/make.h"
#include "gvm/port.h"
#include "results/folder.h"
#include "results/summary_text.h"
#include "results/writer.h"
#include "terminal/signals.h"
#include "terminal/table.h"

#define NAME	      "compare"
#define METRICS_NAME  "compare-metrics.csv"
#define RUNS_MAX      ((size_t)TABLE_COLUMNS_MAX - 1)
#define PANELS_BESIDE 4	 /* of a container in the picture */
#define DRAWN_MAX     12 /* containers in the picture */
#define NAMED_MAX     4	 /* with more runs, bars have numbers in place of names */

static const struct command_option options[] = {
	{ "out", "DIR", false, "where files go, by default results/compare" },
	{ "alone", "DIR", false,
	  "one of the folders, in which each container has a GPU to itself:\n"
	  "slowdowns of the others, and what follows from them" },
	{ NULL, NULL, false, NULL },
};

static int run(int argc, char **argv, struct sim_error *err);

/* clang-format off */
const struct command command_compare = {
	.name = "gvmsim compare",
	.operands = "DIR...",
	.summary = "any number of results folders side by side",
	.about =
"Prints all statistics of the containers of several results folders side by side,\n"
"writes them as a CSV file, and draws a picture: bars for each run in a row of panels\n"
"for each container. Containers are matched by name. The table is split where it is\n"
"wider than the terminal. The last line printed is the picture's path.\n",
	.options = options,
	.more =
"Runs are named by the last part of their folder's path. compare-metrics.csv has a row\n"
"for each container and metric, and a column for each run: a number, \">\" and a number\n"
"where the run only gives a bound, or nothing. compare.csv has the picture's numbers.\n"
"With --alone a second table, and compare-together.csv, have the slowdown of each\n"
"container (its median time over that alone), their mean (ANTT), the worst, the weighted\n"
"speed-up (STP: as many as there are containers, if none is slower) and Jain's fairness.\n",
	.examples =
"  A server and a diffusion pipeline under every driver:\n"
"    for s in exclusive stock gvm ghost; do gvmsim run vllm-diffusion-40g --system $s \\\n"
"        --out results/$s; done\n"
"    gvmsim compare results/exclusive results/stock results/gvm results/ghost\n"
"  What sharing costs both together:\n"
"    gvmsim compare results/exclusive results/stock results/ghost --alone results/exclusive\n",
	.run = run,
};
/* clang-format on */

/* The runs that are compared. Paths and names are borrowed from the command line. */
struct comparison {
	struct folder *folders;
	const char *const *paths;
	const char **names;
	size_t count;
	const char *out;
	const char *alone; /* NULL: no slowdowns */
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct comparison *comparison = data;

	if (!strcmp(option, "alone"))
		comparison->alone = value;
	else
		comparison->out = value;
	return *value ? 0 :
			command_bad_value(&command_compare, option, err,
					  "is empty, allowed: the name of a folder");
}

/*
 * The containers of all runs, each name once: call @use with its first appearance and the run
 * that has it. Stops at the first failure.
 */
static int each_container(const struct comparison *comparison,
			  int (*use)(const struct comparison *comparison,
				     const struct summary_container *container, void *data),
			  void *data)
{
	int status = 0;

	for (size_t run = 0; run < comparison->count; run++) {
		const struct summary *summary = &comparison->folders[run].summary;

		for (size_t i = 0; !status && i < summary->container_count; i++) {
			bool seen = false;

			for (size_t k = 0; k < run; k++)
				seen = seen || summary_find(&comparison->folders[k].summary,
							    summary->containers[i].name);
			if (!seen)
				status = use(comparison, &summary->containers[i], data);
		}
	}
	return status;
}

/* A metric of the container of this name in one run; unknown if it has none. */
static struct summary_value value_in(const struct comparison *comparison, size_t run,
				     const char *name, const struct metric *metric)
{
	const struct summary_container *container =
		summary_find(&comparison->folders[run].summary, name);
	const struct summary_value *value;

	if (!container || summary_find_metric(container, metric->key, &value) != metric)
		return (struct summary_value){ 0 };
	return *value;
}

/* Does any run know the metric? */
static bool is_known(const struct comparison *comparison, const char *name,
		     const struct metric *metric)
{
	for (size_t run = 0; run < comparison->count; run++)
		if (value_in(comparison, run, name, metric).known)
			return true;
	return false;
}

static int print_container(const struct comparison *comparison,
			   const struct summary_container *container, void *data)
{
	const struct summary_value *value;
	const struct metric *metric;
	struct table table = { 0 };
	char text[TABLE_CELL_MAX];

	(void)data;
	table_add(&table);
	table_set(&table, 0, "%s (%s)", container->name, summary_type_name(container));
	for (size_t run = 0; run < comparison->count; run++)
		table_set(&table, run + 1, "%s", comparison->names[run]);
	for (size_t i = 0; (metric = summary_metric(container, i, &value)); i++) {
		if (!metric->compared || !summary_is_told(container, metric) ||
		    !is_known(comparison, container->name, metric))
			continue;
		table_add(&table);
		table_set(&table, 0, "  %s", metric->label);
		for (size_t run = 0; run < comparison->count; run++) {
			struct summary_value own =
				value_in(comparison, run, container->name, metric);

			summary_format(&own, metric, text, sizeof(text));
			table_set(&table, run + 1, "%s", text);
		}
	}
	table_print(&table, stdout);
	putchar('\n');
	return 0;
}

static void print_heads(const struct comparison *comparison)
{
	for (size_t run = 0; run < comparison->count; run++) {
		const struct folder *folder = &comparison->folders[run];
		char length[TABLE_CELL_MAX];

		summary_format_run(folder->summary.sim_seconds, length, sizeof(length));
		printf("%s: %s on %s, system %s, %s%s\n", comparison->names[run],
		       folder->summary.name, *folder->gpu ? folder->gpu : "a GPU of its own",
		       folder->summary.system, length,
		       folder->summary.complete ? "" : " (INCOMPLETE: interrupted)");
		for (size_t i = 0; i < folder->summary.container_count; i++)
			if (strcmp(folder->summary.containers[i].status, SUMMARY_OK) != 0)
				printf("  %s: %s\n", folder->summary.containers[i].name,
				       folder->summary.containers[i].status);
	}
	putchar('\n');
}

static int write_container(const struct comparison *comparison,
			   const struct summary_container *container, void *data)
{
	const struct summary_value *value;
	const struct metric *metric;
	struct writer *writer = data;

	for (size_t i = 0; (metric = summary_metric(container, i, &value)); i++) {
		if (!metric->compared || !is_known(comparison, container->name, metric))
			continue;
		writer_printf(writer, "%s,%s", container->name, metric->key);
		for (size_t run = 0; run < comparison->count; run++) {
			struct summary_value own =
				value_in(comparison, run, container->name, metric);

			if (own.known)
				writer_printf(writer, ",%s%.12g", own.bound ? ">" : "",
					      summary_number(&own, metric));
			else
				writer_printf(writer, ",");
		}
		writer_printf(writer, "\n");
	}
	return 0;
}

static int write_metrics(const struct comparison *comparison, struct sim_error *err)
{
	struct writer writer;
	int status = writer_open(&writer, comparison->out, err);

	if (status)
		return status;
	status = writer_begin(&writer, METRICS_NAME, err);
	if (!status) {
		writer_printf(&writer, "container,metric");
		for (size_t run = 0; run < comparison->count; run++)
			writer_printf(&writer, ",%s", comparison->names[run]);
		writer_printf(&writer, "\n");
		each_container(comparison, write_container, &writer);
		status = writer_end(&writer, err);
	}
	if (!status)
		status = writer_commit(&writer, err);
	else
		writer_abort(&writer);
	return status;
}

/* Metrics that a picture shows, by priority; each container has PANELS_BESIDE of them. */
static const struct {
	const char *key, *title, *unit;
	double scale;
} shown[] = {
	{ "ttft_ms.p50", "median TTFT (ms)", "ms", 1 },
	{ "ttft_ms.p99", "P99 TTFT (ms)", "ms", 1 },
	{ "itl_ms.p50", "median ITL (ms)", "ms", 1 },
	{ "tokens_per_s", "tokens a second", "1/s", 1 },
	{ "latency_s.p50", "median latency (s)", "s", 1 },
	{ "latency_s.p99", "P99 latency (s)", "s", 1 },
	{ "gpu_share", "share of the GPU (%)", "%", 100 },
	{ "gmem.peak", "GPU memory, peak (GB)", "GB", 1e-9 },
	{ "evictions", "evictions", "", 1 },
	{ "faults", "page faults", "", 1 },
};

/* A picture while its panels are added. */
struct picture {
	json_t *panels;
	size_t containers, left_out;
};

static int add_panels(const struct comparison *comparison,
		      const struct summary_container *container, void *data)
{
	struct picture *picture = data;
	size_t added = 0;

	(void)comparison;
	if (picture->containers == DRAWN_MAX) {
		picture->left_out++;
		return 0;
	}
	picture->containers++;
	for (size_t i = 0; added < PANELS_BESIDE && i < ARRAY_SIZE(shown); i++) {
		const struct summary_value *value;
		const struct metric *metric =
			summary_find_metric(container, shown[i].key, &value);
		char key[WRITER_NAME_MAX + CFG_NAME_MAX], title[CFG_NAME_MAX + 32];
		char path[CFG_NAME_MAX + 48];
		json_t *panel;

		if (!metric)
			continue;
		added++;
		snprintf(key, sizeof(key), "%s.%s", container->name, shown[i].key);
		snprintf(title, sizeof(title), "%s: %s", container->name, shown[i].title);
		snprintf(path, sizeof(path), "%s.%s", container->name, shown[i].key);
		panel = json_pack("{s:s, s:s, s:s, s:b, s:{s:[s, f]}}", "key", key, "label",
				  title, "title", title, "colour_by_run", true, "value",
				  "multiply", path, shown[i].scale);
		if (*shown[i].unit) /* a count has none */
			json_object_set_new(panel, "unit", json_string(shown[i].unit));
		json_array_append_new(picture->panels, panel);
	}
	return 0;
}

/*
 * The length of what all names begin with, up to a dash: "vllm-40g-" of vllm-40g-gvm and
 * vllm-40g-ghost. Below the bars only the rest stands.
 */
static size_t common_beginning(const struct comparison *comparison)
{
	const char *first = comparison->names[0];
	size_t length = 0;

	for (size_t at = 0; comparison->count > 1 && first[at]; at++) {
		for (size_t run = 1; run < comparison->count; run++)
			if (comparison->names[run][at] != first[at])
				return length;
		if (first[at] == '-' || first[at] == '_')
			length = at + 1;
	}
	return length;
}

/* What the file of a figure of these runs would hold. NULL: no memory. */
static json_t *make_figure(const struct comparison *comparison)
{
	struct picture picture = { .panels = json_array() };
	json_t *runs = json_array(), *figure;
	size_t common = common_beginning(comparison);
	char notes[1024] = "", title[64];
	size_t rows;

	for (size_t run = 0; run < comparison->count; run++) {
		char number[24], folder[24];

		snprintf(number, sizeof(number), "%zu", run + 1);
		snprintf(folder, sizeof(folder), "DIR%zu", run + 1);
		json_array_append_new(runs, json_pack("{s:s, s:s, s:s}", "label",
						      comparison->names[run], "tick",
						      comparison->count > NAMED_MAX ?
							      number :
							      comparison->names[run] + common,
						      "folder", folder));
		if (comparison->count > NAMED_MAX)
			cfg_append(notes, sizeof(notes), "%s%s %s", run ? ",  " : "", number,
				   comparison->names[run]);
	}
	each_container(comparison, add_panels, &picture);
	if (picture.left_out)
		cfg_append(notes, sizeof(notes), "%s%zu containers more are in the table alone",
			   *notes ? "; " : "", picture.left_out);
	rows = max(picture.containers, (size_t)1);
	snprintf(title, sizeof(title), "%zu runs, %zu containers", comparison->count,
		 picture.containers + picture.left_out);
	figure = json_pack("{s:s, s:o, s:o, s:{s:i, s:i, s:i, s:b}}", "title", title, "runs",
			   runs, "panels", picture.panels, "layout", "columns", PANELS_BESIDE,
			   "width", 1720, "height", (int)(180 + 310 * rows), "across", true);
	cfg_append(notes, sizeof(notes),
		   "%s\"none\": no value, or only a bound, which the table has",
		   *notes ? "; " : "");
	json_object_set_new(figure, "notes", json_string(notes));
	return figure;
}

static int draw(const struct comparison *comparison, struct sim_error *err)
{
	struct figure_request request = { .out = comparison->out,
					  .folders = comparison->paths };
	struct figure figure;
	struct signals signals;
	int status = figure_read_made(&figure, make_figure(comparison), NAME, err);

	if (status)
		return status;
	figure.no_table = true;
	signals_take(&signals);
	request.use.signals = &signals;
	status = figure_make(&figure, &request, err);
	signals_release(&signals);
	figure_destroy(&figure);
	return status;
}

/* Names of runs are the last parts of their paths; equal ones get the whole path. */
static void name_runs(struct comparison *comparison)
{
	for (size_t run = 0; run < comparison->count; run++) {
		const char *path = comparison->paths[run], *slash = strrchr(path, '/');
		bool again = false;

		comparison->names[run] = slash && slash[1] ? slash + 1 : path;
		for (size_t k = 0; k < run; k++)
			again = again || !strcmp(comparison->names[k], comparison->names[run]);
		if (again)
			comparison->names[run] = path;
	}
}

/* May run number @run be one of the picture, and of a CSV file? Each folder is given once. */
static int check_run(const struct comparison *comparison, size_t run, struct sim_error *err)
{
	const char *path = comparison->paths[run], *name = comparison->names[run];
	json_t *json = json_string(name);

	/* The picture's names are JSON. */
	if (!json)
		return sim_user_error(
			err,
			"compare: \"%s\" is not UTF-8, allowed: a folder whose name "
			"is",
			name);
	json_decref(json);
	if (strpbrk(name, ",\"\r\n"))
		return sim_user_error(err,
				      "compare: \"%s\" has a comma, a quote or a line end, "
				      "allowed: a folder without them",
				      name);
	for (size_t k = 0; k < run; k++)
		if (whole_file_is(comparison->paths[k], path))
			return sim_user_error(err, "compare: %s is given twice, allowed: once",
					      path);
	return 0;
}

/* Find the folder of --alone among the runs. */
static int find_alone(const struct comparison *comparison, size_t *ret_run,
		      struct sim_error *err)
{
	for (*ret_run = 0; *ret_run < comparison->count; ++*ret_run)
		if (!strcmp(comparison->paths[*ret_run], comparison->alone) ||
		    whole_file_is(comparison->paths[*ret_run], comparison->alone))
			return 0;
	return sim_user_error(err,
			      "compare: --alone %s is not among the folders, allowed: one of "
			      "them",
			      comparison->alone);
}

static int compare(struct comparison *comparison, struct sim_error *err)
{
	size_t loaded = 0, alone = 0;
	int status = 0;

	name_runs(comparison);
	if (comparison->alone)
		status = find_alone(comparison, &alone, err);
	for (; !status && loaded < comparison->count; loaded++) {
		status = check_run(comparison, loaded, err);
		if (!status)
			status = folder_load(&comparison->folders[loaded],
					     comparison->paths[loaded], err);
	}
	if (!status)
		status = write_metrics(comparison, err);
	if (!status) {
		print_heads(comparison);
		each_container(comparison, print_container, NULL);
	}
	if (!status && comparison->alone)
		status = compare_together(comparison->folders, comparison->names,
					  comparison->count, alone, comparison->out, err);
	if (!status) {
		printf("all metrics %s/" METRICS_NAME "\n", comparison->out);
		status = draw(comparison, err);
	}
	for (size_t run = 0; run < loaded; run++)
		folder_destroy(&comparison->folders[run]);
	return status;
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct comparison comparison = { .out = "results/compare" };
	struct command_line line;
	int status = command_parse(&command_compare, argc, argv, take_option, &comparison,
				   &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_compare, err);
	if (line.operand_count < 2 || (size_t)line.operand_count > RUNS_MAX)
		return command_mistake(&command_compare, err, "%d folders, expected 2 to %zu",
				       line.operand_count, RUNS_MAX);
	comparison.count = (size_t)line.operand_count;
	comparison.paths = (const char *const *)line.operands;
	comparison.folders = calloc(comparison.count, sizeof(*comparison.folders));
	comparison.names = calloc(comparison.count, sizeof(*comparison.names));
	if (comparison.folders && comparison.names)
		status = compare(&comparison, err);
	else
		status = sim_runtime_error(err, "out of memory");
	free(comparison.folders);
	free(comparison.names);
	return status;
}
