// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmsim run", see cmd_run.h.
 *
 * SIGINT, and SIGTERM and SIGHUP, which mean the same here. SimGrid installs a handler of its own
 * for SIGINT, which exits, somewhere inside machine_run(). So the signals are blocked before
 * anything is written, and let through by the first call of the progress callback, from inside
 * the simulation, after our handler is in place: there is no moment at which an interrupt gets
 * lost or kills. The handler is for one interrupt; a second one, of somebody who cannot wait,
 * ends the program at once, but not while results are being written.
 */
#include "cli/cmd_run.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "terminal/progress.h"
#include "terminal/table.h"
#include "config/config.h"
#include "engine/error.h"
#include "results/results.h"
#include "results/summary_text.h"

#define RUN_USAGE   "run SCENARIO [--system NAME] [--set PATH=VALUE]... [--out DIR] [--quiet]"
#define NS_PER_S    1000000000ull
#define TABLE_GROUP (TABLE_COLUMNS_MAX - 1) /* containers side by side */

static const char run_help[] =
	"Usage: gvmsim " RUN_USAGE "\n"
	"\n"
	"Simulates one scenario from start to end, prints a table of results and writes them "
	"to\n"
	"a folder. SCENARIO is a JSON file; the name alone finds those that come with gvmsim.\n"
	"\n"
	"  --system NAME     who manages the GPU, the same as --set system.name=NAME\n"
	"  --set PATH=VALUE  change any key of the scenario or of the profiles that it names;\n"
	"                    as often as needed, later ones win\n"
	"  --out DIR         where results go, by default results/NAME-SYSTEM\n"
	"  --quiet           no table and no progress; errors still go to standard error\n"
	"\n";

static const char run_help_files[] =
	"\n"
	"The folder gets summary.json (statistics of every container), requests.csv (a row "
	"per\n"
	"request or image, in ns), timeline.csv (memory, evictions, GPU share, waiting,\n"
	"link use and pending kernels over time) and config.json (every key with the value\n"
	"that it had). With output.controls it gets controls.csv (each change in a control\n"
	"file, as gvmcollect has it), with output.evictions evictions.csv (each block that\n"
	"left the GPU, in that order). The same scenario and seed give the same bytes\n"
	"again, but for wall_seconds and speedup.\n"
	"\n"
	"Where the time of a container went: in the table and summary.json over the run, in\n"
	"timeline.csv over each interval:\n"
	"  gpu_seconds        gpu_busy_ns   compute: its kernels executed\n"
	"  stall_cpu_seconds  stall_cpu_ns  the CPU handled its page faults, or memory was "
	"cleared\n"
	"  stall_d2h_seconds  stall_d2h_ns  its faults waited for copies to host memory\n"
	"  stall_h2d_seconds  stall_h2d_ns  its faults waited for copies from host memory\n"
	"  blocked_seconds    blocked_ns    it had work while faults of others held the GPU\n"
	"In the rest of its time it had no work or it was not its turn.\n"
	"\n"
	"Exit code: 0 done, also if a container's context died in the simulation, which is a\n"
	"result; 1 something failed, such as a full disk; 2 a mistake in the scenario or the\n"
	"command line, nothing was written; 130 interrupted, what there was is written and\n"
	"marked with \"complete\": false.\n"
	"\n"
	"Examples:\n"
	"  An LLM server and a diffusion pipeline, each with a GPU of its own:\n"
	"    gvmsim run vllm-diffusion-80g --system exclusive\n"
	"  The same, sharing one GPU by time slices:\n"
	"    gvmsim run vllm-diffusion-80g --system stock\n"
	"  The LLM server alone, on a link of half the speed, for two minutes:\n"
	"    gvmsim run vllm-diffusion-80g --set containers.diffusion.enabled=false \\\n"
	"           --set gpu.link.bandwidth=12e9 --set duration=120s --out "
	"results/slow-link\n";

