// SPDX-License-Identifier: MIT OR GPL-2.0
/* "gvmsim run", see cmd_run.h. */
#include "cli/cmd_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run_signals.h"
#include "cli/run_table.h"
#include "config/config.h"
#include "config/load.h"
#include "config/paths.h"
#include "engine/error.h"
#include "machine/advice.h"
#include "results/results.h"
#include "results/trace_file.h"
#include "terminal/progress.h"

#define NS_PER_S 1000000000ull

static const struct command_option options[] = {
	{ "system", "NAME", false, "who manages the GPU, the same as --set system.name=NAME" },
	{ "set", "PATH=VALUE", true,
	  "change any key of the scenario or of the profiles that it\n"
	  "names; as often as needed, later ones win" },
	{ "out", "DIR", false,
	  "where results go, by default results/NAME-SYSTEM; results of an\nearlier run there "
	  "are replaced" },
	{ "quiet", NULL, false,
	  "no table, no advice and no progress; errors still go to\nstandard error" },
	{ NULL, NULL, false, NULL },
};

static int run(int argc, char **argv, struct sim_error *err);

/* clang-format off */
const struct command command_run = {
	.name = "gvmsim run",
	.operands = "SCENARIO",
	.summary = "simulate, print a table, write a results folder",
	.about =
"Simulates one scenario from start to end, prints a table of results and writes them\n"
"to a folder. SCENARIO is a JSON file; the name alone finds those that come with\n"
"gvmsim.\n",
	.options = options,
	.more =
"The folder gets summary.json (statistics of every container), requests.csv (a row\n"
"per request or image, in ns), timeline.csv (memory, evictions, GPU share, waiting,\n"
"link use and pending kernels over time) and config.json (every key with its value).\n"
"With output.controls it gets controls.csv (each change in a control file, in\n"
"gvmcollect's format), with output.evictions evictions.csv (each block that left the\n"
"GPU, in that order), with output.activity activity.csv (what each container does on its\n"
"GPU, for gvmsim explain), with output.timeline=trace timeline.pftrace (for Perfetto).\n"
"With output.compress=zstd the CSV files are NAME.csv.zst; all commands read both forms.\n"
"The same scenario and seed give the same bytes again, but for wall_seconds, speedup and\n"
"requests_per_wall_second, which are of this machine.\n"
"\n"
"Results that the folder has from an earlier run are replaced, all at once at the end. A note\n"
"says so if they had other settings; --out keeps both. Other files in the folder stay. If they\n"
"have the name of a result and the folder has no summary.json of gvmsim, as a model's\n"
"config.json, the run does not begin.\n"
"\n"
"Where the time of a container went: in the table and summary.json over the run, in\n"
"timeline.csv over each interval:\n"
"  gpu_seconds        gpu_busy_ns   compute: its kernels executed\n"
"  slow_seconds                     these took longer with a part of the GPU: beside\n"
"                                   other kernels, within a limit, or over the link\n"
"  stall_cpu_seconds  stall_cpu_ns  the CPU handled its page faults, or memory was\n"
"                                   cleared\n"
"  stall_d2h_seconds  stall_d2h_ns  its faults waited for copies to host memory\n"
"  stall_h2d_seconds  stall_h2d_ns  its faults waited for copies from host memory\n"
"  blocked_seconds    blocked_ns    it had work while faults of others held the GPU\n"
"  switching_seconds                its context was being loaded\n"
"  waited_seconds                   it had work and waited for its turn\n"
"  idle_seconds                     it had no work, or its host was launching\n"
"Below the table: what each GPU did. It is idle when no context that is loaded has a\n"
"kernel to execute.\n"
"\n"
"Before a run, notes on standard error tell of settings that are allowed and seldom\n"
"meant: limits that add up to more than the memory, a lower limit above the upper\n"
"one, a limit under one context, requests that need more than the whole GPU, prompts\n"
"that are too long for the server.\n"
"\n"
"Exit code: 0 done, also if a container's context died in the simulation, which is a\n"
"result; 1 something failed, such as a full disk; 2 a mistake in the scenario or the\n"
"command line, nothing was written; 130 interrupted, the results up to then are\n"
"written and marked with \"complete\": false.\n",
	.examples =
"  An LLM server and a diffusion pipeline, each with a GPU of its own:\n"
"    gvmsim run vllm-diffusion-80g --system exclusive\n"
"  The same, sharing one GPU by time slices:\n"
"    gvmsim run vllm-diffusion-80g --system stock\n"
"  Under several systems, one run each, side by side:\n"
"    for s in stock gvm ghost; do gvmsim run vllm-diffusion-40g --system $s; done\n"
"    gvmsim compare results/vllm-diffusion-40g-*\n"
"  The LLM server alone, on a link of half the speed, for two minutes:\n"
"    gvmsim run vllm-diffusion-80g --set containers.diffusion.enabled=false \\\n"
"           --set gpu.link.bandwidth=12e9 --set duration=120s \\\n"
"           --out results/slow-link\n",
	.run = run,
};
/* clang-format on */

