// SPDX-License-Identifier: MIT OR GPL-2.0
/* Files of measurements; see hardware.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/trace_lines.h"
#include "validate/hardware.h"

#define FIELDS_MAX	  80
#define BYTES_OF_LINE_MAX 65536

/* Bounds of parameters: more than the loops have, and less than a simulation can bear. */
#define BYTES_MAX  (64ull << 30)
#define PAGES_MAX  16384 /* of 64 KB in the 1 GiB that they are spread over */
#define GRID_MAX   1000000
#define GAP_US_MAX 1e6

/* A line, split. */
struct hw_line {
	const char *file;
	unsigned int number;
	char *fields[FIELDS_MAX];
	size_t count;
	struct hw_rows *rows;
	struct sim_error *err;
};

static int line_mistake(const struct hw_line *line, const char *what, const char *text)
{
	char quoted[TRACE_QUOTE_BYTES];

	return sim_user_error(line->err, "%s:%u: %s \"%s\"", line->file, line->number, what,
			      trace_quote(text, quoted));
}

/* A plain positive number. */
static int line_number(const struct hw_line *line, size_t field, double *ret_value)
{
	char *end;

	if (field >= line->count)
		return line_mistake(line, "values are missing after",
				    line->fields[line->count - 1]);
	*ret_value = strtod(line->fields[field], &end);
	if (*end || end == line->fields[field] || !isfinite(*ret_value) || *ret_value <= 0 ||
	    *ret_value > 1e15)
		return line_mistake(line, "allowed is a number above 0, not",
				    line->fields[field]);
	return 0;
}

/* A whole number from 1 to @most. */
static int line_count(const struct hw_line *line, size_t field, u64 most, u64 *ret_count)
{
	double value;
	int status = line_number(line, field, &value);

	if (status)
		return status;
	if (value > (double)most || value != floor(value))
		return sim_user_error(line->err,
				      "%s:%u: allowed is a whole number up to %llu, not \"%s\"",
				      line->file, line->number, most, line->fields[field]);
	*ret_count = (u64)value;
	return 0;
}

static int rows_add(const struct hw_line *line, enum hw_loop loop, u64 size, double value)
{
	struct hw_rows *rows = line->rows;
	struct hw_row *row = NULL;

	for (size_t i = 0; i < rows->count && !row; i++)
		if (rows->rows[i].loop == loop && rows->rows[i].size == size)
			row = &rows->rows[i];
	if (!row) {
		row = realloc(rows->rows, (rows->count + 1) * sizeof(*row));
		if (!row)
			return sim_runtime_error(line->err, "out of memory");
		rows->rows = row;
		row = &rows->rows[rows->count++];
		*row = (struct hw_row){ .loop = loop, .size = size };
	}
	row->samples++;
	row->measured = row->samples == 1 ?
				value :
				exp(log(row->measured) +
				    (log(value) - log(row->measured)) / row->samples);
	return 0;
}

/*
 * Add the value in @field, in units of @unit_ns. Its size is in @size_field; 0: the loop has no
 * size.
 */
static int line_add(const struct hw_line *line, enum hw_loop loop, size_t size_field, u64 most,
		    size_t field, double unit_ns)
{
	u64 size = 1;
	double value;
	int status = size_field ? line_count(line, size_field, most, &size) : 0;

	if (!status)
		status = line_number(line, field, &value);
	return status ? status : rows_add(line, loop, size, value * unit_ns);
}

static int parse_pcie(const struct hw_line *line)
{
	int status = line_add(line, HW_COPY_IN, 1, BYTES_MAX, 2, 1e3);

	if (!status)
		status = line_add(line, HW_COPY_OUT, 1, BYTES_MAX, 3, 1e3);
	return status ? status : line_add(line, HW_COPY_BOTH, 1, BYTES_MAX, 4, 1e3);
}

/* The loop that a word stands for, in a list that ends with NULL. */
static int line_loop(const struct hw_line *line, const char *const *words, int first)
{
	for (int i = 0; line->count > 1 && words[i]; i++)
		if (!strcmp(line->fields[1], words[i]))
			return first + i;
	return line_mistake(line, "unknown loop", line->fields[line->count > 1]);
}

