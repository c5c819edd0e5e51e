// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/cmd_sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "results/writer.h"
#include "sweep/search.h"
#include "sweep/slurm.h"
#include "sweep/sweep_draw.h"
#include "sweep/sweep_numbers.h"
#include "sweep/sweep_print.h"
#include "sweep/sweep_runs.h"
#include "terminal/progress.h"
#include "terminal/signals.h"

#define TASKS_MAX 100000

static int run(int argc, char **argv, struct sim_error *err);

static const struct command_option options[] = {
	{ "out", "DIR", false, "where all goes, by default results/sweeps/NAME of the file" },
	{ "set", "PATH=VALUE", true, "change any other key for all runs; as often as needed" },
	{ "minimise", "METRIC", false, "find the point where this is least" },
	{ "maximise", "METRIC", false, "find the point where this is greatest" },
	{ "subject-to", "BOUND", true,
	  "of the points that keep METRIC<VALUE (or <=, >, >=); as often as needed" },
	{ "part", "I/N", false,
	  "make every Nth run from number I (0 to N-1) on, and nothing else" },
	{ "slurm", "N", false, "print a batch script for sbatch: an array of N jobs" },
	{ NULL, NULL, false, NULL },
};

/* clang-format off */
const struct command command_sweep = {
	.name = "gvmsim sweep",
	.operands = "FILE",
	.summary = "many runs that differ in a few keys; the best one",
	.about =
"FILE is JSON: a scenario, and a grid, a list or random draws of its keys; several\n"
"scenarios are values of the key \"scenario\". Runs are made on all cores. Writes\n"
"sweep.csv with a row per run, intervals.csv with intervals of confidence if there\n"
"are seeds or blocks, and the pictures that FILE asks for.\n",
	.options = options,
	.more =
"Each finished run is kept in DIR/runs under the hash of its configuration. A sweep\n"
"that was interrupted or killed goes on where it stopped: give the same command again.\n"
"\n"
"METRIC is a column of sweep.csv (vllm.ttft_ms.p99), a percentile of any rank\n"
"(vllm.ttft_ms.p95, vllm.e2e_s.p99.9), a count with a threshold\n"
"(vllm.ttft_ms.share_above_2s, diffusion.latency_s.above_10s), or a key of the points.\n"
"A value may have a unit. Exit status 1: no point keeps the bounds, or a signal ended\n"
"a run; 2: a mistake, such as a point that cannot be run. The others are run\n"
"nevertheless.\n"
"\n"
"docs/sweeps.md teaches the file; scenarios/sweeps has examples, which are found by name.\n",
	.examples =
"  A grid:\n"
"    gvmsim sweep diffusion-limit\n"
"  The largest limit of diffusion that keeps the P99 of TTFT under 2 s:\n"
"    gvmsim sweep diffusion-limit \\\n"
"        --maximise containers.diffusion.gmem.limit.high --subject-to 'vllm.ttft_ms.p99<2s'\n"
"  On 16 nodes of a cluster, in a shared folder, and the results when all have ended:\n"
"    gvmsim sweep limits.json --out /shared/limits --slurm 16 | sbatch\n"
"    gvmsim sweep limits.json --out /shared/limits\n",
	.run = run,
};
/* clang-format on */

/* A parsed command line. Strings are borrowed from argv. */
struct sweep_args {
	const char *out; /* NULL: by the name of the sweep */
	const char **sets;
	size_t set_count;
	struct search search;
	struct sweep_part part;
	bool is_part;
	size_t tasks; /* of --slurm; 0: not wanted */
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct sweep_args *args = data;
	char rest;

	if (!strcmp(option, "out")) {
		args->out = value;
		if (!*value)
			return command_bad_value(&command_sweep, option, err,
						 "is empty, allowed: the name of a folder");
	} else if (!strcmp(option, "set")) {
		args->sets[args->set_count++] = value;
	} else if (!strcmp(option, "subject-to")) {
		return search_add_bound(&args->search, value, err);
	} else if (!strcmp(option, "part")) {
		args->is_part = true;
		if (sscanf(value, "%zu/%zu%c", &args->part.index, &args->part.count, &rest) !=
			    2 ||
		    args->part.index >= args->part.count || args->part.count > TASKS_MAX)
			return command_bad_value(&command_sweep, option, err,
						 "'%s' is wrong, allowed: 0/N to N-1/N", value);
	} else if (!strcmp(option, "slurm")) {
		if (sscanf(value, "%zu%c", &args->tasks, &rest) != 1 || !args->tasks ||
		    args->tasks > TASKS_MAX)
			return command_bad_value(&command_sweep, option, err,
						 "'%s' is wrong, allowed: 1 to %d", value,
						 TASKS_MAX);
	} else {
		if (args->search.objective)
			return command_bad_value(&command_sweep, option, err,
						 "is a second objective, allowed: one");
		args->search.objective = value;
		args->search.more = !strcmp(option, "maximise");
	}
	return 0;
}

