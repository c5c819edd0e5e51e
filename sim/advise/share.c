// SPDX-License-Identifier: MIT OR GPL-2.0
#include "advise/share.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "advise/candidate.h"
#include "apps/llm_rank.h"
#include "config/units.h"
#include "machine/machine.h"

#define PPM_PER_PERCENT (CFG_PPM / 100)

/* A server's room beyond its least share is tried in such parts. */
#define PARTS 3

static void key_of(const struct advise_container *container, char *key, size_t size)
{
	snprintf(key, size, "containers.%s.app.gpu_memory_utilization", container->name);
}

void share_read(struct advise_container *container, const struct config *config,
		const struct cfg_container *cfg)
{
	const struct cfg_llm *llm = cfg->app;
	struct cfg_llm rank;

	llm_rank_share(llm, &rank);
	container->share_percent = llm->gpu_memory_utilization / PPM_PER_PERCENT;
	container->least_share_percent =
		llm_rank_least_percent(&rank, config_gpu(config, cfg), rank.max_model_len);
}

bool share_matters(const struct advise *advise, const struct advise_candidate *candidate)
{
	const struct sim_system *system = sim_system_find(advise_system(candidate));

	(void)advise; /* of the calls that best_systems() takes */
	return !system->own_gpu && !system->part;
}

/* The share with @part of @parts of the scenario's room, rounded up. False: it is no smaller. */
static bool part_of_room(const struct advise_container *container, u64 part, u64 parts,
			 char *text, size_t size)
{
	u64 least = container->least_share_percent, room;

	if (container->share_percent <= least)
		return false;
	room = ((container->share_percent - least) * part + parts - 1) / parts;
	units_format_ppm((least + room) * PPM_PER_PERCENT, text, size);
	return least + room < container->share_percent;
}

/*
 * Add @from with @part thirds of each server's room: with its settings, or as the scenario has
 * its system. Returns 0 or -ENOMEM.
 */
static int add_part(struct advise *advise, const struct advise_candidate *from, u64 part,
		    bool with_settings)
{
	struct advise_candidate *candidate = candidate_new(advise, with_settings ? from : NULL);
	char key[2 * CFG_NAME_MAX], text[UNITS_TEXT_MAX];
	bool any = false;

	if (!candidate)
		return -ENOMEM;
	candidate_set(candidate, advise_system(from), "system.name");
	for (size_t c = 0; c < advise->container_count; c++) {
		if (!part_of_room(&advise->containers[c], part, PARTS, text, sizeof(text)))
			continue;
		key_of(&advise->containers[c], key, sizeof(key));
		candidate_set(candidate, text, "%s", key);
		any = true;
	}
	if (any)
		return candidate_add(advise, candidate);
	candidate_free(candidate);
	return 0;
}

int share_add_smaller(struct advise *advise, struct advise_candidate *const *best,
		      size_t best_count)
{
	int status = 0;

	for (int bare = 0; bare < 2; bare++)
		for (u64 part = PARTS - 1; part; part--)
			for (size_t i = 0; i < best_count && !status; i++)
				status = add_part(advise, best[i], part, !bare);
	return status;
}

int share_add_systems(struct advise *advise, const struct advise_candidate *from)
{
	/* The first stage is every system as the scenario configures it. */
	for (size_t i = 0;
	     i < advise->count && json_object_size(advise->candidates[i]->keys) == 1; i++) {
		const struct advise_candidate *system = advise->candidates[i];
		struct advise_candidate *candidate;

		if (!system->ran || !share_matters(advise, system))
			continue;
		candidate = candidate_new(advise, system);
		if (!candidate)
			return -ENOMEM;
		for (size_t c = 0; c < advise->container_count; c++) {
			const struct advise_container *container = &advise->containers[c];
			const char *share = share_of_container(container, from);
			char key[2 * CFG_NAME_MAX];

			key_of(container, key, sizeof(key));
			if (share)
				candidate_set(candidate, share, "%s", key);
		}
		if (candidate_add(advise, candidate))
			return -ENOMEM;
	}
	return 0;
}

const char *share_of_container(const struct advise_container *container,
			       const struct advise_candidate *candidate)
{
	char key[2 * CFG_NAME_MAX];

	key_of(container, key, sizeof(key));
	return json_string_value(json_object_get(candidate->keys, key));
}

bool share_is_set(const struct advise *advise, const struct advise_candidate *candidate)
{
	for (size_t c = 0; c < advise->container_count; c++)
		if (share_of_container(&advise->containers[c], candidate))
			return true;
	return false;
}

void share_forget(const struct advise *advise, struct advise_candidate *candidate)
{
	char key[2 * CFG_NAME_MAX];

	for (size_t c = 0; c < advise->container_count; c++) {
		key_of(&advise->containers[c], key, sizeof(key));
		json_object_del(candidate->keys, key);
	}
}

bool share_nearer(const struct advise *advise, const char *key, const char *value, bool more,
		  char *text, size_t size)
{
	const struct advise_container *container = NULL;
	char own[2 * CFG_NAME_MAX];
	u64 ppm, room, near;

	for (size_t c = 0; !container && c < advise->container_count; c++) {
		key_of(&advise->containers[c], own, sizeof(own));
		if (!strcmp(own, key))
			container = &advise->containers[c];
	}
	if (!container || units_parse_ppm(value, &ppm) != UNITS_OK)
		return false;
	room = ppm / PPM_PER_PERCENT - container->least_share_percent;
	near = more ? (room * 4 + 2) / 3 : room * 3 / 4;
	near += container->least_share_percent;
	units_format_ppm(near * PPM_PER_PERCENT, text, size);
	return near > container->least_share_percent && near < container->share_percent;
}
