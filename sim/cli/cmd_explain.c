// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/cmd_explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "explain/explain.h"
#include "terminal/table.h"

#define LONGEST 3 /* causes that the last line names */

static int run(int argc, char **argv, struct sim_error *err);

static const struct command_option options[] = {
	{ "json", NULL, false, "print JSON, with times in ns" },
	{ NULL, NULL, false, NULL },
};

/* clang-format off */
const struct command command_explain = {
	.name = "gvmsim explain",
	.operands = "RUN REQUEST",
	.summary = "why one request was late: its time by cause",
	.about =
"RUN is a results folder of a run with output.activity=true. REQUEST is its id in\n"
"requests.csv, \"worst\" (the longest wait for a first token), or one of these after\n"
"a container's name: vllm:12, vllm:worst.\n",
	.options = options,
	.more =
"Columns are the phases of the request: its queue, until its server first works on it;\n"
"its prefill, until the first token; its decode, until the end. Rows say what its\n"
"container did on the GPU meanwhile. Each nanosecond is in one cell: the cells add up\n"
"to the request's time.\n"
"\n"
"  compute          kernels of its container; in the queue, for other requests\n"
"  part of the GPU  these took longer with fewer SMs or less bandwidth\n"
"  own faults       its container waited for its own page faults\n"
"  context switch   its context was being loaded\n"
"  held             it was frozen, held by a scheduler, or in no turn\n"
"  host             nothing to execute: its host prepared, or did not launch\n"
"  compute of X     it had work, and container X had the GPU\n"
"  faults of X      it had work, and page faults of container X held the GPU\n"
"\n"
"Where a phase begins or ends within kernels that follow each other (up to 10 ms), their\n"
"time is divided in proportion.\n",
	.examples =
"    gvmsim run vllm-diffusion-40g --system gvm --set output.activity=true --out results/late\n"
"    gvmsim explain results/late worst\n",
	.run = run,
};
/* clang-format on */

static const char *const labels[EXPLAIN_CAUSES] = {
	[EXPLAIN_COMPUTE] = "compute",	 [EXPLAIN_SLOW] = "part of the GPU",
	[EXPLAIN_FAULTS] = "own faults", [EXPLAIN_SWITCHING] = "context switch",
	[EXPLAIN_HELD] = "held",	 [EXPLAIN_HOST] = "host",
};

static double ms(u64 ns)
{
	return (double)ns / 1e6;
}

/* A cause that took much of the time. */
struct longest {
	char label[TABLE_CELL_MAX];
	u64 ns;
};

/* Put a cause among the longest, which are in order. */
static void longest_add(struct longest longest[LONGEST], const char *label, u64 ns)
{
	for (int i = 0; i < LONGEST; i++) {
		if (ns <= longest[i].ns)
			continue;
		memmove(&longest[i + 1], &longest[i],
			(size_t)(LONGEST - 1 - i) * sizeof(*longest));
		longest[i].ns = ns;
		snprintf(longest[i].label, TABLE_CELL_MAX, "%s", label);
		break;
	}
}

/* "mostly: faults of diffusion 46 %, compute 32 %" */
static void print_longest(const struct longest longest[LONGEST], u64 all)
{
	printf("mostly:");
	for (int i = 0; i < LONGEST && all && longest[i].ns * 20 >= all; i++)
		printf("%s %s %.0f %%", i ? "," : "", longest[i].label,
		       100 * (double)longest[i].ns / (double)all);
	printf("\n");
}

/* A row of the table, unless all of it is 0. @ns: by phase. Returns the sum. */
static u64 add_row(struct table *table, const char *label, const u64 ns[EXPLAIN_PHASES])
{
	u64 all = 0;

	for (int i = 0; i < EXPLAIN_PHASES; i++)
		all += ns[i];
	if (!all)
		return 0;
	table_add(table);
	table_set(table, 0, "%s", label);
	for (int i = 0; i < EXPLAIN_PHASES; i++)
		table_set(table, 1 + (size_t)i, "%.3f", ms(ns[i]));
	table_set(table, 1 + EXPLAIN_PHASES, "%.3f", ms(all));
	return all;
}

