// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The names of the machine's metrics, and the computation of an application's metrics from its
 * log; see summary.h.
 *
 * Times are those that a benchmark client measures, because published numbers are measured
 * there; see enum metric_source. Every metric is a sum of integers or an exact order statistic,
 * followed by one division, so the digits do not depend on the compiler.
 */
#include "results/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/stats.h"
#include "gvm/port.h"

#define METRIC(key_, label_, unit_, compared_)                            \
	{                                                                 \
		.key = (key_), .label = (label_), .unit = METRIC_##unit_, \
		.compared = (compared_)                                   \
	}

const struct metric summary_metrics[SUMMARY_METRICS] = {
	[SUMMARY_GMEM_CURRENT] = METRIC("gmem.current", "GPU memory at end", BYTES, false),
	[SUMMARY_GMEM_PEAK] = METRIC("gmem.peak", "GPU memory peak", BYTES, false),
	[SUMMARY_GMEM_SWAP] = METRIC("gmem.swap", "swapped out at end", BYTES, false),
	[SUMMARY_EVENTS_HIGH] =
		METRIC("gmem_events.high", "refused at gmem.limit.high", COUNT, false),
	[SUMMARY_EVENTS_HMEM] =
		METRIC("gmem_events.hmem", "refused at hmem.limit", COUNT, false),
	[SUMMARY_EVENTS_OOM] = METRIC("gmem_events.oom", "found no memory", COUNT, false),
	[SUMMARY_FAULTS] = METRIC("faults", "page faults", COUNT, false),
	[SUMMARY_FAULT_BATCHES] = METRIC("fault_batches", "fault batches", COUNT, false),
	[SUMMARY_EVICTIONS] = METRIC("evictions", "evictions", COUNT, false),
	[SUMMARY_BYTES_H2D] = METRIC("bytes_h2d", "host to device", BYTES, false),
	[SUMMARY_BYTES_D2H] = METRIC("bytes_d2h", "device to host", BYTES, false),
	[SUMMARY_GPU_SECONDS] = METRIC("gpu_seconds", "compute", S, false),
	[SUMMARY_STALL_SECONDS] = METRIC("stall_seconds", "stalled on faults", S, false),
	[SUMMARY_STALL_CPU_SECONDS] =
		METRIC("stall_cpu_seconds", "CPU fault handling", S, false),
	[SUMMARY_STALL_D2H_SECONDS] =
		METRIC("stall_d2h_seconds", "device-to-host copies", S, false),
	[SUMMARY_STALL_H2D_SECONDS] =
		METRIC("stall_h2d_seconds", "host-to-device copies", S, false),
	[SUMMARY_BLOCKED_SECONDS] = METRIC("blocked_seconds", "faults of others", S, false),
	[SUMMARY_GPU_SHARE] = METRIC("gpu_share", "GPU share", SHARE, true),
};

const struct metric *summary_metric(const struct summary_container *container, size_t place,
				    const struct summary_value **ret_value)
{
	const struct app_report *report = container->report;
	size_t logged = report ? report->metric_count : 0;

	if (place < logged) {
		*ret_value = &container->values[SUMMARY_METRICS + place];
		return &report->metrics[place];
	}
	place -= logged;
	if (place >= SUMMARY_METRICS)
		return NULL;
	*ret_value = &container->values[place];
	return &summary_metrics[place];
}

const struct metric *summary_find_metric(const struct summary_container *container,
					 const char *key,
					 const struct summary_value **ret_value)
{
	const struct metric *metric;

	for (size_t i = 0; (metric = summary_metric(container, i, ret_value)); i++)
		if (!strcmp(metric->key, key))
			return metric;
	return NULL;
}

double summary_number(const struct summary_value *value, const struct metric *metric)
{
	switch (metric->unit) {
	case METRIC_COUNT:
	case METRIC_BYTES:
		return (double)value->count;
	default:
		return value->real;
	}
}

const struct summary_container *summary_find(const struct summary *summary, const char *name)
{
	for (size_t i = 0; i < summary->container_count; i++)
		if (!strcmp(summary->containers[i].name, name))
			return &summary->containers[i];
	return NULL;
}

const char *summary_type_name(const struct summary_container *container)
{
	return container->report ? container->report->type : SUMMARY_UNKNOWN;
}

