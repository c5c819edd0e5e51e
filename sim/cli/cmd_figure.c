// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmsim figure", see cmd_figure.h.
 *
 * All reading, counting and binning is done here, into CSV files with named columns; gnuplot only
 * draws them (plots/alone-vs-shared.gp). So what is in a picture can be looked up beside it, and
 * no script parses anything by position.
 */
#include "cli/cmd_figure.h"

#include <errno.h>
#include <getopt.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/table.h"
#include "config/config.h"
#include "engine/error.h"
#include "results/compare.h"
#include "results/fixed.h"
#include "results/series.h"

#define FIGURE_NAME   "alone-vs-shared"
#define FIGURE_USAGE  "figure " FIGURE_NAME " ALONE_DIR SHARED_DIR [--out DIR]"
#define FIGURE_CSV    FIGURE_NAME ".csv"
#define FIGURE_LOAD   FIGURE_NAME "-load.csv"
#define FIGURE_TTFT   FIGURE_NAME "-ttft.csv"
#define FIGURE_SHARE  FIGURE_NAME "-share.csv"
#define FIGURE_IMAGES FIGURE_NAME "-images.csv"
#define FIGURE_PNG    FIGURE_NAME ".png"
#define FIGURE_SVG    FIGURE_NAME ".svg"
#define FIGURE_SCRIPT FIGURE_NAME ".gp"
#define FIGURE_ARGS   64

static const char figure_help[] =
	"Usage: gvmsim " FIGURE_USAGE "\n"
	"\n"
	"Compares two results folders of \"gvmsim run\": what the applications of a scenario "
	"saw\n"
	"when each had a GPU of its own, and when they shared one. Prints both side by side,\n"
	"writes the table and the curves as CSV files, and draws one picture with gnuplot "
	"(PNG\n"
	"and SVG): load, time to first token, GPU shares and image latency over time. The "
	"last\n"
	"line printed is the picture's path.\n"
	"\n"
	"  --out DIR   where files go, by default results/figures\n"
	"\n"
	"Example:\n"
	"    gvmsim run vllm-diffusion-80g --system exclusive --out results/alone\n"
	"    gvmsim run vllm-diffusion-80g --system stock --out results/shared\n"
	"    gvmsim figure " FIGURE_NAME " results/alone results/shared\n";

/* A parsed command line. Strings are borrowed from argv. */
struct figure_args {
	const char *folders[SERIES_RUNS];
	const char *out;
	bool help;
};

/* Numbered above all characters, so that getopt's optopt tells short options from long ones. */
enum figure_option { FIGURE_OUT = 256 };

static const struct option figure_options[] = {
	{ "out", required_argument, NULL, FIGURE_OUT },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* Variables for gnuplot, each as "name=value", to follow a -e. */
struct figure_variables {
	char *list[FIGURE_ARGS];
	size_t count;
	bool failed; /* out of memory */
};

extern char **environ;

static int figure_bad_option(int kind, const char *word, struct sim_error *err)
{
	const char letter[] = { '-', (char)optopt, '\0' };

	if (optopt && optopt < FIGURE_OUT)
		word = letter;
	return sim_user_error(err, "figure: option '%s' %s, usage: gvmsim " FIGURE_USAGE, word,
			      kind == ':' ? "needs a value" : "is not valid here");
}

static int figure_option(int option, const char *word, struct figure_args *args,
			 struct sim_error *err)
{
	switch (option) {
	case FIGURE_OUT:
		if (!*optarg)
			return sim_user_error(err, "figure: option '--out': is empty, "
						   "allowed: the name of a folder");
		args->out = optarg;
		return 0;
	case 'h':
		args->help = true;
		return 0;
	default:
		return figure_bad_option(option, word, err);
	}
}

static int figure_parse(int argc, char **argv, struct figure_args *args, struct sim_error *err)
{
	int option, rc;

	optind = 0; /* glibc: start afresh */
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", figure_options, NULL)) != -1) {
		rc = figure_option(option, argv[optind - 1], args, err);
		if (rc || args->help)
			return rc;
	}
	if (argc == optind)
		return sim_user_error(err,
				      "figure: which one is missing, allowed is " FIGURE_NAME
				      ", usage: gvmsim " FIGURE_USAGE);
	if (strcmp(argv[optind], FIGURE_NAME) != 0)
		return sim_user_error(err,
				      "figure: unknown figure '%s', allowed is " FIGURE_NAME,
				      argv[optind]);
	if (argc - optind != 1 + SERIES_RUNS)
		return sim_user_error(
			err, "figure: %d folders, expected 2, usage: gvmsim " FIGURE_USAGE,
			argc - optind - 1);
	for (int run = 0; run < SERIES_RUNS; run++)
		args->folders[run] = argv[optind + 1 + run];
	return 0;
}

