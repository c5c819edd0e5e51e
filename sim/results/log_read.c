// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/log_read.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "config/units.h"
#include "engine/error.h"
#include "gvm/port.h"
#include "results/csv.h"
#include "results/results.h"

enum { CONTAINER, ARRIVAL, START, FIRST, FINISH, OUTPUT, PREEMPTIONS, OUTCOME, COLUMNS };

static int read_row(const struct csv *csv, struct app_record *ret_record, struct sim_error *err)
{
	const char *outcome = csv_text(csv, OUTCOME);
	u64 output = 0, preemptions = 0;
	int status;

	*ret_record = (struct app_record){
		.outcome = !strcmp(outcome, "completed") ? APP_COMPLETED :
			   !strcmp(outcome, "failed")	 ? APP_FAILED :
							   APP_DROPPED,
	};
	status = csv_u64(csv, ARRIVAL, &ret_record->arrival_ns, err);
	if (!status)
		status = csv_u64(csv, START, &ret_record->start_ns, err);
	if (!status)
		status = csv_u64(csv, FIRST, &ret_record->first_ns, err);
	if (!status)
		status = csv_u64(csv, FINISH, &ret_record->finish_ns, err);
	if (!status)
		status = csv_u64(csv, OUTPUT, &output, err);
	if (!status)
		status = csv_u64(csv, PREEMPTIONS, &preemptions, err);
	ret_record->output_tokens = (u32)output;
	ret_record->preemptions = (u32)preemptions;
	return status;
}

int log_read(const char *path, const char *container, struct app_log *log,
	     struct sim_error *err)
{
	static const char *const columns[COLUMNS] = {
		"container", "arrival_ns",    "start_ns",    "first_ns",
		"finish_ns", "output_tokens", "preemptions", "outcome",
	};
	char file[PATH_MAX + sizeof(RESULTS_REQUESTS)];
	struct csv csv;
	int status;

	snprintf(file, sizeof(file), "%s/" RESULTS_REQUESTS, path);
	status = csv_open(&csv, file, columns, COLUMNS, err);
	if (status)
		return status;
	while ((status = csv_next(&csv, err)) == 1) {
		struct app_record record;

		if (strcmp(csv_text(&csv, CONTAINER), container) != 0)
			continue;
		status = read_row(&csv, &record, err);
		/* A client's log has neither preemptions nor starts. */
		log->has_server |= csv_has(&csv, PREEMPTIONS);
		if (!status && app_log_add(log, &record))
			status = sim_runtime_error(err, "out of memory");
		if (status)
			break;
	}
	csv_close(&csv);
	return status;
}

/* The first arrival and the last date of a log, which has a record. */
static void log_span(const struct app_log *log, u64 *ret_first_ns, u64 *ret_last_ns)
{
	struct app_log_reader reader = { .log = log };
	const struct app_record *record;

	*ret_first_ns = U64_MAX;
	*ret_last_ns = 0;
	while ((record = app_log_next(&reader))) {
		*ret_first_ns = min(*ret_first_ns, record->arrival_ns);
		*ret_last_ns = max(*ret_last_ns, record->arrival_ns);
		*ret_last_ns = max(*ret_last_ns, record->finish_ns);
	}
}

u64 log_read_end_ns(const struct summary *summary, const struct summary_container *container,
		    const json_t *config, const struct app_log *log)
{
	const json_t *app = json_object_get(
		json_object_get(json_object_get(config, "containers"), container->name), "app");
	const json_t *client = json_object_get(app, "client");
	const char *stop = json_string_value(json_object_get(client, "stop"));
	u64 end_ns = (u64)(summary->sim_seconds * 1e9 + 0.5), stop_ns = 0, first_ns, last_ns;

	if (!log->record_count)
		return end_ns;
	log_span(log, &first_ns, &last_ns);
	/* A log of requests on a host ends with its last date; one of images may be open. */
	if (summary->measured)
		return container->report && container->report->has_tokens ? last_ns : end_ns;
	if (stop && json_is_true(json_object_get(client, "drop_in_flight")) &&
	    units_parse_duration(stop, &stop_ns) == UNITS_OK && stop_ns)
		end_ns = min(end_ns, first_ns + stop_ns);
	return end_ns;
}
