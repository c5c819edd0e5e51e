// SPDX-License-Identifier: MIT OR GPL-2.0
#include "sweep/sweep_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/app.h"
#include "config/key_path.h"
#include "config/load.h"
#include "config/message.h"
#include "engine/error.h"
#include "engine/guess.h"
#include "figures/run_cache.h"
#include "figures/run_pool.h"
#include "gvm/port.h"
#include "results/results.h"
#include "results/asked.h"

/* Does "KEY=VALUE" set a key that the values of @axis set, too? Only an object sets several. */
static bool is_of_axis(const struct sweep *sweep, size_t axis, const char *set)
{
	char own[CFG_PATH_MAX + 2];

	snprintf(own, sizeof(own), "%s=", sweep->axes[axis].key);
	if (cfg_sets_meet(set, own))
		return true;
	for (size_t point = 0; point < sweep->point_count; point++) {
		const char *text = sweep_text(sweep, point, axis);
		bool meets = false;
		char *point_sets;

		if (!text || *text != '{' ||
		    asprintf(&point_sets, "%s=%s", sweep->axes[axis].key, text) < 0)
			continue;
		meets = cfg_sets_meet(set, point_sets);
		free(point_sets);
		if (meets)
			return true;
	}
	return false;
}

/* Is this "KEY=VALUE" of a key that each run sets for itself? */
static bool is_runs_own(const struct sweep *sweep, const char *set)
{
	if (sweep->seed_count && cfg_sets_meet(set, "seed="))
		return true;
	for (size_t axis = 0; axis < sweep->axis_count; axis++)
		if (is_of_axis(sweep, axis, set))
			return true;
	return false;
}

/* The user's --set cannot change what the points differ in. */
static int check_sets(const struct sweep *sweep, const char *const *sets, size_t count,
		      struct sim_error *err)
{
	for (size_t i = 0; i < count; i++)
		if (is_runs_own(sweep, sets[i]))
			return sim_user_error(
				err,
				"--set:%.*s: is set by %s for each point, allowed: "
				"any other key",
				(int)strcspn(sets[i], "="), sets[i], sweep->file);
	return 0;
}

/* Nor can the file's "set". */
static int check_own_sets(const struct sweep *sweep, struct sim_error *err)
{
	for (size_t i = 0; sweep->sets[i]; i++)
		if (is_runs_own(sweep, sweep->sets[i]))
			return sim_user_error(err,
					      "%s:set.%.*s: is set for each point, too, "
					      "allowed: one of them",
					      sweep->file, (int)strcspn(sweep->sets[i], "="),
					      sweep->sets[i]);
	return 0;
}

/* By the lengths of keys. */
static int compare_sets(const void *a, const void *b)
{
	size_t x = strcspn(*(char *const *)a, "="), y = strcspn(*(char *const *)b, "=");

	return x < y ? -1 : x > y;
}

/*
 * Set the run's scenario and its own keys: the point's, then the seed. A key that is a part of
 * another one comes after it, since a value of "jitter" takes the place of "jitter.start".
 */
static int set_own(struct sweep_run *run, const struct sweep *sweep)
{
	char path[PATH_MAX];
	size_t count = 0;

	sweep_scenario(sweep, run->point, path, sizeof(path));
	run->scenario = strdup(path);
	if (!run->scenario)
		return -1;
	for (size_t axis = 0; axis < sweep->axis_count; axis++) {
		const char *text = sweep_text(sweep, run->point, axis);

		if (text && strcmp(sweep->axes[axis].key, SWEEP_SCENARIO) != 0 &&
		    asprintf(&run->own[count++], "%s=%s", sweep->axes[axis].key, text) < 0)
			return -1;
	}
	qsort(run->own, count, sizeof(run->own[0]), compare_sets);
	if (sweep->seed_count &&
	    asprintf(&run->own[count], "seed=%llu", (unsigned long long)run->seed) < 0)
		return -1;
	return 0;
}

/* Is the run's entry there and complete? A damaged entry is made again. */
static bool entry_is_complete(const struct sweep_run *run)
{
	struct sim_error ignored = { 0 };
	struct summary summary;
	char file[PATH_MAX + sizeof(RESULTS_SUMMARY)];
	bool complete;

	snprintf(file, sizeof(file), "%s/" RESULTS_SUMMARY, run->run.path);
	if (summary_load(&summary, file, &ignored))
		return false;
	complete = summary.complete && !strcmp(summary.config_hash, run->config_hash);
	summary_destroy(&summary);
	return complete;
}

