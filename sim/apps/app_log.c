// SPDX-License-Identifier: MIT OR GPL-2.0
/* What an application logged; see app_log.h. */
#include "apps/app_log.h"

#include <errno.h>
#include <stdlib.h>

#define LOG_FIRST_ROOM 256

/* So many gaps, and as many as there are values, are folded at once: each merge passes over all values. */
#define LOG_FOLDED_GAPS ((size_t)1 << 20)

/* Room for one more element in an array, which doubles. Returns 0 or -ENOMEM. */
static int log_grow(void **array, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room ? 2 * *room : LOG_FIRST_ROOM;
	void *grown;

	if (count < *room)
		return 0;
	grown = reallocarray(*array, wanted, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room = wanted;
	return 0;
}

int app_log_add(struct app_log *log, const struct app_record *record)
{
	int status = log_grow((void **)&log->records, log->record_count, &log->record_room,
			      sizeof(*log->records));

	if (!status)
		log->records[log->record_count++] = *record;
	return status;
}

int app_log_add_gap(struct app_log *log, enum app_gaps kind, u64 gap_ns)
{
	struct stats_weights *folded = &log->gaps[kind].folded;
	int status = 0;

	if (log->gaps[kind].count >= LOG_FOLDED_GAPS && log->gaps[kind].count >= folded->n) {
		status = stats_weights_add(folded, log->gaps[kind].ns, log->gaps[kind].count);
		if (!status)
			log->gaps[kind].count = 0;
	}
	if (!status)
		status = log_grow((void **)&log->gaps[kind].ns, log->gaps[kind].count,
				  &log->gaps[kind].room, sizeof(*log->gaps[kind].ns));
	if (!status)
		log->gaps[kind].ns[log->gaps[kind].count++] = gap_ns;
	return status;
}

void app_log_destroy(struct app_log *log)
{
	free(log->records);
	for (int kind = 0; kind < APP_GAP_KINDS; kind++) {
		free(log->gaps[kind].ns);
		free(log->gaps[kind].folded.list);
	}
	*log = (struct app_log){ 0 };
}
