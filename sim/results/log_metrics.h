/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The metrics of an application, computed from its log: what its report declares
 * (apps/report.h).
 *
 * Records without an answer
 * =========================
 *
 * When a run ends, some requests have no answer. On an overloaded server these are the slow
 * ones, so statistics of answered requests alone show a server as better the less it gets done.
 * Here every request that arrived counts:
 *
 *     answered           |---------- known -----|
 *     not answered       |------------------------------ at least this ->
 *                     arrival                   end of the log
 *
 *  - A request without an answer has waited from its arrival to the end of the log. Its true
 *    time is longer. A failed request counts in the same way: its user never gets an answer.
 *  - A percentile puts requests without an answer behind all others. If it falls on answered
 *    ones it is known, and no order of the rest can make it longer. Else the log only bounds
 *    it: it is the percentile of all times with waits in the place of unknown times, and is
 *    shown as "> 12.5 s".
 *  - A mean with a request without an answer is such a bound, too.
 *  - A share of kept promises is over arrived requests. A request that still waits at the end
 *    after its promised time is a miss. One that waits at the end within that time is undecided
 *    and counts neither way.
 *  - A closed loop (images, rounds) always has one record in flight at the end. That record
 *    counts once it has lasted longer than the mean of the completed ones.
 *
 * The client's view (METRIC_OF_CLIENT) has the published figures' rules: times of completed
 * requests, and promises over completed and failed ones. What is dropped at the end is in no
 * number of it.
 *
 * Every metric is a sum of integers or an exact order statistic, followed by one division, so
 * the digits do not depend on the compiler.
 */
#ifndef SIM_RESULTS_LOG_METRICS_H
#define SIM_RESULTS_LOG_METRICS_H

#include "apps/report.h"

/* The value of a metric, in its unit. */
struct summary_value {
	bool known;  /* false: no samples, no such metric or not measured; null in JSON */
	bool bound;  /* the true value is greater than this one; {"at_least": 12.5} in JSON */
	u64 count;   /* counts and bytes */
	double real; /* all other units */
};

/*
 * Compute the values of @report's metrics, in its order, into @values. @promises_ns: the
 * promised times, 0 for none. @end_ns: the end of the run, where a log ends that has no end of
 * its own. Returns 0, -ENOMEM, or -EIO: records that left the memory cannot be read back.
 */
int log_metrics_compute(const struct app_report *report, const struct app_log *log,
			const u64 promises_ns[APP_PROMISES], u64 end_ns,
			struct summary_value *values);

/*
 * Compute one statistic of times, which need not be one of the report's, of a log that ends at
 * @end_ns. Errors as above.
 */
int log_metrics_time(const struct app_report *report, const struct app_log *log,
		     const struct metric *metric, u64 end_ns, struct summary_value *ret_value);

#endif
