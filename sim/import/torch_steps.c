// SPDX-License-Identifier: MIT OR GPL-2.0
/* Reads and sums up the steps of a program alone; see torch_steps.h. */
#include "import/torch_steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "engine/error.h"
#include "gvm/port.h"
#include "trace/trace_lines.h"
#include "trace/trace_parse.h"

#define COLUMN	    "step_us"
#define COLUMNS_MAX 64
#define LINE_MAX_   4096
#define NS_PER_US   1000ull

int torch_steps_add(struct torch_steps *steps, u64 ns)
{
	if (steps->count == steps->room) {
		size_t room = steps->room ? 2 * steps->room : 1024;
		u64 *grown = realloc(steps->ns, room * sizeof(*grown));

		if (!grown)
			return -1;
		steps->ns = grown;
		steps->room = room;
	}
	steps->ns[steps->count++] = ns;
	return 0;
}

void torch_steps_destroy(struct torch_steps *steps)
{
	free(steps->ns);
	*steps = (struct torch_steps){ 0 };
}

/* The place of the column in the first line, or a negative enum sim_exit. */
static int find_column(struct trace_lines *lines, struct sim_error *err)
{
	char *cells[COLUMNS_MAX];
	int status = trace_lines_next(lines, err);
	int count;

	if (status < 0)
		return status;
	count = status ? trace_split(lines->buf, cells, COLUMNS_MAX) : 0;
	for (int i = 0; i < count && i < COLUMNS_MAX; i++)
		if (!strcmp(cells[i], COLUMN))
			return i;
	return sim_user_error(err, "%s:1: column '" COLUMN "' is missing, needed is it",
			      lines->path);
}

/* Add the step of the row that was read. */
static int add_row(struct trace_lines *lines, int column, struct torch_steps *steps,
		   struct sim_error *err)
{
	char *cells[COLUMNS_MAX], quoted[TRACE_QUOTE_BYTES];
	const u64 most_us = TORCH_STEP_MAX_NS / NS_PER_US;
	const char *problem = NULL;
	u64 us = 0;

	if (trace_split(lines->buf, cells, COLUMNS_MAX) <= column)
		return sim_user_error(err,
				      "%s:%llu: column '" COLUMN "' is missing in this row",
				      lines->path, lines->line);
	problem = trace_parse_nanoseconds(cells[column], &us);
	if (!problem && (!us || us > most_us))
		problem = "is out of range";
	if (problem)
		return sim_user_error(err,
				      "%s:%llu: column '" COLUMN
				      "': '%s' %s, allowed are whole numbers from 1 to %llu",
				      lines->path, lines->line,
				      trace_quote(cells[column], quoted), problem, most_us);
	if (torch_steps_add(steps, us * NS_PER_US))
		return sim_runtime_error(err, "%s: out of memory", lines->path);
	return 0;
}

int torch_steps_read(const char *path, struct torch_steps *steps, struct sim_error *err)
{
	char buf[LINE_MAX_ + 1];
	struct trace_lines lines = {
		.file = fopen(path, "re"), .path = path, .buf = buf, .max = LINE_MAX_
	};
	int status, column;

	if (!lines.file)
		return sim_user_error(err, "%s: cannot read: %s", path, strerror(errno));
	column = status = find_column(&lines, err);
	while (status >= 0 && (status = trace_lines_next_row(&lines, err)) > 0) {
		int added = add_row(&lines, column, steps, err);

		status = added ? added : 1;
	}
	fclose(lines.file);
	if (!status && !steps->count)
		status = sim_user_error(err, "%s: has no steps", path);
	if (status < 0)
		torch_steps_destroy(steps);
	return status;
}

static int compare_ns(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

size_t torch_steps_factors(struct torch_steps *steps, u64 usual_ns, u32 least_ppm, u32 most_ppm,
			   u32 *factors, size_t most)
{
	size_t count = min(steps->count, most);

	if (!usual_ns || !count)
		return 0;
	qsort(steps->ns, steps->count, sizeof(*steps->ns), compare_ns);
	for (size_t i = 0; i < count; i++) {
		u64 middle_ns = steps->ns[(2 * i + 1) * steps->count / (2 * count)];
		u64 ppm = middle_ns * CFG_PPM / usual_ns;

		factors[i] = (u32)min(max(ppm, (u64)least_ppm), (u64)most_ppm);
	}
	return count;
}