static int parse_uvm(const struct hw_line *line)
{
	static const char *const words[] = { "seq_4k",	      "seq_64k",
					     "rand_64k",      "one_touch_per_2M",
					     "populate_zero", "prefetch_h2d",
					     "prefetch_d2h",  NULL };
	int loop = line_loop(line, words, HW_SEQ_4K);

	return loop < 0 ? loop : line_add(line, (enum hw_loop)loop, 2, BYTES_MAX, 3, 1e9);
}

static int parse_width(const struct hw_line *line)
{
	static const char *const words[] = { "contig", "spread", NULL };
	int loop = line_loop(line, words, HW_WIDTH_CONTIGUOUS);

	return loop < 0 ? loop : line_add(line, (enum hw_loop)loop, 2, PAGES_MAX, 3, 1e3);
}

/* "fault_latency distinct_blocks p10 A p50 B p90 C" */
static int parse_latency(const struct hw_line *line)
{
	if (line->count < 6 || strcmp(line->fields[4], "p50") != 0)
		return line_mistake(line, "no median in", line->fields[0]);
	return line_add(line, HW_FAULT, 0, 0, 5, 1);
}

/*
 * "fault_walk ns...". The times of accesses that missed are measurements, and the set of these
 * accesses is one more. A block has 32 pages, so an access that misses at the same place of a
 * later block is the same measurement again. The first access of all has a measurement of its
 * own: a cold fault.
 */
static int parse_walk(const struct hw_line *line)
{
	int status = 0;
	double ns;

	if (line->rows->walk_length)
		return line_mistake(line, "allowed once:", line->fields[0]);
	for (size_t i = 1; i < line->count && i <= 64 && !status; i++) {
		status = line_number(line, i, &ns);
		if (status || ns < HW_MISS_NS)
			continue;
		line->rows->walk_missed |= 1ull << (i - 1);
		status = rows_add(line, HW_WALK, i <= 33 ? i - 1 : 1 + (i - 2) % 32, ns);
	}
	line->rows->walk_length = (u32)(line->count > 65 ? 64 : line->count - 1);
	return status;
}

/* "timeslice 2procs BLOCKS THREADS on off gap" */
static int parse_slice(const struct hw_line *line)
{
	u64 blocks, threads;
	int status;

	if (line->count < 2 || strcmp(line->fields[1], "2procs") != 0)
		return line_mistake(line, "allowed are 2procs, not",
				    line->fields[line->count > 1]);
	status = line_count(line, 2, GRID_MAX, &blocks);
	if (!status)
		status = line_count(line, 3, GRID_MAX, &threads);
	for (int i = 0; i < 3 && !status; i++) {
		double us;

		status = line_number(line, (size_t)(4 + i), &us);
		if (!status)
			status = rows_add(line, (enum hw_loop)(HW_SLICE_ON + i),
					  blocks * threads, us * 1e3);
	}
	return status;
}

/* A time in us, of at least one ns. */
static int line_time(const struct hw_line *line, size_t field, u64 *ret_ns)
{
	double us;
	int status = line_number(line, field, &us);

	if (!status && (us < 0.001 || us > GAP_US_MAX))
		status = line_mistake(line, "allowed are 0.001 to 1000000 us, not",
				      line->fields[field]);
	if (!status)
		*ret_ns = (u64)(us * 1e3);
	return status;
}

/* "gap KERNELS kernel_us every_us step_ms_alone step_ms_shared lp_speed" */
static int parse_gap(const struct hw_line *line)
{
	static const double units[] = { 1e6, 1e6, 1 };
	struct hw_rows *rows = line->rows;
	struct hw_gap *gap = &rows->gaps[rows->gap_count];
	u64 kernels;
	double value;
	int status;

	if (rows->gap_count == HW_GAPS_MAX)
		return line_mistake(line, "too many of", line->fields[0]);
	status = line_count(line, 1, GRID_MAX, &kernels);
	if (!status)
		status = line_time(line, 2, &gap->kernel_ns);
	if (!status)
		status = line_time(line, 3, &gap->launch_ns);
	if (!status)
		gap->kernels = (u32)kernels;
	for (size_t i = 0; i < 3 && !status; i++) {
		status = line_number(line, i + 4, &value);
		if (!status)
			status = rows_add(line, (enum hw_loop)(HW_GAP_ALONE + i),
					  rows->gap_count, value * units[i]);
	}
	rows->gap_count++;
	return status;
}