/*
 * Remember the containers of a run. Most runs have the same ones. Returns 0 or -1: no memory.
 */
static int note_containers(struct sweep_runs *runs, const struct config *config)
{
	for (size_t i = 0; i < config->container_count; i++) {
		const struct cfg_container *container = &config->containers[i];
		const struct app_report *report = sim_app_of(container->app_type)->report;
		struct sweep_container *list = runs->containers;
		size_t known = 0;

		if (!container->enabled)
			continue;
		while (known < runs->container_count &&
		       (list[known].report != report ||
			strcmp(list[known].name, container->name) != 0))
			known++;
		if (known < runs->container_count)
			continue;
		list = reallocarray(list, known + 1, sizeof(*list));
		if (!list)
			return -1;
		runs->containers = list;
		list[known].report = report;
		snprintf(list[known].name, sizeof(list[known].name), "%s", container->name);
		runs->container_count++;
	}
	return 0;
}

/* Offer "container.key" to @guess. Is it the wanted name itself? Then give its unit. */
static bool offer_metric(struct guess *guess, const struct sweep_container *container,
			 const struct metric *metric, const char *wanted,
			 enum metric_unit *ret_unit)
{
	char name[SWEEP_NAME_MAX];
	bool same;

	snprintf(name, sizeof(name), "%s.%s", container->name, metric->key);
	guess_offer(guess, name);
	same = !strcmp(name, wanted);
	if (same)
		*ret_unit = metric->unit;
	return same;
}

const char *sweep_metric_key(const char *name, const char *container)
{
	size_t length = strlen(container);

	return !strncmp(name, container, length) && name[length] == '.' ? name + length + 1 :
									  NULL;
}

/*
 * Is @name a statistic of a container's time that can be asked for? Then it is remembered once.
 * Returns 1 and the unit, 0 if it is none, or -SIM_EXIT_USER.
 */
static int find_asked(struct sweep_runs *runs, const char *where, const char *name,
		      enum metric_unit *ret_unit, struct sim_error *err)
{
	struct asked asked;
	int status = 1;

	for (size_t i = 0; status == 1 && i < runs->container_count; i++) {
		const struct sweep_container *container = &runs->containers[i];
		const char *key = sweep_metric_key(name, container->name);

		if (key)
			status = asked_parse(&asked, key, container->report, where, err);
	}
	if (status)
		return status == 1 ? 0 : status;
	*ret_unit = asked_unit(&asked);
	for (size_t i = 0; i < runs->asked_count; i++)
		if (!strcmp(runs->asked[i], name))
			return 1;
	GVM_ASSERT(runs->asked_count < SWEEP_ASKED_MAX);
	runs->asked[runs->asked_count++] = name;
	return 1;
}

int sweep_check_name(struct sweep_runs *runs, const char *where, const char *name,
		     enum metric_unit *ret_unit, struct sim_error *err)
{
	bool found = sweep_axis_find(runs->sweep, name) != SIZE_MAX;
	struct guess guess;

	*ret_unit = METRIC_UNITS;
	if (asked_is_key(name)) {
		int status = find_asked(runs, where, name, ret_unit, err);

		if (status < 0)
			return status;
		found = found || status == 1;
	}
	guess_begin(&guess, name);
	for (size_t i = 0; i < runs->container_count && !found; i++) {
		const struct sweep_container *container = &runs->containers[i];
		const struct app_report *report = container->report;

		for (size_t k = 0; report && k < report->metric_count; k++)
			found |= offer_metric(&guess, container, &report->metrics[k], name,
					      ret_unit);
		for (size_t k = 0; k < SUMMARY_METRICS; k++)
			found |= offer_metric(&guess, container, &summary_metrics[k], name,
					      ret_unit);
		if (asked_is_key(name))
			asked_offer(&guess, container->name, name + strcspn(name, ".") + 1,
				    report);
	}
	if (found)
		return 0;
	if (*guess.name)
		return sim_user_error(err,
				      "%s: no run has the metric \"%s\", did you mean \"%s\"?",
				      where, name, guess.name);
	return sim_user_error(
		err,
		"%s: no run has the metric \"%s\", allowed: CONTAINER.METRIC, such "
		"as %s.%s",
		where, name, runs->container_count ? runs->containers[0].name : "vllm",
		summary_metrics[SUMMARY_FAULTS].key);
}

