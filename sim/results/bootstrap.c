// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/bootstrap.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/random.h"
#include "gvm/port.h"

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Linear between the two nearest ranks, as stats_percentile_u64(). */
static double percentile(const double *sorted, size_t count, double share)
{
	double place = share * (double)(count - 1);
	size_t below = (size_t)place;
	size_t above = min(below + 1, count - 1);

	/* One may be infinite, or both: nothing of it is NAN. */
	if (place == (double)below || sorted[below] == sorted[above])
		return sorted[below];
	return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

double bootstrap_percentile(double *values, size_t count, double share)
{
	qsort(values, count, sizeof(*values), compare_doubles);
	return percentile(values, count, share);
}

void bootstrap_interval(double *values, size_t count, double *ret_low, double *ret_high)
{
	qsort(values, count, sizeof(*values), compare_doubles);
	*ret_low = percentile(values, count, 0.025);
	*ret_high = percentile(values, count, 0.975);
}

int bootstrap_mean(const double *values, size_t count, u64 resamples, u64 *random,
		   double *ret_low, double *ret_high)
{
	double *means = calloc(resamples, sizeof(*means));

	if (!means)
		return -ENOMEM;
	for (u64 i = 0; i < resamples; i++) {
		double sum = 0;

		for (size_t k = 0; k < count; k++)
			sum += values[random_below(random, count)];
		means[i] = sum / (double)count;
	}
	bootstrap_interval(means, resamples, ret_low, ret_high);
	free(means);
	return 0;
}