static int figure_flush(struct sim_error *err)
{
	if (fflush(stdout) || ferror(stdout))
		return sim_runtime_error(err, "standard output: cannot write: %s",
					 strerror(errno));
	return 0;
}

/* The table being printed, and whose rows are at its end. */
struct figure_table {
	struct table table;
	const struct summary_container *container;
};

static void table_begin_container(struct figure_table *figure,
				  const struct summary_container *container)
{
	if (figure->container)
		table_add(&figure->table);
	figure->container = container;
	table_add(&figure->table);
	table_set(&figure->table, 0, "%s (%s)", container->name,
		  summary_type_name(container->type));
	table_set(&figure->table, 1, "alone");
	table_set(&figure->table, 2, "shared");
	table_set(&figure->table, 3, "shared/alone");
}

static void add_table_row(void *data, const struct compare_row *row)
{
	struct figure_table *figure = data;
	char text[TABLE_CELL_MAX];

	if (row->container != figure->container)
		table_begin_container(figure, row->container);
	table_add(&figure->table);
	table_set(&figure->table, 0, "  %s", summary_metrics[row->metric].label);
	for (int run = 0; run < SERIES_RUNS; run++) {
		table_format_value(&row->values[run], row->metric, text, sizeof(text));
		table_set(&figure->table, (size_t)run + 1, "%s", text);
	}
	if (row->ratio.known)
		table_set(&figure->table, 3, "%.2f", row->ratio.real);
	else
		table_set(&figure->table, 3, "-");
}

/* "vllm-diffusion-80g on a100-80g: system exclusive, 640.0 s" */
static void print_run(const char *word, const struct folder *folder)
{
	const struct summary *summary = &folder->summary;

	printf("%-7s %s on %s, system %s, %.1f s%s\n", word, summary->name,
	       *folder->gpu ? folder->gpu : "a GPU of its own description", summary->system,
	       summary->sim_seconds, summary->complete ? "" : " (INCOMPLETE: interrupted)");
	for (size_t i = 0; i < summary->container_count; i++)
		if (strcmp(summary->containers[i].status, SUMMARY_OK) != 0)
			printf("        %s: %s\n", summary->containers[i].name,
			       summary->containers[i].status);
}

static void print_comparison(const struct folder folders[SERIES_RUNS])
{
	struct figure_table figure = { 0 };

	print_run("alone", &folders[SERIES_ALONE]);
	print_run("shared", &folders[SERIES_SHARED]);
	putchar('\n');
	compare_runs(&folders[SERIES_ALONE].summary, &folders[SERIES_SHARED].summary,
		     add_table_row, &figure);
	table_print(&figure.table, stdout);
	putchar('\n');
}

/* The comparison and the curves, all or none. */
static int write_data(const struct folder folders[SERIES_RUNS], const struct series *series,
		      struct writer *writer, struct sim_error *err)
{
	int rc = compare_write(&folders[SERIES_ALONE].summary, &folders[SERIES_SHARED].summary,
			       writer, FIGURE_CSV, err);

	if (!rc)
		rc = series_write_load(series, writer, FIGURE_LOAD, err);
	if (!rc)
		rc = series_write_ttft(series, writer, FIGURE_TTFT, err);
	if (!rc)
		rc = series_write_share(series, writer, FIGURE_SHARE, err);
	if (!rc)
		rc = series_write_images(series, writer, FIGURE_IMAGES, err);
	if (!rc)
		rc = writer_commit(writer, err);
	return rc;
}

static void add_variable(struct figure_variables *variables, char *text)
{
	if (!text || variables->count == FIGURE_ARGS) {
		variables->failed = true;
		free(text);
		return;
	}
	variables->list[variables->count++] = text;
}

/*
 * A string for gnuplot, every byte of it but letters as an octal escape: paths and names can
 * hold quotes, backticks or anything else, and none of that may be a command. Digits, too:
 * gnuplot would take one that follows an escape for a part of it.
 */
static void add_string(struct figure_variables *variables, const char *name, const char *value)
{
	char *text = malloc(strlen(name) + 4 * strlen(value) + 4);
	char *end = text;

	if (text) {
		end += sprintf(end, "%s=\"", name);
		for (; *value; value++) {
			unsigned int byte = (unsigned char)*value;

			if ((byte | 0x20) - 'a' < 26)
				*end++ = *value;
			else
				end += sprintf(end, "\\%03o", byte);
		}
		strcpy(end, "\"");
	}
	add_variable(variables, text);
}

