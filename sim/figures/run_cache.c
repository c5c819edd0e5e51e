// SPDX-License-Identifier: MIT OR GPL-2.0
/* Entries of the cache, see run_cache.h. run_pool.c makes the runs. */
#include "figures/run_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/load.h"
#include "engine/error.h"
#include "figures/cache_folder.h"
#include "figures/cache_sum.h"
#include "figures/run_pool.h"
#include "machine/machine.h"

#define PROGRAM "/proc/self/exe"

/* Reads of an entry that other processes replace at the same time. */
#define READ_TRIES 10

int run_cache_hash_program(char ret_hash[CFG_HASH_MAX], struct sim_error *err)
{
	XXH3_state_t *state = XXH3_createState();
	int status;

	if (!state)
		return sim_runtime_error(err, "out of memory");
	XXH3_128bits_reset(state);
	status = cfg_hash_file(state, PROGRAM, err);
	cfg_hash_finish(state, ret_hash, CFG_HASH_MAX);
	XXH3_freeState(state);
	return status;
}

/*
 * Set the entry's name and path. The name is a hash of everything that the result depends on.
 */
static int make_key(struct cached_run *run, const char *program, const char *folder,
		    struct sim_error *err)
{
	XXH3_state_t *state = XXH3_createState();

	if (!state)
		return sim_runtime_error(err, "out of memory");
	XXH3_128bits_reset(state);
	XXH3_128bits_update(state, run->config.hash, sizeof(run->config.hash));
	XXH3_128bits_update(state, program, CFG_HASH_MAX);
	cfg_hash_finish(state, run->key, sizeof(run->key));
	XXH3_freeState(state);
	if (snprintf(run->path, sizeof(run->path), "%s/%s", folder, run->key) >=
	    (int)sizeof(run->path))
		return sim_user_error(err, "%s: the path is too long", folder);
	return 0;
}

/* The user cannot set a key that the figure sets for each of its runs. */
static int check_own_set(const struct cached_run *run, const char *set, struct sim_error *err)
{
	for (size_t i = 0; i < run->set_count; i++)
		if (cfg_sets_meet(run->sets[i], set))
			return sim_user_error(err,
					      "--set:%.*s: is set by figure %s for each of its "
					      "runs, allowed: any other key",
					      (int)strcspn(run->sets[i], "="), run->sets[i],
					      run->figure ? run->figure : "");
	return 0;
}

static int check_own_sets(const struct cached_run *run, struct sim_error *err)
{
	int status = run->seed_set ? check_own_set(run, run->seed_set, err) : 0;

	for (size_t i = 0; !status && run->own_sets && run->own_sets[i]; i++)
		status = check_own_set(run, run->own_sets[i], err);
	return status;
}

/* Load the configuration, with the user's settings or without. */
static int load_with(struct cached_run *run, bool with_users, struct sim_error *err)
{
	struct cached_run shown = *run;
	struct cfg_override *overrides;
	size_t count = 0;
	int status;

	if (!with_users)
		shown.set_count = 0;
	while (cached_run_set(&shown, count))
		count++;
	overrides = calloc(count + 1, sizeof(*overrides));
	if (!overrides)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i < count; i++)
		overrides[i].path_and_value = cached_run_set(&shown, i);
	status = config_load(&machine_registry, run->scenario, overrides, count, &run->config,
			     err);
	free(overrides);
	return status;
}

/* Is a mistake one of the figure's file? It is if the user's settings do not matter. */
static bool is_figures(struct cached_run *run, const struct sim_error *mistake)
{
	struct sim_error own = { 0 };

	if (!run->figure || (run->set_count && !load_with(run, false, &own))) {
		config_destroy(&run->config);
		return false;
	}
	return !run->set_count || !strcmp(own.text, mistake->text);
}