static void add_others(struct table *table, struct longest *longest,
		       const struct explain *explain, const char *what,
		       const u64 (*others)[CFG_CONTAINERS_MAX])
{
	for (size_t k = 0; k < explain->name_count; k++) {
		u64 ns[EXPLAIN_PHASES];
		char label[TABLE_CELL_MAX];

		for (int i = 0; i < EXPLAIN_PHASES; i++)
			ns[i] = others[i][k];
		snprintf(label, sizeof(label), "%s of %.40s", what, explain->names[k]);
		longest_add(longest, label, add_row(table, label, ns));
	}
}

static void print_head(const struct explain *explain)
{
	printf("%s %llu of %s, system %s: arrived at %.6f s", explain->kind,
	       (unsigned long long)explain->id, explain->container, explain->system,
	       (double)explain->arrival_ns / 1e9);
	if (explain->tokens_in)
		printf(", %llu tokens in, %llu out", (unsigned long long)explain->tokens_in,
		       (unsigned long long)explain->tokens_out);
	printf(", %s\n", explain->outcome);
	if (explain->preemptions)
		printf("its server took its KV blocks and began again %llu times\n",
		       (unsigned long long)explain->preemptions);
	if (!explain->finish_ns)
		printf("it had no end; its time up to the end of the run is explained\n");
}

static int print_explain(const struct explain *explain, struct sim_error *err)
{
	bool request = !strcmp(explain->kind, "request");
	struct longest longest[LONGEST] = { 0 };
	struct table table = { 0 };
	u64 ns[EXPLAIN_PHASES];
	int status = 0;

	print_head(explain);
	table_add(&table);
	table_set(&table, 0, "ms");
	for (int i = 0; i < EXPLAIN_PHASES; i++)
		table_set(&table, 1 + (size_t)i, "%s",
			  !request && i == EXPLAIN_PREFILL ? "work" : explain_phases[i]);
	table_set(&table, 1 + EXPLAIN_PHASES, "all");
	for (int cause = 0; cause < EXPLAIN_CAUSES; cause++) {
		for (int i = 0; i < EXPLAIN_PHASES; i++)
			ns[i] = explain->causes[i][cause];
		longest_add(longest, labels[cause], add_row(&table, labels[cause], ns));
	}
	add_others(&table, longest, explain, "compute", explain->others_compute);
	add_others(&table, longest, explain, "faults", explain->others_faults);
	for (int i = 0; i < EXPLAIN_PHASES; i++)
		ns[i] = explain_phase_ns(explain, (enum explain_phase)i);
	add_row(&table, "all", ns);
	if (table.failed)
		status = sim_runtime_error(err, "out of memory");
	table_print(&table, stdout);
	table_destroy(&table);
	print_longest(longest, explain->end_ns - explain->arrival_ns);
	return status ? status : command_flush(err);
}

static int print_json(const struct explain *explain, struct sim_error *err)
{
	json_t *root = explain_json(explain);
	char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;

	json_decref(root);
	if (!text)
		return sim_runtime_error(err, "out of memory");
	puts(text);
	free(text);
	return command_flush(err);
}

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	bool *json = data;

	(void)option;
	(void)value;
	(void)err;
	*json = true;
	return 0;
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct command_line line;
	struct explain *explain;
	bool json = false;
	int status =
		command_parse(&command_explain, argc, argv, take_option, &json, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_explain, err);
	if (line.operand_count != 2)
		return command_mistake(&command_explain, err, "%d words, expected 2",
				       line.operand_count);
	explain = calloc(1, sizeof(*explain));
	if (!explain)
		return sim_runtime_error(err, "out of memory");
	status = explain_request(explain, line.operands[0], line.operands[1], err);
	if (!status)
		status = json ? print_json(explain, err) : print_explain(explain, err);
	free(explain);
	return status;
}
