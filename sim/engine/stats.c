// SPDX-License-Identifier: MIT OR GPL-2.0
#include "engine/stats.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define SORT_SHORT 16 /* up to this number, values are sorted by insertion */

static void sort_by_insertion(u64 *values, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		u64 value = values[i];
		size_t hole = i;

		for (; hole > 0 && values[hole - 1] > value; hole--)
			values[hole] = values[hole - 1];
		values[hole] = value;
	}
}

/* Let the value at @i sink in a heap of @n, whose greatest value is first. */
static void heap_sink(u64 *values, size_t i, size_t n)
{
	u64 value = values[i];

	for (size_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
		if (child + 1 < n && values[child + 1] > values[child])
			child++;
		if (values[child] <= value)
			break;
		values[i] = values[child];
		i = child;
	}
	values[i] = value;
}

static void sort_by_heap(u64 *values, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		heap_sink(values, i, n);
	while (n-- > 1) {
		u64 greatest = values[0];

		values[0] = values[n];
		values[n] = greatest;
		heap_sink(values, 0, n);
	}
}

static u64 median_of_three(u64 a, u64 b, u64 c)
{
	if ((a < b) == (b < c))
		return b;
	return (b < a) == (a < c) ? a : c;
}

/*
 * Partition @values around a pivot. Returns the size of the left part, at least 1 and less than
 * @n.
 */
static size_t sort_part(u64 *values, size_t n)
{
	u64 pivot = median_of_three(values[0], values[(n - 1) / 2], values[n - 2]);
	size_t left = 0, right = n - 1;

	for (;;) {
		u64 value;

		while (values[left] < pivot)
			left++;
		while (values[right] > pivot)
			right--;
		if (left >= right)
			return right + 1;
		value = values[left];
		values[left++] = values[right];
		values[right--] = value;
	}
}

/* Introsort: quicksort, with heapsort for parts whose pivots were bad for @depth levels. */
static void sort_to_depth(u64 *values, size_t n, u32 depth)
{
	while (n > SORT_SHORT) {
		size_t left;

		if (depth-- == 0) {
			sort_by_heap(values, n);
			return;
		}
		left = sort_part(values, n);
		sort_to_depth(values, left, depth);
		values += left;
		n -= left;
	}
	sort_by_insertion(values, n);
}

void stats_sort_u64(u64 *values, size_t n)
{
	u32 depth = 0;

	for (size_t rest = n; rest > 1; rest /= 2)
		depth += 2;
	sort_to_depth(values, n, depth);
}

double stats_percentile_u64(const u64 *sorted, size_t n, unsigned int rank, unsigned int of)
{
	unsigned __int128 place, weighted;
	unsigned int above;
	size_t i;

	assert(n > 0 && rank <= of);

	/*
	 * The place in parts of an element, @of of which are one. Both neighbours are weighed in
	 * integers: numpy's a + (b - a) * t may round past b.
	 */
	place = (unsigned __int128)(n - 1) * rank;
	i = (size_t)(place / of);
	above = (unsigned int)(place % of);
	weighted = (unsigned __int128)sorted[i] * (of - above);
	if (above)
		weighted += (unsigned __int128)sorted[i + 1] * above;
	return (double)weighted / of;
}

double stats_mean_u64(const u64 *values, size_t n)
{
	unsigned __int128 sum = 0;

	assert(n > 0);
	for (size_t i = 0; i < n; i++)
		sum += values[i];
	return (double)sum / (double)n;
}

/* How many different values two lists have together. */
static size_t weights_together(const struct stats_weights *weights,
			       const struct stats_weights *more)
{
	const struct stats_weight *a = weights->list, *b = more->list;
	size_t i = 0, k = 0, n = 0;

	for (; i < weights->n && k < more->n; n++) {
		u64 value = a[i].value < b[k].value ? a[i].value : b[k].value;

		i += a[i].value == value;
		k += b[k].value == value;
	}
	return n + weights->n - i + more->n - k;
}

int stats_weights_merge(struct stats_weights *weights, const struct stats_weights *more)
{
	size_t together = weights_together(weights, more);
	struct stats_weight *merged = malloc((together + 1) * sizeof(*merged));
	const struct stats_weight *a = weights->list, *b = more->list;
	size_t i = 0, k = 0;

	if (!merged)
		return -ENOMEM;
	for (size_t n = 0; n < together; n++) {
		if (k == more->n || (i < weights->n && a[i].value < b[k].value)) {
			merged[n] = a[i++];
		} else if (i == weights->n || b[k].value < a[i].value) {
			merged[n] = b[k++];
		} else {
			merged[n] = a[i++];
			merged[n].count += b[k++].count;
		}
	}
	free(weights->list);
	weights->list = merged;
	weights->n = together;
	weights->total += more->total;
	return 0;
}

int stats_weights_add(struct stats_weights *weights, u64 *values, size_t n)
{
	struct stats_weights more = { .total = n };
	int status;

	stats_sort_u64(values, n);
	for (size_t i = 0; i < n; i++)
		more.n += !i || values[i] != values[i - 1];
	more.list = calloc(more.n + 1, sizeof(*more.list));
	if (!more.list)
		return -ENOMEM;
	more.n = 0;
	for (size_t i = 0; i < n; i++) {
		if (!i || values[i] != values[i - 1])
			more.list[more.n++].value = values[i];
		more.list[more.n - 1].count++;
	}
	status = stats_weights_merge(weights, &more);
	free(more.list);
	return status;
}

void stats_weights_round(struct stats_weights *weights, unsigned int bits)
{
	struct stats_weight *list = weights->list;
	size_t n = 0;

	for (size_t i = 0; i < weights->n; i++) {
		u64 value = list[i].value;
		unsigned int length = value ? 64 - (unsigned int)__builtin_clzll(value) : 0;

		/* The greatest values stay as they are: rounding up would leave 64 bits. */
		if (length > bits && length < 64) {
			u64 unit = 1ull << (length - bits);

			value = (value + unit / 2) / unit * unit;
		}
		if (n && list[n - 1].value == value)
			list[n - 1].count += list[i].count;
		else
			list[n++] = (struct stats_weight){ value, list[i].count };
	}
	weights->n = n;
}

double stats_weights_percentile(const struct stats_weights *weights, u64 total,
				unsigned int rank, unsigned int of)
{
	unsigned __int128 place, weighted;
	unsigned int above;
	u64 passed = 0;
	size_t i = 0;

	assert(weights->total > 0 && total >= weights->total && rank <= of);
	place = (unsigned __int128)(total - 1) * rank;
	above = (unsigned int)(place % of);
	while (passed + weights->list[i].count <= (u64)(place / of))
		passed += weights->list[i++].count;
	weighted = (unsigned __int128)weights->list[i].value * (of - above);
	if (above) {
		bool last = passed + weights->list[i].count == (u64)(place / of) + 1;

		weighted += (unsigned __int128)weights->list[i + last].value * above;
	}
	return (double)weighted / of;
}

double stats_weights_mean(const struct stats_weights *weights)
{
	unsigned __int128 sum = 0;

	assert(weights->total > 0);
	for (size_t i = 0; i < weights->n; i++)
		sum += (unsigned __int128)weights->list[i].value * weights->list[i].count;
	return (double)sum / (double)weights->total;
}
