// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/cmd_advise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/advise.h"
#include "advise/candidate.h"
#include "advise/share.h"
#include "advise/stage.h"
#include "config/load.h"
#include "engine/error.h"
#include "gvm/port.h"
#include "machine/machine.h"
#include "results/writer.h"
#include "terminal/progress.h"
#include "terminal/signals.h"
#include "terminal/table.h"

#define SETTINGS_CHARS	60 /* of a table's cell */
#define RUNS_STANDARD	60
#define SEEDS_STANDARD	5
#define TARGET_STANDARD 0.95
#define ROWS_MAX	12
#define COMPLETIONS_FEW 30 /* of fewer, one is more than 3 % */

static int run(int argc, char **argv, struct sim_error *err);

static const struct command_option options[] = {
	{ "set", "PATH=VALUE", true, "change any key of the scenario, as for gvmsim run" },
	{ "runs", "N", false, "search with up to N runs, by default 60; seeds come on top" },
	{ "seeds", "N", false, "intervals over N seeds, by default 5; 1: none" },
	{ "target", "SHARE", false,
	  "a promise is kept if so many of its requests keep it, by default\n0.95" },
	{ "out", "DIR", false, "where all goes, by default results/advise/NAME" },
	{ NULL, NULL, false, NULL },
};

/* clang-format off */
const struct command command_advise = {
	.name = "gvmsim advise",
	.operands = "SCENARIO",
	.summary = "which way of sharing keeps all promises",
	.about =
"The promises are app.slo_ttft and app.slo_itl of the scenario's containers. Tries every\n"
"system, then limits and priorities of the best ones, then LLM servers that take less of\n"
"the memory, then more GPUs if one cannot do. Prints the best candidates with intervals of\n"
"confidence, the control files and vLLM's option for the best one, what would hurt it, and\n"
"which settings it did not try. Draws the results of all candidates.\n",
	.options = options,
	.more =
"Candidates are ordered by the promises that they keep, then by fewer GPUs, then by the\n"
"progress of containers without a promise, beside what they do on a GPU of their own.\n"
"\n"
"Each stage of the search is a sweep file in DIR, which gvmsim sweep can run again. A\n"
"search that was interrupted or killed goes on where it stopped: give the same command.\n"
"\n"
"Exit status 1: no candidate keeps all promises.\n",
	.examples =
"    gvmsim advise vllm-diffusion-40g\n"
"    gvmsim advise three-tenants --runs 100 --target 0.99\n"
"    gvmsim advise vllm-diffusion-40g --set containers.vllm.app.slo_ttft=2s\n",
	.run = run,
};
/* clang-format on */

/* A parsed command line. Strings are borrowed from argv. */
struct advise_args {
	const char *out; /* NULL: by the name of the scenario */
	const char **sets;
	struct advise_question question;
};

static int take_count(const char *option, const char *value, size_t least, size_t most,
		      size_t *ret_count, struct sim_error *err)
{
	char rest;

	if (sscanf(value, "%zu%c", ret_count, &rest) == 1 && *value != '-' &&
	    *ret_count >= least && *ret_count <= most)
		return 0;
	return command_bad_value(&command_advise, option, err,
				 "'%s' is wrong, allowed: %zu to %zu", value, least, most);
}

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct advise_args *args = data;
	char rest;

	if (!strcmp(option, "set")) {
		args->sets[args->question.set_count++] = value;
	} else if (!strcmp(option, "runs")) {
		return take_count(option, value, 2, 10000, &args->question.runs, err);
	} else if (!strcmp(option, "seeds")) {
		return take_count(option, value, 1, 100, &args->question.seeds, err);
	} else if (!strcmp(option, "target")) {
		if (sscanf(value, "%lf%c", &args->question.target, &rest) != 1 ||
		    !(args->question.target > 0 && args->question.target <= 1))
			return command_bad_value(&command_advise, option, err,
						 "'%s' is wrong, allowed: above 0, up to 1",
						 value);
	} else {
		args->out = value;
		if (!*value)
			return command_bad_value(&command_advise, option, err,
						 "is empty, allowed: the name of a folder");
	}
	return 0;
}

