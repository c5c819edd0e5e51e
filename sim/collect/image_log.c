// SPDX-License-Identifier: MIT OR GPL-2.0
/* Images as a CSV file of start and end; see app_logs.h. */
#include "collect/app_logs.h"
#include "engine/error.h"
#include "gvm/port.h"
#include "results/csv.h"

enum image_column { IMAGE_START, IMAGE_END, IMAGE_COLUMNS };

static const char *const image_columns[IMAGE_COLUMNS] = { "start_ns", "end_ns" };

static int image_add(const struct csv *csv, const struct app_log_window *window,
		     struct app_log *log, u64 *outside, struct sim_error *err)
{
	struct app_record record = { .id = log->record_count + *outside };
	u64 start_ns, end_ns;
	int status = 0;

	if (!csv_has(csv, IMAGE_START))
		status = sim_user_error(err, "%s:%zu: start_ns: is empty, allowed: digits",
					csv->file, csv->line);
	if (!status)
		status = csv_u64(csv, IMAGE_START, &start_ns, err);
	if (!status)
		status = csv_u64(csv, IMAGE_END, &end_ns, err);
	if (!status && csv_has(csv, IMAGE_END) && end_ns < start_ns)
		status = sim_user_error(err, "%s:%zu: end_ns: is before start_ns", csv->file,
					csv->line);
	if (status)
		return status;
	if (start_ns < window->start_ns || start_ns > window->end_ns) {
		++*outside;
		return 0;
	}
	record.arrival_ns = start_ns - window->start_ns;
	record.outcome = APP_DROPPED;
	if (end_ns) {
		record.finish_ns = end_ns - window->start_ns;
		record.outcome = APP_COMPLETED;
		log->end_ns = max(log->end_ns, (u64)record.finish_ns);
	}
	if (app_log_add(log, &record))
		return sim_runtime_error(err, "%s: out of memory", csv->file);
	return 0;
}

int app_logs_read_images(struct app_log *log, const char *file,
			 const struct app_log_window *window, u64 *ret_outside,
			 struct sim_error *err)
{
	struct csv csv;
	int status = csv_open(&csv, file, image_columns, IMAGE_COLUMNS, err);

	*ret_outside = 0;
	if (status)
		return status;
	while ((status = csv_next(&csv, err)) == 1) {
		status = image_add(&csv, window, log, ret_outside, err);
		if (status)
			break;
	}
	csv_close(&csv);
	/*
	 * With an image in flight, the log ends with the collection. Else it ends with its last
	 * image.
	 */
	for (size_t i = 0; i < log->record_count; i++)
		if (log->records[i].outcome == APP_DROPPED)
			log->end_ns = 0;
	return status;
}