/* A number from @least to @most. */
static int line_between(const struct hw_line *line, size_t field, double least, double most,
			double *ret_value)
{
	const char *text = field < line->count ? line->fields[field] : "";
	char quoted[TRACE_QUOTE_BYTES];
	char *end;

	*ret_value = strtod(text, &end);
	if (*end || end == text || !(*ret_value >= least && *ret_value <= most))
		return sim_user_error(
			line->err, "%s:%u: allowed is a number from %.0f to %.0f, not \"%s\"",
			line->file, line->number, least, most, trace_quote(text, quoted));
	return 0;
}

/* A name that a terminal can show. */
static int line_name(const struct hw_line *line, size_t field, char *ret_name, size_t size)
{
	const char *text = line->fields[field];

	if (strlen(text) >= size ||
	    text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
			      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-.")])
		return line_mistake(line, "allowed are letters, digits, _, +, - and ., not",
				    text);
	strcpy(ret_name, text);
	return 0;
}

static int line_share(const struct hw_line *line, size_t field, u64 *ret_ppm)
{
	double percent;
	int status = line_between(line, field, 0, 100, &percent);

	if (!status)
		*ret_ppm = (u64)lround(percent * (CFG_PPM / 100));
	return status;
}

/* "MODE growth_percent ...", to the end of the line. */
static int parse_growths(const struct hw_line *line, size_t first, struct hw_fence *fence)
{
	for (size_t i = first; i < line->count; i += 2) {
		int mode = gvm_fence_mode_find(line->fields[i]);
		double percent;
		int status;

		if (mode < GVM_FENCE_MASK)
			return line_mistake(line, "unknown fence", line->fields[i]);
		if (fence->known[mode])
			return line_mistake(line, "allowed once:", line->fields[i]);
		status = line_between(line, i + 1, -99, 1e6, &percent);
		if (status)
			return status;
		fence->known[mode] = true;
		fence->measured[mode] = percent / 100;
	}
	return 0;
}

/* "fence GROUP NAME l1_percent l2_percent offsets_percent MODE growth_percent ..." */
static int parse_fence(const struct hw_line *line)
{
	struct hw_rows *rows = line->rows;
	struct hw_fence fence = { 0 };
	struct hw_fence *fences;
	int status;

	if (line->count < 8)
		return line_mistake(line, "values are missing after",
				    line->fields[line->count - 1]);
	status = line_name(line, 1, fence.group, sizeof(fence.group));
	if (!status)
		status = line_name(line, 2, fence.name, sizeof(fence.name));
	if (!status)
		status = line_share(line, 3, &fence.l1);
	if (!status)
		status = line_share(line, 4, &fence.l2);
	if (!status)
		status = line_share(line, 5, &fence.offsets);
	if (!status)
		status = parse_growths(line, 6, &fence);
	if (status)
		return status;
	fences = realloc(rows->fences, (rows->fence_count + 1) * sizeof(*fences));
	if (!fences)
		return sim_runtime_error(line->err, "out of memory");
	rows->fences = fences;
	fences[rows->fence_count++] = fence;
	return 0;
}

static int parse_other(const struct hw_line *line)
{
	line->rows->others++;
	return 0;
}

static const struct {
	const char *name;
	int (*parse)(const struct hw_line *line);
} kinds[] = {
	{ "pcie", parse_pcie },	      { "uvm", parse_uvm },
	{ "width", parse_width },     { "fault_latency", parse_latency },
	{ "fault_walk", parse_walk }, { "launch", parse_other },
	{ "timeslice", parse_slice }, { "gap", parse_gap },
	{ "param", parse_other },     { "fence", parse_fence },
};

static int parse_line(struct hw_line *line, char *text)
{
	char *rest = text;
	char *field;

	text[strcspn(text, "#")] = '\0';
	for (line->count = 0; (field = strsep(&rest, " \t\r"));) {
		if (!*field)
			continue;
		if (line->count == FIELDS_MAX)
			return line_mistake(line, "too many values after", line->fields[0]);
		line->fields[line->count++] = field;
	}
	if (!line->count)
		return 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(line->fields[0], kinds[i].name))
			return kinds[i].parse(line);
	return line_mistake(line, "unknown measurement", line->fields[0]);
}

static int parse_stream(FILE *stream, struct hw_line *line)
{
	struct trace_lines lines = { .file = stream,
				     .path = line->file,
				     .max = BYTES_OF_LINE_MAX };
	int status;

	lines.buf = malloc(lines.max + 1);
	if (!lines.buf)
		return sim_runtime_error(line->err, "out of memory");
	while ((status = trace_lines_next(&lines, line->err)) > 0) {
		line->number = (unsigned int)lines.line;
		status = parse_line(line, lines.buf);
		if (status)
			break;
	}
	if (!status && !line->rows->count && !line->rows->fence_count)
		status = sim_user_error(line->err, "%s: has no measurement", line->file);
	free(lines.buf);
	return status;
}

