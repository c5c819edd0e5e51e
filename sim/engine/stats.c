// SPDX-License-Identifier: MIT OR GPL-2.0
#include "engine/stats.h"

#include <assert.h>
#include <stdlib.h>

static int stats_compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void stats_sort_u64(uint64_t *values, size_t n)
{
	if (n > 1)
		qsort(values, n, sizeof(*values), stats_compare_u64);
}

double stats_percentile_u64(const uint64_t *sorted, size_t n, unsigned int percent)
{
	unsigned __int128 rank, weighted;
	unsigned int above;
	size_t i;

	assert(n > 0 && percent <= 100);

	/*
	 * The rank in hundredths of an element. Weighing both neighbours in integers avoids
	 * numpy's own subtlety, that a + (b - a) * t may round past b.
	 */
	rank = (unsigned __int128)(n - 1) * percent;
	i = (size_t)(rank / 100);
	above = (unsigned int)(rank % 100);
	weighted = (unsigned __int128)sorted[i] * (100 - above);
	if (above)
		weighted += (unsigned __int128)sorted[i + 1] * above;
	return (double)weighted / 100;
}

double stats_mean_u64(const uint64_t *values, size_t n)
{
	unsigned __int128 sum = 0;

	assert(n > 0);
	for (size_t i = 0; i < n; i++)
		sum += values[i];
	return (double)sum / (double)n;
}