static void tell(const char *line)
{
	fprintf(stderr, "gvmsim: %s\n", line);
}

/* "0.982 [0.97, 0.99]", "> 1.2", "-" */
static void format_estimate(const struct run_estimate *estimate, char *text, size_t size)
{
	if (!estimate->value.known)
		snprintf(text, size, "-");
	else if (estimate->interval && !isinf(estimate->high))
		snprintf(text, size, "%.3g [%.3g, %.3g]", estimate->value.number, estimate->low,
			 estimate->high);
	else
		snprintf(text, size, "%s%.3g", estimate->value.bound ? "> " : "",
			 estimate->value.number);
}

/* Settings, in rows of their own where they are more than a cell holds: none may be cut off. */
static void put_settings(struct table *table, size_t column, const char *text)
{
	while (strlen(text) > SETTINGS_CHARS) {
		size_t length = SETTINGS_CHARS;

		/* After a comma, if there is one. */
		while (length && text[length - 1] != ',')
			length--;
		length = length ? length : SETTINGS_CHARS;
		table_set(table, column, "%.*s", (int)length, text);
		text += length;
		text += strspn(text, " ");
		table_add(table);
	}
	table_set(table, column, "%s", text);
}

static void put_candidate(struct table *table, const struct advise *advise,
			  const struct advise_candidate *candidate, const char *words,
			  bool settings)
{
	char text[ADVISE_TEXT_MAX];
	size_t column = 0;

	table_add(table);
	table_set(table, column++, "%.60s", words);
	table_set(table, column++, "%zu", candidate->gpus);
	for (size_t c = 0; c < advise->container_count; c++) {
		const struct advise_container *container = &advise->containers[c];

		for (size_t i = 0;
		     i < container->promise_count && column < TABLE_COLUMNS_MAX - 4; i++) {
			format_estimate(&candidate->outcomes[c].promises[i], text,
					sizeof(text));
			table_set(table, column++, "%.60s", text);
		}
		if (*container->rate && column < TABLE_COLUMNS_MAX - 4) {
			format_estimate(&candidate->outcomes[c].rate, text, sizeof(text));
			table_set(table, column++, "%.60s", text);
		}
	}
	table_set(table, column++, "%zu of %zu", candidate->kept, advise->promise_count);
	if (isfinite(candidate->progress))
		table_set(table, column, "%.0f %%", 100 * candidate->progress);
	column++;
	advise_describe(candidate, text, sizeof(text));
	if (*candidate->failed)
		table_set(table, column, "%.40s died", candidate->failed);
	else if (settings)
		put_settings(table, column, text);
}

static void put_head(struct table *table, const struct advise *advise, const char *first,
		     bool settings)
{
	size_t column = 0;

	table_add(table);
	table_set(table, column++, "%s", first);
	table_set(table, column++, "GPUs");
	for (size_t c = 0; c < advise->container_count; c++) {
		const struct advise_container *container = &advise->containers[c];

		for (size_t i = 0;
		     i < container->promise_count && column < TABLE_COLUMNS_MAX - 4; i++)
			table_set(table, column++, "%.60s", container->promises[i]);
		if (*container->rate && column < TABLE_COLUMNS_MAX - 4)
			table_set(table, column++, "%.60s", container->rate);
	}
	table_set(table, column++, "promises kept");
	table_set(table, column++, "least progress");
	if (settings)
		table_set(table, column, "settings");
}

static int print_table(struct table *table, struct sim_error *err)
{
	bool failed = table->failed;

	table_print(table, stdout);
	table_destroy(table);
	return failed ? sim_runtime_error(err, "out of memory") : 0;
}

/* Is candidate number @index the best one of its system? Of equals the first one is. */
static bool is_best_of_system(const struct advise *advise, size_t index)
{
	const struct advise_candidate *candidate = advise->candidates[index];

	for (size_t k = 0; k < advise->count; k++) {
		const struct advise_candidate *other = advise->candidates[k];

		if (strcmp(advise_system(other), advise_system(candidate)) != 0)
			continue;
		if (advise_is_better(other, candidate) ||
		    (k < index && other->ran && !advise_is_better(candidate, other)))
			return false;
	}
	return true;
}

