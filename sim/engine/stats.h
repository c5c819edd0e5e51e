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
 * The @percent-th percentile (0 to 100) of the ascending array @sorted, linearly interpolated
 * between the two nearest ranks. @n must not be 0.
 */
double stats_percentile_u64(const u64 *sorted, size_t n, unsigned int percent);

/* The arithmetic mean: a sum in 128 bits, then one division. @n must not be 0. */
double stats_mean_u64(const u64 *values, size_t n);

#endif
