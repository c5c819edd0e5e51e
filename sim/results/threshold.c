// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/threshold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/message.h"
#include "config/units.h"
#include "engine/error.h"
#include "engine/guess.h"
#include "gvm/port.h"
#include "results/csv.h"
#include "results/log_times.h"
#include "results/results.h"

/* Behind the name of a time. */
static const char above[] = ".above_", share_above[] = ".share_above_";

/*
 * The text of the threshold in a key, "2s" of "ttft_ms.above_2s", and the length of what stands
 * before it. NULL: it has another form.
 */
static const char *split(const char *key, size_t *ret_length, bool *ret_share)
{
	const char *found = strstr(key, above), *share = strstr(key, share_above);

	*ret_share = share != NULL;
	found = share ? share : found;
	if (!found || found == key)
		return NULL;
	*ret_length = (size_t)(found - key);
	return found + (share ? strlen(share_above) : strlen(above));
}

bool threshold_is_key(const char *key)
{
	size_t length;
	bool share;

	return split(key, &length, &share) != NULL;
}

static bool is_time(const struct metric *metric)
{
	return metric->source == METRIC_TO_START || metric->source == METRIC_TO_FIRST ||
	       metric->source == METRIC_TO_END;
}

/* The length of a time's name: "ttft_ms" of "ttft_ms.p99". */
static size_t time_length(const struct metric *metric)
{
	return strcspn(metric->key, ".");
}

/* The first statistic of each time stands for the time. */
static bool is_first_of_time(const struct app_report *report, size_t index)
{
	const struct metric *metric = &report->metrics[index];

	return is_time(metric) &&
	       (!index || report->metrics[index - 1].source != metric->source ||
		report->metrics[index - 1].view != metric->view);
}

/* Gaps between tokens are of no record: nothing can be counted. */
static int refuse_gaps(const struct app_report *report, const char *key, const char *where,
		       struct sim_error *err)
{
	char times[160] = "";

	for (size_t i = 0; i < report->metric_count; i++)
		if (is_first_of_time(report, i))
			cfg_append(times, sizeof(times), "%s%.*s", *times ? ", " : "",
				   (int)time_length(&report->metrics[i]),
				   report->metrics[i].key);
	return sim_user_error(err, "%s: \"%s\": requests.csv has no gaps to count, allowed: %s",
			      where, key, times);
}

int threshold_parse(struct threshold *ret_threshold, const char *key,
		    const struct app_report *report, const char *where, struct sim_error *err)
{
	size_t length;
	bool share;
	const char *text = split(key, &length, &share);
	const struct metric *found = NULL;
	u64 ns;

	for (size_t i = 0; text && report && i < report->metric_count && !found; i++) {
		const struct metric *metric = &report->metrics[i];

		if (time_length(metric) == length && !strncmp(metric->key, key, length) &&
		    (is_time(metric) || metric->source == METRIC_GAPS))
			found = metric;
	}
	if (!found)
		return 1;
	if (found->source == METRIC_GAPS)
		return refuse_gaps(report, key, where, err);
	/* A long text would be cut off in names of metrics. */
	if (strlen(text) >= UNITS_TEXT_MAX || units_parse_duration(text, &ns) != UNITS_OK)
		return sim_user_error(err,
				      "%s: \"%.80s\": \"%.40s\" is no duration, allowed: a "
				      "number with a unit, such as 2s or 500ms",
				      where, key, text);
	*ret_threshold = (struct threshold){ .metric = found, .share = share, .ns = ns };
	return 0;
}

void threshold_offer(struct guess *guess, const char *container, const char *key,
		     const struct app_report *report)
{
	char name[GUESS_NAME_MAX];
	size_t length;
	bool share;

	if (!report || !split(key, &length, &share))
		return;
	for (size_t i = 0; i < report->metric_count; i++) {
		if (!is_first_of_time(report, i))
			continue;
		snprintf(name, sizeof(name), "%s.%.*s%s", container,
			 (int)time_length(&report->metrics[i]), report->metrics[i].key,
			 key + length);
		guess_offer(guess, name);
	}
}

enum metric_unit threshold_unit(const struct threshold *threshold)
{
	return threshold->share ? METRIC_SHARE : METRIC_COUNT;
}

void threshold_take(const struct threshold *threshold, const struct app_record *record,
		    u64 end_ns, struct threshold_count *count)
{
	enum log_verdict verdict =
		log_verdict(record, threshold->metric->source, threshold->ns, end_ns);

	if (threshold->metric->view == METRIC_OF_CLIENT && record->outcome == APP_DROPPED)
		return;
	count->within += verdict == LOG_KEPT;
	count->above += verdict == LOG_MISSED;
}

struct summary_value threshold_value(const struct threshold *threshold,
				     const struct threshold_count *count)
{
	u64 all = count->above + count->within;

	if (count->unknown || (threshold->share && !all))
		return (struct summary_value){ 0 };
	if (!threshold->share)
		return (struct summary_value){ .known = true, .count = count->above };
	return (struct summary_value){ .known = true,
				       .real = (double)count->above / (double)all };
}

