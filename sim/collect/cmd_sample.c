// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmcollect sample", see cmd_sample.h.
 *
 * Signals that end the program are blocked before anything is written. The wait for the next sample
 * fetches them, so no signal is lost and none leaves half a folder behind. They stay blocked to the end:
 * timeout(1) and terminals send more than one, and the second would end the program before it has
 * reported the first.
 */
#include "collect/cmd_sample.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collect/arguments.h"
#include "collect/collected.h"
#include "collect/host.h"
#include "engine/error.h"
#include "results/summary_text.h"
#include "terminal/signals.h"
#include "terminal/table.h"

#define SAMPLE_USAGE                                                             \
	"sample [--container NAME=PID[:GPU]]... [--root DIR] [--interval TIME] " \
	"[--duration TIME] [--system NAME] [--out DIR] [--quiet]"
#define SAMPLE_OUT   "results/hardware"
#define INTERVAL_NS  100000000ull /* as output.timeline_interval of a scenario */
#define INTERVAL_MIN 1000000ull
#define PID_LIMIT    2147483647ull /* the largest pid_t */
#define NS_PER_S     1000000000ull
#define NS_PER_MS    1000000ull

/* clang-format off */
static const char sample_help[] =
"Usage: gvmcollect " SAMPLE_USAGE "\n"
"\n"
"Watches the containers of a GPU host by the control files of their driver, and writes the\n"
"results folder that gvmsim writes, to put hardware beside a simulation. Only root may read\n"
"debugfs, so run it as root. Without options it takes in every container that appears, until all\n"
"have gone or it is interrupted.\n"
"\n"
"  --container NAME=PID[:GPU]  watch this process group only and call it NAME, the name that it\n"
"                              has in the scenario; may be repeated\n"
"  --root DIR        where DIR/<tgid>/<gpu>/ are; by default /sys/kernel/debug/gvm and the GVM\n"
"                    paper's /sys/kernel/debug/nvidia-uvm/processes\n"
"  --interval TIME   between samples, 1ms and more; by default 100ms\n"
"  --duration TIME   end after that time; by default when all containers have gone\n"
"  --system NAME     who manages the GPU, for titles: stock, gvm, ... By default hardware\n"
"  --out DIR         where results go, by default " SAMPLE_OUT "\n"
"  --quiet           no news and no table\n"
"\n"
"Control files that are sampled, where the driver has them:\n";

/* Comes after the list of control files. */
static const char sample_help_end[] =
"\n"
"A missing file is reported once, and its value stays unknown. A stock driver has none of these\n"
"files. Then the folder tells which process ran when, and \"gvmcollect logs\" adds what the\n"
"applications logged. (nvidia-smi does not help: it leaves managed memory out of the memory of a\n"
"process.)\n"
"\n"
"The folder gets timeline.csv (memory and pending kernels; fields that no driver can fill are\n"
"empty), controls.csv (a row for each change of another control file), summary.json, config.json\n"
"(host, driver, GPUs, containers, missing files) and an empty requests.csv.\n"
"\n"
"Exit code: 0 done; 1 something failed, such as a full disk; 2 a mistake in the command line; 130\n"
"interrupted: the results so far are written and marked with \"complete\": false.\n"
"\n"
"Examples:\n"
"  Two processes, until both have gone:\n"
"    gvmcollect sample --container vllm=$(pgrep -of vllm) --container diffusion=4242\n"
"  All containers, for ten minutes, every 10 ms:\n"
"    gvmcollect sample --interval 10ms --duration 10min --out results/ten-minutes\n";
/* clang-format on */

/* The list in the middle is the core's table of control files. */
static int print_help(struct sim_error *err)
{
	fputs(sample_help, stdout);
	for (u32 i = 0; i < gvm_control_count(); i++) {
		const struct gvm_control_file *file = gvm_control_at(i);

		printf("  %-18s  %s\n", file->name, file->summary);
		if (file->alias)
			printf("  %-18s  the same in the public GVM driver\n", file->alias);
	}
	return arguments_print(sample_help_end, err);
}

enum sample_option {
	SAMPLE_CONTAINER = 256,
	SAMPLE_ROOT,
	SAMPLE_INTERVAL,
	SAMPLE_DURATION,
	SAMPLE_SYSTEM,
	SAMPLE_TO,
	SAMPLE_QUIET,
};