/* A parsed command line. Strings are borrowed from argv, except for those in system_texts. */
struct run_args {
	const char *scenario;
	struct cfg_override *overrides;
	size_t override_count;
	char **system_texts; /* "system.name=..." of --system */
	size_t system_count;
	const char *out;
	bool quiet;
	bool help;
};

/* Numbered above all characters, so that getopt's optopt tells short options from long ones. */
enum run_option { RUN_SYSTEM = 256, RUN_SET, RUN_OUT, RUN_QUIET };

static const struct option run_options[] = {
	{ "system", required_argument, NULL, RUN_SYSTEM },
	{ "set", required_argument, NULL, RUN_SET },
	{ "out", required_argument, NULL, RUN_OUT },
	{ "quiet", no_argument, NULL, RUN_QUIET },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static volatile int run_interrupted;

/* What interrupts a run. */
static const int run_signals[] = { SIGINT, SIGTERM, SIGHUP };

/*
 * The first signal stops the run in order. One that comes well after it means that the user does
 * not want to wait for that; what comes within a second is the same one again, since timeout(1)
 * and terminals signal a process and then its group.
 */
static void run_on_signal(int signal_number)
{
	static struct timespec first;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!run_interrupted)
		first = now;
	else if (now.tv_sec - first.tv_sec > 1)
		_exit(128 + signal_number);
	run_interrupted = 1;
}

/*
 * Also where SIGINT was ignored, as a shell does for what it starts in the background: who sends
 * it there means it. The others stay ignored where they are, as nohup(1) wants it.
 */
static void run_catch_signals(void)
{
	struct sigaction action = { .sa_handler = run_on_signal };
	struct sigaction before;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(run_signals); i++) {
		sigaction(run_signals[i], NULL, &before);
		if (run_signals[i] == SIGINT || before.sa_handler != SIG_IGN)
			sigaction(run_signals[i], &action, NULL);
	}
}

static void run_mask_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(run_signals); i++)
		sigaddset(&set, run_signals[i]);
	sigprocmask(how, &set, NULL);
}

/* Called from inside the simulation. */
static void run_progress(const struct machine *machine)
{
	static bool caught;

	if (!caught) {
		caught = true;
		run_catch_signals();
		run_mask_signals(SIG_UNBLOCK);
	}
	progress_update((double)eng_now() / NS_PER_S,
			(double)machine->config->duration / NS_PER_S);
}

/* @word is where getopt stands; it has not passed a word of several short options. */
static int run_bad_option(int kind, const char *word, struct sim_error *err)
{
	const char letter[] = { '-', (char)optopt, '\0' };

	if (optopt && optopt < RUN_SYSTEM)
		word = letter;
	return sim_user_error(err, "run: option '%s' %s, usage: gvmsim " RUN_USAGE, word,
			      kind == ':' ? "needs a value" : "is not valid here");
}

static int run_add_system(struct run_args *args, const char *name, struct sim_error *err)
{
	char **text = &args->system_texts[args->system_count];

	if (asprintf(text, "system.name=%s", name) < 0) {
		*text = NULL;
		return sim_runtime_error(err, "out of memory");
	}
	args->system_count++;
	args->overrides[args->override_count++].path_and_value = *text;
	return 0;
}

/* Take one option. */
static int run_option(int option, const char *word, struct run_args *args,
		      struct sim_error *err)
{
	switch (option) {
	case RUN_SYSTEM:
		return run_add_system(args, optarg, err);
	case RUN_SET:
		args->overrides[args->override_count++].path_and_value = optarg;
		return 0;
	case RUN_OUT:
		if (!*optarg)
			return sim_user_error(err, "run: option '--out': is empty, allowed: "
						   "the name of a folder");
		args->out = optarg;
		return 0;
	case RUN_QUIET:
		args->quiet = true;
		return 0;
	case 'h':
		args->help = true;
		return 0;
	default:
		return run_bad_option(option, word, err);
	}
}

