// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/estimate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/random.h"
#include "results/bootstrap.h"

const char *const estimate_kinds[] = { "mean", "runs", NULL };

static double mean_of(const double *numbers, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += numbers[i];
	return sum / (double)count;
}

int estimate_runs(const struct run_value *values, size_t count, enum estimate_kind kind,
		  u64 resamples, const char *name, struct run_estimate *ret_estimate)
{
	u64 random = random_begin(1, name);
	double *numbers = calloc(count, sizeof(*numbers));
	int status = 0;

	*ret_estimate = (struct run_estimate){ .value.known = true };
	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		ret_estimate->value.known &= values[i].known;
		ret_estimate->value.bound |= values[i].bound;
		numbers[i] = values[i].number;
	}
	ret_estimate->interval = count > 1 && resamples && ret_estimate->value.known &&
				 !ret_estimate->value.bound;
	if (kind == ESTIMATE_OF_RUNS) {
		ret_estimate->value.number = bootstrap_percentile(numbers, count, 0.5);
		ret_estimate->low = bootstrap_percentile(numbers, count, 0.1);
		ret_estimate->high = bootstrap_percentile(numbers, count, 0.9);
	} else {
		ret_estimate->value.number = mean_of(numbers, count);
		if (ret_estimate->interval)
			status = bootstrap_mean(numbers, count, resamples, &random,
						&ret_estimate->low, &ret_estimate->high);
	}
	free(numbers);
	return status;
}

const char *estimate_word(enum estimate_kind kind)
{
	return kind == ESTIMATE_OF_RUNS ? "median" : "mean";
}

void estimate_describe_seeds(enum estimate_kind kind, size_t seeds, char *text, size_t size)
{
	snprintf(text, size, "%s %zu seeds",
		 kind == ESTIMATE_OF_RUNS ? "10th to 90th percentile of" :
					    "95 % bootstrap over",
		 seeds);
}
