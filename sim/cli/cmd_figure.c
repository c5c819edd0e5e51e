// SPDX-License-Identifier: MIT OR GPL-2.0
/* "gvmsim figure", see cmd_figure.h. Figures are files: plots/figures, or the user's own. */
#include "cli/cmd_figure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/figure_runs.h"
#include "cli/papers_page.h"
#include "engine/error.h"
#include "figures/all.h"
#include "figures/figure_find.h"
#include "figures/figure_read.h"
#include "figures/figure_seeds.h"
#include "figures/make.h"
#include "gvm/port.h"
#include "terminal/command.h"
#include "terminal/signals.h"

#define OPERANDS_MAX 256

static const struct command_option options[] = {
	{ "out", "DIR", false, "where files go, by default results/figures" },
	{ "scenario", "FILE", false, "simulate this scenario, not the figure's own" },
	{ "set", "PATH=VALUE", true,
	  "change any key of it for all runs; as often as needed.\n"
	  "Published values stay what they are" },
	{ "seeds", "N", false,
	  "make each run with the seeds 1 to N, up to 100: bars and points are\n"
	  "medians, with a line from the 10th to the 90th percentile" },
	{ "fresh", NULL, false,
	  "make all runs and pictures again, even if they are in results/" },
	{ NULL, NULL, false, NULL },
};

/* A figure of results folders makes no runs. */
static const struct command_option folder_options[] = {
	{ "out", "DIR", false, "where files go, by default results/figures" },
	{ NULL, NULL, false, NULL },
};

static int run(int argc, char **argv, struct sim_error *err);

/* clang-format off */
const struct command command_figure = {
	.name = "gvmsim figure",
	.operands = "NAME|list|all [NAME]...",
	.summary = "a figure of the papers, or yours: table, picture",
	.about =
"Prints a table, writes its numbers as CSV files, and draws a picture with gnuplot\n"
"(PNG and SVG). The last line printed is the picture's path. A figure is a JSON\n"
"file: NAME is one of those below, or the path of your own. \"all\" makes all of those\n"
"below that make their runs themselves, or those named after it. \"list\" says which\n"
"of the papers' figures each is.\n",
	.options = options,
	.more =
"With --seeds, arrivals of a trace are drawn anew (jitter.arrivals is gaps) and closed\n"
"loops begin up to " FIGURE_JITTER_START " later, unless the figure or --set has another jitter. If a figure's file\n"
"has seeds of its own, only their number changes.\n"
"\n"
"Runs are kept in results/cache, and made again only if the scenario, a trace or\n"
"this program has changed. The 500 runs used last are kept. Pictures are kept in\n"
"results/pictures, and drawn again if anything that they show has changed.\n"
"\n"
"\"gvmsim figure NAME --help\" teaches each figure. plots/figures/README.md says how\n"
"to write one.\n",
	.examples =
"  A published figure, ours beside theirs:\n"
"    gvmsim figure ablation\n"
"  All figures, then all of them once more from the cache:\n"
"    gvmsim figure all && gvmsim figure all\n"
"  Which figure of the papers is which of ours:\n"
"    gvmsim figure list\n"
"  All its runs for two minutes of simulated time:\n"
"    gvmsim figure isolation --set duration=120s\n"
"  How far one run is from another:\n"
"    gvmsim figure ablation --seeds 10\n"
"  A figure of your own:\n"
"    gvmsim figure my-figure.json --out results/mine\n",
	.run = run,
};
/* clang-format on */

/* A parsed command line. Strings are borrowed from argv. */
struct figure_args {
	struct figure_request request;
	const char **sets;
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct figure_args *args = data;

	if (!strcmp(option, "out")) {
		args->request.out = value;
		if (!*value)
			return command_bad_value(&command_figure, option, err,
						 "is empty, allowed: the name of a folder");
	} else if (!strcmp(option, "scenario")) {
		args->request.scenario = value;
	} else if (!strcmp(option, "set")) {
		args->sets[args->request.set_count++] = value;
	} else if (!strcmp(option, "seeds")) {
		char rest;

		if (sscanf(value, "%3zu%c", &args->request.seeds, &rest) != 1 || *value < '0' ||
		    *value > '9' || !args->request.seeds ||
		    args->request.seeds > FIGURE_SEEDS_MAX)
			return command_bad_value(&command_figure, option, err,
						 "'%s' is wrong, allowed: 1 to %d", value,
						 FIGURE_SEEDS_MAX);
	} else {
		args->request.use.fresh = true;
	}
	return 0;
}

/*
 * Find the word that names the figure: the first one that is neither an option nor its value.
 * NULL: there is none.
 */
static const char *find_name(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		bool takes_value = !strcmp(argv[i], "--out") || !strcmp(argv[i], "--set") ||
				   !strcmp(argv[i], "--scenario") ||
				   !strcmp(argv[i], "--seeds");

		if (*argv[i] != '-')
			return argv[i];
		i += takes_value;
	}
	return NULL;
}

static int print_summary(void *data, const struct figure *figure, struct sim_error *err)
{
	(void)data;
	(void)err;
	printf("  %-20s  %s\n", figure->name, figure->summary);
	return 0;
}

static int print_help(const struct command *command, const struct figure *figure,
		      struct sim_error *err)
{
	int status = 0;

