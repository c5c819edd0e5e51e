/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Intervals of confidence from one run: a bootstrap over blocks of its arrivals.
 *
 * requests.csv is cut into blocks of equal length by date of arrival. Requests of one block
 * share a burst and a queue, so blocks are drawn, not requests (Künsch 1989). Each draw takes
 * as many blocks as there are, with replacement, and computes the metrics over their records.
 * The draws say what other samples of the same load would have shown. They do not say how the
 * server would have met them: for that, use seeds with jitter.arrivals.
 *
 * Metrics of gaps between tokens have no interval: requests.csv has no gaps.
 */
#ifndef SIM_SWEEP_BLOCKS_H
#define SIM_SWEEP_BLOCKS_H

#include <stddef.h>

#include "engine/types.h"

struct sim_error;

struct block_interval {
	char name[160];	  /* "vllm.ttft_ms.p99" */
	double low, high; /* 95 %; high is infinite if that draw is only bounded */
};

/* Owned by the caller: blocks_resample(), blocks_destroy(). */
struct blocks {
	struct block_interval *intervals;
	size_t count;
};

/*
 * Resample the run in the results folder @path, also for the @asked_count names of
 * results/asked.h. Returns 0 or a negative enum sim_exit; on
 * failure *ret_blocks is empty.
 */
int blocks_resample(struct blocks *ret_blocks, const char *path, u64 block_ns, u64 resamples,
		    const char *const *asked, size_t asked_count, struct sim_error *err);
void blocks_destroy(struct blocks *blocks);

#endif
