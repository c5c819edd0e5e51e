// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/compare_together.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/error.h"
#include "gvm/port.h"
#include "results/folder.h"
#include "results/together.h"
#include "results/writer.h"
#include "terminal/table.h"

#define FILE_NAME "compare-together.csv"

/* What follows from the slowdowns of a run. */
static const struct {
	const char *key, *label;
	size_t offset; /* in struct together */
	bool upper;    /* a bound is an upper one */
} indices[] = {
	{ "antt", "mean slowdown (ANTT)", offsetof(struct together, antt), false },
	{ "worst", "worst slowdown", offsetof(struct together, worst), false },
	{ "stp", "weighted speed-up (STP)", offsetof(struct together, stp), true },
	{ "jain", "fairness (Jain)", offsetof(struct together, jain), false },
};

static const struct summary_value *index_of(const struct together *run, size_t index)
{
	return (const struct summary_value *)((const char *)run + indices[index].offset);
}

/* A value as text: "1.26", "> 1.26", or "-". */
static void print_cell(struct table *table, size_t column, const struct summary_value *value,
		       bool upper)
{
	if (!value->known)
		table_set(table, column, "-");
	else
		table_set(table, column, "%s%.2f", value->bound ? upper ? "< " : "> " : "",
			  value->real);
}

static void print_runs(const struct together *runs, const char *const *names, size_t count)
{
	struct table table = { 0 };

	table_add(&table);
	table_set(&table, 0, "slower than alone, times");
	for (size_t run = 0; run < count; run++)
		table_set(&table, run + 1, "%s", names[run]);
	for (size_t i = 0; i < runs[0].count; i++) {
		const struct together_slowdown *slowdown = &runs[0].slowdowns[i];

		table_add(&table);
		table_set(&table, 0, "  %s: %s", slowdown->container->name,
			  slowdown->metric->label);
		for (size_t run = 0; run < count; run++)
			print_cell(&table, run + 1, &runs[run].slowdowns[i].value, false);
	}
	for (size_t i = 0; i < ARRAY_SIZE(indices); i++) {
		table_add(&table);
		table_set(&table, 0, "%s", indices[i].label);
		for (size_t run = 0; run < count; run++)
			print_cell(&table, run + 1, index_of(&runs[run], i), indices[i].upper);
	}
	table_print(&table, stdout);
	putchar('\n');
}

static void write_cell(struct writer *writer, const struct summary_value *value, bool upper)
{
	writer_printf(writer, ",");
	if (value->known)
		writer_printf(writer, "%s%.12g", value->bound ? upper ? "<" : ">" : "",
			      value->real);
}

static void write_runs(struct writer *writer, const struct together *runs,
		       const char *const *names, size_t count)
{
	writer_printf(writer, "container,metric");
	for (size_t run = 0; run < count; run++)
		writer_printf(writer, ",%s", names[run]);
	writer_printf(writer, "\n");
	for (size_t i = 0; i < runs[0].count; i++) {
		writer_printf(writer, "%s,slowdown", runs[0].slowdowns[i].container->name);
		for (size_t run = 0; run < count; run++)
			write_cell(writer, &runs[run].slowdowns[i].value, false);
		writer_printf(writer, "\n");
	}
	for (size_t i = 0; i < ARRAY_SIZE(indices); i++) {
		writer_printf(writer, "*,%s", indices[i].key);
		for (size_t run = 0; run < count; run++)
			write_cell(writer, index_of(&runs[run], i), indices[i].upper);
		writer_printf(writer, "\n");
	}
}

int compare_together(const struct folder *folders, const char *const *names, size_t count,
		     size_t alone, const char *out, struct sim_error *err)
{
	struct together *runs = calloc(count, sizeof(*runs));
	struct writer writer;
	int status;

	if (!runs)
		return sim_runtime_error(err, "out of memory");
	for (size_t run = 0; run < count; run++)
		together_compute(&folders[run].summary, &folders[alone].summary, &runs[run]);
	print_runs(runs, names, count);
	status = writer_open(&writer, out, err);
	if (!status) {
		status = writer_begin(&writer, FILE_NAME, err);
		if (!status) {
			write_runs(&writer, runs, names, count);
			status = writer_end(&writer, err);
		}
		if (!status)
			status = writer_commit(&writer, err);
		else
			writer_abort(&writer);
	}
	free(runs);
	if (!status)
		printf("slowdowns   %s/" FILE_NAME "\n", out);
	return status;
}