/* A parsed command line. Strings are borrowed from argv. */
struct run_args {
	struct cfg_override *overrides;
	size_t override_count;
	const char *out;
	bool quiet;
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct run_args *args = data;

	if (!strcmp(option, "system")) {
		args->overrides[args->override_count++] =
			(struct cfg_override){ value, "system.name", "--system" };
	} else if (!strcmp(option, "set")) {
		args->overrides[args->override_count++].path_and_value = value;
	} else if (!strcmp(option, "out")) {
		args->out = value;
		if (!*value)
			return command_bad_value(&command_run, option, err,
						 "is empty, allowed: the name of a folder");
	} else {
		args->quiet = true;
	}
	return 0;
}

/* Print a list, "a, b", in lines of at most 80 columns. */
static void print_wrapped(const char *list)
{
	size_t column = 0;

	while (*list) {
		size_t length = strcspn(list, " ");

		if (column && column + 1 + length > 80) {
			putchar('\n');
			column = 0;
		}
		column += (size_t)printf("%s%.*s", column ? " " : "  ", (int)length, list);
		list += length + (list[length] == ' ');
	}
	putchar('\n');
}

static int print_help(struct sim_error *err)
{
	char scenarios[512];

	command_print_head(&command_run);
	config_list_scenarios(scenarios, sizeof(scenarios));
	puts("Scenarios that come with gvmsim:");
	print_wrapped(scenarios);
	puts("\nSystems:");
	for (const struct cfg_keys *const *system = sim_systems; *system; system++)
		printf("  %-16s  %s\n", (*system)->name, (*system)->summary);
	putchar('\n');
	command_print_tail(&command_run);
	return command_flush(err);
}

static void run_progress(const struct machine *machine)
{
	run_signals_let_in();
	progress_update((double)eng_now() / NS_PER_S,
			(double)machine->config->duration / NS_PER_S);
}

/* Advice is no error: the run begins. */
static void print_advice(const char *line)
{
	fprintf(stderr, "gvmsim: note: %s\n", line);
}

/*
 * A container or a policy that died is a result, not an error. A line on stderr points to it.
 */
static void print_failures(const struct summary *summary)
{
	if (strchr(summary->policy.status, ':'))
		fprintf(stderr, "gvmsim: policy %s: %s\n", summary->policy.name,
			summary->policy.status);
	for (size_t i = 0; i < summary->container_count; i++) {
		const struct summary_container *container = &summary->containers[i];

		if (summary_has_failed(container))
			fprintf(stderr, "gvmsim: containers.%s: %s\n", container->name,
				container->status);
	}
}

/* Events of containers that did not run have no effect: tell the user. */
static void print_missed_events(const struct machine *machine)
{
	for (size_t i = 0; i < machine->config->event_count; i++) {
		const struct cfg_event *event = &machine->config->events[i];

		if (!machine->missed[i])
			continue;
		fprintf(stderr,
			"gvmsim: note: events.%zu: container %s is not running at %llu.%03llu "
			"s, ",
			event->number, event->container, (u64)event->at / NS_PER_S,
			(u64)event->at / 1000000 % 1000);
		if (event->file[0])
			fprintf(stderr, "%s is not written\n", event->file);
		else if (event->touch[0])
			fprintf(stderr, "%s is not touched\n", event->touch);
		else if (event->load)
			fputs("its load does not change\n", stderr);
		else
			fprintf(stderr, "it %s\n",
				event->sleep   ? "does not sleep" :
				event->wake    ? "does not wake" :
				event->stop    ? "is not stopped" :
				event->restart ? "is not restarted" :
						 "does not exit");
	}
}

static const char *why_refused(int error)
{
	switch (error) {
	case ENOENT:
		return "no such file, or the container does not run";
	case EOPNOTSUPP:
		return "the system does not honour it";
	case ETIMEDOUT:
		return "it took too long";
	case EINVAL:
		return "no value of this file";
	default:
		return strerror(error);
	}
}

