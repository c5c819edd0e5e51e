// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/asked.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "config/message.h"
#include "config/units.h"
#include "engine/error.h"
#include "engine/guess.h"
#include "results/log_metrics.h"
#include "results/log_read.h"
#include "results/log_times.h"
#include "results/results.h"

#define RANK_DIGITS 3 /* after the point */

/* What stands between the name of a time and the number. */
static const char *const words[] = {
	[ASKED_ABOVE] = ".above_",
	[ASKED_SHARE_ABOVE] = ".share_above_",
	[ASKED_PERCENTILE] = ".p",
};

bool asked_rank(const char *text, int *ret_rank, int *ret_of)
{
	const char *digits = text + 1;
	size_t whole, part = 0;

	if (*text != 'p')
		return false;
	whole = strspn(digits, "0123456789");
	if (!whole || whole > RANK_DIGITS)
		return false;
	*ret_rank = 0;
	*ret_of = 100;
	for (size_t i = 0; i < whole; i++)
		*ret_rank = 10 * *ret_rank + digits[i] - '0';
	digits += whole;
	if (*digits == '.') {
		part = strspn(++digits, "0123456789");
		if (!part || part > RANK_DIGITS)
			return false;
	}
	for (size_t i = 0; i < part; i++) {
		*ret_rank = 10 * *ret_rank + digits[i] - '0';
		*ret_of *= 10;
	}
	return !digits[part] && *ret_rank <= *ret_of;
}

/*
 * The text of the number in a key, "2s" of "ttft_ms.above_2s" and "95" of "ttft_ms.p95", and the
 * length of what stands before the word. NULL: it has another form.
 */
static const char *split(const char *key, size_t *ret_length, enum asked_kind *ret_kind)
{
	for (int kind = ASKED_ABOVE; kind <= ASKED_PERCENTILE; kind++) {
		const char *found = strstr(key, words[kind]);

		if (!found || found == key ||
		    (kind == ASKED_PERCENTILE && !isdigit((unsigned char)found[2])))
			continue;
		*ret_length = (size_t)(found - key);
		*ret_kind = (enum asked_kind)kind;
		return found + strlen(words[kind]);
	}
	return NULL;
}