static bool is_of_a_finalist(const struct advise *advise,
			     const struct advise_candidate *candidate)
{
	for (size_t k = 0; k < advise->finalist_count; k++)
		if (!strcmp(advise_system(advise->finalists[k]), advise_system(candidate)))
			return true;
	return false;
}

/* A cell has no room for the reason why a container died. */
static void print_why(const char *words, const struct advise_candidate *candidate)
{
	if (candidate->ran && *candidate->failed)
		printf("%s: %s\n", words, candidate->why);
}

/* The finalists, the yardstick, and the best candidate of each other system. */
static int print_candidates(const struct advise *advise, struct sim_error *err)
{
	struct table table = { 0 };
	size_t rows = 0;
	int status;

	put_head(&table, advise, "system", true);
	for (size_t i = 0; i < advise->finalist_count; i++, rows++)
		put_candidate(&table, advise, advise->finalists[i],
			      advise_system(advise->finalists[i]), true);
	if (advise->yardstick)
		put_candidate(&table, advise, advise->yardstick,
			      advise_system(advise->yardstick), true);
	for (size_t i = 0; i < advise->count && rows < ROWS_MAX; i++) {
		const struct advise_candidate *candidate = advise->candidates[i];

		if (!candidate->ran || candidate == advise->yardstick ||
		    is_of_a_finalist(advise, candidate) || !is_best_of_system(advise, i))
			continue;
		put_candidate(&table, advise, candidate, advise_system(candidate), true);
		rows++;
	}
	status = print_table(&table, err);
	for (size_t i = 0; !status && i < advise->count; i++)
		if (is_best_of_system(advise, i))
			print_why(advise_system(advise->candidates[i]), advise->candidates[i]);
	return status;
}

/* The control files of the best candidate, as gvmctl writes them. */
static int print_files(const struct advise *advise, struct sim_error *err)
{
	const struct advise_candidate *best = advise->best;
	struct config config;
	bool any = false, sets = false;
	int status = stage_resolve(advise, best, &config, err);

	if (status)
		return status;
	for (size_t c = 0; c < config.container_count; c++) {
		const struct cfg_container *container = &config.containers[c];

		for (size_t i = 0; container->enabled && i < container->control_count; i++) {
			const struct cfg_control *control = &container->controls[i];

			sets = sets || *control->text;
			if (!*control->text || !stage_honours(advise, best, control->file))
				continue;
			if (!any)
				printf("\nControl files; PID is that of a container's "
				       "process:\n");
			any = true;
			printf("    gvmctl set PID %-18s %-16s # %s\n", control->file,
			       control->text, container->name);
		}
	}
	if (!any && sets)
		printf("\nControl files: none, %s honours none of the scenario's.\n",
		       advise_system(best));
	else if (!any)
		printf("\nControl files: none is needed.\n");
	config_destroy(&config);
	return 0;
}

/* What the best candidate gives to servers: what a process takes is decided when it starts. */
static void print_options(const struct advise *advise)
{
	bool any = false;

	for (size_t c = 0; c < advise->container_count; c++) {
		const struct advise_container *container = &advise->containers[c];
		const char *share = share_of_container(container, advise->best);

		if (!share)
			continue;
		if (!any)
			printf("\nCommand lines of servers; ... stands for your other "
			       "arguments:\n");
		any = true;
		printf("    vllm serve ... --gpu-memory-utilization %-6s # %s\n", share,
		       container->name);
	}
}

