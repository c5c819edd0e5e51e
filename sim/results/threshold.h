/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Counts with a threshold: how many requests had a TTFT above 2 s, or which share of images
 * took longer than 10 s. The user names the time and the threshold, so summary.json has none
 * of them: they are counted in requests.csv.
 *
 *     ttft_ms.above_2s          the number of records
 *     latency_s.share_above_10s their share
 *
 * Before the dot is a time of the application's report, behind it a duration with its unit. A
 * record counts as for a promise of that time (log_metrics.h): one without an answer is above
 * once it has waited longer, and undecided else; a failed one is above. So the share above an
 * SLO and its attainment add up to 1.
 */
#ifndef SIM_RESULTS_THRESHOLD_H
#define SIM_RESULTS_THRESHOLD_H

#include "results/summary.h"

struct guess;

struct threshold {
	const struct metric *metric; /* a statistic of the time; borrowed from the report */
	bool share;		     /* else the number */
	u64 ns;
};

struct threshold_count {
	u64 above, within;
	bool unknown; /* nothing is known of such a time, as of a queue by its client */
};

/* Has @key, "ttft_ms.above_2s", the form of a threshold? */
bool threshold_is_key(const char *key);

/*
 * Find the threshold @key among the times of @report. @where: who names it. Returns 0, 1 if the
 * report has no such time, or -SIM_EXIT_USER if the rest is a mistake.
 */
int threshold_parse(struct threshold *ret_threshold, const char *key,
		    const struct app_report *report, const char *where, struct sim_error *err);

/* Offer @key to @guess with each time of @report in front: "vllm.ttft_ms.above_2s". */
void threshold_offer(struct guess *guess, const char *container, const char *key,
		     const struct app_report *report);

/* The unit of its value, as of a metric. */
enum metric_unit threshold_unit(const struct threshold *threshold);

/* Count one record of a log that ends at @end_ns. */
void threshold_take(const struct threshold *threshold, const struct app_record *record,
		    u64 end_ns, struct threshold_count *count);
struct summary_value threshold_value(const struct threshold *threshold,
				     const struct threshold_count *count);

/*
 * When the log of a container has ended: with the run, or before it, when its client stopped
 * and dropped what was in flight. @config: config.json. @first_ns, @last_ns: its first arrival
 * and its last date; 0: it has no record.
 */
u64 threshold_end_ns(const struct summary *summary, const struct summary_container *container,
		     const json_t *config, u64 first_ns, u64 last_ns);

/*
 * The values of @count thresholds of a container, from the results folder @path. Returns 0 or a
 * negative enum sim_exit.
 */
int threshold_read(const char *path, const struct summary *summary,
		   const struct summary_container *container,
		   const struct threshold *thresholds, size_t count,
		   struct summary_value *ret_values, struct sim_error *err);

#endif
