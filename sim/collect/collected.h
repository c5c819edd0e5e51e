/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The results folder of a real host: what gvmsim writes (sim/results), and controls.csv. A row
 * there is a control file that has another content than a sample before: time_ns, container,
 * file (by the name that it has in sim/core), value (lines are joined by blanks).
 *
 * config.json says what was observed: "source" is "hardware", "clock.start_ns" is when time 0 was
 * on the host's CLOCK_MONOTONIC, and "notes" are what could not be sampled.
 */
#ifndef SIM_COLLECT_COLLECTED_H
#define SIM_COLLECT_COLLECTED_H

#include <time.h>

#include "collect/sampler.h"
#include "results/results.h"

/* A collection that has ended. */
struct collected {
	const struct sampler *sampler; /* borrowed */
	const char *system;	       /* that managed the GPU, in the user's words; borrowed */
	u64 start_ns;		       /* on CLOCK_MONOTONIC */
	time_t start_date;
	u64 interval_ns;
	u64 end_ns;    /* since the start */
	u64 taken;     /* samples */
	u64 skipped;   /* of which the date had passed before we were let run */
	bool complete; /* not interrupted */
};

/*
 * Fill in the summary: memory and containers. Applications are not known yet. Owned by
 * the caller: summary_destroy(). Returns 0 or -SIM_EXIT_RUNTIME, then *summary is empty.
 */
int collected_summary(const struct collected *collected, struct summary *summary,
		      struct sim_error *err);

/* Write all files, or none. Returns 0 or -SIM_EXIT_RUNTIME; the writer is done with. */
int collected_write(const struct collected *collected, const struct summary *summary,
		    struct writer *writer, struct sim_error *err);

#endif