/* What would hurt the best candidate, and which of it does so first. */
static int print_hurts(const struct advise *advise, struct sim_error *err)
{
	const struct advise_hurt *first = NULL;
	struct table table = { 0 };

	if (!advise->hurt_count)
		return 0;
	printf("\nWhat would hurt it, under the scenario's seed:\n");
	put_head(&table, advise, "", false);
	for (size_t i = 0; i < advise->hurt_count; i++) {
		const struct advise_hurt *hurt = &advise->hurts[i];

		if (!hurt->candidate->ran) {
			table_add(&table);
			table_set(&table, 0, "%s: cannot run", hurt->words);
			continue;
		}
		put_candidate(&table, advise, hurt->candidate, hurt->words, false);
		if (i && (!first || advise_is_better(first->candidate, hurt->candidate)))
			first = hurt;
	}
	if (print_table(&table, err))
		return -SIM_EXIT_RUNTIME;
	for (size_t i = 0; i < advise->hurt_count; i++)
		print_why(advise->hurts[i].words, advise->hurts[i].candidate);
	if (first && first->candidate->kept < advise->hurts[0].candidate->kept)
		printf("%s breaks a promise first.\n", first->words);
	else if (first)
		printf("%s %s costs most.\n",
		       advise->hurts[0].candidate->kept ? "None of these breaks a promise." :
							  "As it is, no promise is kept.",
		       first->words);
	return 0;
}

/* What the advice rests on, and a user may not expect. */
static void print_assumed(const struct advise *advise)
{
	const struct advise_candidate *alone = advise->yardstick;
	const char *before = "Assumed: managed memory (app.memory), as the shim gives it, of";
	const char *eager = "Assumed: a launch for each kernel, as with --enforce-eager, by";

	for (size_t c = 0; c < advise->container_count; c++) {
		if (!advise->containers[c].managed)
			continue;
		printf("%s %s", before, advise->containers[c].name);
		before = ",";
	}
	if (*before == ',')
		printf(". Programs as they come have unmanaged.\n");
	for (size_t c = 0; c < advise->container_count; c++) {
		if (!advise->containers[c].eager)
			continue;
		printf("%s %s", eager, advise->containers[c].name);
		eager = ",";
	}
	if (*eager == ',')
		printf(". vLLM as it comes has CUDA graphs: app.graph_tokens 512.\n");
	for (size_t c = 0; alone && c < advise->container_count; c++) {
		const struct run_estimate *rate = &alone->outcomes[c].rate;
		double count = rate->value.number * (double)advise->duration_ns / 1e9;

		if (advise->containers[c].promise_count || !rate->value.known ||
		    count >= COMPLETIONS_FEW || count < 1)
			continue;
		printf("Few completions: %s, about %.0f on a GPU of its own, so its progress "
		       "is known within %.0f %%: a longer duration says more.\n",
		       advise->containers[c].rate, count, 100 / count);
	}
}

static void print_not_searched(const struct advise *advise)
{
	bool shares = false;

	printf("\nNot searched:\n");
	for (size_t i = 0; i < advise->count; i++)
		if (*advise->candidates[i]->cannot &&
		    !json_object_get(advise->candidates[i]->keys, "gpus.more1.profile"))
			printf("  %s: %s\n", advise_system(advise->candidates[i]),
			       advise->candidates[i]->cannot);
	if (advise->out_of_runs)
		printf("  candidates beyond %zu runs: give --runs more\n",
		       advise->question->runs);
	for (size_t i = 0; i < advise->count; i++)
		shares = shares || share_is_set(advise, advise->candidates[i]);
	printf("  what a server takes of the memory (app.gpu_memory_utilization): %s\n"
	       "  limits of containers with a promise\n"
	       "  different parts for containers without a promise, but near the best\n"
	       "  timeslices, weights, MIG profiles, MPS limits and policies of gvmd: the "
	       "scenario's\n",
	       shares ? "more than the scenario's" : "the scenario's");
	if (advise->gpu_count == 1 && advise->container_count > 2)
		printf("  on more GPUs: other placements than all in turn, or promises apart "
		       "from the rest; only the scenario's profile\n");
	print_assumed(advise);
	printf("Not judged: isolation. Under mps a fault of one container ends the others, "
	       "too.\n"
	       "Runs: %zu in all.\n",
	       advise->runs);
}

