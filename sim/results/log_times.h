/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The times of a log, and their statistics: part of log_metrics.h, which has the rules.
 *
 * Few times are sorted in an array. Of a log whose records have left the memory, a percentile
 * is found by its leading bits, some of them in each pass over the times. Up to LOG_TIMES_KEPT
 * times are kept for these passes; more are read as often as needed instead. So all are exact,
 * and need the same memory for any number of records.
 */
#ifndef SIM_RESULTS_LOG_TIMES_H
#define SIM_RESULTS_LOG_TIMES_H

#include "apps/report.h"
#include "engine/stats.h"

/* So many times of records that have left the memory are kept: 32 MB. */
#define LOG_TIMES_KEPT ((size_t)1 << 22)

/* A log with its end and its promises. */
struct log {
	const struct app_report *report;
	const struct app_log *app;
	const u64 *promises_ns;
	u64 end_ns;
	bool *failed; /* set where records cannot be read back */
};

/*
 * Times of one source and view: the known ones, in ascending order unless they are streamed,
 * then waits without an answer.
 */
struct times {
	enum metric_source source; /* METRIC_MEASURED: not filled yet */
	enum metric_view view;
	u64 *ns;
	size_t known;
	size_t count;
	bool streamed;	       /* records are not in memory; without ns they are read again */
	unsigned __int128 sum; /* of times of records */
	u64 longest_ns;
	double mean_ns; /* of a closed loop's known ones */
	bool folded;	/* in place of ns: the known ones, and all */
	struct stats_weights known_weights;
	struct stats_weights all_weights;
};

/* How long a record without an answer has waited at the end of the log. */
u64 log_record_wait_ns(const struct log *log, const struct app_record *record);

/* Is a time within a limit? A record in flight at the end may be undecided. */
enum log_verdict { LOG_KEPT, LOG_MISSED, LOG_UNDECIDED };

/*
 * Is the time of a record from its arrival to @source (start, first answer or end) within
 * @limit_ns? Without that answer a failed record has missed it, and another one if it has waited
 * longer up to @end_ns, the end of the log.
 */
enum log_verdict log_verdict(const struct app_record *record, enum metric_source source,
			     u64 limit_ns, u64 end_ns);

/*
 * Fill @times for a metric, unless they have its times already. Begin with zeros. Returns 0,
 * -ENOMEM, or -EIO: records cannot be read back.
 */
int log_times_fill(struct times *times, const struct log *log, const struct metric *metric);
void log_times_destroy(struct times *times);

/*
 * The statistic of a metric over @times, of which there is one at least, in ns. *ret_bound: the
 * true one is greater. Errors as above.
 */
int log_times_statistic(const struct times *times, const struct log *log,
			const struct metric *metric, double *ret_ns, bool *ret_bound);

#endif
