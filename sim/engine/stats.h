/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Order statistics and means over arrays of unsigned integers.
 *
 * Everything is exact up to one last division, so that the same input gives the same digits on
 * every machine. Percentiles follow numpy.percentile's default ("linear"): the plots and the
 * papers that we compare with use it.
 */
#ifndef SIM_ENGINE_STATS_H
#define SIM_ENGINE_STATS_H

#include <stddef.h>

#include "engine/types.h"

/*
 * Sort @values in ascending order, in place and without allocating. Of order n log n for any
 * input. qsort() copies the array and calls back for each comparison: it took 16 % of a run.
 */
void stats_sort_u64(u64 *values, size_t n);

/*
 * The percentile of rank @rank of @of, 50 of 100 or 999 of 1000, of the ascending array @sorted,
 * linearly interpolated between the two nearest elements. @n must not be 0.
 */
double stats_percentile_u64(const u64 *sorted, size_t n, unsigned int rank, unsigned int of);

/* A value and how often it occurs. */
struct stats_weight {
	u64 value;
	u64 count; /* at least 1 */
};

/*
 * Values with their counts, ascending, each value once: memory by the number of different
 * values. All-zero is empty. Owned by the caller, who frees list.
 */
struct stats_weights {
	struct stats_weight *list;
	size_t n;
	u64 total; /* of all counts */
};

/*
 * Add @n @values, which are sorted in place, or all of @more. Return 0 or -ENOMEM,
 * and then nothing was added.
 */
int stats_weights_add(struct stats_weights *weights, u64 *values, size_t n);
int stats_weights_merge(struct stats_weights *weights, const struct stats_weights *more);

/*
 * Round values to @bits significant bits, to the nearest, so that there are fewer of them: less
 * than 2^bits for each octave. A value changes by a part of 2^bits at most.
 */
void stats_weights_round(struct stats_weights *weights, unsigned int bits);

/*
 * As stats_percentile_u64() and stats_mean_u64() of all values, as often as they occur. The
 * percentile is that of @total values, of which the ones after the percentile may be missing.
 */
double stats_weights_percentile(const struct stats_weights *weights, u64 total,
				unsigned int rank, unsigned int of);
double stats_weights_mean(const struct stats_weights *weights);

/* The arithmetic mean: a sum in 128 bits, then one division. @n must not be 0. */
double stats_mean_u64(const u64 *values, size_t n);

#endif
