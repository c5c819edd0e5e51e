// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/log_metrics.h"

#include <errno.h>

#include "gvm/port.h"
#include "results/log_times.h"

#define NS_PER_S 1e9

/*
 * Does the first answer come, or the mean of the gaps between answers stay, within the promised
 * time? Of a record in flight at the end, the gap that is open then counts, and its wait if it
 * has no answer.
 */
static enum log_verdict record_verdict(const struct log *log, const struct app_record *record,
				       enum app_promise promise)
{
	u64 promise_ns = log->promises_ns[promise];
	bool in_flight = record->outcome == APP_DROPPED;
	u64 gaps, ns;

	if (promise == APP_PROMISE_FIRST || !record->first_ns)
		return log_verdict(record, METRIC_TO_FIRST, promise_ns, log->end_ns);
	if (record->outcome == APP_FAILED)
		return LOG_MISSED;
	gaps = record->output_tokens - (in_flight ? 0u : 1u);
	/* A token that was sent before the end may reach the client after it. */
	ns = in_flight ? max(log->end_ns, record->first_ns) : record->finish_ns;
	ns -= record->first_ns;
	if (ns > (unsigned __int128)gaps * promise_ns)
		return LOG_MISSED;
	return in_flight ? LOG_UNDECIDED : LOG_KEPT;
}

/* The share of records that kept a promise. Not known without one. */
static struct summary_value share_kept(const struct log *log, const struct metric *metric)
{
	struct app_log_reader reader = { .log = log->app };
	const struct app_record *record;
	u64 kept = 0, missed = 0;

	while ((record = app_log_next(&reader))) {
		enum log_verdict verdict = record_verdict(log, record, metric->promise);

		if (metric->view == METRIC_OF_CLIENT && record->outcome == APP_DROPPED)
			continue;
		kept += verdict == LOG_KEPT;
		missed += verdict == LOG_MISSED;
	}
	*log->failed |= reader.failed;
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
		    record_verdict(log, record, (enum app_promise)promise) != LOG_KEPT)
			return false;
	return record->outcome == APP_COMPLETED;
}

/* So many a second. Goodput is not known if nothing was promised. */
static struct summary_value rate(const struct log *log, const struct metric *metric)
{
	struct app_log_reader reader = { .log = log->app };
	const struct app_record *record = app_log_next(&reader);
	bool promised = false;
	u64 count = 0, ns = 0;

	if (record)
		ns = log_record_wait_ns(log, record);
	for (int promise = 0; promise < APP_PROMISES; promise++)
		promised |= log->promises_ns[promise] != 0;
	if (!ns || (metric->source == METRIC_GOODPUT && !promised))
		return (struct summary_value){ 0 };
	for (; record; record = app_log_next(&reader)) {
		if (metric->source == METRIC_TOKEN_RATE)
			count += record->output_tokens;
		else if (metric->source == METRIC_GOODPUT)
			count += record_is_good(log, record);
		else
			count += record->outcome == APP_COMPLETED;
	}
	*log->failed |= reader.failed;
	return (struct summary_value){ .known = true,
				       .real = (double)count * NS_PER_S / (double)ns };
}

/* Records of a log, and what they have had together. */
struct counts {
	bool known; /* they are counted */
	u64 arrivals;
	u64 outcomes[APP_DROPPED + 1];
	u64 reasons[APP_REASONS];
	u64 cached_tokens;
	u64 preemptions;
};

static void count_records(const struct log *log, struct counts *counts)
{
	struct app_log_reader reader = { .log = log->app };
	const struct app_record *record;

	while ((record = app_log_next(&reader))) {
		counts->arrivals++;
		counts->outcomes[record->outcome]++;
		counts->reasons[record->reason]++;
		counts->cached_tokens += record->cached_tokens;
		counts->preemptions += record->preemptions;
	}
	counts->known = true;
	*log->failed |= reader.failed;
}

/*
 * How many records arrived, had an outcome or failed for a reason; how often their server
 * preempted them, and how many tokens it had in its prefix cache. That none failed at a stop is
 * not reported.
 */
static struct summary_value record_count(const struct log *log, struct counts *counts,
					 const struct metric *metric)
{
	struct summary_value value = { .known = true };

	if (!counts->known)
		count_records(log, counts);
	if (metric->source == METRIC_ARRIVALS)
		value.count = counts->arrivals;
	else if (metric->source == METRIC_OUTCOMES)
		value.count = counts->outcomes[metric->outcome];
	else if (metric->source == METRIC_FAILURES)
		value.count = counts->reasons[metric->reason];
	else if (metric->source == METRIC_CACHED)
		value.count = counts->cached_tokens;
	else
		value.count = counts->preemptions;
	/* Few runs stop a container. */
	value.known = value.count || metric->source != METRIC_FAILURES ||
		      metric->reason != APP_STOPPED;
	return value;
}

/*
 * A statistic of times. Not known if there are none; only a server knows starts. Returns 0,
 * -ENOMEM or -EIO.
 */
static int statistic(const struct log *log, struct times *times, const struct metric *metric,
		     struct summary_value *ret_value)
{
	double ns = 0;
	bool bound = false;
	int status;

	if (metric->source == METRIC_TO_START && !log->app->has_server)
		return 0;
	status = log_times_fill(times, log, metric);
	if (status || !times->count)
		return status;
	status = log_times_statistic(times, log, metric, &ns, &bound);
	*ret_value = (struct summary_value){
		.known = true,
		.bound = bound,
		.real = ns / (metric->unit == METRIC_MS ? 1e6 : 1e9),
	};
	return status;
}

int log_metrics_compute(const struct app_report *report, const struct app_log *log,
			const u64 promises_ns[APP_PROMISES], u64 end_ns,
			struct summary_value *values)
{
	bool failed = false;
	const struct log whole = {
		.report = report,
		.app = log,
		.promises_ns = promises_ns,
		.end_ns = log->end_ns ? log->end_ns : end_ns,
		.failed = &failed,
	};
	struct counts counts = { 0 };
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
			*value = record_count(&whole, &counts, metric);
			break;
		case METRIC_CACHED:
			if (log->has_prefix_cache)
				*value = record_count(&whole, &counts, metric);
			break;
		case METRIC_PREEMPTIONS:
			if (log->has_server)
				*value = record_count(&whole, &counts, metric);
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
		case METRIC_TO_FIRST:
		case METRIC_TO_END:
		case METRIC_GAPS:
			status = statistic(&whole, &times, metric, value);
			break;
		}
	}
	log_times_destroy(&times);
	return failed ? -EIO : status;
}

int log_metrics_time(const struct app_report *report, const struct app_log *log,
		     const struct metric *metric, u64 end_ns, struct summary_value *ret_value)
{
	bool failed = false;
	const struct log whole = {
		.report = report,
		.app = log,
		.end_ns = end_ns,
		.failed = &failed,
	};
	struct times times = { 0 };
	int status = statistic(&whole, &times, metric, ret_value);

	log_times_destroy(&times);
	return failed ? -EIO : status;
}
