/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Curves over time of two runs, alone and shared, as CSV files that a plot script reads by the
 * names of their columns. A field without a value is empty.
 */
#ifndef SIM_RESULTS_SERIES_H
#define SIM_RESULTS_SERIES_H

#include "results/folder.h"
#include "results/writer.h"

/* The two runs, in arrays by this index. */
enum series_run { SERIES_ALONE, SERIES_SHARED, SERIES_RUNS };

/* What the curves are of. */
struct series {
	const struct folder *runs[SERIES_RUNS]; /* borrowed */
	size_t llm[SERIES_RUNS];		/* container of each run, SIZE_MAX: none */
	size_t diffusion[SERIES_RUNS];
	u64 end_ns; /* of the longer run */
	u64 bin_ns;
	size_t bin_count; /* at least 1; the last bin may be shorter */
};

/*
 * Choose what is drawn: the first LLM server and the first diffusion pipeline of the shared run,
 * and their namesakes in the other; some hundred bins of a round width.
 */
void series_init(struct series *series, const struct folder *alone,
		 const struct folder *shared);

/* Number of samples that series_write_*() has for a run: a plot of none is an error. */
size_t series_count_ttft(const struct series *series, enum series_run run);
size_t series_count_images(const struct series *series, enum series_run run);
size_t series_count_failed(const struct series *series, enum series_run run);

/* Is any GPU time of the shared run known? Hardware does not tell. */
bool series_knows_share(const struct series *series);

/*
 * Write one file each. Returns 0 or a negative enum sim_exit.
 *  load:   time_s (middle of the bin), arrivals_alone_per_s, arrivals_shared_per_s,
 *          in_flight_alone, in_flight_shared (averages over the bin)
 *  ttft:   time_s (arrival), ttft_alone_s, ttft_shared_s, failed_alone, failed_shared (1: no
 *          answer); a row per request and run
 *  share:  time_s (middle), a column for each container of the shared run; its fields are empty
 *          where no GPU time is known
 *  images: time_s (end of the image), latency_alone_s, latency_shared_s
 */
int series_write_load(const struct series *series, struct writer *writer, const char *name,
		      struct sim_error *err);
int series_write_ttft(const struct series *series, struct writer *writer, const char *name,
		      struct sim_error *err);
int series_write_share(const struct series *series, struct writer *writer, const char *name,
		       struct sim_error *err);
int series_write_images(const struct series *series, struct writer *writer, const char *name,
			struct sim_error *err);

#endif
