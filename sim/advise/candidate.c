// SPDX-License-Identifier: MIT OR GPL-2.0
#include "advise/candidate.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/message.h"
#include "sweep/sweep_print.h"

struct advise_candidate *candidate_new(struct advise *advise,
				       const struct advise_candidate *from)
{
	struct advise_candidate *candidate = calloc(1, sizeof(*candidate));

	if (!candidate)
		return NULL;
	candidate->keys = from ? json_deep_copy(from->keys) : json_object();
	candidate->gpus = from ? from->gpus : advise->gpu_count;
	candidate->outcomes = calloc(advise->container_count, sizeof(*candidate->outcomes));
	if (candidate->keys && candidate->outcomes)
		return candidate;
	json_decref(candidate->keys);
	free(candidate->outcomes);
	free(candidate);
	return NULL;
}

void candidate_free(struct advise_candidate *candidate)
{
	if (!candidate)
		return;
	json_decref(candidate->keys);
	free(candidate->outcomes);
	free(candidate);
}

void candidate_set(struct advise_candidate *candidate, const char *text, const char *fmt, ...)
{
	char key[2 * CFG_NAME_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(key, sizeof(key), fmt, args);
	va_end(args);
	json_object_set_new(candidate->keys, key, json_string(text));
}

int candidate_add(struct advise *advise, struct advise_candidate *candidate)
{
	struct advise_candidate **list;

	if (!candidate)
		return -ENOMEM;
	for (size_t i = 0; i < advise->count; i++)
		if (json_equal(advise->candidates[i]->keys, candidate->keys)) {
			candidate_free(candidate);
			return 0;
		}
	list = reallocarray(advise->candidates, advise->count + 1, sizeof(*list));
	if (!list) {
		candidate_free(candidate);
		return -ENOMEM;
	}
	advise->candidates = list;
	candidate->number = advise->count;
	list[advise->count++] = candidate;
	return 0;
}

const char *advise_system(const struct advise_candidate *candidate)
{
	return json_string_value(json_object_get(candidate->keys, "system.name"));
}

void advise_describe(const struct advise_candidate *candidate, char *text, size_t size)
{
	static const char before[] = "containers.";
	char words[ADVISE_TEXT_MAX];
	const char *key;
	json_t *value;

	*text = '\0';
	json_object_foreach(candidate->keys, key, value) {
		if (!strcmp(key, "system.name") || !strncmp(key, "gpus.", strlen("gpus.")))
			continue;
		sweep_print_value(key, json_string_value(value), words, sizeof(words));
		cfg_append(text, size, "%s%s %s", *text ? ", " : "",
			   strncmp(key, before, strlen(before)) != 0 ? key :
								       key + strlen(before),
			   words);
	}
}

/*
 * As it is printed. Less is no reason: a container that boots a moment later has a rate that
 * differs in the fourth digit.
 */
static double progress_percent(const struct advise_candidate *candidate)
{
	return round(100 * candidate->progress);
}

bool advise_is_better(const struct advise_candidate *a, const struct advise_candidate *b)
{
	if (a->ran != b->ran)
		return a->ran;
	if (!*a->failed != !*b->failed)
		return !*a->failed;
	if (a->kept != b->kept)
		return a->kept > b->kept;
	/*
	 * Neither keeps more promises. One that keeps all has nothing to
	 * win by a greater share.
	 */
	if (a->share != b->share && (a->share < 0 || b->share < 0))
		return a->share > b->share;
	if (a->gpus != b->gpus)
		return a->gpus < b->gpus;
	return progress_percent(a) > progress_percent(b);
}

bool candidate_has_all(const struct advise *advise, const struct advise_candidate *candidate)
{
	return candidate->ran && !*candidate->failed &&
	       candidate->kept == advise->promise_count && progress_percent(candidate) >= 100;
}

bool candidate_is_one_more(struct advise_candidate *const *others, size_t count,
			   const struct advise_candidate *candidate)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(advise_system(others[i]), advise_system(candidate)) &&
		    !advise_is_better(others[i], candidate))
			return true;
	return false;
}

/* The part of a promise's estimate that counts: the lower end of its interval. */
static double share_of(const struct run_estimate *estimate)
{
	if (!estimate->value.known)
		return 0;
	return estimate->interval ? estimate->low : estimate->value.number;
}

void candidate_judge(struct advise *advise, struct advise_candidate *candidate)
{
	double all = INFINITY, others = INFINITY;

	candidate->kept = 0;
	candidate->share = 0;
	for (size_t c = 0; c < advise->container_count; c++) {
		struct advise_outcome *outcome = &candidate->outcomes[c];
		const struct run_estimate *alone =
			advise->yardstick ? &advise->yardstick->outcomes[c].rate : NULL;

		for (size_t i = 0; i < advise->containers[c].promise_count; i++) {
			double lack =
				share_of(&outcome->promises[i]) - advise->question->target;

			candidate->kept += lack >= 0;
			candidate->share = fmin(candidate->share, lack);
		}
		outcome->progress = NAN;
		if (alone && alone->value.known && alone->value.number > 0)
			outcome->progress =
				outcome->rate.value.known ?
					outcome->rate.value.number / alone->value.number :
					0;
		if (isnan(outcome->progress))
			continue;
		all = fmin(all, outcome->progress);
		if (!advise->containers[c].promise_count)
			others = fmin(others, outcome->progress);
	}
	candidate->progress = isinf(others) ? all : others;
}

/* The better one first; equal ones in the order of search, with every C library's qsort(). */
static int compare(const void *a, const void *b)
{
	const struct advise_candidate *first = *(struct advise_candidate *const *)a;
	const struct advise_candidate *second = *(struct advise_candidate *const *)b;

	if (advise_is_better(first, second))
		return -1;
	if (advise_is_better(second, first))
		return 1;
	return first->number < second->number ? -1 : first->number > second->number;
}

void candidate_sort(struct advise_candidate **candidates, size_t count)
{
	qsort(candidates, count, sizeof(struct advise_candidate *), compare);
}
