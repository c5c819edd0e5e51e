/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Intervals of confidence by the percentile bootstrap (Efron 1979): 95 %. */
#ifndef SIM_RESULTS_BOOTSTRAP_H
#define SIM_RESULTS_BOOTSTRAP_H

#include <stddef.h>

#include "engine/types.h"

/*
 * Draw @count of @values with replacement, @resamples times, and write the 2.5th and 97.5th
 * percentile of the means. @random is the state of the draws. Returns 0 or -ENOMEM.
 */
int bootstrap_mean(const double *values, size_t count, u64 resamples, u64 *random,
		   double *ret_low, double *ret_high);

/* The percentile 100 * @share of @count values, which it sorts. @count is not 0. */
double bootstrap_percentile(double *values, size_t count, double share);

/* The 2.5th and 97.5th percentile of @count values, which it sorts. @count is not 0. */
void bootstrap_interval(double *values, size_t count, double *ret_low, double *ret_high);

#endif