/* Resolve the configuration of one run, and look for its entry. */
static int prepare_run(struct sweep_runs *runs, size_t index, const char *program,
		       struct sim_error *err)
{
	struct sweep_run *run = &runs->runs[index];
	struct sim_error why = { 0 };
	int status = run_cache_name(&run->run, program, runs->folder, &why);

	run->same_as = index;
	if (status == -SIM_EXIT_USER) {
		snprintf(run->run.why, sizeof(run->run.why), "%.599s", why.text);
		*run->run.key = '\0';
		config_destroy(&run->run.config);
		return 0;
	}
	if (status) {
		*err = why;
		return status;
	}
	snprintf(run->config_hash, sizeof(run->config_hash), "%s", run->run.config.hash);
	if (note_containers(runs, &run->run.config))
		status = sim_runtime_error(err, "out of memory");
	/* Configurations of many runs would fill the memory. */
	config_destroy(&run->run.config);
	if (status)
		return status;
	run->same_as = 0;
	while (strcmp(runs->runs[run->same_as].run.key, run->run.key) != 0)
		run->same_as++;
	if (run->same_as != index)
		return 0;
	runs->different++;
	run->made = entry_is_complete(run);
	return 0;
}

bool sweep_any_killed(const struct sweep_runs *runs, const struct sweep_part *part)
{
	for (size_t i = 0; i < runs->count; i++)
		if (sweep_part_has(part, i) && runs->runs[i].run.killed)
			return true;
	return false;
}

int sweep_runs_check_any(const struct sweep_runs *runs, struct sim_error *err)
{
	char text[1024];

	for (size_t i = 0; i < runs->count; i++)
		if (!*runs->runs[i].run.why)
			return 0;
	sweep_describe_mistake(runs, 0, text, sizeof(text));
	sim_user_error(err, "%s: %s%s", runs->sweep->file,
		       runs->sweep->point_count > 1 ? "no point can be run: " : "", text);
	return sweep_any_killed(runs, &sweep_whole) ? -SIM_EXIT_RUNTIME : -SIM_EXIT_USER;
}

int sweep_runs_prepare(struct sweep_runs *runs, const struct sweep *sweep, const char *out,
		       const char *const *sets, size_t set_count, struct sim_error *err)
{
	char program[CFG_HASH_MAX];
	int status;

	*runs = (struct sweep_runs){
		.sweep = sweep,
		.per_point = max(sweep->seed_count, (size_t)1),
	};
	runs->count = sweep->point_count * runs->per_point;
	if (snprintf(runs->folder, sizeof(runs->folder), "%s/runs", out) >=
	    (int)sizeof(runs->folder) - WRITER_NAME_MAX)
		return sim_user_error(err, "%.60s...: name of a folder is too long", out);
	status = check_own_sets(sweep, err);
	if (!status)
		status = check_sets(sweep, sets, set_count, err);
	if (!status)
		status = run_cache_hash_program(program, err);
	if (status)
		return status;
	runs->runs = calloc(runs->count, sizeof(*runs->runs));
	if (!runs->runs)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; !status && i < runs->count; i++) {
		struct sweep_run *run = &runs->runs[i];

		run->point = i / runs->per_point;
		run->seed = sweep->seed_count ? sweep->seeds[i % runs->per_point] : 0;
		snprintf(run->label, sizeof(run->label), "point %zu", run->point + 1);
		if (sweep->seed_count > 1)
			snprintf(run->label + strlen(run->label),
				 sizeof(run->label) - strlen(run->label), ", seed %llu",
				 (unsigned long long)run->seed);
		if (set_own(run, sweep))
			return sim_runtime_error(err, "out of memory");
		run->run = (struct cached_run){
			.label = run->label,
			.scenario = run->scenario,
			.defaults = (const char *const *)sweep->sets,
			.sets = sets,
			.set_count = set_count,
			.own_sets = (const char *const *)run->own,
		};
		status = prepare_run(runs, i, program, err);
	}
	return status ? status : sweep_runs_check_any(runs, err);
}

