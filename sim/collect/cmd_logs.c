// SPDX-License-Identifier: MIT OR GPL-2.0
#include "collect/cmd_logs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/arguments.h"
#include "collect/logs.h"
#include "engine/error.h"

static int run(int argc, char **argv, struct sim_error *err);

/* clang-format off */
static const struct command_option options[] = {
	{ "requests", "NAME=FILE", true,
"container NAME is an LLM server, and FILE is the result of\n"
"vLLM's benchmark client: vllm bench serve --save-result\n"
"--save-detailed. It needs start_times, which vLLM writes\n"
"since January 2026" },
	{ "images", "NAME=FILE", true,
"container NAME is a diffusion pipeline, and FILE a CSV with\n"
"a row per image: start_ns,end_ns. In Python:\n"
"time.monotonic_ns() before and after the call of the\n"
"pipeline" },
	{ "slo", "NAME=TIME", true,
"the time to first token that NAME's users were promised:\n"
"7.463s" },
	{ "slo-itl", "NAME=TIME", true,
"the mean time between the tokens of a request that NAME's\n"
"users were promised: 50ms" },
	{ NULL, NULL, false, NULL },
};

const struct command command_logs = {
	.name = "gvmcollect logs",
	.operands = "DIR",
	.summary = "put the logs of applications into such a folder",
	.about =
"Puts the logs of applications into DIR, a folder of \"gvmcollect sample\": every request and\n"
"image into requests.csv, their statistics into summary.json. Each call replaces the logs of the\n"
"call before, so give all logs at once.\n",
	.options = options,
	.more =
"Both clocks are CLOCK_MONOTONIC of the host that was sampled, so run the clients there.\n"
"Requests and images outside of the collection are left out and reported.\n",
	.examples =
"    gvmcollect logs results/hardware --requests vllm=bench.json --images sd=images.csv \\\n"
"               --slo vllm=7.463s\n"
"    gvmsim figure alone-vs-shared results/hardware results/vllm-diffusion-80g-stock\n",
	.run = run,
};
/* clang-format on */

/* A promised time. */
struct logs_slo {
	char *container; /* owned */
	enum app_promise promise;
	u64 ns;
};

/* A parsed command line. The arrays have room for argc elements. */
struct logs_args {
	struct logs_entry *entries;
	size_t count;
	struct logs_slo *slos;
	size_t slo_count;
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct logs_args *args = data;
	struct logs_slo *slo = &args->slos[args->slo_count];
	struct logs_entry *entry = &args->entries[args->count];
	int status;

	if (!strncmp(option, "slo", strlen("slo"))) {
		args->slo_count++;
		slo->promise = strcmp(option, "slo") ? APP_PROMISE_GAPS : APP_PROMISE_FIRST;
		status = arguments_split(&command_logs, option, value, &slo->container, &value,
					 err);
		return status ? status :
				arguments_duration(&command_logs, option, value, 1, &slo->ns,
						   err);
	}
	entry->report = strcmp(option, "images") ? &report_requests : &report_images;
	status = arguments_split(&command_logs, option, value, &entry->container, &entry->file,
				 err);
	for (size_t i = 0; !status && i < args->count; i++)
		if (!strcmp(args->entries[i].container, entry->container))
			status = command_bad_value(&command_logs, option, err,
						   "%s has a log already", entry->container);
	args->count++;
	return status;
}

/*
 * Give each promised time to the log of its LLM server. A promise without a log is a mistake.
 */
static int apply_slos(struct logs_args *args, struct sim_error *err)
{
	for (size_t i = 0; i < args->slo_count; i++) {
		const struct logs_slo *slo = &args->slos[i];
		bool found = false;

		for (size_t j = 0; j < args->count; j++) {
			struct logs_entry *entry = &args->entries[j];

			if (!entry->report->promises[slo->promise] ||
			    strcmp(entry->container, slo->container) != 0)
				continue;
			entry->promises_ns[slo->promise] = slo->ns;
			found = true;
		}
		if (!found)
			return command_bad_value(
				&command_logs,
				slo->promise == APP_PROMISE_GAPS ? "slo-itl" : "slo", err,
				"no --requests of \"%s\"", slo->container);
	}
	return 0;
}

static void print_note(const char *text)
{
	fprintf(stderr, "gvmcollect: note: %s\n", text);
}

static int parse_and_add(int argc, char **argv, struct logs_args *args, struct sim_error *err)
{
	struct command_line line;
	int status = command_parse(&command_logs, argc, argv, take_option, args, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_logs, err);
	if (line.operand_count != 1)
		return command_mistake(&command_logs, err, "%d folders, expected 1",
				       line.operand_count);
	if (!args->count)
		return command_mistake(&command_logs, err, "no log is given");
	status = apply_slos(args, err);
	return status ? status :
			logs_add(line.operands[0], args->entries, args->count, print_note, err);
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct logs_args args = { .entries = calloc((size_t)argc, sizeof(*args.entries)),
				  .slos = calloc((size_t)argc, sizeof(*args.slos)) };
	int status = args.entries && args.slos ? parse_and_add(argc, argv, &args, err) :
						 sim_runtime_error(err, "out of memory");

	for (size_t i = 0; i < args.count; i++)
		free(args.entries[i].container);
	for (size_t i = 0; i < args.slo_count; i++)
		free(args.slos[i].container);
	free(args.entries);
	free(args.slos);
	return status;
}
