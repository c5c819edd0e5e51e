// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmcollect sample", see cmd_sample.h.
 *
 * Signals that end the program are blocked before anything is written. The wait for the next
 * sample fetches them, so no signal is lost and none leaves half a folder behind. They stay
 * blocked to the end: timeout(1) and terminals send more than one signal. The second one would
 * end the program before it has reported the first.
 */
#include "collect/cmd_sample.h"

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

#define SAMPLE_OUT   "results/hardware"
#define INTERVAL_NS  100000000ull /* as output.timeline_interval of a scenario */
#define INTERVAL_MIN 1000000ull
#define PID_LIMIT    2147483647ull /* the largest pid_t */
#define NS_PER_S     1000000000ull
#define NS_PER_MS    1000000ull

static int run(int argc, char **argv, struct sim_error *err);

/* clang-format off */
static const struct command_option options[] = {
	{ "container", "NAME=PID[:GPU]", true,
"watch this process group only and call it NAME, the name\n"
"that it has in the scenario" },
	{ "root", "DIR", false,
"where DIR/<tgid>/<gpu>/ are; by default\n"
"/sys/kernel/debug/gvm, the GVM paper's\n"
"/sys/kernel/debug/nvidia-uvm/processes\n"
"and the shim's folder: /run/gvm-shim, GVM_SHIM_DIR, or\n"
"/tmp/gvm-shim-UID without root" },
	{ "interval", "TIME", false, "between samples, 1ms and more; by default 100ms" },
	{ "duration", "TIME", false, "end after that time; by default when all containers have gone" },
	{ "system", "NAME", false, "who manages the GPU, for titles: stock, gvm, ...\nBy default hardware" },
	{ "out", "DIR", false, "where results go, by default " SAMPLE_OUT },
	{ "quiet", NULL, false, "no news and no table" },
	{ NULL, NULL, false, NULL },
};

const struct command command_sample = {
	.name = "gvmcollect sample",
	.summary = "watch control files, write a results folder",
	.about =
"Watches the containers of a GPU host by the control files of their driver, and writes the\n"
"results folder that gvmsim writes, to put hardware beside a simulation. Only root may read\n"
"debugfs, so run it as root where a driver has control files; the shim's are its user's. Without\n"
"options it takes in every container that appears, until all have gone or it is interrupted.\n",
	.options = options,
	.more =
"A missing file is reported once, and its value stays unknown. A stock driver has none of these\n"
"files. Then the folder tells which process ran when, and \"gvmcollect logs\" adds what the\n"
"applications logged. (nvidia-smi does not help: it leaves managed memory out of the memory of a\n"
"process.)\n"
"\n"
"The folder gets timeline.csv (memory and pending kernels; fields that no driver can fill are\n"
"empty), controls.csv (a row for each change of another control file), summary.json, config.json\n"
"(host, driver, GPUs, containers, missing files) and an empty requests.csv. Of a vLLM server\n"
"config.json has the model and those options of its command line that a scenario has keys for.\n"
"Earlier results there are replaced at the end, and a note says so. A file of that name that is\n"
"none of gvmcollect or gvmsim is refused.\n"
"\n"
"Exit code: 0 done; 1 something failed, such as a full disk; 2 a mistake in the command line; 130\n"
"interrupted: the results so far are written and marked with \"complete\": false.\n",
	.examples =
"  Two processes, until both have gone:\n"
"    gvmcollect sample --container vllm=$(pgrep -of vllm) --container diffusion=4242\n"
"  All containers, for ten minutes, every 10 ms:\n"
"    gvmcollect sample --interval 10ms --duration 10min --out results/ten-minutes\n",
	.run = run,
};
/* clang-format on */

