// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/log_metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/stats.h"
#include "gvm/port.h"

#define NS_PER_S 1e9

/*
 * Times of one source and view: the known ones in ascending order, then waits without an
 * answer.
 */
struct times {
	enum metric_source source; /* METRIC_MEASURED: not filled yet */
	enum metric_view view;
	u64 *ns;
	size_t known;
	size_t count;
	bool folded; /* in place of ns: the known ones, and all */
	struct stats_weights known_weights;
	struct stats_weights all_weights;
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

static void times_destroy(struct times *times)
{
	free(times->ns);
	free(times->known_weights.list);
	free(times->all_weights.list);
}

/* Add all gaps of a kind, folded or not. Returns 0 or -ENOMEM. */
static int fold_gaps(struct stats_weights *weights, const struct app_log *app,
		     enum app_gaps kind)
{
	size_t count = app->gaps[kind].count;
	u64 *copy = calloc(count + 1, sizeof(*copy));
	int status = copy ? 0 : -ENOMEM;

	if (count && copy)
		memcpy(copy, app->gaps[kind].ns, count * sizeof(*copy));
	if (!status)
		status = stats_weights_add(weights, copy, count);
	if (!status)
		status = stats_weights_merge(weights, &app->gaps[kind].folded);
	free(copy);
	return status;
}

/* Gaps of a long run stay folded. Returns 0 or -ENOMEM. */
static int collect_folded(struct times *times, const struct log *log)
{
	bool arrived = times->view == METRIC_OF_ARRIVED;
	int status = fold_gaps(&times->known_weights, log->app, APP_GAPS_COMPLETED);

	times->folded = true;
	if (!status && arrived)
		status = fold_gaps(&times->known_weights, log->app, APP_GAPS_OTHERS);
	if (!status)
		status = stats_weights_merge(&times->all_weights, &times->known_weights);
	if (!status && arrived)
		status = fold_gaps(&times->all_weights, log->app, APP_GAPS_OPEN);
	times->known = times->known_weights.total;
	times->count = times->all_weights.total;
	return status;
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
	if (view == METRIC_OF_CLIENT && record->outcome != APP_COMPLETED)
		return 0;
	if (source == METRIC_TO_START)
		return record->start_ns;
	if (source == METRIC_TO_FIRST)
		return record->first_ns;
	return record->outcome == APP_COMPLETED ? record->finish_ns : 0;
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
	times_destroy(times);
	*times = (struct times){ .source = metric->source, .view = metric->view };
	for (int kind = 0; kind < APP_GAP_KINDS; kind++) {
		if (metric->source == METRIC_GAPS && log->app->gaps[kind].folded.n)
			return collect_folded(times, log);
		if (metric->source == METRIC_GAPS)
			room += log->app->gaps[kind].count;
	}
	/* At least one, so that NULL means no memory. */
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

/*
 * A percentile that falls on a wait: the percentile of all times in ascending order. 0 or
 * -ENOMEM.
 */
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

/*
 * One statistic of times, in the metric's unit. Not known if there are none. Returns 0 or
 * -ENOMEM.
 */
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
		ns = times->folded ? stats_weights_mean(&times->all_weights) :
				     stats_mean_u64(times->ns, times->count);
	} else {
		/* The higher one of the two neighbours that a percentile lies between. */
		bound = ((times->count - 1) * percent + 99) / 100 >= times->known;
		if (times->folded)
			ns = stats_weights_percentile(bound ? &times->all_weights :
							      &times->known_weights,
						      times->count, percent);
		else if (bound)
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

/*
 * Does the first answer come, or the mean of the gaps between answers stay, within the promised
 * time? Of a record in flight at the end, the gap that is open then counts, and its wait if it
 * has no answer.
 */
static enum verdict record_verdict(const struct log *log, const struct app_record *record,
				   enum app_promise promise)
{
	u64 promise_ns = log->promises_ns[promise];
	bool in_flight = record->outcome == APP_DROPPED;
	u64 gaps = 1, ns;

	if (promise == APP_PROMISE_FIRST && record->first_ns)
		return record->first_ns - record->arrival_ns <= promise_ns ? VERDICT_KEPT :
									     VERDICT_MISSED;
	if (record->outcome == APP_FAILED)
		return VERDICT_MISSED;
	ns = record_wait_ns(log, record);
	if (promise == APP_PROMISE_GAPS && record->first_ns) {
		gaps = record->output_tokens - (in_flight ? 0u : 1u);
		ns = (in_flight ? log->end_ns : record->finish_ns) - record->first_ns;
	}
	if (ns > (unsigned __int128)gaps * promise_ns)
		return VERDICT_MISSED;
	return in_flight ? VERDICT_UNDECIDED : VERDICT_KEPT;
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

/* Has a completed record kept all promises that were made? */
static bool record_is_good(const struct log *log, const struct app_record *record)
{
	for (int promise = 0; promise < APP_PROMISES; promise++)
		if (log->promises_ns[promise] &&
		    record_verdict(log, record, (enum app_promise)promise) != VERDICT_KEPT)
			return false;
	return record->outcome == APP_COMPLETED;
}

/* So many a second. Goodput is not known if nothing was promised. */
static struct summary_value rate(const struct log *log, const struct metric *metric)
{
	bool promised = false;
	u64 count = 0, ns = 0;

	if (log->app->record_count)
		ns = record_wait_ns(log, &log->app->records[0]);
	for (int promise = 0; promise < APP_PROMISES; promise++)
		promised |= log->promises_ns[promise] != 0;
	if (!ns || (metric->source == METRIC_GOODPUT && !promised))
		return (struct summary_value){ 0 };
	for (size_t i = 0; i < log->app->record_count; i++) {
		const struct app_record *record = &log->app->records[i];

		if (metric->source == METRIC_TOKEN_RATE)
			count += record->output_tokens;
		else if (metric->source == METRIC_GOODPUT)
			count += record_is_good(log, record);
		else
			count += record->outcome == APP_COMPLETED;
	}
	return (struct summary_value){ .known = true,
				       .real = (double)count * NS_PER_S / (double)ns };
}

/*
 * How many records arrived, had an outcome or failed for a reason; how often their server
 * preempted them, and how many tokens it had in its prefix cache. That none failed at a stop is
 * not reported.
 */
static struct summary_value record_count(const struct log *log, const struct metric *metric)
{
	struct summary_value value = { .known = true };

	for (size_t i = 0; i < log->app->record_count; i++) {
		const struct app_record *record = &log->app->records[i];

		if (metric->source == METRIC_ARRIVALS)
			value.count++;
		else if (metric->source == METRIC_OUTCOMES)
			value.count += record->outcome == metric->outcome;
		else if (metric->source == METRIC_FAILURES)
			value.count += record->reason == metric->reason;
		else if (metric->source == METRIC_CACHED)
			value.count += record->cached_tokens;
		else
			value.count += record->preemptions;
	}
	/* Few runs stop a container. */
	value.known = value.count || metric->source != METRIC_FAILURES ||
		      metric->reason != APP_STOPPED;
	return value;
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
		case METRIC_OUTCOMES:
		case METRIC_FAILURES:
			*value = record_count(&whole, metric);
			break;
		case METRIC_CACHED:
			if (log->has_prefix_cache)
				*value = record_count(&whole, metric);
			break;
		case METRIC_PREEMPTIONS:
			if (log->has_server)
				*value = record_count(&whole, metric);
			break;
		case METRIC_COMPLETED_RATE:
		case METRIC_GOODPUT:
		case METRIC_TOKEN_RATE:
			*value = rate(&whole, metric);
			break;
		case METRIC_KEPT:
			*value = share_kept(&whole, metric);
			break;
		case METRIC_TO_START:
			if (!log->has_server)
				break;
			/* fall through */
		case METRIC_TO_FIRST:
		case METRIC_TO_END:
		case METRIC_GAPS:
			status = times_fill(&times, &whole, metric);
			if (!status)
				status = times_statistic(&times, metric, value);
			break;
		}
	}
	times_destroy(&times);
	return status;
}
