// SPDX-License-Identifier: MIT OR GPL-2.0
#include "sweep/sweep_numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "results/asked.h"
#include "results/results.h"
#include "sweep/blocks.h"

/* The index of a metric, which is added if it is new. SIZE_MAX: out of memory. */
static size_t metric_index(struct sweep_numbers *numbers, size_t guess, const char *container,
			   const struct metric *metric)
{
	char name[SWEEP_NAME_MAX];
	struct sweep_metric *metrics;
	size_t found;

	snprintf(name, sizeof(name), "%s.%s", container, metric->key);
	/* Most runs have the same metrics in the same order. */
	if (guess < numbers->metric_count && !strcmp(numbers->metrics[guess].name, name))
		return guess;
	found = sweep_metric_find(numbers, name);
	if (found != SIZE_MAX)
		return found;
	metrics = reallocarray(numbers->metrics, numbers->metric_count + 1, sizeof(*metrics));
	if (!metrics)
		return SIZE_MAX;
	numbers->metrics = metrics;
	metrics[numbers->metric_count].unit = metric->unit;
	snprintf(metrics[numbers->metric_count].name, SWEEP_NAME_MAX, "%s", name);
	return numbers->metric_count++;
}

/* Put a value into a row, which grows as needed. */
static int row_set(struct sweep_row *row, size_t index, const struct run_value *value)
{
	if (index >= row->value_count) {
		size_t room = index + 64;
		struct run_value *values = reallocarray(row->values, room, sizeof(*values));

		if (!values)
			return -1;
		memset(&values[row->value_count], 0,
		       (room - row->value_count) * sizeof(*values));
		row->values = values;
		row->value_count = room;
	}
	row->values[index] = *value;
	return 0;
}

static int take_container(struct sweep_numbers *numbers, struct sweep_row *row, size_t *guess,
			  const struct summary_container *container)
{
	const struct summary_value *value;
	const struct metric *metric;

	if (summary_has_failed(container)) {
		if (!*row->failed)
			snprintf(row->why, sizeof(row->why), "%s: %s", container->name,
				 container->status);
		snprintf(row->failed + strlen(row->failed),
			 sizeof(row->failed) - strlen(row->failed), "%s%s",
			 *row->failed ? " " : "", container->name);
	}
	for (size_t i = 0; (metric = summary_metric(container, i, &value)); i++) {
		const struct run_value own = {
			.known = value->known,
			.bound = value->bound,
			.number = summary_number(value, metric),
		};
		size_t index = metric_index(numbers, *guess, container->name, metric);

		if (index == SIZE_MAX || row_set(row, index, &own))
			return -1;
		*guess = index + 1;
	}
	return 0;
}

/* Compute what the sweep asks for of a container. */
static int take_asked(struct sweep_numbers *numbers, size_t run, const struct summary *summary,
		      const struct summary_container *container, struct sim_error *err)
{
	const struct sweep_runs *runs = numbers->runs;
	struct asked asked[SWEEP_ASKED_MAX];
	struct summary_value values[SWEEP_ASKED_MAX];
	struct metric metrics[SWEEP_ASKED_MAX];
	size_t count = 0;
	int status = 0;

	for (size_t i = 0; i < runs->asked_count; i++) {
		const char *key = sweep_metric_key(runs->asked[i], container->name);

		if (!key ||
		    asked_parse(&asked[count], key, container->report, runs->sweep->file, err))
			continue;
		metrics[count] =
			(struct metric){ .key = key, .unit = asked_unit(&asked[count]) };
		count++;
	}
	if (count)
		status = asked_read(runs->runs[run].run.path, summary, container, asked, count,
				    values, err);
	for (size_t i = 0; !status && i < count; i++) {
		const struct run_value own = {
			.known = values[i].known,
			.bound = values[i].bound,
			.number = summary_number(&values[i], &metrics[i]),
		};
		size_t index = metric_index(numbers, SIZE_MAX, container->name, &metrics[i]);

		if (index == SIZE_MAX || row_set(&numbers->rows[run], index, &own))
			status = sim_runtime_error(err, "out of memory");
	}
	return status;
}

/* Read the results of one run. */
static int take_run(struct sweep_numbers *numbers, size_t index, struct sim_error *err)
{
	const struct sweep_run *run = &numbers->runs->runs[index];
	char file[PATH_MAX + sizeof(RESULTS_SUMMARY)];
	struct summary summary;
	size_t guess = 0;
	int status;

	snprintf(file, sizeof(file), "%s/" RESULTS_SUMMARY, run->run.path);
	status = summary_load(&summary, file, err);
	if (status)
		return status;
	for (size_t i = 0; !status && i < summary.container_count; i++)
		if (take_container(numbers, &numbers->rows[index], &guess,
				   &summary.containers[i]))
			status = sim_runtime_error(err, "out of memory");
	for (size_t i = 0; !status && i < summary.container_count; i++)
		status = take_asked(numbers, index, &summary, &summary.containers[i], err);
	summary_destroy(&summary);
	return status;
}

