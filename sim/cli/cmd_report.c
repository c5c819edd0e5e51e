// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/cmd_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/figure_runs.h"
#include "engine/error.h"
#include "figures/make.h"
#include "figures/published.h"
#include "report/report.h"
#include "results/writer.h"
#include "terminal/signals.h"

#define HARDWARE_MAX 2048

static int run(int argc, char **argv, struct sim_error *err);

static const struct command_option options[] = {
	{ "out", "DIR", false, "where the page goes, by default results/report" },
	{ "set", "PATH=VALUE", true,
	  "change any key of the scenarios for all runs; as often as needed.\n"
	  "Published values stay what they are" },
	{ "seeds", "N", false,
	  "make the runs of published values N times more, with jitter, and show\n"
	  "how far one run is from another; 10 are a good number, and take minutes" },
	{ "fresh", NULL, false, "make all runs again, even if results/cache has them" },
	{ NULL, NULL, false, NULL },
};

/* clang-format off */
const struct command command_report = {
	.name = "gvmsim report",
	.operands = "[FILE]",
	.summary = "headline numbers, figures and scores as one HTML page",
	.about =
"Makes report.html, a page that needs no network: headline numbers, the figures with\n"
"their values under the pointer and in tables, how well published and measured values\n"
"are predicted, where they are not, and the configuration of every run. FILE says what\n"
"is in it: headlines and sections of figures. Without one, it is plots/report.json, and\n"
"the page has all figures of the papers. The last line printed is the page's path.\n"
"\n"
"FILE is JSON. Keys: title, lead, headline and sections. A section has a title, a text and\n"
"figures: names, or paths of your own. A headline is the number of a run in a panel, with\n"
"label, figure, panel and run; it may have a run that it is divided by, over, and a claim.\n",
	.options = options,
	.more =
"Runs are kept in results/cache, as those of \"gvmsim figure\". The looks of the page are\n"
"the template plots/report.html.\n"
"\n"
"With --seeds, published values stand beside the 10th, 50th and 90th percentile of ours,\n"
"from the runs that \"gvmsim validate published --seeds\" makes.\n",
	.examples =
"  All figures of the papers:\n"
"    gvmsim report\n"
"  A page of your own:\n"
"    gvmsim report my-report.json --out results/mine\n",
	.run = run,
};
/* clang-format on */

/* A parsed command line. Strings are borrowed from argv. */
struct report_args {
	struct figure_request request;
	const char **sets;
	size_t seeds;
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct report_args *args = data;

	if (!strcmp(option, "out")) {
		args->request.out = value;
		if (!*value)
			return command_bad_value(&command_report, option, err,
						 "is empty, allowed: the name of a folder");
	} else if (!strcmp(option, "set")) {
		args->sets[args->request.set_count++] = value;
	} else if (!strcmp(option, "seeds")) {
		char rest;

		if (sscanf(value, "%zu%c", &args->seeds, &rest) != 1 || *value == '-' ||
		    args->seeds > PUBLISHED_SEEDS_MAX)
			return command_bad_value(&command_report, option, err,
						 "'%s' is wrong, allowed: 0 to %d", value,
						 PUBLISHED_SEEDS_MAX);
	} else {
		args->request.use.fresh = true;
	}
	return 0;
}

/*
 * Take the lines of "validate hardware" that name a GPU or a verdict. It runs as a
 * program of its own, since a process can run one simulation only. If it cannot be
 * run, there are no lines.
 */
static void validate_hardware(char *text, size_t size)
{
	FILE *stream = popen("exec /proc/$PPID/exe validate hardware 2>/dev/null", "r");
	char *line = NULL;
	size_t line_size = 0;

	*text = '\0';
	while (stream && getline(&line, &line_size, stream) > 0) {
		char *slash = strstr(line, ", /");

		if (slash)
			strcpy(slash, "\n"); /* the path of the measurements */
		if ((slash || !strncmp(line, "median error", 12)) &&
		    strlen(text) + strlen(line) < size)
			strcat(text, line);
	}
	free(line);
	if (stream)
		pclose(stream);
}

static int parse_and_run(int argc, char **argv, struct report_args *args, struct sim_error *err)
{
	char hardware[HARDWARE_MAX];
	struct command_line line;
	struct signals signals;
	struct writer writer;
	int status = command_parse(&command_report, argc, argv, take_option, args, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_report, err);
	if (line.operand_count > 1)
		return command_mistake(&command_report, err, "%d files, expected 1 at most",
				       line.operand_count);
	args->request.sets = args->sets;
	/* Minutes of runs come first: a folder that cannot be written is said before them. */
	status = writer_open(&writer, args->request.out, err);
	if (status)
		return status;
	writer_abort(&writer);
	validate_hardware(hardware, sizeof(hardware));
	figure_runs_begin(&args->request.use, &signals);
	status = report_make(line.operand_count ? line.operands[0] : NULL, &args->request,
			     args->seeds, *hardware ? hardware : NULL, err);
	figure_runs_end(&signals);
	if (status)
		return status;
	printf("%s/%s\n", args->request.out, REPORT_FILE);
	return command_flush(err);
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct report_args args = { .request = { .out = "results/report" } };
	int status;

	args.sets = calloc((size_t)argc + 1, sizeof(*args.sets));
	status = args.sets ? parse_and_run(argc, argv, &args, err) :
			     sim_runtime_error(err, "out of memory");
	free(args.sets);
	return status;
}
