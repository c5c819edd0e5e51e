// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmcollect sample", see cmd_sample.h.
 *
 * Signals that end us are blocked from before anything is written, and fetched while we wait for
 * the date of the next sample: none is lost, and none leaves half a folder behind. They stay
 * blocked to the end, which is near: timeout(1) and terminals send more than one, and the second
 * would kill us before we said what became of the first.
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
#define PID_LIMIT    2147483647ull /* of pid_t: beyond, none ever comes */
#define NS_PER_S     1000000000ull
#define NS_PER_MS    1000000ull

static const char sample_help[] =
	"Usage: gvmcollect " SAMPLE_USAGE "\n"
	"\n"
	"Watches the containers of a GPU host by the control files that their driver keeps, "
	"and\n"
	"writes the results folder that gvmsim writes, so that hardware can be put beside a\n"
	"simulation. debugfs is root's: run it as root. Without any option it takes in every\n"
	"container that appears, until all have gone or it is interrupted.\n"
	"\n"
	"  --container NAME=PID[:GPU]  watch this process group only, and call it NAME; as "
	"often as\n"
	"                              needed. Give it the name that it has in the scenario\n"
	"  --root DIR        where DIR/<tgid>/<gpu>/ are; by default /sys/kernel/debug/gvm "
	"and\n"
	"                    the GVM paper's /sys/kernel/debug/nvidia-uvm/processes\n"
	"  --interval TIME   between samples, 1ms and more; by default 100ms\n"
	"  --duration TIME   end after that time; by default when all containers have gone\n"
	"  --system NAME     who manages the GPU, for titles: stock, gvm, ... By default "
	"hardware\n"
	"  --out DIR         where results go, by default " SAMPLE_OUT "\n"
	"  --quiet           no news and no table\n"
	"\n"
	"Sampled are, where the driver has them: gmem.current (or memory.current), "
	"gmem.swap.current,\n"
	"gmem.clean.current, gmem.peak, gmem.events, gmem.limit.high and .low, hmem.limit, "
	"compute.timeslice,\n"
	".priority and .freeze, gcgroup.stat. What is missing is said once and stays unknown. "
	"A\n"
	"stock driver has none of them; then the folder tells which processes ran when, and\n"
	"\"gvmcollect logs\" adds what they logged. (nvidia-smi is no help: what it counts for "
	"a\n"
	"process leaves managed memory out.)\n"
	"\n"
	"The folder gets timeline.csv (memory and pending kernels; fields that no driver can "
	"fill\n"
	"are empty), controls.csv (a row whenever another control file changed), "
	"summary.json,\n"
	"config.json (host, driver, GPUs, containers, what was missing) and an empty "
	"requests.csv.\n"
	"\n"
	"Exit code: 0 done; 1 something failed, such as a full disk; 2 a mistake in the "
	"command\n"
	"line; 130 interrupted, what there was is written and marked with \"complete\": "
	"false.\n"
	"\n"
	"Examples:\n"
	"  Two processes, until both have gone:\n"
	"    gvmcollect sample --container vllm=$(pgrep -of vllm) --container "
	"diffusion=4242\n"
	"  Whatever there is, for ten minutes, every 10 ms:\n"
	"    gvmcollect sample --interval 10ms --duration 10min --out results/ten-minutes\n";

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
	uint64_t interval_ns;
	uint64_t duration_ns; /* 0: until all have gone */
	bool quiet;
	bool help;
};

static int take_text(const char *option, const char **ret_text, struct sim_error *err)
{
	*ret_text = optarg;
	return *optarg ? 0 : sim_user_error(err, "option '%s': is empty", option);
}

static int take_option(struct sample_args *args, int option, const char *word,
		       struct sim_error *err)
{
	switch (option) {
	case SAMPLE_CONTAINER:
		args->containers[args->container_count++] = optarg;
		return 0;
	case SAMPLE_ROOT:
		return take_text("--root", &args->root, err);
	case SAMPLE_INTERVAL:
		return arguments_duration("--interval", optarg, INTERVAL_MIN,
					  &args->interval_ns, err);
	case SAMPLE_DURATION:
		return arguments_duration("--duration", optarg, INTERVAL_MIN,
					  &args->duration_ns, err);
	case SAMPLE_SYSTEM:
		args->system = optarg; /* its place in summary.json is bounded */
		return arguments_name("--system", optarg, err);
	case SAMPLE_TO:
		return take_text("--out", &args->out, err);
	case SAMPLE_QUIET:
		args->quiet = true;
		return 0;
	case 'h':
		args->help = true;
		return 0;
	default:
		return arguments_bad_option(option, word, SAMPLE_USAGE, err);
	}
}

static int parse(int argc, char **argv, struct sample_args *args, struct sim_error *err)
{
	int option, rc;

	args->containers = calloc((size_t)argc, sizeof(*args->containers));
	if (!args->containers)
		return sim_runtime_error(err, "out of memory");
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", sample_options, NULL)) != -1) {
		rc = take_option(args, option, argv[optind - 1], err);
		if (rc || args->help)
			return rc;
	}
	if (argc == optind)
		return 0;
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
	int rc = text ? arguments_split("--container", text, &name, &value, err) :
			sim_runtime_error(err, "out of memory");

	if (!rc)
		colon = strchr(value, ':');
	if (colon)
		*colon++ = '\0';
	if (!rc && (gvm_parse_u64(value, &tgid) || !tgid || tgid > PID_LIMIT ||
		    (colon && gvm_parse_u64(colon, &gpu))))
		rc = sim_user_error(err,
				    "option '--container': \"%s\", allowed: NAME=PID or "
				    "NAME=PID:GPU in numbers, a PID is at most %llu",
				    argument, PID_LIMIT);
	if (!rc)
		rc = sampler_add(sampler, name, tgid, gpu, err);
	free(text);
	return rc;
}

