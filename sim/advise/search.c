// SPDX-License-Identifier: MIT OR GPL-2.0
/* The stages of the search for advice; advise.h has them in order. */
#include "advise/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/candidate.h"
#include "advise/share.h"
#include "advise/stage.h"
#include "config/units.h"
#include "engine/error.h"
#include "machine/machine.h"

#define BEST_SYSTEMS 3 /* that a stage goes on from */
#define GPUS_MAX     4
#define NEARER_STEPS 8

/* The runs that the search may still use. */
static size_t runs_left(const struct advise *advise)
{
	return advise->question->runs - min(advise->runs, advise->question->runs);
}

/* The candidates that the present stage has added and not tried yet. */
static size_t added_count(const struct advise *advise)
{
	return advise->count - advise->tried;
}

/* Try the added candidates, as many as there are runs left for. Then judge all candidates. */
static int try_added(struct advise *advise, const char *name, const struct signals *signals,
		     struct sim_error *err)
{
	size_t left = runs_left(advise);
	struct stage stage;
	int status;

	if (added_count(advise) > left)
		advise->out_of_runs = true;
	while (added_count(advise) > left)
		candidate_free(advise->candidates[--advise->count]);
	stage = (struct stage){ .name = name,
				.candidates = &advise->candidates[advise->tried],
				.count = added_count(advise) };
	advise->tried = advise->count;
	status = stage_run(advise, &stage, signals, err);
	if (!advise->yardstick && advise->count && advise->candidates[0]->ran)
		advise->yardstick = advise->candidates[0];
	for (size_t i = 0; !status && i < advise->count; i++)
		if (advise->candidates[i]->ran)
			candidate_judge(advise, advise->candidates[i]);
	return status;
}

/* Every system, the yardstick first. */
static int add_systems(struct advise *advise)
{
	for (const struct cfg_keys *const *system = sim_systems; *system; system++) {
		struct advise_candidate *candidate = candidate_new(advise, NULL);

		if (!candidate)
			return -ENOMEM;
		candidate_set(candidate, (*system)->name, "system.name");
		if (sim_system_of(*system)->own_gpu)
			candidate->gpus = advise->container_count;
		if (candidate_add(advise, candidate))
			return -ENOMEM;
	}
	return 0;
}

/* Has the system of a candidate a limit or a priority to set? */
static bool has_settings(const struct advise *advise, const struct advise_candidate *candidate)
{
	return stage_honours(advise, candidate, "gmem.limit.high") ||
	       stage_honours(advise, candidate, "compute.priority");
}

/* The best candidates so far of systems that share, each system once, if they @fit. How many? */
static size_t best_systems(const struct advise *advise,
			   bool (*fit)(const struct advise *advise,
				       const struct advise_candidate *candidate),
			   struct advise_candidate **ret_best)
{
	struct advise_candidate **sorted = calloc(advise->count + 1, sizeof(*sorted));
	size_t count = 0;

	for (size_t i = 0; sorted && i < advise->count; i++)
		sorted[i] = advise->candidates[i];
	if (sorted)
		candidate_sort(sorted, advise->count);
	for (size_t i = 0; sorted && i < advise->count && count < BEST_SYSTEMS; i++) {
		bool out = !sorted[i]->ran || *sorted[i]->failed ||
			   sim_system_find(advise_system(sorted[i]))->own_gpu;

		for (size_t k = 0; k < count; k++)
			out = out ||
			      !strcmp(advise_system(ret_best[k]), advise_system(sorted[i]));
		if (!out && fit(advise, sorted[i]))
			ret_best[count++] = sorted[i];
	}
	free(sorted);
	return count;
}

static size_t promised_count(const struct advise *advise)
{
	size_t count = 0;

	for (size_t c = 0; c < advise->container_count; c++)
		count += advise->containers[c].promise_count != 0;
	return count;
}

/* Take back what a candidate sets of a container: "compute.priority", "gpu". */
static void unset(struct advise_candidate *candidate, const struct advise_container *container,
		  const char *file)
{
	char key[CFG_PATH_MAX];

	snprintf(key, sizeof(key), "containers.%s.%s", container->name, file);
	json_object_del(candidate->keys, key);
}

/*
 * Put the containers on @gpus GPUs of the scenario's profile. They go round, those with a promise
 * first, so that promises are apart. @others_apart: those without a promise have the GPUs that no
 * promise is on, of which there is one at least. Their limits and priorities are the scenario's
 * again, as they hold no promise up there.
 */