void sweep_runs_destroy(struct sweep_runs *runs)
{
	for (size_t i = 0; runs->runs && i < runs->count; i++) {
		free(runs->runs[i].scenario);
		for (size_t k = 0; k < ARRAY_SIZE(runs->runs[i].own); k++)
			free(runs->runs[i].own[k]);
	}
	free(runs->runs);
	free(runs->containers);
	*runs = (struct sweep_runs){ 0 };
}

const struct sweep_part sweep_whole = { 0, 1 };

bool sweep_part_has(const struct sweep_part *part, size_t run)
{
	return run % part->count == part->index;
}

size_t sweep_point_mistake(const struct sweep_runs *runs, size_t point,
			   const struct sweep_part *part)
{
	for (size_t i = point * runs->per_point; i < (point + 1) * runs->per_point; i++)
		if (sweep_part_has(part, i) && *runs->runs[i].run.why)
			return i;
	return SIZE_MAX;
}

size_t sweep_count_mistakes(const struct sweep_runs *runs, const struct sweep_part *part)
{
	size_t count = 0;

	for (size_t point = 0; point < runs->sweep->point_count; point++)
		count += sweep_point_mistake(runs, point, part) != SIZE_MAX;
	return count;
}

void sweep_describe_mistake(const struct sweep_runs *runs, size_t run, char *text, size_t size)
{
	const struct sweep_run *mistake = &runs->runs[run];
	const struct sweep *sweep = runs->sweep;
	char keys[256] = "";

	for (size_t axis = 0; axis < sweep->axis_count; axis++) {
		const char *value = sweep_text(sweep, mistake->point, axis);

		if (value)
			cfg_append(keys, sizeof(keys), "%s%.60s=%.80s", *keys ? ", " : " (",
				   sweep->axes[axis].key, value);
	}
	if (*keys)
		cfg_append(keys, sizeof(keys), ")");
	snprintf(text, size, "%s%s: %s", mistake->label, keys, mistake->run.why);
}

/* Is a run one of the part, its own, and to be made? */
static bool is_missing(const struct sweep_runs *runs, size_t index,
		       const struct sweep_part *part)
{
	const struct sweep_run *run = &runs->runs[index];

	return sweep_part_has(part, index) && run->same_as == index && !run->made &&
	       !*run->run.why;
}

size_t sweep_runs_missing(const struct sweep_runs *runs, const struct sweep_part *part)
{
	size_t missing = 0;

	for (size_t i = 0; i < runs->count; i++)
		missing += is_missing(runs, i, part);
	return missing;
}

/* Why runs failed: @made have their own mistakes, and others may be the same runs. */
static void note_mistakes(struct sweep_runs *runs, const struct cached_run *made, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; *made[i].why && k < runs->count; k++) {
			if (strcmp(runs->runs[k].run.key, made[i].key) != 0)
				continue;
			memcpy(runs->runs[k].run.why, made[i].why, sizeof(made[i].why));
			runs->runs[k].run.killed = made[i].killed;
		}
}

int sweep_runs_make(struct sweep_runs *runs, const struct sweep_part *part, bool shared,
		    const struct signals *signals, double *ret_seconds, struct sim_error *err)
{
	const struct run_store store = {
		.folder = runs->folder,
		.keep = SIZE_MAX,
		.shared = shared,
		.go_on = true,
	};
	size_t wanted = sweep_runs_missing(runs, part), count = 0;
	struct cached_run *missing = calloc(wanted + 1, sizeof(*missing));
	int status;

	*ret_seconds = 0;
	if (!missing)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i < runs->count; i++)
		if (is_missing(runs, i, part))
			missing[count++] = runs->runs[i].run;
	/* With no run to make, it still removes what a killed sweep has left. */
	status = run_pool_make(missing, wanted, wanted, &store, signals, ret_seconds, err);
	note_mistakes(runs, missing, wanted);
	if (status == -SIM_EXIT_USER)
		status = 0;
	for (size_t i = 0; !status && i < runs->count; i++)
		if (is_missing(runs, i, part))
			runs->runs[i].made = true;
	free(missing);
	return status;
}
