// SPDX-License-Identifier: MIT OR GPL-2.0
#include "gvmd/weights.h"

#include "engine/guess.h"

int weights_open(json_t *weights, char why[GVMD_WHY_MAX])
{
	const char *name;
	json_t *weight;

	if (weights && !json_is_object(weights)) {
		snprintf(why, GVMD_WHY_MAX, "weights: allowed: an object of numbers");
		return -EINVAL;
	}
	json_object_foreach(weights, name, weight) {
		if (json_is_integer(weight) && json_integer_value(weight) >= 1 &&
		    json_integer_value(weight) <= WEIGHT_MAX)
			continue;
		snprintf(why, GVMD_WHY_MAX, "weights.%.60s: allowed: a number from 1 to %d",
			 name, WEIGHT_MAX);
		return -EINVAL;
	}
	return 0;
}

int weights_check(json_t *weights, const char *const *names, size_t count,
		  char why[GVMD_WHY_MAX])
{
	struct guess guess;
	const char *name;
	json_t *weight;

	json_object_foreach(weights, name, weight) {
		if (gvmd_is_named(names, count, name))
			continue;
		guess_begin(&guess, name);
		for (size_t i = 0; i < count; i++)
			guess_offer(&guess, names[i]);
		if (*guess.name)
			snprintf(why, GVMD_WHY_MAX,
				 "weights.%.30s: no container \"%.30s\", did you mean "
				 "\"%.30s\"?",
				 name, name, guess.name);
		else
			snprintf(why, GVMD_WHY_MAX, "weights.%.60s: no container \"%.60s\"",
				 name, name);
		return -EINVAL;
	}
	return 0;
}

u64 weights_of(const json_t *weights, const char *name)
{
	const json_t *weight = json_object_get(weights, name);

	return weight ? (u64)json_integer_value(weight) : 1;
}