static int run_parse(int argc, char **argv, struct run_args *args, struct sim_error *err)
{
	int option, rc;

	args->overrides = calloc((size_t)argc + 1, sizeof(*args->overrides));
	args->system_texts = calloc((size_t)argc + 1, sizeof(*args->system_texts));
	if (!args->overrides || !args->system_texts)
		return sim_runtime_error(err, "out of memory");
	optind = 0; /* glibc: start afresh */
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", run_options, NULL)) != -1) {
		rc = run_option(option, argv[optind - 1], args, err);
		if (rc || args->help)
			return rc;
	}
	if (argc - optind != 1)
		return sim_user_error(err,
				      "run: %d scenarios, expected 1, usage: gvmsim " RUN_USAGE,
				      argc - optind);
	args->scenario = argv[optind];
	return 0;
}

static void run_args_destroy(struct run_args *args)
{
	for (size_t i = 0; i < args->system_count; i++)
		free(args->system_texts[i]);
	free(args->system_texts);
	free(args->overrides);
}

/* Results that did not reach the user are a failure, even if all was computed. */
static int run_flush(struct sim_error *err)
{
	if (fflush(stdout) || ferror(stdout))
		return sim_runtime_error(err, "standard output: cannot write: %s",
					 strerror(errno));
	return 0;
}

static int run_print_help(struct sim_error *err)
{
	char scenarios[512];

	fputs(run_help, stdout);
	config_list_scenarios(scenarios, sizeof(scenarios));
	printf("Scenarios that come with gvmsim:\n  %s\n\nSystems:\n", scenarios);
	for (const struct cfg_keys *const *system = sim_systems; *system; system++)
		printf("  %-16s  %s\n", (*system)->name, (*system)->summary);
	fputs(run_help_files, stdout);
	return run_flush(err);
}

/* The categories of "where the time went". */
static const enum summary_metric_id time_metrics[] = {
	SUMMARY_GPU_SECONDS,	   SUMMARY_STALL_CPU_SECONDS, SUMMARY_STALL_D2H_SECONDS,
	SUMMARY_STALL_H2D_SECONDS, SUMMARY_BLOCKED_SECONDS,
};

/* Is the metric told by "where the time went", be it as a sum or a share? */
static bool is_of_time(enum summary_metric_id metric)
{
	for (size_t i = 0; i < ARRAY_SIZE(time_metrics); i++)
		if (time_metrics[i] == metric)
			return true;
	return metric == SUMMARY_STALL_SECONDS || metric == SUMMARY_GPU_SHARE;
}

/* Seconds, and their share of the run. What is left, it had no work or waited for its turn. */
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

			table_set(table, i + 1, "%.3f s %6.2f %%", seconds,
				  run > 0 ? 100 * seconds / run : 0.0);
		}
	}
}

/* A row of the table; none, if no container here has the metric. */
static void print_metric(struct table *table, enum summary_metric_id metric,
			 const struct summary_container *containers, size_t count)
{
	char text[TABLE_CELL_MAX];
	bool any = false;

	for (size_t i = 0; i < count; i++)
		any = any || summary_has(&containers[i], metric);
	if (!any)
		return;
	table_add(table);
	table_set(table, 0, "%s", summary_metrics[metric].label);
	for (size_t i = 0; i < count; i++) {
		if (!summary_has(&containers[i], metric))
			continue;
		summary_format(&containers[i].values[metric], metric, text, sizeof(text));
		table_set(table, i + 1, "%s", text);
	}
}