/* Load the configuration, so that mistakes are found before anything runs. */
static int load_config(struct cached_run *run, struct sim_error *err)
{
	int status = check_own_sets(run, err);

	if (status)
		return status;
	status = load_with(run, true, err);
	if (status == -SIM_EXIT_USER && is_figures(run, err)) {
		struct sim_error why = *err;

		snprintf(err->text, sizeof(err->text), "figure %.60s, run %.60s: %.800s",
			 run->figure, run->label, why.text);
	}
	return status;
}

int run_cache_name(struct cached_run *run, const char *program, const char *folder,
		   struct sim_error *err)
{
	int status = load_config(run, err);

	return status ? status : make_key(run, program, folder, err);
}

/*
 * Read an entry. Fails if the entry is missing, damaged or of another run; then it is made
 * again.
 */
static int read_entry(struct cached_run *run, struct sim_error *err)
{
	int status;

	if (!cache_sum_holds(run->path))
		return sim_runtime_error(err, "%s: is damaged", run->path);
	status = folder_load(&run->folder, run->path, err);
	if (status)
		return status;
	if (run->folder.summary.complete &&
	    !strcmp(run->folder.summary.config_hash, run->config.hash)) {
		run->state = RUN_CACHE_READ;
		cache_folder_touch(run->path);
		return 0;
	}
	folder_destroy(&run->folder);
	return sim_runtime_error(err, "%s: holds another run", run->path);
}

/*
 * Read an entry that was made just now. Another process may put its own of the same run in its
 * place meanwhile. Then what was read of the old one does not fit, and the new one is read.
 */
static int read_made_entry(struct cached_run *run, struct sim_error *err)
{
	int status = read_entry(run, err);

	for (int tries = 1; status && tries < READ_TRIES; tries++)
		status = read_entry(run, err);
	return status;
}

/*
 * Read the entries that the cache has. Returns the number of runs to make. The user's settings
 * may make two runs of a figure equal; such a run is made once.
 */
static size_t look_up(struct cached_run *runs, size_t count, bool fresh)
{
	size_t wanted = 0;

	for (size_t i = 0; i < count; i++) {
		struct sim_error ignored = { 0 };
		size_t first = 0;

		if (runs[i].state == RUN_CACHE_LEFT_OUT)
			continue;
		if (!fresh && !read_entry(&runs[i], &ignored))
			continue;
		while (strcmp(runs[first].key, runs[i].key) != 0)
			first++;
		if (first < i)
			runs[i].state = RUN_CACHE_MADE;
		else
			wanted++;
	}
	return wanted;
}

int run_cache_get(struct cached_run *runs, size_t count, const struct run_cache_use *use,
		  struct sim_error *err)
{
	struct run_store store = { .folder = RUN_CACHE_FOLDER, .keep = CACHE_FOLDER_ENTRIES };
	char program[CFG_HASH_MAX];
	size_t wanted, asked = 0, read = 0;
	double seconds = 0;
	int status = run_cache_hash_program(program, err);

	for (size_t i = 0; !status && i < count; i++) {
		if (runs[i].state == RUN_CACHE_LEFT_OUT)
			continue;
		status = run_cache_name(&runs[i], program, RUN_CACHE_FOLDER, err);
	}
	if (status)
		return status;
	wanted = look_up(runs, count, use->fresh);
	for (size_t i = 0; i < count; i++) {
		asked += runs[i].state != RUN_CACHE_LEFT_OUT;
		read += runs[i].state == RUN_CACHE_READ;
	}
	store.held = use->held + read;
	if (wanted)
		status =
			run_pool_make(runs, count, wanted, &store, use->signals, &seconds, err);
	if (!status)
		use->ready(asked, wanted, read, seconds);
	for (size_t i = 0; !status && i < count; i++)
		if (runs[i].state != RUN_CACHE_READ && runs[i].state != RUN_CACHE_LEFT_OUT)
			status = read_made_entry(&runs[i], err);
	return status;
}

void run_cache_destroy(struct cached_run *runs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		folder_destroy(&runs[i].folder);
		config_destroy(&runs[i].config);
	}
}