static void place_all(const struct advise *advise, struct advise_candidate *candidate,
		      size_t gpus, bool others_apart)
{
	size_t promised = promised_count(advise), next = 0, next_other = 0;
	char name[CFG_NAME_MAX];

	candidate->gpus = gpus;
	for (size_t g = 1; g < gpus; g++)
		candidate_set(candidate, advise->profile, "gpus.more%zu.profile", g);
	for (size_t c = 0; c < advise->container_count; c++) {
		const struct advise_container *container = &advise->containers[c];
		size_t gpu;

		if (container->promise_count)
			gpu = next++ % gpus;
		else if (others_apart)
			gpu = promised + next_other++ % (gpus - promised);
		else
			gpu = (promised + next_other++) % gpus;
		if (others_apart && !container->promise_count) {
			unset(candidate, container, "gmem.limit.high");
			unset(candidate, container, "compute.priority");
		}
		/* On fewer GPUs it may have been on another one. */
		unset(candidate, container, "gpu");
		snprintf(name, sizeof(name), "more%zu", gpu);
		if (gpu)
			candidate_set(candidate, name, "containers.%s.gpu", container->name);
	}
}

/*
 * The best systems on @gpus GPUs, in both placements. What a server took on a fuller GPU may be
 * too little here, so the scenario's shares are tried, too.
 */
static int add_placements(struct advise *advise, struct advise_candidate *const *best,
			  size_t best_count, size_t gpus)
{
	bool can_be_apart = promised_count(advise) < gpus;

	for (size_t i = 0; i < 4 * best_count; i++) {
		struct advise_candidate *candidate;
		bool others_apart = i / 2 % 2;

		if (others_apart && !can_be_apart)
			continue;
		candidate = candidate_new(advise, best[i / 4]);
		if (!candidate)
			return -ENOMEM;
		if (i % 2 == 0)
			share_forget(advise, candidate);
		place_all(advise, candidate, gpus, others_apart);
		if (candidate_add(advise, candidate))
			return -ENOMEM;
	}
	return 0;
}

/*
 * Limits of containers without a promise, each the same part of the memory, with the scenario's
 * priorities and with promises first.
 */
static int add_settings(struct advise *advise, struct advise_candidate *const *best,
			size_t best_count)
{
	static const unsigned int parts[] = { 0, 2, 4, 8 }; /* 0: the scenario's limit */
	char text[UNITS_TEXT_MAX];

	for (size_t i = 0; i < 2 * ARRAY_SIZE(parts) * best_count; i++) {
		const struct advise_candidate *from = best[i % best_count];
		unsigned int part = parts[i / best_count / 2];
		bool promises_first = i / best_count % 2;
		struct advise_candidate *candidate;

		if ((part && !stage_honours(advise, from, "gmem.limit.high")) ||
		    (promises_first && !stage_honours(advise, from, "compute.priority")))
			continue;
		candidate = candidate_new(advise, from);
		if (!candidate)
			return -ENOMEM;
		units_format_size(part ? advise->memory / part : 0, text, sizeof(text));
		for (size_t c = 0; c < advise->container_count; c++) {
			const struct advise_container *container = &advise->containers[c];

			if (part && !container->promise_count)
				candidate_set(candidate, text, "containers.%s.gmem.limit.high",
					      container->name);
			if (promises_first)
				candidate_set(candidate, container->promise_count ? "0" : "12",
					      "containers.%s.compute.priority",
					      container->name);
		}
		if (candidate_add(advise, candidate))
			return -ENOMEM;
	}
	return 0;
}

/* The best candidate of all; NULL: none ran. */
static struct advise_candidate *find_best(const struct advise *advise)
{
	struct advise_candidate *best = NULL;

	for (size_t i = 0; i < advise->count; i++)
		if (advise->candidates[i]->ran &&
		    (!best || advise_is_better(advise->candidates[i], best)))
			best = advise->candidates[i];
	return best;
}

/* A limit a quarter lower or a third higher; of a share, its room. False: @key is neither. */
static bool nearer(const struct advise *advise, const char *key, const char *value, bool more,
		   char *text, size_t size)
{
	u64 bytes;

	if (!strstr(key, ".gmem.limit.high") || units_parse_size(value, &bytes) != UNITS_OK)
		return share_nearer(advise, key, value, more, text, size);
	units_format_size(more ? bytes / 3 * 4 : bytes / 4 * 3, text, size);
	return true;
}

/* The best candidate with one limit or share that is nearer(), for each that is set. */
static int add_nearer(struct advise *advise, const struct advise_candidate *best)
{
	char text[UNITS_TEXT_MAX];
	const char *key;
	json_t *value;

	json_object_foreach(best->keys, key, value) {
		for (int more = 0; more < 2; more++) {
			struct advise_candidate *candidate;

			if (!nearer(advise, key, json_string_value(value), more, text,
				    sizeof(text)))
				continue;
			candidate = candidate_new(advise, best);
			if (!candidate)
				return -ENOMEM;
			candidate_set(candidate, text, "%s", key);
			if (candidate_add(advise, candidate))
				return -ENOMEM;
		}
	}
	return 0;
}