static u64 clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * NS_PER_S + (u64)now.tv_nsec;
}

/*
 * Dates that have passed while we were not let run are skipped: a sample is of its date. None is
 * beyond @end_ns.
 */
static u64 next_date(struct collected *collected, u64 date_ns, u64 end_ns)
{
	u64 now_ns = min(clock_ns() - collected->start_ns, end_ns);
	u64 late = now_ns > date_ns ? (now_ns - date_ns) / collected->interval_ns : 0;

	collected->skipped += late;
	return date_ns + late * collected->interval_ns;
}

/* Sample to the end. Dates are multiples of the interval since the start, whatever one takes. */
static int collect(const struct sample_args *args, struct sampler *sampler,
		   struct collected *collected, const struct signals *signals,
		   struct sim_error *err)
{
	u64 end_ns = args->duration_ns ? args->duration_ns : U64_MAX;
	u64 date_ns = 0;
	int rc;

	for (;;) {
		date_ns = min(date_ns + collected->interval_ns, end_ns);
		if (signals_wait_until(signals, collected->start_ns + date_ns)) {
			collected->end_ns = min(clock_ns() - collected->start_ns, end_ns);
			return 0;
		}
		date_ns = next_date(collected, date_ns, end_ns);
		collected->end_ns = date_ns;
		rc = sampler_take(sampler, date_ns, err);
		if (rc)
			return rc;
		collected->taken++;
		if (date_ns == end_ns || (!args->duration_ns && sampler_is_over(sampler)))
			break;
	}
	collected->complete = true;
	return 0;
}

static void print_container(struct table *table, const struct summary_container *container,
			    const struct sampler_container *sampled)
{
	static const enum summary_metric_id metrics[] = { SUMMARY_GMEM_PEAK,
							  SUMMARY_GMEM_CURRENT,
							  SUMMARY_GMEM_SWAP };
	char text[TABLE_CELL_MAX];

	table_add(table);
	table_set(table, 0, "%s", container->name);
	table_set(table, 1, "%llu", sampled->tgid);
	table_set(table, 2, "%s", sampled->seen ? sampled->command : "never appeared");
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		summary_format(&container->values[metrics[i]], metrics[i], text, sizeof(text));
		table_set(table, 3 + i, "%s", text);
	}
}

static int print_summary(const struct collected *collected, const struct summary *summary,
			 const char *folder, struct sim_error *err)
{
	static const char *const head[] = { "container",       "process", "command",
					    "GPU memory peak", "at end",  "swapped out" };
	struct table table = { 0 };
	char text[PATH_MAX + 128];

	putchar('\n');
	table_add(&table);
	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		table_set(&table, i, "%s", head[i]);
	for (u32 i = 0; i < collected->sampler->container_count; i++)
		print_container(&table, &summary->containers[i],
				&collected->sampler->containers[i]);
	table_print(&table, stdout);
	snprintf(text, sizeof(text),
		 "\n%llu samples in %.1f s, %llu skipped%s\nresults in %s\n", collected->taken,
		 summary->sim_seconds, collected->skipped,
		 collected->complete ? "" : " (INCOMPLETE)", folder);
	return arguments_print(text, err);
}

/* Samples that could not all be kept in memory are written as far as they go. */
static int report(const struct sample_args *args, const struct collected *collected,
		  struct writer *writer, int failed, struct sim_error *err)
{
	struct summary summary;
	int rc = collected_summary(collected, &summary, err);

	if (rc) {
		writer_abort(writer);
		return rc;
	}
	rc = collected_write(collected, &summary, writer, err);
	if (!rc && !args->quiet)
		rc = print_summary(collected, &summary, writer->folder, err);
	summary_destroy(&summary);
	if (rc || failed || collected->complete)
		return rc ? rc : failed;
	sim_runtime_error(err,
			  "interrupted after %llu.%03llu s; results up to there, marked "
			  "incomplete, are in %s",
			  collected->end_ns / NS_PER_S, collected->end_ns / NS_PER_MS % 1000,
			  writer->folder);
	return -SIM_EXIT_INTERRUPTED;
}

/* Nothing is sampled before it is sure that it can be kept. */
static int sample(const struct sample_args *args, struct sampler *sampler,
		  struct sim_error *err)
{
	struct collected collected = { .sampler = sampler,
				       .system = args->system,
				       .interval_ns = args->interval_ns };
	struct signals signals;
	struct writer writer;
	int rc;

	for (size_t i = 0; i < args->container_count; i++) {
		rc = add_container(sampler, args->containers[i], err);
		if (rc)
			return rc;
	}
	signals_take(&signals);
	rc = results_prepare(&writer, args->out, err);
	if (!rc) {
		collected.start_ns = clock_ns();
		collected.start_date = time(NULL);
		rc = collect(args, sampler, &collected, &signals, err);
		rc = report(args, &collected, &writer, rc, err);
	}
	return rc;
}

int cmd_sample(int argc, char **argv)
{
	struct sample_args args = { .interval_ns = INTERVAL_NS,
				    .system = SUMMARY_HARDWARE,
				    .out = SAMPLE_OUT };
	struct sim_error err = { 0 };
	struct sampler sampler;
	int rc = parse(argc, argv, &args, &err);

	sampler_init(&sampler, args.root);
	sampler.quiet = args.quiet;
	if (!rc)
		rc = args.help ? arguments_print(sample_help, &err) :
				 sample(&args, &sampler, &err);
	if (rc)
		fprintf(stderr, "gvmcollect: sample: %s\n", err.text);
	sampler_destroy(&sampler);
	free(args.containers);
	return -rc;
}
