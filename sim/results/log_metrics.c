// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/log_metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/stats.h"
#include "gvm/port.h"
#include "results/summary.h"

/* Times of one source and view: the known ones in ascending order, then waits without an answer. */
struct times {
	enum metric_source source; /* METRIC_MEASURED: not filled yet */
	enum metric_view view;
	u64 *ns;
	size_t known;
	size_t count;
};

/* A log with its end and its promises. */
struct log {
	const struct app_report *report;
	const struct app_log *app;
	const u64 *promises_ns;
	u64 end_ns;
};

/* How long a record without an answer has waited at the end of the log. */
static u64 record_wait_ns(const struct log *log, const struct app_record *record)
{
	return log->end_ns > record->arrival_ns ? log->end_ns - record->arrival_ns : 0;
}

static void add_gaps(struct times *times, const struct app_log *app, enum app_gaps kind)
{
	if (!app->gaps[kind].count)
		return;
	memcpy(&times->ns[times->count], app->gaps[kind].ns,
	       app->gaps[kind].count * sizeof(*times->ns));
	times->count += app->gaps[kind].count;
}

static void collect_gaps(struct times *times, const struct log *log)
{
	add_gaps(times, log->app, APP_GAPS_COMPLETED);
	if (times->view == METRIC_OF_ARRIVED)
		add_gaps(times, log->app, APP_GAPS_OTHERS);
	times->known = times->count;
	if (times->view == METRIC_OF_ARRIVED)
		add_gaps(times, log->app, APP_GAPS_OPEN);
}

/* The date of the answer that @source asks for; 0: there was none. */
static u64 record_answer_ns(const struct app_record *record, enum metric_source source,
			    enum metric_view view)
{
	bool completed = record->outcome == APP_COMPLETED;

	if (!completed && (view == METRIC_OF_CLIENT || source == METRIC_TO_END))
		return 0;
	return source == METRIC_TO_FIRST ? record->first_ns : record->finish_ns;
}

static void collect_records(struct times *times, const struct log *log)
{
	const struct app_record *records = log->app->records;
	size_t count = log->app->record_count;
	double mean_ns = 0;

	for (size_t i = 0; i < count; i++) {
		u64 answer_ns = record_answer_ns(&records[i], times->source, times->view);

		if (answer_ns)
			times->ns[times->count++] = answer_ns - records[i].arrival_ns;
	}
	times->known = times->count;
	if (times->view == METRIC_OF_CLIENT)
		return;
	if (log->report->closed_loop && times->known)
		mean_ns = stats_mean_u64(times->ns, times->known);
	for (size_t i = 0; i < count; i++) {
		u64 wait_ns = record_wait_ns(log, &records[i]);
		bool in_loop = log->report->closed_loop && records[i].outcome == APP_DROPPED;

		if (record_answer_ns(&records[i], times->source, times->view) ||
		    (in_loop && (double)wait_ns <= mean_ns))
			continue;
		times->ns[times->count++] = wait_ns;
	}
}

/* Fill @times for a metric, unless they have its times already. Returns 0 or -ENOMEM. */
static int times_fill(struct times *times, const struct log *log, const struct metric *metric)
{
	size_t room = log->app->record_count;

	if (times->source == metric->source && times->view == metric->view)
		return 0;
	free(times->ns);
	for (int kind = 0; kind < APP_GAP_KINDS; kind++)
		room += log->app->gaps[kind].count;
	/* At least one, so that NULL means no memory. */
	*times = (struct times){ .source = metric->source, .view = metric->view };
	times->ns = calloc(room + 1, sizeof(*times->ns));
	if (!times->ns)
		return -ENOMEM;
	if (metric->source == METRIC_GAPS)
		collect_gaps(times, log);
	else
		collect_records(times, log);
	stats_sort_u64(times->ns, times->known);
	return 0;
}

