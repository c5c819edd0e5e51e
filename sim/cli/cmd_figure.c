// SPDX-License-Identifier: MIT OR GPL-2.0
/* "gvmsim figure", see cmd_figure.h: the table of figures, and their options. */
#include "cli/cmd_figure.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/figure.h"
#include "engine/error.h"
#include "gvm/port.h"

#define FIGURE_USAGE "figure NAME ..."

static const char figure_help[] = "Usage: gvmsim " FIGURE_USAGE "\n"
				  "\n"
				  "Prints a table, writes what is in it as CSV files, and "
				  "draws a picture with gnuplot (PNG\n"
				  "and SVG). The last line printed is the picture's path.\n"
				  "\n"
				  "Figures:\n";

static const char figure_help_more[] =
	"\n"
	"\"gvmsim figure NAME --help\" teaches each of them. All take\n"
	"  --out DIR           where files go, by default results/figures\n"
	"\n"
	"Examples:\n";

static const char figure_help_runs[] =
	"  --scenario FILE     simulate this scenario, not the figure's own\n"
	"  --set PATH=VALUE    change any key of it for all runs; as often as needed. "
	"Published\n"
	"                      values stay what they are\n"
	"  --fresh             run everything again, even if results/cache has it\n"
	"\n"
	"What it simulates is kept in results/cache, and run again only if the scenario, a "
	"trace\n"
	"or this program has changed. Of these runs, the 200 used last are kept.\n";

static const struct figure *const figures[] = {
	&figure_ablation,	   &figure_isolation,
	&figure_compute,	   &figure_interference,
	&figure_memory_contention, &figure_throughput_vs_memory,
	&figure_fault_breakdown,   &figure_ideas,
	&figure_alone_vs_shared,
};

/* Numbered above all characters, so that getopt's optopt tells short options from long ones. */
enum figure_option { FIGURE_OUT = 256, FIGURE_SCENARIO, FIGURE_SET, FIGURE_FRESH };

static const struct option figure_options[] = {
	{ "out", required_argument, NULL, FIGURE_OUT },
	{ "scenario", required_argument, NULL, FIGURE_SCENARIO },
	{ "set", required_argument, NULL, FIGURE_SET },
	{ "fresh", no_argument, NULL, FIGURE_FRESH },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* NULL: there is no such figure. */
static const struct figure *figure_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		if (!strcmp(figures[i]->name, name))
			return figures[i];
	return NULL;
}

/* The figure that the command line speaks of, wherever it stands. */
static const struct figure *figure_named(int argc, char **argv)
{
	const struct figure *figure = NULL;

	for (int i = 1; !figure && i < argc; i++)
		figure = figure_find(argv[i]);
	return figure;
}

/* "figure ablation [--out DIR]" or, without a figure, how to name one. */
static void figure_describe(const struct figure *figure, char *text, size_t size)
{
	if (figure)
		snprintf(text, size, "gvmsim figure %s %s", figure->name, figure->usage);
	else
		snprintf(text, size, "gvmsim " FIGURE_USAGE);
}

static int figure_bad_option(const struct figure *figure, const char *word, const char *what,
			     struct sim_error *err)
{
	char usage[256];

	figure_describe(figure, usage, sizeof(usage));
	return sim_user_error(err, "figure: option '%s' %s, usage: %s", word, what, usage);
}

static int figure_option(const struct figure *figure, int option, const char *word,
			 struct figure_args *args, struct sim_error *err)
{
	const char letter[] = { '-', (char)optopt, '\0' };

	if (figure && !figure->runs &&
	    (option == FIGURE_SCENARIO || option == FIGURE_SET || option == FIGURE_FRESH))
		return figure_bad_option(figure, word, "is not one of this figure", err);
	switch (option) {
	case FIGURE_OUT:
		args->out = optarg;
		return *optarg ? 0 :
				 sim_user_error(err, "figure: option '--out': is empty, "
						     "allowed: the name of a folder");
	case FIGURE_SCENARIO:
		args->scenario = optarg;
		return 0;
	case FIGURE_SET:
		args->sets[args->set_count++] = optarg;
		return 0;
	case FIGURE_FRESH:
		args->fresh = true;
		return 0;
	case 'h':
		args->help = true;
		return 0;
	default:
		if (optopt && optopt < FIGURE_OUT)
			word = letter;
		return figure_bad_option(figure, word,
					 option == ':' ? "needs a value" : "is not valid here",
					 err);
	}
}

/* The words that are no options: the figure's name, and folders. */
static int figure_operands(const struct figure **ret_figure, int argc, char **argv,
			   struct figure_args *args, struct sim_error *err)
{
	char names[256] = "", usage[256];
	const struct figure *figure;
	size_t count;

	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 i ? ", " : "", figures[i]->name);
	if (!argc)
		return sim_user_error(err,
				      "figure: which one is missing, allowed are %s, usage: "
				      "gvmsim " FIGURE_USAGE,
				      names);
	figure = figure_find(argv[0]);
	if (!figure)
		return sim_user_error(err, "figure: unknown figure '%s', allowed are %s",
				      argv[0], names);
	count = (size_t)argc - 1;
	figure_describe(figure, usage, sizeof(usage));
	if (count != figure->folder_count)
		return sim_user_error(err, "figure: %zu folders, expected %zu, usage: %s",
				      count, figure->folder_count, usage);
	for (size_t i = 0; i < count; i++)
		args->folders[i] = argv[1 + i];
	*ret_figure = figure;
	return 0;
}

/* *ret_figure is NULL for help on all of them. */
static int figure_parse(int argc, char **argv, const struct figure **ret_figure,
			struct figure_args *args, struct sim_error *err)
{
	int option, rc;

	*ret_figure = figure_named(argc, argv);
	optind = 0; /* glibc: start afresh */
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", figure_options, NULL)) != -1) {
		rc = figure_option(*ret_figure, option, argv[optind - 1], args, err);
		if (rc || args->help)
			return rc;
	}
	return figure_operands(ret_figure, argc - optind, argv + optind, args, err);
}

static int figure_print_help(const struct figure *figure, struct sim_error *err)
{
	char usage[256];

	figure_describe(figure, usage, sizeof(usage));
	if (figure) {
		printf("Usage: %s\n\n%s\n", usage, figure->help);
		printf("  --out DIR           where files go, by default results/figures\n%s\n",
		       figure->runs ? figure_help_runs : "");
		printf("Example:\n%s", figure->example);
		return figure_flush(err);
	}
	fputs(figure_help, stdout);
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		printf("  %-20s  %s\n", figures[i]->name, figures[i]->summary);
	fputs(figure_help_more, stdout);
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		fputs(figures[i]->example, stdout);
	return figure_flush(err);
}

static int figure_run(int argc, char **argv, struct figure_args *args, struct sim_error *err)
{
	const struct figure *figure;
	int rc;

	args->sets = calloc((size_t)argc + 1, sizeof(*args->sets));
	if (!args->sets)
		return sim_runtime_error(err, "out of memory");
	rc = figure_parse(argc, argv, &figure, args, err);
	if (rc)
		return rc;
	if (args->help)
		return figure_print_help(figure, err);
	signals_take(&args->signals);
	rc = figure->draw(args, err);
	signals_release(&args->signals);
	return rc;
}

int cmd_figure(int argc, char **argv)
{
	struct figure_args args = { .out = "results/figures" };
	struct sim_error err = { 0 };
	int rc = figure_run(argc, argv, &args, &err);

	if (rc)
		fprintf(stderr, "gvmsim: %s\n", err.text);
	free(args.sets);
	return -rc;
}