	command_print_head(command);
	if (!figure) {
		printf("Figures:\n");
		status = figure_each(print_summary, NULL, err);
		putchar('\n');
	}
	if (figure && figure->examples) {
		printf("Examples:\n");
		for (size_t i = 0; figure->examples[i]; i++)
			printf("    %s\n", figure->examples[i]);
	} else if (figure) {
		printf("Example:\n    gvmsim figure %s\n", figure->name);
	} else {
		command_print_tail(command);
	}
	return status ? status : command_flush(err);
}

/*
 * Run the command of one figure. Its folders are the operands, and its help is the command's.
 */
static int run_figure(struct figure *figure, int argc, char **argv, struct figure_args *args,
		      struct sim_error *err)
{
	char name[FIGURE_NAME_MAX + 16], operands[OPERANDS_MAX] = "", about[4096];
	struct command command = command_figure;
	struct command_line line;
	struct signals signals;
	int status;

	snprintf(name, sizeof(name), "gvmsim figure %s", figure->name);
	snprintf(about, sizeof(about), "%s\n", figure->help ? figure->help : figure->title);
	for (size_t i = 0; i < figure->run_count; i++)
		if (figure->runs[i].folder)
			snprintf(operands + strlen(operands),
				 sizeof(operands) - strlen(operands), "%s%s",
				 *operands ? " " : "", figure->runs[i].folder);
	command.name = name;
	command.operands = *operands ? operands : NULL;
	command.about = about;
	command.options = figure->folder_count ? folder_options : options;
	status = command_parse(&command, argc, argv, take_option, args, &line, err);
	if (status)
		return status;
	if (line.help)
		return print_help(&command, figure, err);
	if (line.operand_count > 1 && !figure->folder_count)
		return command_mistake(
			&command, err,
			"has no folders, expected nothing after it; several figures are "
			"\"gvmsim figure all %s %s\"",
			line.operands[0], line.operands[1]);
	if ((size_t)line.operand_count != figure->folder_count + 1)
		return command_mistake(&command, err, "%d folders, expected %zu",
				       line.operand_count - 1, figure->folder_count);
	status = args->request.seeds ? figure_take_seeds(figure, args->request.seeds, err) : 0;
	if (status)
		return status;
	args->request.sets = args->sets;
	args->request.folders = (const char *const *)(line.operands + 1);
	figure_runs_begin(&args->request.use, &signals);
	status = figure_make(figure, &args->request, err);
	figure_runs_end(&signals);
	return status;
}

/*
 * Make all figures, or those named, and print the path of each picture. A figure that cannot
 * have the user's settings ends the command before anything runs.
 */
static int make_all(struct figure_args *args, const char *const *names, size_t name_count,
		    struct sim_error *err)
{
	struct figure_request request = args->request;
	struct figures figures;
	struct signals signals;
	int status;

	request.sets = args->sets;
	request.quiet = true;
	status = figures_open(&figures, names, name_count, &request, err);
	figure_runs_begin(&request.use, &signals);
	if (!status)
		status = figures_get_runs(&figures, &request.use, err);
	for (size_t i = 0; !status && i < figures.count; i++) {
		status = figure_show(&figures.data[i], &request, err);
		if (!status)
			printf("%s/%s.png\n", request.out, figures.figures[i].name);
		if (!status)
			status = command_flush(err);
	}
	figure_runs_end(&signals);
	figures_destroy(&figures);
	return status;
}

/* "all" or "list" in place of a name. */
static int run_word(const char *word, int argc, char **argv, struct figure_args *args,
		    struct sim_error *err)
{
	struct command_line line;
	int status = command_parse(&command_figure, argc, argv, take_option, args, &line, err);

	if (status)
		return status;
	if (line.help)
		return print_help(&command_figure, NULL, err);
	if (!strcmp(word, "all")) {
		if (args->request.scenario)
			return command_mistake(
				&command_figure, err,
				"'all' takes no --scenario: figures have different ones");
		return make_all(args, (const char *const *)line.operands + 1,
				(size_t)line.operand_count - 1, err);
	}
	if (line.operand_count > 1)
		return command_mistake(&command_figure, err,
				       "%d words after 'list', expected none",
				       line.operand_count - 1);
	status = papers_print_list(err);
	return status ? status : command_flush(err);
}

static int parse_and_run(int argc, char **argv, struct figure_args *args, struct sim_error *err)
{
	const char *name = find_name(argc, argv);
	struct command_line line;
	struct figure figure;
	char known[FIGURE_NAMES_MAX];
	int status;

	if (name && (!strcmp(name, "all") || !strcmp(name, "list")))
		return run_word(name, argc, argv, args, err);
	if (name) {
		status = figure_read(&figure, name, err);
		if (!status) {
			status = run_figure(&figure, argc, argv, args, err);
			figure_destroy(&figure);
		}
		return status;
	}
	status = command_parse(&command_figure, argc, argv, take_option, args, &line, err);
	if (status)
		return status;
	if (line.help)
		return print_help(&command_figure, NULL, err);
	figure_list_names(known, sizeof(known));
	return command_mistake(&command_figure, err, "no figure is named, allowed are %s",
			       known);
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct figure_args args = { .request = { .out = "results/figures" } };
	int status;

	args.sets = calloc((size_t)argc + 1, sizeof(*args.sets));
	status = args.sets ? parse_and_run(argc, argv, &args, err) :
			     sim_runtime_error(err, "out of memory");
	free(args.sets);
	return status;
}