static struct run_value value_of_run(const struct sweep_numbers *numbers, size_t run,
				     size_t metric)
{
	const struct sweep_row *row = &numbers->rows[run];

	return metric < row->value_count ? row->values[metric] : (struct run_value){ 0 };
}

/* Estimate a metric at a point from the runs of its seeds. Returns 0 or -ENOMEM. */
static int estimate_over_seeds(struct sweep_numbers *numbers, size_t point, size_t metric,
			       struct run_value *room)
{
	const struct sweep *sweep = numbers->runs->sweep;
	size_t count = numbers->runs->per_point;

	for (size_t i = 0; i < count; i++)
		room[i] = value_of_run(numbers, point * count + i, metric);
	return estimate_runs(room, count, sweep->of,
			     sweep->over == SWEEP_OVER_SEEDS ? sweep->resamples : 0,
			     numbers->metrics[metric].name,
			     &numbers->estimates[point * numbers->metric_count + metric]);
}

/* Intervals of a point from blocks of its run's arrivals, for metrics of records. */
static int intervals_over_blocks(struct sweep_numbers *numbers, size_t point,
				 struct sim_error *err)
{
	const struct sweep *sweep = numbers->runs->sweep;
	const struct sweep_run *run = &numbers->runs->runs[point * numbers->runs->per_point];
	struct blocks blocks;
	int status = blocks_resample(&blocks, run->run.path, sweep->block_ns, sweep->resamples,
				     numbers->runs->asked, numbers->runs->asked_count, err);

	for (size_t i = 0; !status && i < blocks.count; i++) {
		const struct block_interval *interval = &blocks.intervals[i];
		size_t metric = sweep_metric_find(numbers, interval->name);
		struct run_estimate *estimate;

		if (metric == SIZE_MAX)
			continue;
		estimate = &numbers->estimates[point * numbers->metric_count + metric];
		if (!estimate->value.known || estimate->value.bound)
			continue;
		estimate->interval = true;
		estimate->low = interval->low;
		estimate->high = interval->high;
	}
	if (!status)
		blocks_destroy(&blocks);
	return status;
}

static int estimate(struct sweep_numbers *numbers, struct sim_error *err)
{
	const struct sweep *sweep = numbers->runs->sweep;
	struct run_value *room = calloc(numbers->runs->per_point, sizeof(*room));
	int status = 0;

	numbers->estimates = calloc(sweep->point_count * numbers->metric_count + 1,
				    sizeof(*numbers->estimates));
	if (!room || !numbers->estimates)
		status = sim_runtime_error(err, "out of memory");
	for (size_t point = 0; !status && point < sweep->point_count; point++) {
		for (size_t metric = 0; !status && metric < numbers->metric_count; metric++)
			if (estimate_over_seeds(numbers, point, metric, room))
				status = sim_runtime_error(err, "out of memory");
		if (!status && sweep->over == SWEEP_OVER_BLOCKS &&
		    sweep_point_mistake(numbers->runs, point, &sweep_whole) == SIZE_MAX)
			status = intervals_over_blocks(numbers, point, err);
	}
	free(room);
	return status;
}

int sweep_numbers_take(struct sweep_numbers *numbers, const struct sweep_runs *runs,
		       struct sim_error *err)
{
	int status = 0;

	*numbers = (struct sweep_numbers){ .runs = runs };
	numbers->rows = calloc(runs->count, sizeof(*numbers->rows));
	if (!numbers->rows)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; !status && i < runs->count; i++)
		if (!*runs->runs[i].run.why)
			status = take_run(numbers, i, err);
	return status ? status : estimate(numbers, err);
}

void sweep_numbers_destroy(struct sweep_numbers *numbers)
{
	for (size_t i = 0; numbers->rows && i < numbers->runs->count; i++)
		free(numbers->rows[i].values);
	free(numbers->rows);
	free(numbers->metrics);
	free(numbers->estimates);
	*numbers = (struct sweep_numbers){ 0 };
}

size_t sweep_metric_find(const struct sweep_numbers *numbers, const char *name)
{
	for (size_t i = 0; i < numbers->metric_count; i++)
		if (!strcmp(numbers->metrics[i].name, name))
			return i;
	return SIZE_MAX;
}

static const struct run_estimate *estimate_of(const struct sweep_numbers *numbers, size_t point,
					      size_t metric)
{
	return &numbers->estimates[point * numbers->metric_count + metric];
}

struct run_estimate sweep_estimate_named(const struct sweep_numbers *numbers, size_t point,
					 const char *name)
{
	size_t metric = sweep_metric_find(numbers, name);
	size_t axis = sweep_axis_find(numbers->runs->sweep, name);
	struct run_estimate estimate = { 0 };
	const char *text;

	if (sweep_point_mistake(numbers->runs, point, &sweep_whole) != SIZE_MAX)
		return estimate;
	if (metric != SIZE_MAX)
		return *estimate_of(numbers, point, metric);
	text = axis != SIZE_MAX ? sweep_text(numbers->runs->sweep, point, axis) : NULL;
	estimate.value.number = text ? sweep_number(text) : (double)NAN;
	estimate.value.known = !isnan(estimate.value.number);
	return estimate;
}

