// SPDX-License-Identifier: MIT OR GPL-2.0
#include "sweep/blocks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/units.h"
#include "engine/error.h"
#include "engine/random.h"
#include "gvm/port.h"
#include "results/asked.h"
#include "results/bootstrap.h"
#include "results/log_metrics.h"
#include "results/log_read.h"
#include "results/results.h"
#include "sweep/sweep_runs.h"

#define RESAMPLE_SEED 1

/* One run while it is resampled. */
struct run {
	const char *path;
	u64 block_ns, resamples;
	const char *const *names; /* of what the sweep asks for */
	size_t name_count;
	struct summary summary;
	json_t *config;
};

/* What the sweep asks for of one container. */
struct asked_list {
	struct asked list[SWEEP_ASKED_MAX];
	const char *names[SWEEP_ASKED_MAX];
	size_t count;
};

/* The log of one container, as a whole. Its records are in order. */
struct whole {
	const struct summary_container *container;
	const struct app_log *log;
	u64 promises_ns[APP_PROMISES];
	u64 end_ns;	   /* requests that are open then have waited until then */
	double rate_scale; /* of rates up to end_ns: the client may have ended before */
};

/* Block number b of a log is records [first[b], first[b + 1]). */
struct cut {
	size_t *first;
	size_t count;
};

static int compare_arrivals(const void *a, const void *b)
{
	const struct app_record *x = a, *y = b;

	return x->arrival_ns < y->arrival_ns ? -1 : x->arrival_ns > y->arrival_ns;
}

/* Cut a log, whose records it sorts by arrival, into blocks. Empty blocks count, too. */
static int cut_log(const struct run *run, struct app_log *log, struct cut *cut)
{
	u64 begin_ns = 0, span_ns = 0;

	qsort(log->records, log->record_count, sizeof(*log->records), compare_arrivals);
	if (log->record_count) {
		begin_ns = log->records[0].arrival_ns;
		span_ns = log->records[log->record_count - 1].arrival_ns - begin_ns;
	}
	cut->count = (size_t)(span_ns / run->block_ns) + 1;
	cut->first = calloc(cut->count + 1, sizeof(*cut->first));
	if (!cut->first)
		return -1;
	for (size_t i = 0; i < log->record_count; i++)
		cut->first[(log->records[i].arrival_ns - begin_ns) / run->block_ns + 1] = i + 1;
	for (size_t b = 1; b <= cut->count; b++)
		cut->first[b] = max(cut->first[b], cut->first[b - 1]);
	return 0;
}

/* The promised times of a container, from config.json. */
static void read_promises(const struct run *run, const struct summary_container *container,
			  u64 ret_promises_ns[APP_PROMISES])
{
	const json_t *app = json_object_get(
		json_object_get(json_object_get(run->config, "containers"), container->name),
		"app");

	for (int i = 0; i < APP_PROMISES; i++) {
		const char *key = container->report->promises[i];
		const char *text = key ? json_string_value(json_object_get(app, key)) : NULL;

		ret_promises_ns[i] = 0;
		if (text)
			units_parse_duration(text, &ret_promises_ns[i]);
	}
}

/* Draw blocks into @drawn, in the order of their dates. */
static int draw_blocks(const struct app_log *log, const struct cut *cut, u64 *random,
		       unsigned int *times, struct app_log *drawn)
{
	drawn->record_count = 0;
	memset(times, 0, cut->count * sizeof(*times));
	for (size_t i = 0; i < cut->count; i++)
		times[random_below(random, cut->count)]++;
	for (size_t b = 0; b < cut->count; b++)
		for (unsigned int k = 0; k < times[b]; k++)
			for (size_t i = cut->first[b]; i < cut->first[b + 1]; i++)
				if (app_log_add(drawn, &log->records[i]))
					return -1;
	return 0;
}

static bool is_rate(const struct metric *metric)
{
	return metric->source == METRIC_COMPLETED_RATE || metric->source == METRIC_GOODPUT ||
	       metric->source == METRIC_TOKEN_RATE;
}