void summary_set_count(struct summary_container *container, enum summary_metric_id metric,
		       u64 count)
{
	container->values[metric] = (struct summary_value){ .known = true, .count = count };
}

void summary_set_real(struct summary_container *container, enum summary_metric_id metric,
		      double real)
{
	container->values[metric] = (struct summary_value){ .known = true, .real = real };
}

/* The share of ended records whose first answer came in time. Not known without a promised time. */
static struct summary_value share_kept(const struct app_log *log, u64 promise_ns)
{
	u64 ended = 0, in_time = 0;

	for (size_t i = 0; i < log->record_count; i++) {
		const struct app_record *record = &log->records[i];

		if (record->outcome == APP_DROPPED)
			continue;
		ended++;
		in_time +=
			record->first_ns && record->first_ns - record->arrival_ns <= promise_ns;
	}
	if (!ended || !promise_ns)
		return (struct summary_value){ 0 };
	return (struct summary_value){ .known = true, .real = (double)in_time / (double)ended };
}

/* Times in ascending order. */
struct sorted_times {
	enum metric_source source; /* METRIC_MEASURED: not filled yet */
	u64 *ns;
	size_t count;
};

/* Fill @times with the sorted times of @source, unless it has them already. Returns 0 or -ENOMEM. */
static int sort_times(struct sorted_times *times, const struct app_log *log,
		      enum metric_source source)
{
	if (times->source == source)
		return 0;
	free(times->ns);
	/* At least one, so that NULL means no memory. */
	times->ns = calloc(max(log->record_count, log->gap_count) + 1, sizeof(*times->ns));
	times->count = 0;
	if (!times->ns)
		return -ENOMEM;
	times->source = source;
	if (source == METRIC_GAPS) {
		times->count = log->gap_count;
		if (log->gap_count)
			memcpy(times->ns, log->gaps_ns, log->gap_count * sizeof(*times->ns));
	}
	for (size_t i = 0; i < log->record_count && source != METRIC_GAPS; i++) {
		const struct app_record *record = &log->records[i];
		u64 end_ns = source == METRIC_TO_FIRST ? record->first_ns : record->finish_ns;

		if (record->outcome == APP_COMPLETED && end_ns)
			times->ns[times->count++] = end_ns - record->arrival_ns;
	}
	stats_sort_u64(times->ns, times->count);
	return 0;
}

/* One statistic of sorted times, in the metric's unit. Unknown if there are none. */
static struct summary_value time_statistic(const struct sorted_times *times,
					   const struct metric *metric)
{
	double ns;

	if (!times->count)
		return (struct summary_value){ 0 };
	ns = metric->statistic == METRIC_MEAN ?
		     stats_mean_u64(times->ns, times->count) :
		     stats_percentile_u64(times->ns, times->count,
					  (unsigned int)metric->statistic);
	return (struct summary_value){ .known = true,
				       .real = ns / (metric->unit == METRIC_MS ? 1e6 : 1e9) };
}

int summary_set_log(struct summary_container *container, const struct app_log *log,
		    u64 promise_ns)
{
	const struct app_report *report = container->report;
	struct sorted_times times = { 0 };
	int status = 0;

	for (size_t i = 0; report && i < report->metric_count && !status; i++) {
		const struct metric *metric = &report->metrics[i];
		struct summary_value *value = &container->values[SUMMARY_METRICS + i];

		*value = (struct summary_value){ 0 };
		switch (metric->source) {
		case METRIC_MEASURED:
			break;
		case METRIC_ARRIVALS:
			*value = (struct summary_value){ .known = true, .count = log->arrived };
			break;
		case METRIC_OUTCOMES:
			value->known = true;
			for (size_t k = 0; k < log->record_count; k++)
				value->count += log->records[k].outcome == metric->outcome;
			break;
		case METRIC_KEPT:
			*value = share_kept(log, promise_ns);
			break;
		case METRIC_TO_FIRST:
		case METRIC_TO_END:
		case METRIC_GAPS:
			status = sort_times(&times, log, metric->source);
			if (!status)
				*value = time_statistic(&times, metric);
			break;
		}
	}
	free(times.ns);
	return status;
}

void summary_destroy(struct summary *summary)
{
	for (size_t i = 0; i < summary->ignored_count; i++)
		free(summary->ignored_keys[i]);
	free(summary->ignored_keys);
	free(summary->containers);
	*summary = (struct summary){ 0 };
}