static int print_advice(struct advise *advise, const struct signals *signals,
			struct sim_error *err)
{
	const struct advise_candidate *best = advise->best;
	char text[ADVISE_TEXT_MAX];
	bool drawn = false;
	int status;

	if (!best)
		return sim_runtime_error(err, "%s: no system can run this scenario: %s",
					 advise->question->scenario,
					 advise->count ? advise->candidates[0]->cannot : "");
	status = print_candidates(advise, err);
	if (status)
		return status;
	if (advise->question->seeds > 1)
		printf("[low, high]: 95 %% bootstrap over %zu seeds; rows without were run "
		       "once\n",
		       advise->question->seeds);
	advise_describe(best, text, sizeof(text));
	printf("\nAdvice: %s on %zu GPU%s%s%s; %zu of %zu promises kept by %.4g %% of "
	       "requests.\n",
	       advise_system(best), best->gpus, best->gpus > 1 ? "s" : "",
	       *text ? ", with " : "", text, best->kept, advise->promise_count,
	       100 * advise->question->target);
	if (advise->yardstick && advise->yardstick->kept < advise->promise_count)
		printf("A GPU for each container keeps no more than %zu of %zu: sharing is not "
		       "what breaks the rest.\n",
		       advise->yardstick->kept, advise->promise_count);
	status = print_files(advise, err);
	if (!status)
		print_options(advise);
	if (!status)
		status = print_hurts(advise, err);
	if (status)
		return status;
	print_not_searched(advise);
	status = stage_draw(advise, "advice", signals, &drawn, err);
	if (status)
		return status;
	if (drawn)
		printf("picture     %s/advice-1.png\n", advise->question->out);
	printf("sweeps      %s/*.json\n", advise->question->out);
	status = command_flush(err);
	if (!status && best->kept < advise->promise_count)
		status = sim_runtime_error(err, "%s: no candidate keeps all promises",
					   advise->question->scenario);
	return status;
}

static int advise_run(struct advise_args *args, const char *scenario, struct sim_error *err)
{
	char out[PATH_MAX];
	const char *base = strrchr(scenario, '/');
	struct signals signals;
	struct advise advise;
	struct writer writer;
	int status;

	base = base ? base + 1 : scenario;
	snprintf(out, sizeof(out), "%s%.*s", args->out ? args->out : "results/advise/",
		 args->out ? 0 : (int)min(strcspn(base, "."), (size_t)64), base);
	args->question.scenario = scenario;
	args->question.out = out;
	args->question.sets = (const char *const *)args->sets;
	for (size_t i = 0; i < args->question.set_count; i++)
		if (cfg_sets_meet(args->sets[i], "system.name="))
			return sim_user_error(err,
					      "--set:%.*s: advise tries all systems itself, "
					      "allowed: any other key",
					      (int)strcspn(args->sets[i], "="), args->sets[i]);
	status = writer_open(&writer, out, err);
	if (status)
		return status;
	writer_remove_stale(&writer);
	signals_take(&signals);
	progress_start(true);
	status = advise_make(&advise, &args->question, &signals, tell, err);
	progress_end();
	if (!status)
		status = print_advice(&advise, &signals, err);
	advise_destroy(&advise);
	signals_release(&signals);
	writer_abort(&writer);
	return status;
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct advise_args args = {
		.question = { .runs = RUNS_STANDARD,
			      .seeds = SEEDS_STANDARD,
			      .target = TARGET_STANDARD },
	};
	struct command_line line;
	int status;

	args.sets = calloc((size_t)argc + 1, sizeof(*args.sets));
	if (!args.sets)
		return sim_runtime_error(err, "out of memory");
	status = command_parse(&command_advise, argc, argv, take_option, &args, &line, err);
	if (!status && line.help)
		status = command_print_help(&command_advise, err);
	else if (!status && line.operand_count != 1)
		status = command_mistake(&command_advise, err, "%d scenarios, expected 1",
					 line.operand_count);
	else if (!status)
		status = advise_run(&args, line.operands[0], err);
	free(args.sets);
	return status;
}
