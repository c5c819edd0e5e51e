/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Statistics that a user asks for by name: how many requests had a TTFT above 2 s, which share
 * of images took longer than 10 s, the 95th percentile of a time. The user chooses the time and
 * the number, so summary.json has none of them: they are computed from requests.csv.
 *
 *     ttft_ms.above_2s          the number of records
 *     latency_s.share_above_10s their share
 *     ttft_ms.p95, e2e_s.p99.9  a percentile
 *
 * Before the dot is a time of the application's report. A record counts as for a promise of that
 * time, and as for the percentiles of summary.json (log_metrics.h): one without an answer is
 * above once it has waited longer, and undecided else; a failed one is above. So the share above
 * an SLO and its attainment add up to 1.
 */
#ifndef SIM_RESULTS_ASKED_H
#define SIM_RESULTS_ASKED_H

#include "results/summary.h"

struct guess;

enum asked_kind { ASKED_ABOVE, ASKED_SHARE_ABOVE, ASKED_PERCENTILE };

struct asked {
	enum asked_kind kind;
	struct metric metric; /* a statistic of the time: the percentile, if it is one */
	u64 ns;		      /* of thresholds */
};

/*
 * Read a percentile's rank, "p95" or "p99.9", up to 3 digits after the point: it is
 * *ret_rank of *ret_of. False: it is none from p0 to p100.
 */
bool asked_rank(const char *text, int *ret_rank, int *ret_of);

/* Has @key the form of one, "ttft_ms.above_2s"? Percentiles of summary.json have, too. */
bool asked_is_key(const char *key);

/*
 * Find @key among the times of @report. @where: who names it. Returns 0, 1 if the report has no
 * such time, or has @key itself, or -SIM_EXIT_USER if the rest is a mistake.
 */
int asked_parse(struct asked *ret_asked, const char *key, const struct app_report *report,
		const char *where, struct sim_error *err);

/* Offer @key to @guess with each time of @report in front: "vllm.ttft_ms.above_2s". */
void asked_offer(struct guess *guess, const char *container, const char *key,
		 const struct app_report *report);

/* The unit of its value, as of a metric. */
enum metric_unit asked_unit(const struct asked *asked);

/* Its value in a log that ends at @end_ns. Returns 0, -ENOMEM or -EIO. */
int asked_compute(const struct asked *asked, const struct app_report *report,
		  const struct app_log *log, u64 end_ns, struct summary_value *ret_value);

/*
 * The values of @count of them of a container, from the results folder @path. Returns 0 or a
 * negative enum sim_exit.
 */
int asked_read(const char *path, const struct summary *summary,
	       const struct summary_container *container, const struct asked *asked,
	       size_t count, struct summary_value *ret_values, struct sim_error *err);

#endif