static const struct option sample_options[] = {
	{ "container", required_argument, NULL, SAMPLE_CONTAINER },
	{ "root", required_argument, NULL, SAMPLE_ROOT },
	{ "interval", required_argument, NULL, SAMPLE_INTERVAL },
	{ "duration", required_argument, NULL, SAMPLE_DURATION },
	{ "system", required_argument, NULL, SAMPLE_SYSTEM },
	{ "out", required_argument, NULL, SAMPLE_TO },
	{ "quiet", no_argument, NULL, SAMPLE_QUIET },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* A parsed command line. Strings are borrowed from argv. */
struct sample_args {
	const char **containers; /* "NAME=PID[:GPU]" */
	size_t container_count;
	const char *root; /* NULL: where drivers have them */
	const char *system;
	const char *out;
	u64 interval_ns;
	u64 duration_ns; /* 0: until all have gone */
	bool quiet;
	bool help;
};

static int take_text(const char *option, const char **ret_text, struct sim_error *err)
{
	*ret_text = optarg;
	return *optarg ? 0 : sim_user_error(err, "option '%s': is empty", option);
}

static int parse(int argc, char **argv, struct sample_args *args, struct sim_error *err)
{
	int option, status = 0;

	args->containers = calloc((size_t)argc, sizeof(*args->containers));
	if (!args->containers)
		return sim_runtime_error(err, "out of memory");
	opterr = 0;
	while (!status &&
	       (option = getopt_long(argc, argv, ":h", sample_options, NULL)) != -1) {
		switch (option) {
		case SAMPLE_CONTAINER:
			args->containers[args->container_count++] = optarg;
			break;
		case SAMPLE_ROOT:
			status = take_text("--root", &args->root, err);
			break;
		case SAMPLE_INTERVAL:
			status = arguments_duration("--interval", optarg, INTERVAL_MIN,
						    &args->interval_ns, err);
			break;
		case SAMPLE_DURATION:
			status = arguments_duration("--duration", optarg, INTERVAL_MIN,
						    &args->duration_ns, err);
			break;
		case SAMPLE_SYSTEM:
			args->system = optarg; /* a name is short enough for summary.json */
			status = arguments_name("--system", optarg, err);
			break;
		case SAMPLE_TO:
			status = take_text("--out", &args->out, err);
			break;
		case SAMPLE_QUIET:
			args->quiet = true;
			break;
		case 'h':
			args->help = true;
			return 0;
		default:
			status = arguments_bad_option(option, argv[optind - 1], SAMPLE_USAGE,
						      err);
		}
	}
	if (status || argc == optind)
		return status;
	return sim_user_error(err, "'%s' is not valid here, usage: gvmcollect %s", argv[optind],
			      SAMPLE_USAGE);
}

/* "NAME=PID" or "NAME=PID:GPU" */
static int add_container(struct sampler *sampler, const char *argument, struct sim_error *err)
{
	u64 tgid = 0, gpu = SAMPLER_ANY_GPU;
	const char *name, *value;
	char *text = strdup(argument);
	char *colon = NULL;
	int status = text ? arguments_split("--container", text, &name, &value, err) :
			    sim_runtime_error(err, "out of memory");

	if (!status)
		colon = strchr(value, ':');
	if (colon)
		*colon++ = '\0';
	if (!status && (gvm_parse_u64(value, &tgid) || !tgid || tgid > PID_LIMIT ||
			(colon && gvm_parse_u64(colon, &gpu))))
		status = sim_user_error(err,
					"option '--container': \"%s\", allowed: NAME=PID or "
					"NAME=PID:GPU in numbers, a PID is at most %llu",
					argument, PID_LIMIT);
	if (!status)
		status = sampler_add(sampler, name, tgid, gpu, err);
	free(text);
	return status;
}

static u64 clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * NS_PER_S + (u64)now.tv_nsec;
}

/*
 * Sample to the end. Dates are multiples of the interval since the start, however long a sample takes. If
 * this process was not scheduled in time, it skips the dates that have passed. No date is beyond the
 * end.
 */
static int collect(const struct sample_args *args, struct sampler *sampler,
		   struct collected *collected, const struct signals *signals,
		   struct sim_error *err)
{
	u64 end_ns = args->duration_ns ? args->duration_ns : U64_MAX;
	u64 date_ns = 0;
	int status;