static void add_count(struct figure_variables *variables, const char *name, size_t value)
{
	char *text;

	add_variable(variables, asprintf(&text, "%s=%zu", name, value) < 0 ? NULL : text);
}

/* A length of time in seconds. */
static void add_seconds(struct figure_variables *variables, const char *name, u64 ns)
{
	char seconds[FIXED_MAX];
	char *text;

	fixed_seconds(ns, seconds);
	add_variable(variables, asprintf(&text, "%s=%s", name, seconds) < 0 ? NULL : text);
}

static void add_file(struct figure_variables *variables, const char *name,
		     const struct writer *writer, const char *file)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", writer->folder, file);
	add_string(variables, name, path);
}

static void destroy_variables(struct figure_variables *variables)
{
	for (size_t i = 0; i < variables->count; i++)
		free(variables->list[i]);
}

static const char *container_name(const struct folder *folder, size_t container)
{
	return container == SIZE_MAX ? "" : folder->summary.containers[container].name;
}

/* What the picture's title says of the two runs. */
static void add_title(struct figure_variables *variables,
		      const struct folder folders[SERIES_RUNS])
{
	const struct folder *alone = &folders[SERIES_ALONE], *shared = &folders[SERIES_SHARED];

	add_string(variables, "scenario", shared->summary.name);
	add_string(variables, "system_alone", alone->summary.system);
	add_string(variables, "system_shared", shared->summary.system);
	add_string(variables, "gpu", *shared->gpu ? shared->gpu : "custom GPU");
	/* Runs of different things can be compared, but the title has to say so. */
	add_string(variables, "scenario_alone",
		   strcmp(alone->summary.name, shared->summary.name) != 0 ?
			   alone->summary.name :
			   "");
	add_string(variables, "gpu_alone",
		   strcmp(alone->gpu, shared->gpu) != 0 ? alone->gpu : "");
	add_count(variables, "incomplete",
		  !alone->summary.complete || !shared->summary.complete);
}

static void add_variables(struct figure_variables *variables, const struct series *series,
			  const struct folder folders[SERIES_RUNS], const struct writer *writer)
{
	const struct folder *shared = &folders[SERIES_SHARED];
	size_t llm = series->llm[SERIES_SHARED];

	add_title(variables, folders);
	add_file(variables, "load_csv", writer, FIGURE_LOAD);
	add_file(variables, "ttft_csv", writer, FIGURE_TTFT);
	add_file(variables, "share_csv", writer, FIGURE_SHARE);
	add_file(variables, "images_csv", writer, FIGURE_IMAGES);
	add_string(variables, "llm", container_name(shared, llm));
	add_string(variables, "diffusion",
		   container_name(shared, series->diffusion[SERIES_SHARED]));
	add_count(variables, "llm_alone", series->llm[SERIES_ALONE] != SIZE_MAX);
	add_count(variables, "ttft_alone", series_count_ttft(series, SERIES_ALONE));
	add_count(variables, "ttft_shared", series_count_ttft(series, SERIES_SHARED));
	add_count(variables, "failed_alone", series_count_failed(series, SERIES_ALONE));
	add_count(variables, "failed_shared", series_count_failed(series, SERIES_SHARED));
	add_count(variables, "images_alone", series_count_images(series, SERIES_ALONE));
	add_count(variables, "images_shared", series_count_images(series, SERIES_SHARED));
	add_count(variables, "containers", shared->summary.container_count);
	add_seconds(variables, "end_s", series->end_ns);
	add_seconds(variables, "bin_s", series->bin_ns);
	add_seconds(variables, "slo_s", llm == SIZE_MAX ? 0 : shared->slo_ns[llm]);
}

/* Run gnuplot and wait for it. "-d": a user's own start-up file has no say in our pictures. */
static int run_gnuplot(const struct figure_variables *variables, const char *script,
		       struct sim_error *err)
{
	const char *argv[2 * FIGURE_ARGS + 4];
	size_t argc = 0;
	int status;
	pid_t child;
	int error;

