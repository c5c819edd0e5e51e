/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What results say of an application: its metrics, each with its name in summary.json, its
 * unit, and how it is computed from the application's log.
 *
 * A metric is data. sim/results computes it, writes it, reads it back, and shows it in tables
 * and comparisons; it knows no application by name. Most application types have a report of
 * their own in their file. Those that real logs are turned into as well (gvmcollect) are in
 * reports.c.
 */
#ifndef SIM_APPS_REPORT_H
#define SIM_APPS_REPORT_H

#include <stdbool.h>

#include "apps/app_log.h"

#define REPORT_METRICS_MAX 64

enum metric_unit {
	METRIC_COUNT, /* an exact integer; so are bytes */
	METRIC_BYTES,
	METRIC_MS,
	METRIC_S,
	METRIC_SHARE, /* 0 to 1 */
	METRIC_PER_S, /* so many a second */
	METRIC_UNITS,
};

/* What a metric is computed from. */
enum metric_source {
	METRIC_MEASURED,    /* not from the log: the machine, or the collector, knows it */
	METRIC_ARRIVALS,    /* count: records that the application's users tried to make */
	METRIC_OUTCOMES,    /* count: records of one outcome */
	METRIC_FAILURES,    /* count: failed records of one reason */
	METRIC_PREEMPTIONS, /* count: of all records, by their server */
	METRIC_CACHED,	    /* count: prompt tokens that their server had in its prefix cache */
	METRIC_TO_START,    /* times from arrival to the first turn on the server */
	METRIC_TO_FIRST,    /* times from arrival to first answer */
	METRIC_TO_END,	    /* times from arrival to end */
	METRIC_GAPS,	    /* gaps between answers */
	METRIC_KEPT,	    /* share of records that kept a promise */
	/* A second, from the first arrival to the end of the log: */
	METRIC_COMPLETED_RATE, /* completed records */
	METRIC_GOODPUT,	       /* completed records that kept all promises that were made */
	METRIC_TOKEN_RATE,     /* tokens of answers, also of records that did not complete */
};

/*
 * Whom a time or a share counts. sim/results/log_metrics.h says how a record without an answer
 * counts.
 */
enum metric_view {
	METRIC_OF_ARRIVED, /* every record that arrived */
	/*
	 * As a benchmark client counts, because published numbers are: times of completed
	 * records, and shares of ended ones, completed or failed.
	 */
	METRIC_OF_CLIENT,
};

/* What an application promises its users. */
enum app_promise {
	APP_PROMISE_FIRST, /* the longest time from arrival to the first answer */
	APP_PROMISE_GAPS,  /* the longest mean of the gaps between a record's answers */
	APP_PROMISES,
};

/* Of times: the arithmetic mean. */
#define METRIC_MEAN (-1)

struct metric {
	const char *key;   /* path below containers.<name> in summary.json, one dot at most */
	const char *label; /* for people */
	enum metric_unit unit;
	bool compared; /* a comparison of two runs shows it */
	bool detail;   /* the table of a run leaves it to summary.json */
	bool optional; /* results leave it out where it is not known */
	enum metric_source source;
	enum metric_view view;	  /* of times and shares */
	enum app_outcome outcome; /* of METRIC_OUTCOMES */
	enum app_reason reason;	  /* of METRIC_FAILURES */
	enum app_promise promise; /* of METRIC_KEPT */
	int statistic;		  /* of times: METRIC_MEAN or the rank of a percentile */
	int of;			  /* which is of so many; 0: of 100 */
};

/* Is a metric about promises? It is not reported if none was made. */
static inline bool metric_is_of_promise(const struct metric *metric)
{
	return metric->source == METRIC_KEPT || metric->source == METRIC_GOODPUT;
}

/* Is a metric left out of results where it is not known? */
static inline bool metric_is_optional(const struct metric *metric)
{
	return metric->optional || metric->source == METRIC_CACHED ||
	       (metric->source == METRIC_FAILURES && metric->reason == APP_STOPPED);
}

/*
 * Rows: how many records had @outcome_; how many failed for @reason_; a number a second; a
 * statistic of times; mean, p50, p90 and p99 of times.
 */
#define METRIC_OUTCOME_ROW(key_, label_, outcome_)                                        \
	{                                                                                 \
		.key = (key_), .label = (label_), .unit = METRIC_COUNT, .compared = true, \
		.source = METRIC_OUTCOMES, .outcome = APP_##outcome_                      \
	}
#define METRIC_REASON_ROW(key_, label_, reason_)                        \
	{                                                               \
		.key = (key_), .label = (label_), .unit = METRIC_COUNT, \
		.source = METRIC_FAILURES, .reason = APP_##reason_      \
	}
#define METRIC_RATE_ROW(key_, label_, source_)                                            \
	{                                                                                 \
		.key = (key_), .label = (label_), .unit = METRIC_PER_S, .compared = true, \
		.source = METRIC_##source_                                                \
	}
#define METRIC_TIME_ROW(key_, label_, unit_, source_, view_, statistic_, ...) \
	{                                                                     \
		.key = (key_), .label = (label_), .unit = METRIC_##unit_,     \
		.source = METRIC_##source_, .view = METRIC_OF_##view_,        \
		.statistic = (statistic_), ##__VA_ARGS__                      \
	}
#define METRIC_TIME_ROWS(key_, label_, unit_, source_, view_)                             \
	METRIC_TIME_ROW(key_ ".mean", label_ " mean", unit_, source_, view_, METRIC_MEAN, \
			.compared = true),                                                \
		METRIC_TIME_ROW(key_ ".p50", label_ " p50", unit_, source_, view_, 50,    \
				.compared = true),                                        \
		METRIC_TIME_ROW(key_ ".p90", label_ " p90", unit_, source_, view_, 90,    \
				.compared = true, .detail = true),                        \
		METRIC_TIME_ROW(key_ ".p99", label_ " p99", unit_, source_, view_, 99,    \
				.compared = true)

struct app_report {
	const char *type;   /* of the application, as in app.type and in summary.json */
	const char *record; /* kind of its records in requests.csv: "request" */
	bool has_tokens;    /* its records count tokens */
	bool no_gpu;	    /* it uses no GPU: tables tell nothing of one */
	bool closed_loop;   /* its user makes the next record when the one before has ended */
	/* Keys below "app" with the promised times, "0s" for none; NULL: no such key. */
	const char *promises[APP_PROMISES];
	const struct metric *metrics; /* in the order of summary.json */
	size_t metric_count;	      /* at most REPORT_METRICS_MAX */
};

#define REPORT_METRICS(metrics_) \
	.metrics = (metrics_), .metric_count = sizeof(metrics_) / sizeof((metrics_)[0])

/* Requests of an LLM server, and images of a diffusion pipeline. */
extern const struct app_report report_requests;
extern const struct app_report report_images;

/*
 * The reports that a program knows, by index; NULL at the end. gvmsim has those of all
 * application types (list.h), gvmcollect those that it reads logs of.
 */
const struct app_report *app_report_at(size_t index);

#endif