/* The text of a field of CSV; quoted if it has to be. */
static void put_text(struct writer *writer, const char *text)
{
	if (!strpbrk(text, ",\"\n")) {
		writer_printf(writer, "%s", text);
		return;
	}
	writer_printf(writer, "\"");
	for (; *text; text++)
		writer_printf(writer, *text == '"' ? "\"\"" : "%c", *text);
	writer_printf(writer, "\"");
}

/* A field that others follow. */
static void put_field(struct writer *writer, const char *text)
{
	put_text(writer, text ? text : "");
	writer_printf(writer, ",");
}

static void put_keys(const struct sweep *sweep, size_t point, struct writer *writer)
{
	for (size_t axis = 0; axis < sweep->axis_count; axis++)
		put_field(writer, sweep_text(sweep, point, axis));
}

static void put_value(struct writer *writer, const struct run_value *value)
{
	if (value->known)
		writer_printf(writer, "%s%.12g", value->bound ? ">" : "", value->number);
}

static int write_runs(const struct sweep_numbers *numbers, struct writer *writer,
		      struct sim_error *err)
{
	const struct sweep_runs *runs = numbers->runs;
	const struct sweep *sweep = runs->sweep;
	int status = writer_begin(writer, SWEEP_CSV, err);

	if (status)
		return status;
	writer_printf(writer, "point,seed,run,failed");
	for (size_t axis = 0; axis < sweep->axis_count; axis++)
		writer_printf(writer, ",%s", sweep->axes[axis].key);
	for (size_t i = 0; i < numbers->metric_count; i++)
		writer_printf(writer, ",%s", numbers->metrics[i].name);
	writer_printf(writer, ",mistake\n");
	for (size_t run = 0; run < runs->count; run++) {
		writer_printf(writer, "%zu,", runs->runs[run].point + 1);
		if (sweep->seed_count)
			writer_printf(writer, "%llu", (unsigned long long)runs->runs[run].seed);
		if (*runs->runs[run].run.why)
			writer_printf(writer, ",,");
		else
			writer_printf(writer, ",runs/%s,", runs->runs[run].run.key);
		put_field(writer, numbers->rows[run].failed);
		put_keys(sweep, runs->runs[run].point, writer);
		for (size_t i = 0; i < numbers->metric_count; i++) {
			struct run_value value = value_of_run(numbers, run, i);

			put_value(writer, &value);
			writer_printf(writer, ",");
		}
		put_text(writer, runs->runs[run].run.why);
		writer_printf(writer, "\n");
	}
	return writer_end(writer, err);
}

static int write_intervals(const struct sweep_numbers *numbers, struct writer *writer,
			   struct sim_error *err)
{
	const struct sweep *sweep = numbers->runs->sweep;
	char over[96];
	int status = writer_begin(writer, SWEEP_INTERVALS, err);

	if (status)
		return status;
	sweep_describe_interval(sweep, over, sizeof(over));
	writer_printf(writer, "point,");
	for (size_t axis = 0; axis < sweep->axis_count; axis++)
		writer_printf(writer, "%s,", sweep->axes[axis].key);
	writer_printf(writer, "metric,estimate,low,high,interval\n");
	for (size_t point = 0; point < sweep->point_count; point++)
		for (size_t i = 0; i < numbers->metric_count; i++) {
			const struct run_estimate *estimate = estimate_of(numbers, point, i);

			if (!estimate->value.known)
				continue;
			writer_printf(writer, "%zu,", point + 1);
			put_keys(sweep, point, writer);
			writer_printf(writer, "%s,", numbers->metrics[i].name);
			put_value(writer, &estimate->value);
			if (!estimate->interval)
				writer_printf(writer, ",,,\n");
			else if (isinf(estimate->high))
				writer_printf(writer, ",%.12g,,%s\n", estimate->low, over);
			else
				writer_printf(writer, ",%.12g,%.12g,%s\n", estimate->low,
					      estimate->high, over);
		}
	return writer_end(writer, err);
}

int sweep_numbers_write(const struct sweep_numbers *numbers, struct writer *writer,
			struct sim_error *err)
{
	int status = write_runs(numbers, writer, err);

	if (!status && numbers->runs->sweep->over != SWEEP_OVER_NONE)
		status = write_intervals(numbers, writer, err);
	return status;
}

void sweep_describe_interval(const struct sweep *sweep, char *text, size_t size)
{
	*text = '\0';
	if (sweep->over == SWEEP_OVER_SEEDS)
		estimate_describe_seeds(sweep->of, sweep->seed_count, text, size);
	else if (sweep->over == SWEEP_OVER_BLOCKS)
		snprintf(text, size, "95 %% bootstrap over blocks of %.12g s of the trace",
			 (double)sweep->block_ns / 1e9);
}