/* Does a candidate on the scenario's GPUs keep all promises? */
static bool one_keeps_all(const struct advise *advise, size_t gpus)
{
	for (size_t i = 0; i < advise->count; i++)
		if (advise->candidates[i]->ran && !*advise->candidates[i]->failed &&
		    advise->candidates[i]->gpus <= gpus &&
		    advise->candidates[i]->kept == advise->promise_count)
			return true;
	return false;
}

/* The stages of the search. Each adds candidates, from what is known by then, and tries them. */

static int search_systems(struct advise *advise, const struct signals *signals,
			  void (*tell)(const char *line), struct sim_error *err)
{
	if (add_systems(advise))
		return sim_runtime_error(err, "out of memory");
	tell("every system");
	return try_added(advise, "systems", signals, err);
}

static int search_settings(struct advise *advise, const struct signals *signals,
			   void (*tell)(const char *line), struct sim_error *err)
{
	struct advise_candidate *best[BEST_SYSTEMS];
	char name[24];

	tell("limits and priorities of the best systems");
	snprintf(name, sizeof(name), "settings-%zu", advise->gpu_count);
	if (add_settings(advise, best, best_systems(advise, has_settings, best)))
		return sim_runtime_error(err, "out of memory");
	return try_added(advise, name, signals, err);
}

/*
 * Smaller shares of the memory for servers, if the best candidate that shares it breaks a promise
 * or leaves progress to others; then every system with the shares that turn out best.
 */
static int search_shares(struct advise *advise, const struct signals *signals,
			 void (*tell)(const char *line), struct sim_error *err)
{
	struct advise_candidate *best[BEST_SYSTEMS];
	size_t count = best_systems(advise, share_matters, best);
	int status;

	if (!count || candidate_has_all(advise, best[0]))
		return 0;
	if (share_add_smaller(advise, best, count))
		return sim_runtime_error(err, "out of memory");
	if (!added_count(advise))
		return 0;
	tell("smaller shares of the memory for LLM servers");
	status = try_added(advise, "shares-1", signals, err);
	if (status)
		return status;
	best_systems(advise, share_matters, best);
	if (share_add_systems(advise, best[0]))
		return sim_runtime_error(err, "out of memory");
	return added_count(advise) ? try_added(advise, "shares-2", signals, err) : 0;
}

/* A promise that fails on a GPU of its own needs no more GPUs. */
static bool more_gpus_may_help(const struct advise *advise)
{
	return advise->gpu_count == 1 && advise->yardstick &&
	       advise->yardstick->kept == advise->promise_count;
}

/* One GPU more at a time, until a candidate keeps all promises. */
static int search_more_gpus(struct advise *advise, const struct signals *signals,
			    void (*tell)(const char *line), struct sim_error *err)
{
	struct advise_candidate *best[BEST_SYSTEMS];
	char name[24];
	int status = 0;

	for (size_t gpus = 2;
	     !status && more_gpus_may_help(advise) && gpus <= GPUS_MAX &&
	     gpus < advise->container_count && !one_keeps_all(advise, gpus - 1);
	     gpus++) {
		snprintf(name, sizeof(name), "gpus-%zu", gpus);
		tell("more GPUs");
		if (add_placements(advise, best, best_systems(advise, has_settings, best),
				   gpus))
			return sim_runtime_error(err, "out of memory");
		status = try_added(advise, name, signals, err);
	}
	return status;
}

/* Step by step from the best candidate to a better one beside it, until there is none. */
static int search_nearer(struct advise *advise, const struct signals *signals,
			 void (*tell)(const char *line), struct sim_error *err)
{
	char name[24];
	int status = 0;

	tell("limits and shares near the best ones");
	for (size_t step = 0; !status && step < NEARER_STEPS; step++) {
		struct advise_candidate *before = find_best(advise);

		if (!before || !runs_left(advise))
			break;
		if (add_nearer(advise, before))
			return sim_runtime_error(err, "out of memory");
		if (!added_count(advise))
			break;
		snprintf(name, sizeof(name), "nearer-%zu", step + 1);
		status = try_added(advise, name, signals, err);
		if (find_best(advise) == before)
			break;
	}
	return status;
}

int advise_search(struct advise *advise, const struct signals *signals,
		  void (*tell)(const char *line), struct sim_error *err)
{
	int (*const stages[])(struct advise * advise, const struct signals *signals,
			      void (*tell)(const char *line), struct sim_error *err) = {
		search_systems, search_settings, search_shares, search_more_gpus, search_nearer,
	};
	int status = 0;

	for (size_t i = 0; i < ARRAY_SIZE(stages) && !status; i++)
		status = stages[i](advise, signals, tell, err);
	return status;
}