/* Is a metric one of records, and so of blocks? */
static bool is_of_records(const struct metric *metric)
{
	return metric->source != METRIC_MEASURED && metric->source != METRIC_GAPS &&
	       metric->source != METRIC_CACHED;
}

/* Describe the log of a container. Returns 0, or -1: out of memory. */
static int take_whole(const struct run *run, const struct summary_container *container,
		      const struct app_log *log, struct whole *ret_whole)
{
	struct summary_value computed[REPORT_METRICS_MAX] = { 0 };
	const struct app_report *report = container->report;

	*ret_whole = (struct whole){ .container = container, .log = log, .rate_scale = 1 };
	read_promises(run, container, ret_whole->promises_ns);
	ret_whole->end_ns = log_read_end_ns(&run->summary, container, run->config, log);
	if (log_metrics_compute(report, log, ret_whole->promises_ns, ret_whole->end_ns,
				computed))
		return -1;
	for (size_t i = 0; i < report->metric_count; i++) {
		const struct summary_value *value = &container->values[SUMMARY_METRICS + i];

		if (is_rate(&report->metrics[i]) && value->known && computed[i].real > 0) {
			ret_whole->rate_scale = value->real / computed[i].real;
			break;
		}
	}
	return 0;
}

/*
 * The values of one draw, by metric. The first arrival of a draw can be later than the log's;
 * rates are a second of the log's own time. A bound is infinite, a missing value NAN.
 */
static int draw_values(const struct whole *whole, const struct app_log *drawn, double *values,
		       size_t stride)
{
	const struct app_report *report = whole->container->report;
	struct summary_value computed[REPORT_METRICS_MAX] = { 0 };

	if (log_metrics_compute(report, drawn, whole->promises_ns, whole->end_ns, computed))
		return -1;
	for (size_t i = 0; i < report->metric_count; i++) {
		const struct metric *metric = &report->metrics[i];
		double *value = &values[i * stride];

		*value = computed[i].bound ? (double)INFINITY :
					     summary_number(&computed[i], metric);
		if (!computed[i].known)
			*value = (double)NAN;
		else if (is_rate(metric))
			*value *= whole->rate_scale *
				  (double)(whole->end_ns - drawn->records[0].arrival_ns) /
				  (double)(whole->end_ns - whole->log->records[0].arrival_ns);
	}
	return 0;
}

/* What the sweep asks for of the container. */
static void find_asked(const struct run *run, const struct summary_container *container,
		       struct asked_list *asked)
{
	struct sim_error ignored = { 0 };

	asked->count = 0;
	for (size_t i = 0; i < run->name_count; i++) {
		const char *key = sweep_metric_key(run->names[i], container->name);

		if (!key || asked_parse(&asked->list[asked->count], key, container->report,
					run->path, &ignored))
			continue;
		asked->names[asked->count++] = run->names[i];
	}
}

/* Its values of one draw, as draw_values(). */
static int draw_asked(const struct asked_list *asked, const struct whole *whole,
		      const struct app_log *drawn, double *values, size_t stride)
{
	for (size_t i = 0; i < asked->count; i++) {
		const struct metric unit = { .unit = asked_unit(&asked->list[i]) };
		struct summary_value value;

		if (asked_compute(&asked->list[i], whole->container->report, drawn,
				  whole->end_ns, &value))
			return -1;
		values[i * stride] = !value.known ? (double)NAN :
				     value.bound  ? (double)INFINITY :
						    summary_number(&value, &unit);
	}
	return 0;
}

/* Add the interval of @name from its draws, unless one of them is not known. */
static void add_interval(struct blocks *blocks, const struct run *run, const char *container,
			 const char *key, double *draws)
{
	struct block_interval *interval = &blocks->intervals[blocks->count];

	for (u64 k = 0; k < run->resamples; k++)
		if (isnan(draws[k]))
			return;
	snprintf(interval->name, sizeof(interval->name), "%s.%s", container, key);
	bootstrap_interval(draws, run->resamples, &interval->low, &interval->high);
	blocks->count++;
}

