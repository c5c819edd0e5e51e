/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the users of an LLM server wait for now: its report to a policy of gvmd. */
#ifndef SIM_MACHINE_WAITS_H
#define SIM_MACHINE_WAITS_H

#include "apps/app_log.h"

/* A first token counts for so long. */
#define WAITS_WINDOW_NS 1000000000ull

struct waits {
	u64 longest_ns; /* time to first token of the last second; a request that waits counts
			   with its age */
	u64 waiting;	/* requests without a first token */
};

/*
 * The waits at @now_ns, by the log of the server's client. *settled, 0 at first, is the number
 * of records at the log's beginning that no later call needs; dates do not go back.
 */
struct waits waits_of_log(const struct app_log *log, size_t *settled, u64 now_ns);

#endif