bool asked_is_key(const char *key)
{
	enum asked_kind kind;
	size_t length;

	return split(key, &length, &kind) != NULL;
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

/* Gaps between tokens are of no record. */
static int refuse_gaps(const struct app_report *report, const char *key, const char *where,
		       struct sim_error *err)
{
	char times[160] = "";

	for (size_t i = 0; i < report->metric_count; i++)
		if (is_first_of_time(report, i))
			cfg_append(times, sizeof(times), "%s%.*s", *times ? ", " : "",
				   (int)time_length(&report->metrics[i]),
				   report->metrics[i].key);
	return sim_user_error(err, "%s: \"%s\": requests.csv has no gaps, allowed: %s", where,
			      key, times);
}

/* Read the number of a key. */
static int read_number(struct asked *asked, const char *key, const char *text,
		       const char *where, struct sim_error *err)
{
	if (asked->kind == ASKED_PERCENTILE) {
		if (asked_rank(text - 1, &asked->metric.statistic, &asked->metric.of))
			return 0;
		return sim_user_error(err,
				      "%s: \"%.80s\": \"%.40s\" is no percentile, allowed: p0 "
				      "to p100, such as p95 or p99.9",
				      where, key, text - 1);
	}
	/* A long text would be cut off in names of metrics. */
	if (strlen(text) < UNITS_TEXT_MAX && units_parse_duration(text, &asked->ns) == UNITS_OK)
		return 0;
	return sim_user_error(err,
			      "%s: \"%.80s\": \"%.40s\" is no duration, allowed: a number with "
			      "a unit, such as 2s or 500ms",
			      where, key, text);
}

int asked_parse(struct asked *ret_asked, const char *key, const struct app_report *report,
		const char *where, struct sim_error *err)
{
	enum asked_kind kind = ASKED_ABOVE;
	const struct metric *found = NULL;
	size_t length;
	const char *text = split(key, &length, &kind);

	for (size_t i = 0; text && report && i < report->metric_count; i++) {
		const struct metric *metric = &report->metrics[i];

		if (!strcmp(metric->key, key))
			return 1;
		if (!found && time_length(metric) == length &&
		    !strncmp(metric->key, key, length) &&
		    (is_time(metric) || metric->source == METRIC_GAPS))
			found = metric;
	}
	if (!found)
		return 1;
	if (found->source == METRIC_GAPS)
		return refuse_gaps(report, key, where, err);
	*ret_asked = (struct asked){ .kind = kind, .metric = *found };
	return read_number(ret_asked, key, text, where, err);
}

void asked_offer(struct guess *guess, const char *container, const char *key,
		 const struct app_report *report)
{
	char name[GUESS_NAME_MAX];
	enum asked_kind kind;
	size_t length;

	if (!report || !split(key, &length, &kind))
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

enum metric_unit asked_unit(const struct asked *asked)
{
	return asked->kind == ASKED_ABOVE	? METRIC_COUNT :
	       asked->kind == ASKED_SHARE_ABOVE ? METRIC_SHARE :
						  asked->metric.unit;
}

/* The number of records above the threshold, or their share. */
static int count_above(const struct asked *asked, const struct app_log *log, u64 end_ns,
		       struct summary_value *ret_value)
{
	struct app_log_reader reader = { .log = log };
	const struct metric *metric = &asked->metric;
	const struct app_record *record;
	u64 above = 0, within = 0;

	/* A client does not know when its request was started. */
	if (metric->source == METRIC_TO_START && log->record_count && !log->has_server)
		return 0;
	while ((record = app_log_next(&reader))) {
		enum log_verdict verdict =
			log_verdict(record, metric->source, asked->ns, end_ns);

		if (metric->view == METRIC_OF_CLIENT && record->outcome == APP_DROPPED)
			continue;
		within += verdict == LOG_KEPT;
		above += verdict == LOG_MISSED;
	}
	if (asked->kind == ASKED_ABOVE)
		*ret_value = (struct summary_value){ .known = true, .count = above };
	else if (above + within)
		*ret_value = (struct summary_value){
			.known = true,
			.real = (double)above / (double)(above + within),
		};
	return reader.failed ? -EIO : 0;
}

int asked_compute(const struct asked *asked, const struct app_report *report,
		  const struct app_log *log, u64 end_ns, struct summary_value *ret_value)
{
	*ret_value = (struct summary_value){ 0 };
	if (asked->kind != ASKED_PERCENTILE)
		return count_above(asked, log, end_ns, ret_value);
	return log_metrics_time(report, log, &asked->metric, end_ns, ret_value);
}

int asked_read(const char *path, const struct summary *summary,
	       const struct summary_container *container, const struct asked *asked,
	       size_t count, struct summary_value *ret_values, struct sim_error *err)
{
	struct app_log log = { .scratch_folder = path };
	char file[PATH_MAX + sizeof(RESULTS_CONFIG)];
	json_t *config = NULL;
	int status, failed = 0;
	u64 end_ns;

	snprintf(file, sizeof(file), "%s/" RESULTS_CONFIG, path);
	status = results_load_json(file, RESULTS_WRITTEN, &config, err);
	if (!status)
		status = log_read(path, container->name, &log, err);
	end_ns = log_read_end_ns(summary, container, config, &log);
	for (size_t i = 0; !status && !failed && i < count; i++)
		failed = asked_compute(&asked[i], container->report, &log, end_ns,
				       &ret_values[i]);
	app_log_destroy(&log);
	json_decref(config);
	if (failed)
		return sim_runtime_error(err,
					 failed == -EIO ? "%s: records cannot be read back" :
							  "%s: out of memory",
					 path);
	return status;
}
