/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Estimates from runs of one configuration under several seeds: their mean, with a 95 %
 * percentile bootstrap of that mean (bootstrap.h). Sweeps and figures use them.
 */
#ifndef SIM_RESULTS_ESTIMATE_H
#define SIM_RESULTS_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/types.h"

#define ESTIMATE_RESAMPLES 1000 /* of an interval, unless the user wants another number */

/* The value of a metric in one run. */
struct run_value {
	bool known;
	bool bound; /* the true value is greater */
	double number;
};

struct run_estimate {
	struct run_value value;
	bool interval;	  /* there is one */
	double low, high; /* high may be infinite: the runs do not bound it */
};

/*
 * Estimate from the @count runs of a point: their mean. It is not known if it is not in one of
 * the runs, and a bound if one of them is. Several known runs have an interval, unless
 * @resamples is 0. @name is the metric's: the draws depend on it. Returns 0 or -ENOMEM.
 */
int estimate_runs(const struct run_value *values, size_t count, u64 resamples, const char *name,
		  struct run_estimate *ret_estimate);

/* What such an interval is, in words: "95 % bootstrap over 5 seeds". */
void estimate_describe_seeds(size_t seeds, char *text, size_t size);

#endif
