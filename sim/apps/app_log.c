// SPDX-License-Identifier: MIT OR GPL-2.0
/* What an application logged; see app.h. */
#include "apps/app.h"

#include <stdio.h>
#include <stdlib.h>

#define LOG_FIRST_ROOM 256

/*
 * Room for one more in an array. A simulation that cannot keep its results is worth nothing and
 * has no caller that could help, so it ends here.
 */
static void *log_grow(void *array, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room ? 2 * *room : LOG_FIRST_ROOM;
	void *grown;

	if (count < *room)
		return array;
	grown = reallocarray(array, wanted, size);
	if (!grown) {
		fprintf(stderr, "gvmsim: out of memory for %zu results\n", wanted);
		abort();
	}
	*room = wanted;
	return grown;
}

size_t app_log_add(struct app_log *log, const struct app_record *record)
{
	log->records = log_grow(log->records, log->record_count, &log->record_room,
				sizeof(*log->records));
	log->records[log->record_count] = *record;
	return log->record_count++;
}

void app_log_add_gap(struct app_log *log, u64 gap_ns)
{
	log->gaps_ns =
		log_grow(log->gaps_ns, log->gap_count, &log->gap_room, sizeof(*log->gaps_ns));
	log->gaps_ns[log->gap_count++] = gap_ns;
}

void app_log_destroy(struct app_log *log)
{
	free(log->records);
	free(log->gaps_ns);
	*log = (struct app_log){ 0 };
}