/* Does a seed make a difference? If not, the user is told: all runs of a point are equal. */
static void note_equal_seeds(const struct sweep_runs *runs)
{
	if (runs->per_point < 2 || runs->runs[1].run.key[0] == '\0')
		return;
	for (size_t i = 0; runs->sweep->sets[i]; i++)
		if (!strncmp(runs->sweep->sets[i], "jitter.", strlen("jitter.")))
			return;
	for (size_t i = 0; i < runs->sweep->axis_count; i++)
		if (!strncmp(runs->sweep->axes[i].key, "jitter.", strlen("jitter.")))
			return;
	fprintf(stderr,
		"gvmsim: %s sets no jitter.arrivals: seeds differ only if the scenario does\n",
		runs->sweep->file);
}

/* The number of different runs of a part that were tried and could not be made. */
static size_t count_failed(const struct sweep_runs *runs, const struct sweep_part *part)
{
	size_t count = 0;

	for (size_t i = 0; i < runs->count; i++) {
		const struct sweep_run *run = &runs->runs[i];

		count += sweep_part_has(part, i) && run->same_as == i && *run->run.key &&
			 *run->run.why;
	}
	return count;
}

/* Make the runs that are missing. */
static int make(struct sweep_runs *runs, const struct sweep_args *args,
		const struct signals *signals, struct sim_error *err)
{
	size_t missing = sweep_runs_missing(runs, &args->part);
	double seconds = 0;
	int status;

	sweep_print_mistakes(runs, &args->part, false);
	progress_start(true);
	status = sweep_runs_make(runs, &args->part, args->is_part, signals, &seconds, err);
	progress_end();
	if (!status)
		status = sweep_runs_check_any(runs, err);
	if (status)
		return status;
	sweep_print_mistakes(runs, &args->part, true);
	if (missing)
		fprintf(stderr, "gvmsim: made %zu of %zu runs in %.1f s\n",
			missing - count_failed(runs, &args->part), runs->different, seconds);
	else
		fprintf(stderr, "gvmsim: made no run, all are in %s\n", runs->folder);
	return 0;
}

/* Write, print and draw the results of all runs. */
static int show(const struct sweep_numbers *numbers, const struct sweep_args *args,
		const struct signals *signals, struct writer *writer, struct sim_error *err)
{
	const struct sweep *sweep = numbers->runs->sweep;
	struct search_result result;
	char name[WRITER_NAME_MAX];
	int status = sweep_numbers_write(numbers, writer, err);

	if (!status)
		status = writer_commit(writer, err);
	if (!status)
		status = sweep_print_points(numbers, &args->search, err);
	if (!status)
		status = command_flush(err);
	if (status)
		return status;
	printf("runs        %s/" SWEEP_CSV "\n", writer->folder);
	if (sweep->over != SWEEP_OVER_NONE)
		printf("intervals   %s/" SWEEP_INTERVALS "\n", writer->folder);
	for (size_t i = 0; i < sweep->plot_count; i++) {
		size_t drawn;

		status = sweep_draw(numbers, i, signals, writer, &drawn, err);
		if (status)
			return status;
		sweep_plot_name(sweep, i, name, sizeof(name));
		if (drawn)
			printf("picture     %s/%s.png\n", writer->folder, name);
		else
			printf("picture     %s: none, no point knows its values\n", name);
	}
	if (args->search.objective || args->search.bound_count) {
		search_run(&args->search, numbers, &result);
		status = sweep_print_best(numbers, &args->search, &result, err);
	}
	return status ? status : command_flush(err);
}

