// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/log_read.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "config/units.h"
#include "engine/error.h"
#include "gvm/port.h"
#include "results/requests_read.h"
#include "results/results.h"

int log_read(const char *path, const char *container, struct app_log *log,
	     struct sim_error *err)
{
	char file[PATH_MAX + sizeof(RESULTS_REQUESTS)];
	struct requests_row row;
	struct csv csv;
	int status;

	snprintf(file, sizeof(file), "%s/" RESULTS_REQUESTS, path);
	status = requests_open(&csv, file, err);
	if (status)
		return status;
	while ((status = requests_next(&csv, &row, err)) == 1) {
		if (strcmp(row.container, container) != 0)
			continue;
		log->has_server |= row.of_server;
		if (app_log_add(log, &row.record)) {
			status = sim_runtime_error(err, "out of memory");
			break;
		}
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
