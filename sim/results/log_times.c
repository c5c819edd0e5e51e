// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/log_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gvm/port.h"

/* Bits of a time that one pass over the records finds. */
#define PASS_BITS 17u

u64 log_record_wait_ns(const struct log *log, const struct app_record *record)
{
	return log->end_ns > record->arrival_ns ? log->end_ns - record->arrival_ns : 0;
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

enum log_verdict log_verdict(const struct app_record *record, enum metric_source source,
			     u64 limit_ns, u64 end_ns)
{
	u64 answer_ns = record_answer_ns(record, source, METRIC_OF_ARRIVED);
	u64 waited_ns = end_ns > record->arrival_ns ? end_ns - record->arrival_ns : 0;

	if (answer_ns)
		return answer_ns - record->arrival_ns <= limit_ns ? LOG_KEPT : LOG_MISSED;
	if (record->outcome == APP_FAILED || waited_ns > limit_ns)
		return LOG_MISSED;
	return record->outcome == APP_DROPPED ? LOG_UNDECIDED : LOG_KEPT;
}

void log_times_destroy(struct times *times)
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

/*
 * The time of a record: up to its answer, *@ret_known, or its wait without one. A closed loop
 * always has a record in flight, which has no time up to @mean_ns. Returns false for no time.
 */
static bool record_time(const struct times *times, const struct log *log,
			const struct app_record *record, u64 *ret_ns, bool *ret_known)
{
	u64 answer_ns = record_answer_ns(record, times->source, times->view);
	bool in_loop = log->report->closed_loop && record->outcome == APP_DROPPED;

	*ret_known = answer_ns != 0;
	*ret_ns = answer_ns ? answer_ns - record->arrival_ns : log_record_wait_ns(log, record);
	if (answer_ns)
		return true;
	return times->view != METRIC_OF_CLIENT &&
	       !(in_loop && (double)*ret_ns <= times->mean_ns);
}

/*
 * Visit the known times of all records, or the waits, from record number *first on. *first
 * becomes the first record of the other kind. Returns 0 or -EIO.
 */
static int walk_records(const struct times *times, const struct log *log, bool known,
			size_t *first, void (*visit)(void *data, u64 ns), void *data)
{
	struct app_log_reader reader = { .log = log->app, .next = *first };
	size_t other = log->app->record_count;
	const struct app_record *record;

	while ((record = app_log_next(&reader))) {
		bool is_known;
		u64 ns;

		if (record_time(times, log, record, &ns, &is_known) && is_known == known)
			visit(data, ns);
		if (is_known != known)
			other = min(other, reader.next - 1);
	}
	*first = other;
	return reader.failed ? -EIO : 0;
}

/* Take a time into the array, or into the sums. @data: the times. */
static void take_time(void *data, u64 ns)
{
	struct times *times = data;

	if (times->ns)
		times->ns[times->count] = ns;
	times->count++;
	times->sum += ns;
	times->longest_ns = max(times->longest_ns, ns);
}

static int collect_records(struct times *times, const struct log *log)
{
	size_t first = 0;
	int status = walk_records(times, log, true, &first, take_time, times);

	times->known = times->count;
	if (log->report->closed_loop && times->known)
		times->mean_ns = (double)times->sum / (double)times->known;
	return status ? status : walk_records(times, log, false, &first, take_time, times);
}

int log_times_fill(struct times *times, const struct log *log, const struct metric *metric)
{
	size_t room = log->app->record_count;
	int status = 0;

	if (times->source == metric->source && times->view == metric->view)
		return 0;
	log_times_destroy(times);
	*times = (struct times){ .source = metric->source, .view = metric->view };
	if (metric->source == METRIC_GAPS) {
		room = 0;
		for (int kind = 0; kind < APP_GAP_KINDS; kind++) {
			if (log->app->gaps[kind].folded.n)
				return collect_folded(times, log);
			room += log->app->gaps[kind].count;
		}
	}
	times->streamed = metric->source != METRIC_GAPS && log->app->passed;
	/* At least one, so that NULL means no memory. */
	if (!times->streamed || room < LOG_TIMES_KEPT)
		times->ns = calloc(room + 1, sizeof(*times->ns));
	if (times->streamed)
		return collect_records(times, log);
	if (!times->ns)
		return -ENOMEM;
	if (metric->source == METRIC_GAPS)
		collect_gaps(times, log);
	else
		status = collect_records(times, log);
	stats_sort_u64(times->ns, times->known);
	return status;
}

/*
 * A percentile that falls on a wait: the percentile of all times in ascending order. 0 or
 * -ENOMEM.
 */
static int times_bound(const struct times *times, unsigned int rank, unsigned int of,
		       double *ret_ns)
{
	u64 *all = malloc(times->count * sizeof(*all));

	if (!all)
		return -ENOMEM;
	memcpy(all, times->ns, times->count * sizeof(*all));
	stats_sort_u64(all, times->count);
	*ret_ns = stats_percentile_u64(all, times->count, rank, of);
	free(all);
	return 0;
}

/* The search for the time of a rank. Its bits above @shift + @step are known. */
struct selection {
	u64 prefix;
	unsigned int shift, step;
	u64 *bins;	 /* times by the @step bits above @shift */
	u64 value, next; /* afterwards: the time, and the least one that is longer */
};

static void select_bits(void *data, u64 ns)
{
	struct selection *selection = data;

	if (ns >> (selection->shift + selection->step) == selection->prefix)
		selection->bins[ns >> selection->shift & ((1ull << selection->step) - 1)]++;
}

static void select_next(void *data, u64 ns)
{
	struct selection *selection = data;

	if (ns > selection->value && ns < selection->next)
		selection->next = ns;
}

/* Visit the known times, and with @all the waits, too. */
static int select_walk(const struct times *times, const struct log *log, bool all,
		       void (*visit)(void *data, u64 ns), struct selection *selection)
{
	size_t first = 0;
	int status;

	if (times->ns) {
		for (size_t i = 0; i < (all ? times->count : times->known); i++)
			visit(selection, times->ns[i]);
		return 0;
	}
	status = walk_records(times, log, true, &first, visit, selection);
	return status || !all ? status :
				walk_records(times, log, false, &first, visit, selection);
}

/*
 * A percentile of streamed times, as stats_percentile_u64(). @all: waits
 * count. 0, -ENOMEM or -EIO.
 */
static int times_select(const struct times *times, const struct log *log, bool all,
			unsigned int rank, unsigned int of, double *ret_ns)
{
	unsigned __int128 scaled = (unsigned __int128)(times->count - 1) * rank, weighted;
	u64 place = (u64)(scaled / of), above = (u64)(scaled % of), bin = 0;
	struct selection selection = { .next = U64_MAX };
	int status = 0;

	/* All times are 0: there are no bits to look for. */
	*ret_ns = 0;
	if (!times->longest_ns)
		return 0;
	selection.bins = calloc((size_t)1 << PASS_BITS, sizeof(*selection.bins));
	if (!selection.bins)
		return -ENOMEM;
	while (times->longest_ns >> selection.shift)
		selection.shift++;
	while (selection.shift && !status) {
		selection.step = min(selection.shift, PASS_BITS);
		selection.shift -= selection.step;
		memset(selection.bins, 0, sizeof(*selection.bins) << selection.step);
		status = select_walk(times, log, all, select_bits, &selection);
		for (bin = 0; !status && place >= selection.bins[bin]; bin++)
			place -= selection.bins[bin];
		selection.prefix = selection.prefix << selection.step | bin;
	}
	selection.value = selection.prefix;
	/* The next one may have the same time. */
	if (!status && above && place + 1 < selection.bins[bin])
		selection.next = selection.value;
	else if (!status && above)
		status = select_walk(times, log, all, select_next, &selection);
	free(selection.bins);
	weighted = (unsigned __int128)selection.value * (of - above);
	if (above)
		weighted += (unsigned __int128)selection.next * above;
	*ret_ns = (double)weighted / of;
	return status;
}

int log_times_statistic(const struct times *times, const struct log *log,
			const struct metric *metric, double *ret_ns, bool *ret_bound)
{
	unsigned int rank = (unsigned int)metric->statistic;
	unsigned int of = metric->of ? (unsigned int)metric->of : 100;

	if (metric->statistic == METRIC_MEAN) {
		*ret_bound = times->known < times->count;
		if (times->folded)
			*ret_ns = stats_weights_mean(&times->all_weights);
		else if (times->streamed)
			*ret_ns = (double)times->sum / (double)times->count;
		else
			*ret_ns = stats_mean_u64(times->ns, times->count);
		return 0;
	}
	/* The higher one of the two neighbours that a percentile lies between. */
	*ret_bound = ((times->count - 1) * rank + of - 1) / of >= times->known;
	if (times->streamed)
		return times_select(times, log, *ret_bound, rank, of, ret_ns);
	if (!times->folded && *ret_bound)
		return times_bound(times, rank, of, ret_ns);
	*ret_ns = times->folded ? stats_weights_percentile(*ret_bound ? &times->all_weights :
									&times->known_weights,
							   times->count, rank, of) :
				  stats_percentile_u64(times->ns, times->count, rank, of);
	return 0;
}
