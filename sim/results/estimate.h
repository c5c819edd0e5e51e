/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Estimates from runs of one configuration under several seeds. Sweeps and figures use them.
 * They are of one of two kinds:
 *
 *  - the mean of the runs, with a 95 % percentile bootstrap of that mean (bootstrap.h): do two
 *    configurations differ? More seeds make the interval narrower.
 *  - the median of the runs, with their 10th and 90th percentile: how far is one run from
 *    another? More seeds make this better known, and not narrower.
 */
#ifndef SIM_RESULTS_ESTIMATE_H
#define SIM_RESULTS_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/types.h"

#define ESTIMATE_RESAMPLES 1000 /* of an interval, unless the user wants another number */

/* What an interval is of: an index into estimate_kinds[]. */
enum estimate_kind {
	ESTIMATE_OF_MEAN,
	ESTIMATE_OF_RUNS,
};

extern const char *const estimate_kinds[]; /* NULL ends them */

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
 * Estimate from the @count runs of a point, of which there is one at least. The estimate is not
 * known if it is not in one of the runs, and a bound if one of them is. Several known runs have
 * an interval, unless @resamples is 0. @name is the metric's: the draws depend on it. Returns 0
 * or -ENOMEM.
 */
int estimate_runs(const struct run_value *values, size_t count, enum estimate_kind kind,
		  u64 resamples, const char *name, struct run_estimate *ret_estimate);

/* What an estimate is, in words: "mean" or "median". */
const char *estimate_word(enum estimate_kind kind);

/* And its interval: "95 % bootstrap over 5 seeds". */
void estimate_describe_seeds(enum estimate_kind kind, size_t seeds, char *text, size_t size);

#endif