	/* In a locale without UTF-8, gnuplot complains about its own degree sign. */
	setenv("LC_ALL", "C.UTF-8", 1);
	argv[argc++] = "gnuplot";
	argv[argc++] = "-d";
	for (size_t i = 0; i < variables->count; i++) {
		argv[argc++] = "-e";
		argv[argc++] = variables->list[i];
	}
	argv[argc++] = script;
	argv[argc] = NULL;
	error = posix_spawnp(&child, argv[0], NULL, NULL, (char **)(uintptr_t)argv, environ);
	if (error)
		return sim_runtime_error(
			err,
			"gnuplot: cannot be started: %s; it draws the picture, "
			"Debian has it in the package gnuplot-nox",
			strerror(error));
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return sim_runtime_error(err, "gnuplot: %s", strerror(errno));
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	return sim_runtime_error(err, "gnuplot: failed on %s with status %d", script,
				 WIFEXITED(status) ? WEXITSTATUS(status) :
						     128 + WTERMSIG(status));
}

/* An empty file is no picture: gnuplot also ends well when its terminal could not draw. */
static int check_picture(const char *path, struct sim_error *err)
{
	FILE *stream = fopen(path, "rb");
	bool empty = !stream || getc(stream) == EOF;

	if (stream)
		fclose(stream);
	return empty ? sim_runtime_error(err, "gnuplot: has drawn nothing into %s", path) : 0;
}

/* Draw one picture: gnuplot writes the temporary file of @name. */
static int draw_picture(const struct figure_variables *common, const char *terminal,
			const char *name, const char *script, struct writer *writer,
			struct sim_error *err)
{
	struct figure_variables variables = *common;
	char path[PATH_MAX];
	int rc = writer_begin(writer, name, err);

	if (!rc)
		rc = writer_end(writer, err);
	if (rc)
		return rc;
	writer_temporary_path(writer, name, path, sizeof(path));
	add_string(&variables, "output", path);
	add_string(&variables, "terminal", terminal);
	if (common->failed || variables.failed)
		rc = sim_runtime_error(err, "out of memory");
	else
		rc = run_gnuplot(&variables, script, err);
	for (size_t i = common->count; i < variables.count; i++)
		free(variables.list[i]);
	return rc ? rc : check_picture(path, err);
}

static int draw_pictures(const struct folder folders[SERIES_RUNS], const struct series *series,
			 struct writer *writer, struct sim_error *err)
{
	struct figure_variables variables = { 0 };
	char script[PATH_MAX];
	int rc = config_find_data("plots", FIGURE_SCRIPT, script, sizeof(script), err);

	if (rc)
		return rc;
	add_variables(&variables, series, folders, writer);
	rc = draw_picture(&variables, "png", FIGURE_PNG, script, writer, err);
	if (!rc)
		rc = draw_picture(&variables, "svg", FIGURE_SVG, script, writer, err);
	if (!rc)
		rc = writer_commit(writer, err);
	destroy_variables(&variables);
	return rc;
}

/* The data are kept also if they cannot be drawn. */
static int figure_draw(const struct folder folders[SERIES_RUNS], const char *out,
		       struct sim_error *err)
{
	struct writer writer;
	struct series series;
	int rc = writer_open(&writer, out, err);

	if (rc)
		return rc;
	series_init(&series, &folders[SERIES_ALONE], &folders[SERIES_SHARED]);
	rc = write_data(folders, &series, &writer, err);
	if (!rc)
		rc = draw_pictures(folders, &series, &writer, err);
	if (rc) {
		writer_abort(&writer);
		return rc;
	}
	printf("comparison  %s/" FIGURE_CSV "\n", writer.folder);
	printf("picture     %s/" FIGURE_SVG "\n", writer.folder);
	printf("%s/" FIGURE_PNG "\n", writer.folder);
	return figure_flush(err);
}

static int figure_compare(const struct figure_args *args, struct sim_error *err)
{
	struct folder folders[SERIES_RUNS];
	int rc = folder_load(&folders[SERIES_ALONE], args->folders[SERIES_ALONE], err);

	if (rc)
		return rc;
	rc = folder_load(&folders[SERIES_SHARED], args->folders[SERIES_SHARED], err);
	if (!rc) {
		print_comparison(folders);
		rc = figure_flush(err);
		if (!rc)
			rc = figure_draw(folders, args->out, err);
		folder_destroy(&folders[SERIES_SHARED]);
	}
	folder_destroy(&folders[SERIES_ALONE]);
	return rc;
}

static int figure_run(int argc, char **argv, struct sim_error *err)
{
	struct figure_args args = { .out = "results/figures" };
	int rc = figure_parse(argc, argv, &args, err);

	if (rc)
		return rc;
	if (!args.help)
		return figure_compare(&args, err);
	fputs(figure_help, stdout);
	return figure_flush(err);
}

int cmd_figure(int argc, char **argv)
{
	struct sim_error err = { 0 };
	int rc = figure_run(argc, argv, &err);

	if (rc)
		fprintf(stderr, "gvmsim: %s\n", err.text);
	return -rc;
}