u64 threshold_end_ns(const struct summary *summary, const struct summary_container *container,
		     const json_t *config, u64 first_ns, u64 last_ns)
{
	const json_t *app = json_object_get(
		json_object_get(json_object_get(config, "containers"), container->name), "app");
	const json_t *client = json_object_get(app, "client");
	const char *stop = json_string_value(json_object_get(client, "stop"));
	u64 end_ns = (u64)(summary->sim_seconds * 1e9 + 0.5), stop_ns = 0;

	/* A log of requests on a host ends with its last date; one of images may be open. */
	if (summary->measured)
		return container->report && container->report->has_tokens ? last_ns : end_ns;
	if (stop && json_is_true(json_object_get(client, "drop_in_flight")) && first_ns &&
	    units_parse_duration(stop, &stop_ns) == UNITS_OK && stop_ns)
		end_ns = min(end_ns, first_ns + stop_ns);
	return end_ns;
}

enum { CONTAINER, ARRIVAL, START, FIRST, FINISH, PREEMPTIONS, OUTCOME, COLUMNS };

/* A container's records while requests.csv is read. */
struct reading {
	const struct summary_container *container;
	u64 first_ns, last_ns; /* found by the first pass */
	u64 end_ns;
	const struct threshold *thresholds;
	struct threshold_count *counts; /* NULL: this is the first pass */
	size_t count;
};

static int take_row(struct reading *reading, const struct csv *csv, struct sim_error *err)
{
	const char *outcome = csv_text(csv, OUTCOME);
	struct app_record record = {
		.outcome = !strcmp(outcome, "completed") ? APP_COMPLETED :
			   !strcmp(outcome, "failed")	 ? APP_FAILED :
							   APP_DROPPED,
	};
	u64 arrival, start, first, finish;
	int status = csv_u64(csv, ARRIVAL, &arrival, err);

	if (!status)
		status = csv_u64(csv, START, &start, err);
	if (!status)
		status = csv_u64(csv, FIRST, &first, err);
	if (!status)
		status = csv_u64(csv, FINISH, &finish, err);
	if (status)
		return status;
	record.arrival_ns = arrival;
	record.start_ns = start;
	record.first_ns = first;
	record.finish_ns = finish;
	reading->first_ns = reading->first_ns ? min(reading->first_ns, arrival) : arrival;
	reading->last_ns = max(reading->last_ns, arrival);
	reading->last_ns = max(reading->last_ns, finish);
	for (size_t i = 0; reading->counts && i < reading->count; i++) {
		/* A client's log has neither preemptions nor starts. */
		if (reading->thresholds[i].metric->source == METRIC_TO_START &&
		    !csv_has(csv, PREEMPTIONS))
			reading->counts[i].unknown = true;
		threshold_take(&reading->thresholds[i], &record, reading->end_ns,
			       &reading->counts[i]);
	}
	return 0;
}

static int read_records(struct reading *reading, const char *file, struct sim_error *err)
{
	static const char *const names[COLUMNS] = {
		"container", "arrival_ns",  "start_ns", "first_ns",
		"finish_ns", "preemptions", "outcome",
	};
	struct csv csv;
	int status = csv_open(&csv, file, names, COLUMNS, err);

	if (status)
		return status;
	while ((status = csv_next(&csv, err)) == 1) {
		if (strcmp(csv_text(&csv, CONTAINER), reading->container->name) != 0)
			continue;
		status = take_row(reading, &csv, err);
		if (status)
			break;
	}
	csv_close(&csv);
	return status;
}

int threshold_read(const char *path, const struct summary *summary,
		   const struct summary_container *container,
		   const struct threshold *thresholds, size_t count,
		   struct summary_value *ret_values, struct sim_error *err)
{
	struct reading reading = {
		.container = container,
		.thresholds = thresholds,
		.count = count,
	};
	char file[PATH_MAX + 32];
	json_t *config = NULL;
	int status;

	snprintf(file, sizeof(file), "%s/" RESULTS_CONFIG, path);
	status = results_load_json(file, RESULTS_WRITTEN, &config, err);
	snprintf(file, sizeof(file), "%s/" RESULTS_REQUESTS, path);
	if (!status)
		status = read_records(&reading, file, err);
	reading.end_ns =
		threshold_end_ns(summary, container, config, reading.first_ns, reading.last_ns);
	json_decref(config);
	if (status)
		return status;
	reading.counts = calloc(count + 1, sizeof(*reading.counts));
	if (!reading.counts)
		return sim_runtime_error(err, "out of memory");
	status = read_records(&reading, file, err);
	for (size_t i = 0; !status && i < count; i++)
		ret_values[i] = threshold_value(&thresholds[i], &reading.counts[i]);
	free(reading.counts);
	return status;
}