/* Print the help. The core's table of control files stands in its middle. */
static int print_help(struct sim_error *err)
{
	command_print_head(&command_sample);
	printf("Control files that are sampled, where the driver has them:\n");
	for (u32 i = 0; i < gvm_control_count(); i++) {
		const struct gvm_control_file *file = gvm_control_at(i);

		printf("  %-19s  %s\n", file->name, file->summary);
		if (file->alias)
			printf("  %-19s  the same in the public GVM driver\n", file->alias);
	}
	putchar('\n');
	command_print_tail(&command_sample);
	return command_flush(err);
}

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
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct sample_args *args = data;
	const struct command *command = &command_sample;

	if (!strcmp(option, "container")) {
		args->containers[args->container_count++] = value;
	} else if (!strcmp(option, "interval")) {
		return arguments_duration(command, option, value, INTERVAL_MIN,
					  &args->interval_ns, err);
	} else if (!strcmp(option, "duration")) {
		return arguments_duration(command, option, value, INTERVAL_MIN,
					  &args->duration_ns, err);
	} else if (!strcmp(option, "system")) {
		args->system = value; /* a name is short enough for summary.json */
		return arguments_name(command, option, value, err);
	} else if (!strcmp(option, "quiet")) {
		args->quiet = true;
	} else {
		*(strcmp(option, "out") ? &args->root : &args->out) = value;
		if (!*value)
			return command_bad_value(command, option, err, "is empty");
	}
	return 0;
}

/* "NAME=PID" or "NAME=PID:GPU" */
static int add_container(struct sampler *sampler, const char *argument, struct sim_error *err)
{
	u64 tgid = 0, gpu = SAMPLER_ANY_GPU;
	char *name, pid[24];
	const char *value, *colon;
	int status =
		arguments_split(&command_sample, "container", argument, &name, &value, err);

	if (!status) {
		colon = strchr(value, ':');
		snprintf(pid, sizeof(pid), "%.*s", (int)strcspn(value, ":"), value);
		if (strcspn(value, ":") >= sizeof(pid) || gvm_parse_u64(pid, &tgid) || !tgid ||
		    tgid > PID_LIMIT || (colon && gvm_parse_u64(colon + 1, &gpu)))
			status = command_bad_value(
				&command_sample, "container", err,
				"\"%s\", allowed: NAME=PID or NAME=PID:GPU in numbers, a PID "
				"is at most %llu",
				argument, PID_LIMIT);
	}
	if (!status)
		status = sampler_add(sampler, name, tgid, gpu, err);
	free(name);
	return status;
}

static u64 clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * NS_PER_S + (u64)now.tv_nsec;
}

/*
 * Sample to the end. Dates are multiples of the interval since the start, however long a sample
 * takes. Dates that pass while this process is not scheduled are skipped. No date is beyond the
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

static void print_note(const char *text)
{
	fprintf(stderr, "gvmcollect: note: %s\n", text);
}

static void print_news(u64 time_ns, const char *container, const char *text)
{
	u64 ms = time_ns / NS_PER_MS;

	printf("%6llu.%03llu s  %s: %s\n", ms / 1000, ms % 1000, container, text);
	fflush(stdout);
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
	printf("\n%llu samples in %.1f s, %llu skipped%s\nresults in %s\n", collected->taken,
	       summary->sim_seconds, collected->skipped,
	       collected->complete ? "" : " (INCOMPLETE)", folder);
	return command_flush(err);
}

/*
 * Write and print the results. @failed is the status of sampling: samples before a failure are
 * kept.
 */
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

/*
 * Sample the containers into a folder. The folder is prepared first, so that no samples are
 * lost.
 */
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
		if (!args->quiet && results_differ(&writer, NULL))
			fprintf(stderr,
				"gvmcollect: note: %s: replaces earlier results; --out DIR "
				"keeps both\n",
				writer.folder);
		collected.start_ns = clock_ns();
		collected.start_date = time(NULL);
		status = collect(args, sampler, &collected, &signals, err);
		status = report(args, &collected, &writer, status, err);
	}
	return status;
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct sample_args args = { .containers = calloc((size_t)argc, sizeof(char *)),
				    .interval_ns = INTERVAL_NS,
				    .system = SUMMARY_HARDWARE,
				    .out = SAMPLE_OUT };
	struct command_line line = { 0 };
	struct sampler sampler;
	int status = args.containers ? command_parse(&command_sample, argc, argv, take_option,
						     &args, &line, err) :
				       sim_runtime_error(err, "out of memory");

	if (!status && line.operand_count)
		status = command_mistake(&command_sample, err, "'%s' is not valid here",
					 line.operands[0]);
	sampler_init(&sampler, args.root);
	sampler.note = print_note;
	sampler.news = args.quiet ? NULL : print_news;
	if (!status)
		status = line.help ? print_help(err) : sample(&args, &sampler, err);
	sampler_destroy(&sampler);
	free(args.containers);
	return status;
}