/* "context died at 57.100 s: why" fits no column: the reason is printed on its own. */
static const char *short_status(const struct summary_container *container)
{
	if (!strchr(container->status, ':'))
		return container->status;
	return "FAILED";
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
		table_set(&table, i + 1, "%s", summary_type_name(containers[i].type));
	table_add(&table);
	table_set(&table, 0, "status");
	for (size_t i = 0; i < count; i++)
		table_set(&table, i + 1, "%s", short_status(&containers[i]));
	for (int i = 0; i < SUMMARY_METRICS; i++)
		if (!is_of_time((enum summary_metric_id)i))
			print_metric(&table, (enum summary_metric_id)i, containers, count);
	print_times(&table, summary, containers, count);
	table_print(&table, stdout);
	putchar('\n');
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

static int print_summary(const struct summary *summary, const struct config *config,
			 const char *folder, struct sim_error *err)
{
	size_t count;

	printf("%s on %s, system %s%s\n\n", summary->name,
	       *config->gpu.profile ? config->gpu.profile : "a GPU of its own description",
	       summary->system, summary->complete ? "" : " (INCOMPLETE)");
	for (size_t i = 0; i < summary->container_count; i += count) {
		count = min(summary->container_count - i, (size_t)TABLE_GROUP);
		print_containers(summary, &summary->containers[i], count);
	}
	print_ignored(summary);
	printf("each GPU: %.1f MiB are the driver's own, in no container's memory\n",
	       (double)summary->gpu_reserved / (1 << 20));
	printf("%.1f s simulated in %.2f s of wall time", summary->sim_seconds,
	       summary->wall_seconds);
	if (summary->speedup.known)
		printf(", %.0f times real time", summary->speedup.real);
	printf("\nresults in %s\n", folder);
	return run_flush(err);
}

/* Modelled failures are results; but nobody should have to look for them. */
static void print_failures(const struct summary *summary)
{
	for (size_t i = 0; i < summary->container_count; i++) {
		const struct summary_container *container = &summary->containers[i];

		if (strchr(container->status, ':'))
			fprintf(stderr, "gvmsim: containers.%s: %s\n", container->name,
				container->status);
	}
}

/* Write and print what a run came to. */
static int run_report(const struct run_args *args, const struct machine *machine,
		      struct writer *writer, struct sim_error *err)
{
	struct summary summary;
	int rc = summary_compute(&summary, machine, err);

	if (rc) {
		writer_abort(writer);
		return rc;
	}
	rc = results_write(writer, machine, &summary, err);
	if (!rc) {
		print_failures(&summary);
		if (!args->quiet)
			rc = print_summary(&summary, machine->config, writer->folder, err);
	}
	summary_destroy(&summary);
	if (rc || !machine->interrupted)
		return rc;
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
	int rc;

	run_catch_signals();
	progress_start(!args->quiet);
	rc = machine_run(&machine, config, run_progress, &run_interrupted, err);
	progress_end();
	run_mask_signals(SIG_BLOCK);
	run_catch_signals();
	if (rc)
		writer_abort(writer);
	else
		rc = run_report(args, &machine, writer, err);
	machine_destroy(&machine);
	return rc;
}

/* Nothing is simulated before it is sure that the results can be kept. */
static int run_config(const struct run_args *args, const struct config *config,
		      struct sim_error *err)
{
	char folder[2 * CFG_NAME_MAX + sizeof("results/-")];
	struct writer writer;
	int rc;

	snprintf(folder, sizeof(folder), "results/%s-%s", config->name, config->system->name);
	run_mask_signals(SIG_BLOCK);
	rc = results_prepare(&writer, args->out ? args->out : folder, err);
	if (!rc)
		rc = run_simulate(args, config, &writer, err);
	run_mask_signals(SIG_UNBLOCK);
	return rc;
}

static int run_scenario(int argc, char **argv, struct run_args *args, struct sim_error *err)
{
	struct config config;
	int rc = run_parse(argc, argv, args, err);

	if (rc)
		return rc;
	if (args->help)
		return run_print_help(err);
	rc = config_load(&machine_registry, args->scenario, args->overrides,
			 args->override_count, &config, err);
	if (rc)
		return rc;
	rc = run_config(args, &config, err);
	config_destroy(&config);
	return rc;
}

int cmd_run(int argc, char **argv)
{
	struct run_args args = { 0 };
	struct sim_error err = { 0 };
	int rc = run_scenario(argc, argv, &args, &err);

	if (rc)
		fprintf(stderr, "gvmsim: %s\n", err.text);
	run_args_destroy(&args);
	return -rc;
}