/* Results without some points are no success. */
static int check_mistakes(const struct sweep_runs *runs, const struct sweep_part *part,
			  struct sim_error *err)
{
	size_t count = sweep_count_mistakes(runs, part);
	bool killed = sweep_any_killed(runs, part);

	if (!count)
		return 0;
	sim_user_error(err, "%s: %zu of %zu points could not be run, see above%s",
		       runs->sweep->file, count, runs->sweep->point_count,
		       killed ? "; run the command again to make the missing runs" : "");
	return killed ? -SIM_EXIT_RUNTIME : -SIM_EXIT_USER;
}

static int make_and_show(struct sweep_runs *runs, const struct sweep_args *args,
			 const struct signals *signals, const char *out, struct sim_error *err)
{
	struct sweep_numbers numbers;
	struct writer writer;
	int status = writer_open(&writer, out, err);

	if (status)
		return status;
	if (!args->is_part)
		writer_remove_stale(&writer);
	status = make(runs, args, signals, err);
	if (!status && !args->is_part) {
		note_equal_seeds(runs);
		status = sweep_numbers_take(&numbers, runs, err);
		if (!status)
			status = show(&numbers, args, signals, &writer, err);
		sweep_numbers_destroy(&numbers);
	} else if (!status) {
		status = writer_commit(&writer, err);
	}
	if (status)
		writer_abort(&writer);
	return status ? status : check_mistakes(runs, &args->part, err);
}

/* Print the batch script. The folder is made now, as the jobs need it. */
static int print_slurm(const struct sweep *sweep, const struct sweep_args *args,
		       const char *out, struct sim_error *err)
{
	struct writer writer;
	int status = writer_open(&writer, out, err);

	if (!status)
		status = writer_commit(&writer, err);
	if (!status)
		status = slurm_print(stdout, sweep->file, out, args->tasks, args->sets,
				     args->set_count, err);
	return status ? status : command_flush(err);
}

/* Options that exclude each other. */
static int check_options(const struct sweep_args *args, struct sim_error *err)
{
	if (args->is_part && args->tasks)
		return command_mistake(&command_sweep, err,
				       "--part and --slurm are given, allowed: one of them");
	if (args->is_part && (args->search.objective || args->search.bound_count))
		return command_mistake(&command_sweep, err,
				       "--part makes runs and searches nothing, allowed: no %s",
				       !args->search.objective ? "--subject-to" :
				       args->search.more       ? "--maximise" :
								 "--minimise");
	return 0;
}

static int run_sweep(const struct sweep *sweep, struct sweep_args *args, struct sim_error *err)
{
	struct sweep_runs runs;
	struct signals signals;
	char out[PATH_MAX];
	int status = check_options(args, err);

	if (!status)
		status = sweep_check_plots(sweep, err);
	if (status)
		return status;
	snprintf(out, sizeof(out), "%s%s", args->out ? args->out : "results/sweeps/",
		 args->out ? "" : sweep->name);
	status = sweep_runs_prepare(&runs, sweep, out, args->sets, args->set_count, err);
	if (!status)
		status = sweep_check_columns(&runs, &args->search, err);
	if (!status && args->tasks) {
		sweep_print_mistakes(&runs, &sweep_whole, false);
		status = print_slurm(sweep, args, out, err);
	} else if (!status) {
		signals_take(&signals);
		status = make_and_show(&runs, args, &signals, out, err);
		signals_release(&signals);
	}
	sweep_runs_destroy(&runs);
	return status;
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct sweep_args args = { .part = { 0, 1 } };
	struct command_line line;
	char file[PATH_MAX];
	struct sweep sweep;
	int status;

	args.sets = calloc((size_t)argc + 1, sizeof(*args.sets));
	if (!args.sets)
		return sim_runtime_error(err, "out of memory");
	status = command_parse(&command_sweep, argc, argv, take_option, &args, &line, err);
	if (!status && line.help) {
		status = command_print_help(&command_sweep, err);
	} else if (!status && line.operand_count != 1) {
		status = command_mistake(&command_sweep, err,
					 line.operand_count ? "more than one file" :
							      "no file is named");
	} else if (!status) {
		status = sweep_find(line.operands[0], file, sizeof(file), err);
		if (!status)
			status = sweep_read(&sweep, file, err);
		if (!status) {
			status = run_sweep(&sweep, &args, err);
			sweep_destroy(&sweep);
		}
	}
	free(args.sets);
	return status;
}
