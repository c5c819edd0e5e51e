// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/estimate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/random.h"
#include "results/bootstrap.h"

int estimate_runs(const struct run_value *values, size_t count, u64 resamples, const char *name,
		  struct run_estimate *ret_estimate)
{
	u64 random = random_begin(1, name);
	double sum = 0, *numbers;
	int status;

	*ret_estimate = (struct run_estimate){ .value.known = true };
	for (size_t i = 0; i < count; i++) {
		ret_estimate->value.known &= values[i].known;
		ret_estimate->value.bound |= values[i].bound;
		sum += values[i].number;
	}
	ret_estimate->value.number = sum / (double)count;
	if (count < 2 || !resamples || !ret_estimate->value.known || ret_estimate->value.bound)
		return 0;
	numbers = calloc(count, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		numbers[i] = values[i].number;
	ret_estimate->interval = true;
	status = bootstrap_mean(numbers, count, resamples, &random, &ret_estimate->low,
				&ret_estimate->high);
	free(numbers);
	return status;
}

void estimate_describe_seeds(size_t seeds, char *text, size_t size)
{
	snprintf(text, size, "95 %% bootstrap over %zu seeds", seeds);
}