/* A percentile that falls on a wait: the percentile of all times in ascending order. 0 or -ENOMEM. */
static int times_bound(const struct times *times, unsigned int percent, double *ret_ns)
{
	u64 *all = malloc(times->count * sizeof(*all));

	if (!all)
		return -ENOMEM;
	memcpy(all, times->ns, times->count * sizeof(*all));
	stats_sort_u64(all, times->count);
	*ret_ns = stats_percentile_u64(all, times->count, percent);
	free(all);
	return 0;
}

/* One statistic of times, in the metric's unit. Not known if there are none. Returns 0 or -ENOMEM. */
static int times_statistic(const struct times *times, const struct metric *metric,
			   struct summary_value *ret_value)
{
	unsigned int percent = (unsigned int)metric->statistic;
	bool bound;
	double ns;
	int status = 0;

	if (!times->count)
		return 0;
	if (metric->statistic == METRIC_MEAN) {
		bound = times->known < times->count;
		ns = stats_mean_u64(times->ns, times->count);
	} else {
		/* The higher one of the two neighbours that a percentile lies between. */
		bound = ((times->count - 1) * percent + 99) / 100 >= times->known;
		if (bound)
			status = times_bound(times, percent, &ns);
		else
			ns = stats_percentile_u64(times->ns, times->count, percent);
	}
	if (status)
		return status;
	*ret_value = (struct summary_value){
		.known = true,
		.bound = bound,
		.real = ns / (metric->unit == METRIC_MS ? 1e6 : 1e9),
	};
	return 0;
}

enum verdict { VERDICT_KEPT, VERDICT_MISSED, VERDICT_UNDECIDED };

static enum verdict record_verdict(const struct log *log, const struct app_record *record,
				   enum app_promise promise)
{
	u64 promise_ns = log->promises_ns[promise];

	if (record->first_ns)
		return record->first_ns - record->arrival_ns <= promise_ns ? VERDICT_KEPT :
									     VERDICT_MISSED;
	if (record->outcome == APP_DROPPED && record_wait_ns(log, record) <= promise_ns)
		return VERDICT_UNDECIDED;
	return VERDICT_MISSED;
}

/* The share of records that kept a promise. Not known without one. */
static struct summary_value share_kept(const struct log *log, const struct metric *metric)
{
	u64 kept = 0, missed = 0;

	for (size_t i = 0; i < log->app->record_count; i++) {
		const struct app_record *record = &log->app->records[i];
		enum verdict verdict = record_verdict(log, record, metric->promise);

		if (metric->view == METRIC_OF_CLIENT && record->outcome == APP_DROPPED)
			continue;
		kept += verdict == VERDICT_KEPT;
		missed += verdict == VERDICT_MISSED;
	}
	if (!log->promises_ns[metric->promise] || !(kept + missed))
		return (struct summary_value){ 0 };
	return (struct summary_value){ .known = true,
				       .real = (double)kept / (double)(kept + missed) };
}

int log_metrics_compute(const struct app_report *report, const struct app_log *log,
			const u64 promises_ns[APP_PROMISES], u64 end_ns,
			struct summary_value *values)
{
	const struct log whole = {
		.report = report,
		.app = log,
		.promises_ns = promises_ns,
		.end_ns = log->end_ns ? log->end_ns : end_ns,
	};
	struct times times = { 0 };
	int status = 0;

	for (size_t i = 0; i < report->metric_count && !status; i++) {
		const struct metric *metric = &report->metrics[i];
		struct summary_value *value = &values[i];

		*value = (struct summary_value){ 0 };
		switch (metric->source) {
		case METRIC_MEASURED:
			break;
		case METRIC_ARRIVALS:
			value->known = true;
			value->count = log->record_count;
			break;
		case METRIC_OUTCOMES:
			value->known = true;
			for (size_t k = 0; k < log->record_count; k++)
				value->count += log->records[k].outcome == metric->outcome;
			break;
		case METRIC_KEPT:
			*value = share_kept(&whole, metric);
			break;
		case METRIC_TO_FIRST:
		case METRIC_TO_END:
		case METRIC_GAPS:
			status = times_fill(&times, &whole, metric);
			if (!status)
				status = times_statistic(&times, metric, value);
			break;
		}
	}
	free(times.ns);
	return status;
}
