// SPDX-License-Identifier: MIT OR GPL-2.0
#include "machine/waits.h"

/* A client that has stopped waits for nothing. A failed request never has a first token. */
struct waits waits_of_log(const struct app_log *log, size_t *settled, u64 now_ns)
{
	struct waits waits = { 0 };

	/* What has left the memory ended long ago. */
	if (*settled < log->passed)
		*settled = log->passed;
	for (size_t i = *settled; i < log->record_count && !log->end_ns; i++) {
		const struct app_record *record = app_log_at(log, i);
		bool waiting = !record->first_ns && !record->finish_ns;
		bool late = record->first_ns && record->first_ns + WAITS_WINDOW_NS > now_ns;
		u64 wait_ns = (waiting ? now_ns : record->first_ns) - record->arrival_ns;

		if (!waiting && !late) {
			*settled += i == *settled;
			continue;
		}
		waits.waiting += waiting;
		if (wait_ns > waits.longest_ns)
			waits.longest_ns = wait_ns;
	}
	return waits;
}