static int add_intervals(struct blocks *blocks, const struct run *run,
			 const struct summary_container *container,
			 const struct asked_list *asked, double *values)
{
	const struct app_report *report = container->report;
	struct block_interval *more =
		reallocarray(blocks->intervals,
			     blocks->count + report->metric_count + asked->count,
			     sizeof(*more));

	if (!more)
		return -1;
	blocks->intervals = more;
	for (size_t i = 0; i < report->metric_count; i++)
		if (is_of_records(&report->metrics[i]))
			add_interval(blocks, run, container->name, report->metrics[i].key,
				     &values[i * run->resamples]);
	for (size_t i = 0; i < asked->count; i++)
		add_interval(blocks, run, container->name,
			     sweep_metric_key(asked->names[i], container->name),
			     &values[(report->metric_count + i) * run->resamples]);
	return 0;
}

static int resample_log(struct blocks *blocks, const struct run *run,
			const struct summary_container *container, struct app_log *log,
			struct sim_error *err)
{
	u64 random = random_begin(RESAMPLE_SEED, container->name);
	struct app_log drawn = { .has_server = true };
	size_t metrics = container->report->metric_count;
	double *values =
		calloc(run->resamples * (metrics + run->name_count) + 1, sizeof(*values));
	struct asked_list asked;
	struct whole whole;
	unsigned int *times = NULL;
	struct cut cut = { 0 };
	int status = values ? cut_log(run, log, &cut) : -1;

	if (!status)
		times = calloc(cut.count, sizeof(*times));
	if (!times)
		status = -1;
	/* One block is the same in each draw: an interval of no width would be no interval. */
	if (!status && cut.count < 2)
		goto out;
	if (!status)
		status = take_whole(run, container, log, &whole);
	find_asked(run, container, &asked);
	for (u64 k = 0; !status && k < run->resamples; k++) {
		/* A draw of empty blocks alone has no metric. */
		do
			status = draw_blocks(log, &cut, &random, times, &drawn);
		while (!status && !drawn.record_count);
		if (!status)
			status = draw_values(&whole, &drawn, &values[k], run->resamples);
		if (!status)
			status = draw_asked(&asked, &whole, &drawn,
					    &values[metrics * run->resamples + k],
					    run->resamples);
	}
	if (!status)
		status = add_intervals(blocks, run, container, &asked, values);
out:
	app_log_destroy(&drawn);
	free(values);
	free(times);
	free(cut.first);
	return status ? sim_runtime_error(err, "out of memory") : 0;
}

static int resample_run(struct blocks *blocks, struct run *run, struct sim_error *err)
{
	char file[PATH_MAX + 32];
	int status;

	snprintf(file, sizeof(file), "%s/" RESULTS_SUMMARY, run->path);
	status = summary_load(&run->summary, file, err);
	snprintf(file, sizeof(file), "%s/" RESULTS_CONFIG, run->path);
	if (!status)
		status = results_load_json(file, RESULTS_WRITTEN, &run->config, err);
	for (size_t i = 0; !status && i < run->summary.container_count; i++) {
		const struct summary_container *container = &run->summary.containers[i];
		struct app_log log = { .has_server = true };

		if (!container->report)
			continue;
		status = log_read(run->path, container->name, &log, err);
		if (!status && log.record_count)
			status = resample_log(blocks, run, container, &log, err);
		app_log_destroy(&log);
	}
	return status;
}

int blocks_resample(struct blocks *ret_blocks, const char *path, u64 block_ns, u64 resamples,
		    const char *const *asked, size_t asked_count, struct sim_error *err)
{
	struct run run = {
		.path = path,
		.block_ns = block_ns,
		.resamples = resamples,
		.names = asked,
		.name_count = asked_count,
	};
	int status;

	*ret_blocks = (struct blocks){ 0 };
	status = resample_run(ret_blocks, &run, err);
	summary_destroy(&run.summary);
	json_decref(run.config);
	if (status)
		blocks_destroy(ret_blocks);
	return status;
}

void blocks_destroy(struct blocks *blocks)
{
	free(blocks->intervals);
	*blocks = (struct blocks){ 0 };
}
