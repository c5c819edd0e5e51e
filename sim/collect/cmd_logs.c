// SPDX-License-Identifier: MIT OR GPL-2.0
#include "collect/cmd_logs.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/arguments.h"
#include "collect/logs.h"
#include "engine/error.h"

#define LOGS_USAGE \
	"logs DIR [--requests NAME=FILE]... [--images NAME=FILE]... [--slo NAME=TIME]..."

/* clang-format off */
static const char logs_help[] =
"Usage: gvmcollect " LOGS_USAGE "\n"
"\n"
"Puts what applications logged into DIR, a folder of \"gvmcollect sample\": every request and\n"
"image into requests.csv, their statistics into summary.json. Each call replaces the logs of the\n"
"call before, so give all logs at once.\n"
"\n"
"  --requests NAME=FILE  container NAME is an LLM server, and FILE is the result of vLLM's\n"
"                        benchmark client: vllm bench serve --save-result --save-detailed.\n"
"                        It needs start_times, which vLLM writes since January 2026\n"
"  --images NAME=FILE    container NAME is a diffusion pipeline, and FILE a CSV with a row per\n"
"                        image: start_ns,end_ns. In Python: time.monotonic_ns() before and\n"
"                        after the call of the pipeline\n"
"  --slo NAME=TIME       the time to first token that NAME's users were promised: 7.463s\n"
"\n"
"Both clocks are CLOCK_MONOTONIC of the host that was sampled, so run the clients there.\n"
"Requests and images outside of the collection are left out and reported.\n"
"\n"
"Example:\n"
"  gvmcollect logs results/hardware --requests vllm=bench.json --images sd=images.csv \\\n"
"             --slo vllm=7.463s\n"
"  gvmsim figure alone-vs-shared results/hardware results/vllm-diffusion-80g-stock\n";
/* clang-format on */

enum logs_option { LOGS_REQUESTS = 256, LOGS_IMAGES, LOGS_SLO };

static const struct option logs_options[] = {
	{ "requests", required_argument, NULL, LOGS_REQUESTS },
	{ "images", required_argument, NULL, LOGS_IMAGES },
	{ "slo", required_argument, NULL, LOGS_SLO },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

struct logs_slo {
	const char *container;
	u64 ns;
};

/* A parsed command line. Strings are borrowed from argv; arrays have room for argc elements. */
struct logs_args {
	struct logs_entry *entries;
	size_t count;
	struct logs_slo *slos;
	size_t slo_count;
};

static int add_entry(struct logs_args *args, const char *option,
		     const struct app_report *report, struct sim_error *err)
{
	struct logs_entry *entry = &args->entries[args->count];
	int status = arguments_split(option, optarg, &entry->container, &entry->file, err);

	entry->report = report;
	for (size_t i = 0; !status && i < args->count; i++)
		if (!strcmp(args->entries[i].container, entry->container))
			status = sim_user_error(err, "option '%s': %s has a log already",
						option, entry->container);
	args->count++;
	return status;
}

static int add_slo(struct logs_args *args, struct sim_error *err)
{
	struct logs_slo *slo = &args->slos[args->slo_count++];
	const char *text;
	int status = arguments_split("--slo", optarg, &slo->container, &text, err);

	return status ? status : arguments_duration("--slo", text, 1, &slo->ns, err);
}

/* Give each promised time to the log of its LLM server. A promise without a log is a mistake. */
static int apply_slos(struct logs_args *args, struct sim_error *err)
{
	for (size_t i = 0; i < args->slo_count; i++) {
		const struct logs_slo *slo = &args->slos[i];
		bool found = false;

		for (size_t j = 0; j < args->count; j++) {
			struct logs_entry *entry = &args->entries[j];

			if (!entry->report->promise ||
			    strcmp(entry->container, slo->container) != 0)
				continue;
			entry->slo_ns = slo->ns;
			found = true;
		}
		if (!found)
			return sim_user_error(err, "option '--slo': no --requests of \"%s\"",
					      slo->container);
	}
	return 0;
}

static int run(int argc, char **argv, struct logs_args *args, struct sim_error *err)
{
	int option, status = 0;

	args->entries = calloc((size_t)argc, sizeof(*args->entries));
	args->slos = calloc((size_t)argc, sizeof(*args->slos));
	if (!args->entries || !args->slos)
		return sim_runtime_error(err, "out of memory");
	opterr = 0;
	while (!status && (option = getopt_long(argc, argv, ":h", logs_options, NULL)) != -1) {
		switch (option) {
		case LOGS_REQUESTS:
			status = add_entry(args, "--requests", &report_requests, err);
			break;
		case LOGS_IMAGES:
			status = add_entry(args, "--images", &report_images, err);
			break;
		case LOGS_SLO:
			status = add_slo(args, err);
			break;
		case 'h':
			return arguments_print(logs_help, err);
		default:
			status =
				arguments_bad_option(option, argv[optind - 1], LOGS_USAGE, err);
		}
	}
	if (status)
		return status;
	if (argc - optind != 1)
		return sim_user_error(err, "%d folders, expected 1, usage: gvmcollect %s",
				      argc - optind, LOGS_USAGE);
	if (!args->count)
		return sim_user_error(err, "no log is given, usage: gvmcollect %s", LOGS_USAGE);
	status = apply_slos(args, err);
	return status ? status : logs_add(argv[optind], args->entries, args->count, err);
}

int cmd_logs(int argc, char **argv)
{
	struct logs_args args = { 0 };
	struct sim_error err = { 0 };
	int status = run(argc, argv, &args, &err);

	if (status)
		fprintf(stderr, "gvmcollect: logs: %s\n", err.text);
	free(args.entries);
	free(args.slos);
	return -status;
}
