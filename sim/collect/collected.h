/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The results folder of a real host: the files that gvmsim writes (sim/results), and
 * controls.csv.
 *
 * A row of controls.csv is a change in a control file: time_ns, container, file (its name in
 * sim/core), value (lines are joined by blanks).
 *
 * config.json describes the collection: "source" is "hardware", "clock.start_ns" is time 0 on
 * the host's CLOCK_MONOTONIC, and "notes" list the files that could not be sampled.
 */
#ifndef SIM_COLLECT_COLLECTED_H
#define SIM_COLLECT_COLLECTED_H

#include <time.h>

#include "collect/sampler.h"
#include "results/results.h"

/* A collection that has ended. */
struct collected {
	const struct sampler *sampler; /* borrowed */
	const char *system;	       /* the user's name for the GPU's manager; borrowed */
	u64 start_ns;		       /* on CLOCK_MONOTONIC */
	time_t start_date;
	u64 interval_ns;
	u64 end_ns;    /* since the start */
	u64 taken;     /* samples */
	u64 skipped;   /* dates that had passed before their sample could be taken */
	bool complete; /* not interrupted */
};

/*
 * Fill in the summary: memory and containers. Applications are not known yet. Owned by
 * the caller: summary_destroy(). Returns 0 or -SIM_EXIT_RUNTIME, then *summary is empty.
 */
int collected_summary(const struct collected *collected, struct summary *summary,
		      struct sim_error *err);

/* Write all files, or none, and close the writer. Returns 0 or -SIM_EXIT_RUNTIME. */
int collected_write(const struct collected *collected, const struct summary *summary,
		    struct writer *writer, struct sim_error *err);

#endif