int hw_load(const char *file, struct hw_rows *rows, struct sim_error *err)
{
	struct hw_line line = { .file = file, .rows = rows, .err = err };
	FILE *stream = fopen(file, "r");
	struct stat info;
	int status;

	*rows = (struct hw_rows){ 0 };
	if (!stream)
		return sim_user_error(err, "%s: cannot be read: %s", file, strerror(errno));
	if (!fstat(fileno(stream), &info) && S_ISDIR(info.st_mode))
		status = sim_user_error(err, "%s: is a folder, allowed: a file", file);
	else
		status = parse_stream(stream, &line);
	fclose(stream);
	if (status)
		hw_destroy(rows);
	return status;
}

void hw_destroy(struct hw_rows *rows)
{
	free(rows->rows);
	free(rows->fences);
	*rows = (struct hw_rows){ 0 };
}

double hw_error(const struct hw_row *row)
{
	double ratio = row->predicted / row->measured;

	return (ratio > 1 ? ratio : 1 / ratio) - 1;
}

/* What a size counts. */
enum hw_unit { UNIT_NONE, UNIT_BYTES, UNIT_NUMBER, UNIT_GAP };

static const struct {
	const char *name;
	enum hw_unit unit;
} labels[HW_LOOPS] = {
	[HW_COPY_IN] = { "copy to the GPU", UNIT_BYTES },
	[HW_COPY_OUT] = { "copy from the GPU", UNIT_BYTES },
	[HW_COPY_BOTH] = { "copies both ways", UNIT_BYTES },
	[HW_SEQ_4K] = { "fault in, 4 KB a thread", UNIT_BYTES },
	[HW_SEQ_64K] = { "fault in, 64 KB a thread", UNIT_BYTES },
	[HW_RANDOM_64K] = { "fault in, random 64 KB", UNIT_BYTES },
	[HW_ONE_TOUCH] = { "fault in, a page a block", UNIT_BYTES },
	[HW_POPULATE] = { "populate, 4 KB a thread", UNIT_BYTES },
	[HW_PREFETCH_IN] = { "prefetch to the GPU", UNIT_BYTES },
	[HW_PREFETCH_OUT] = { "prefetch to the host", UNIT_BYTES },
	[HW_FAULT] = { "one fault at a time", UNIT_NONE },
	[HW_WALK] = { "walk, fault at access", UNIT_NUMBER },
	[HW_WIDTH_CONTIGUOUS] = { "pages at once, in a row", UNIT_NUMBER },
	[HW_WIDTH_SPREAD] = { "pages at once, spread", UNIT_NUMBER },
	[HW_SLICE_ON] = { "two processes, on, threads", UNIT_NUMBER },
	[HW_SLICE_OFF] = { "two processes, off, threads", UNIT_NUMBER },
	[HW_SLICE_GAP] = { "switch between them, threads", UNIT_NUMBER },
	[HW_GAP_ALONE] = { "step alone", UNIT_GAP },
	[HW_GAP_STEP] = { "step beside a busy one", UNIT_GAP },
	[HW_GAP_SPEED] = { "speed of the busy one", UNIT_GAP },
};

void hw_label(const struct hw_rows *rows, const struct hw_row *row, char *text, size_t size)
{
	const char *name = labels[row->loop].name;

	if (labels[row->loop].unit == UNIT_NONE)
		snprintf(text, size, "%s", name);
	else if (labels[row->loop].unit == UNIT_GAP)
		snprintf(text, size, "%s, %u of %llu us", name, rows->gaps[row->size].kernels,
			 rows->gaps[row->size].kernel_ns / 1000);
	else if (labels[row->loop].unit == UNIT_NUMBER)
		snprintf(text, size, "%s %llu", name, row->size);
	else if (row->size < 1024 * 1024)
		snprintf(text, size, "%s, %llu KiB", name, row->size / 1024);
	else
		snprintf(text, size, "%s, %llu MiB", name, row->size / (1024 * 1024));
}

bool hw_is_share(const struct hw_row *row)
{
	return row->loop == HW_GAP_SPEED;
}