	for (;;) {
		u64 now_ns, late;

		date_ns = min(date_ns + collected->interval_ns, end_ns);
		if (signals_wait_until(signals, collected->start_ns + date_ns)) {
			collected->end_ns = min(clock_ns() - collected->start_ns, end_ns);
			return 0;
		}
		now_ns = min(clock_ns() - collected->start_ns, end_ns);
		late = now_ns > date_ns ? (now_ns - date_ns) / collected->interval_ns : 0;
		collected->skipped += late;
		date_ns += late * collected->interval_ns;
		collected->end_ns = date_ns;
		status = sampler_take(sampler, date_ns, err);
		if (status)
			return status;
		collected->taken++;
		if (date_ns == end_ns || (!args->duration_ns && sampler_is_over(sampler)))
			break;
	}
	collected->complete = true;
	return 0;
}

static int print_summary(const struct collected *collected, const struct summary *summary,
			 const char *folder, struct sim_error *err)
{
	static const char *const head[] = { "container",       "process", "command",
					    "GPU memory peak", "at end",  "swapped out" };
	static const enum summary_metric_id metrics[] = { SUMMARY_GMEM_PEAK,
							  SUMMARY_GMEM_CURRENT,
							  SUMMARY_GMEM_SWAP };
	struct table table = { 0 };
	char text[PATH_MAX + 128];

	putchar('\n');
	table_add(&table);
	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		table_set(&table, i, "%s", head[i]);
	for (u32 i = 0; i < collected->sampler->container_count; i++) {
		const struct sampler_container *sampled = &collected->sampler->containers[i];
		const struct summary_container *container = &summary->containers[i];

		table_add(&table);
		table_set(&table, 0, "%s", container->name);
		table_set(&table, 1, "%llu", sampled->tgid);
		table_set(&table, 2, "%s", sampled->seen ? sampled->command : "never appeared");
		for (size_t k = 0; k < ARRAY_SIZE(metrics); k++) {
			char cell[TABLE_CELL_MAX];

			summary_format(&container->values[metrics[k]],
				       &summary_metrics[metrics[k]], cell, sizeof(cell));
			table_set(&table, 3 + k, "%s", cell);
		}
	}
	table_print(&table, stdout);
	snprintf(text, sizeof(text),
		 "\n%llu samples in %.1f s, %llu skipped%s\nresults in %s\n", collected->taken,
		 summary->sim_seconds, collected->skipped,
		 collected->complete ? "" : " (INCOMPLETE)", folder);
	return arguments_print(text, err);
}

/* Write and print the results. @failed is the status of sampling: samples before a failure are kept. */
static int report(const struct sample_args *args, const struct collected *collected,
		  struct writer *writer, int failed, struct sim_error *err)
{
	struct summary summary;
	int status = collected_summary(collected, &summary, err);

	if (status) {
		writer_abort(writer);
		return status;
	}
	status = collected_write(collected, &summary, writer, err);
	if (!status && !args->quiet)
		status = print_summary(collected, &summary, writer->folder, err);
	summary_destroy(&summary);
	if (status || failed || collected->complete)
		return status ? status : failed;
	sim_runtime_error(err,
			  "interrupted after %llu.%03llu s; results up to there, marked "
			  "incomplete, are in %s",
			  collected->end_ns / NS_PER_S, collected->end_ns / NS_PER_MS % 1000,
			  writer->folder);
	return -SIM_EXIT_INTERRUPTED;
}

/* Sample the containers into a folder. The folder is prepared first, so that no samples are lost. */
static int sample(const struct sample_args *args, struct sampler *sampler,
		  struct sim_error *err)
{
	struct collected collected = { .sampler = sampler,
				       .system = args->system,
				       .interval_ns = args->interval_ns };
	struct signals signals;
	struct writer writer;
	int status;

	for (size_t i = 0; i < args->container_count; i++) {
		status = add_container(sampler, args->containers[i], err);
		if (status)
			return status;
	}
	signals_take(&signals);
	status = results_prepare(&writer, args->out, err);
	if (!status) {
		collected.start_ns = clock_ns();
		collected.start_date = time(NULL);
		status = collect(args, sampler, &collected, &signals, err);
		status = report(args, &collected, &writer, status, err);
	}
	return status;
}

int cmd_sample(int argc, char **argv)
{
	struct sample_args args = { .interval_ns = INTERVAL_NS,
				    .system = SUMMARY_HARDWARE,
				    .out = SAMPLE_OUT };
	struct sim_error err = { 0 };
	struct sampler sampler;
	int status = parse(argc, argv, &args, &err);

	sampler_init(&sampler, args.root);
	sampler.quiet = args.quiet;
	if (!status)
		status = args.help ? print_help(&err) : sample(&args, &sampler, &err);
	if (status)
		fprintf(stderr, "gvmcollect: sample: %s\n", err.text);
	sampler_destroy(&sampler);
	free(args.containers);
	return -status;
}