/* A write of the policy that was refused is in policy.csv. Say the first, and how many. */
static void print_refused_writes(const struct machine *machine)
{
	const struct policy_report *report = &machine->policy_report;

	if (!report->refused)
		return;
	for (size_t i = 0; i < report->write_count; i++) {
		const struct policy_write *row = &report->writes[i];

		if (!row->status || row->restored)
			continue;
		fprintf(stderr,
			"gvmsim: note: policy %s: %llu of %llu writes were refused, the first "
			"at %llu.%03llu s: %s of %s: %s\n",
			report->name, report->refused, report->refused + report->applied,
			row->time_ns / NS_PER_S, row->time_ns / 1000000 % 1000, row->file,
			machine->config->containers[row->container].name,
			why_refused(-row->status));
		return;
	}
}

/* Write and print the results. */
static int run_report(const struct run_args *args, const struct machine *machine,
		      struct writer *writer, struct sim_error *err)
{
	bool differ = !args->quiet && results_differ(writer, machine->config->hash);
	struct summary summary;
	int status = summary_compute(&summary, machine, err);

	if (status) {
		writer_abort(writer);
		return status;
	}
	status = results_write(writer, machine, &summary, trace_file_write, err);
	if (!status) {
		if (differ)
			fprintf(stderr,
				"gvmsim: note: %s: replaces results of other settings; --out "
				"DIR keeps both\n",
				writer->folder);
		if (!args->quiet)
			machine_advise_after(machine, print_advice);
		print_missed_events(machine);
		print_refused_writes(machine);
		print_failures(&summary);
		if (!args->quiet)
			status = run_table_print(&summary, machine->config, args->overrides,
						 args->override_count, writer->folder, err);
	}
	summary_destroy(&summary);
	if (status || !machine->interrupted)
		return status;
	sim_runtime_error(err,
			  "interrupted at %llu.%03llu s of %llu.%03llu s simulated; results up "
			  "to there, marked incomplete, are in %s",
			  machine->end_ns / NS_PER_S, machine->end_ns / 1000000 % 1000,
			  (u64)machine->config->duration / NS_PER_S,
			  (u64)machine->config->duration / 1000000 % 1000, writer->folder);
	return -SIM_EXIT_INTERRUPTED;
}

static int run_simulate(const struct run_args *args, const struct config *config,
			struct writer *writer, struct sim_error *err)
{
	struct machine machine = { 0 };
	int status;

	run_signals_catch();
	progress_start(!args->quiet);
	/* A trace in Perfetto's format needs all requests at once. */
	status = machine_run(&machine, config, config->trace.form ? NULL : writer->folder,
			     args->quiet ? NULL : print_advice, run_progress, &run_interrupted,
			     err);
	progress_end();
	run_signals_block();
	run_signals_catch();
	if (status)
		writer_abort(writer);
	else
		status = run_report(args, &machine, writer, err);
	machine_destroy(&machine);
	return status;
}

/* Simulate into a folder. The folder is prepared first, so that no results are lost. */
static int run_config(const struct run_args *args, const struct config *config,
		      struct sim_error *err)
{
	char folder[2 * CFG_NAME_MAX + sizeof("results/-")];
	struct writer writer;
	int status;

	snprintf(folder, sizeof(folder), "results/%s-%s", config->name, config->system->name);
	run_signals_block();
	status = results_prepare(&writer, args->out ? args->out : folder, err);
	writer.packs = config->compress == CFG_COMPRESS_ZSTD;
	if (!status)
		status = run_simulate(args, config, &writer, err);
	run_signals_unblock();
	return status;
}

/* Parse the command line and run it. @args has room for all options. */
static int parse_and_run(int argc, char **argv, struct run_args *args, struct sim_error *err)
{
	struct command_line line;
	struct config config;
	int status = command_parse(&command_run, argc, argv, take_option, args, &line, err);

	if (status)
		return status;
	if (line.help)
		return print_help(err);
	if (line.operand_count != 1)
		return command_mistake(&command_run, err, "%d scenarios, expected 1",
				       line.operand_count);
	status = config_load(&machine_registry, line.operands[0], args->overrides,
			     args->override_count, &config, err);
	if (status)
		return status;
	status = run_config(args, &config, err);
	config_destroy(&config);
	return status;
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct run_args args = {
		.overrides = calloc((size_t)argc + 1, sizeof(*args.overrides)),
	};
	int status;

	if (args.overrides)
		status = parse_and_run(argc, argv, &args, err);
	else
		status = sim_runtime_error(err, "out of memory");
	free(args.overrides);
	return status;
}
