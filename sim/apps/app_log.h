/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the users of an application saw: its requests, images or rounds. */
#ifndef SIM_APPS_APP_LOG_H
#define SIM_APPS_APP_LOG_H

#include <stddef.h>

#include "engine/types.h"

/* How a request or an image ended. */
enum app_outcome {
	APP_COMPLETED,
	APP_FAILED,  /* the client could not even open a connection, or the context died */
	APP_DROPPED, /* in flight when the client stopped, or the run ended */
};

/* One request or image. Dates in ns of simulated time; 0: did not happen. */
struct app_record {
	u64 id;
	u64 arrival_ns;
	u64 first_ns; /* first token; an image's only date is its end */
	u64 finish_ns;
	u32 prompt_tokens;
	u32 output_tokens;
	enum app_outcome outcome;
};

/* What an application logged. Owned by it. */
struct app_log {
	struct app_record *records; /* in order of arrival */
	size_t record_count;
	size_t record_room;
	u64 *gaps_ns; /* inter-token gaps of completed requests, pooled */
	size_t gap_count;
	size_t gap_room;
	u64 arrived; /* requests that the client tried to send */
};

/* Append a record, or a gap. Return 0 or -ENOMEM. The new record is the last one. */
int app_log_add(struct app_log *log, const struct app_record *record);
int app_log_add_gap(struct app_log *log, u64 gap_ns);
void app_log_destroy(struct app_log *log);

#endif
