// SPDX-License-Identifier: MIT OR GPL-2.0
#include "advise/advise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/candidate.h"
#include "advise/share.h"
#include "advise/stage.h"
#include "apps/app.h"
#include "apps/llm_config.h"
#include "config/load.h"
#include "config/units.h"
#include "engine/error.h"
#include "machine/machine.h"

/* Candidates that go on from a stage to the next one, and to the seeds. */
#define BEST_SYSTEMS 3
#define FINALISTS    3
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

bool advise_honours(const struct advise *advise, const struct advise_candidate *candidate,
		    const char *file)
{
	const struct sim_system *system = sim_system_find(advise_system(candidate));
	struct sim_error ignored = { 0 };
	struct config config;
	bool does;

	if (!system->honours || stage_resolve(advise, candidate, &config, &ignored))
		return false;
	does = sim_system_honours(system, &config, file);
	config_destroy(&config);
	return does;
}

/* Has the system of a candidate a limit or a priority to set? */
static bool has_settings(const struct advise *advise, const struct advise_candidate *candidate)
{
	return advise_honours(advise, candidate, "gmem.limit.high") ||
	       advise_honours(advise, candidate, "compute.priority");
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

/*
 * The best systems on @gpus GPUs of the scenario's profile. Containers go round, those with a
 * promise first, so that promises are apart. What a server took on a fuller GPU may be too
 * little here, so the scenario's shares are tried, too.
 */
static int add_placements(struct advise *advise, struct advise_candidate *const *best,
			  size_t best_count, size_t gpus)
{
	char name[CFG_NAME_MAX];

	for (size_t i = 0; i < 2 * best_count; i++) {
		struct advise_candidate *candidate = candidate_new(advise, best[i / 2]);
		size_t next = 0;

		if (!candidate)
			return -ENOMEM;
		if (i % 2 == 0)
			share_forget(advise, candidate);
		candidate->gpus = gpus;
		for (size_t g = 1; g < gpus; g++)
			candidate_set(candidate, advise->profile, "gpus.more%zu.profile", g);
		for (int promised = 1; promised >= 0; promised--)
			for (size_t c = 0; c < advise->container_count; c++) {
				if ((advise->containers[c].promise_count != 0) != promised)
					continue;
				snprintf(name, sizeof(name), "more%zu", next % gpus);
				if (next++ % gpus)
					candidate_set(candidate, name, "containers.%s.gpu",
						      advise->containers[c].name);
			}
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

		if ((part && !advise_honours(advise, from, "gmem.limit.high")) ||
		    (promises_first && !advise_honours(advise, from, "compute.priority")))
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

static int search(struct advise *advise, const struct signals *signals,
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

/*
 * The best candidates, and the yardstick, under several seeds. The order may change. Settings of
 * a system that do equally well say nothing new: the first of them stands for all.
 */
static int confirm(struct advise *advise, const struct signals *signals, struct sim_error *err)
{
	struct advise_candidate **sorted = calloc(advise->count + 1, sizeof(*sorted));
	struct advise_candidate *run[FINALISTS + 1];
	size_t count = 0;
	int status;

	if (!sorted)
		return sim_runtime_error(err, "out of memory");
	memcpy(sorted, advise->candidates, advise->count * sizeof(*sorted));
	candidate_sort(sorted, advise->count);
	for (size_t i = 0; i < advise->count && count < FINALISTS; i++)
		if (sorted[i]->ran && sorted[i] != advise->yardstick &&
		    !candidate_is_one_more(run, count, sorted[i]))
			run[count++] = sorted[i];
	free(sorted);
	advise->finalist_count = count;
	if (advise->yardstick)
		run[count++] = advise->yardstick;
	if (advise->question->seeds > 1) {
		struct stage stage = {
			.name = "seeds", .candidates = run, .count = count, .seeds = true
		};

		status = stage_run(advise, &stage, signals, err);
		if (status)
			return status;
		for (size_t i = 0; i < count; i++)
			candidate_judge(advise, run[i]);
	}
	candidate_sort(run, advise->finalist_count);
	memcpy(advise->finalists, run, advise->finalist_count * sizeof(*run));
	advise->best = advise->finalist_count ? run[0] : advise->yardstick;
	/* A GPU for each is the advice if nothing else keeps as many promises. */
	if (advise->best && advise->yardstick && advise->yardstick->kept > advise->best->kept)
		advise->best = advise->yardstick;
	return 0;
}

/* What may get worse. */
enum worse {
	WORSE_NOTHING,
	WORSE_LOAD,
	WORSE_MEMORY,
	WORSE_LINK,
	WORSE_CPU,
};

/* Worsen one GPU, whose keys stand below @path. */
static void worsen_gpu(struct advise_candidate *candidate, enum worse worse, const char *path,
		       const struct cfg_gpu *gpu)
{
	char text[UNITS_TEXT_MAX];

	if (worse == WORSE_MEMORY) {
		units_format_size(gpu->memory / 10 * 9, text, sizeof(text));
		candidate_set(candidate, text, "%s.memory", path);
	} else if (worse == WORSE_LINK) {
		units_format_size(gpu->link.bandwidth / 2, text, sizeof(text));
		candidate_set(candidate, text, "%s.link.bandwidth", path);
		units_format_size(gpu->link.bandwidth_both / 2, text, sizeof(text));
		candidate_set(candidate, text, "%s.link.bandwidth_both", path);
	}
}

/*
 * Worsen @candidate, whose configuration so far is @config. False: the scenario has
 * nothing that can get worse so.
 */
static bool worsen(const struct advise *advise, const struct config *config, enum worse worse,
		   struct advise_candidate *candidate)
{
	char text[UNITS_TEXT_MAX], path[CFG_NAME_MAX + sizeof("gpus.")];
	bool any = worse != WORSE_LOAD;

	for (size_t c = 0; worse == WORSE_LOAD && c < advise->container_count; c++) {
		if (!advise->containers[c].trace_divide)
			continue;
		any = true;
		units_format_ppm(advise->containers[c].trace_divide / 4 * 5, text,
				 sizeof(text));
		candidate_set(candidate, text, "containers.%s.app.trace.divide",
			      advise->containers[c].name);
	}
	worsen_gpu(candidate, worse, "gpu", &config->gpu);
	for (size_t g = 0; g < config->gpu_count; g++) {
		snprintf(path, sizeof(path), "gpus.%s", config->gpus[g].name);
		worsen_gpu(candidate, worse, path, &config->gpus[g]);
	}
	if (worse == WORSE_CPU) {
		units_format_ppm(config->host.speed / 4 * 3, text, sizeof(text));
		candidate_set(candidate, text, "host.speed");
	}
	return any;
}

/* What is worse for the best candidate, one thing at a time, on all of its GPUs. */
static int hurt(struct advise *advise, const struct signals *signals, struct sim_error *err)
{
	static const char *const words[ADVISE_HURTS_MAX] = {
		[WORSE_NOTHING] = "As it is",
		[WORSE_LOAD] = "A quarter more requests",
		[WORSE_MEMORY] = "A tenth less GPU memory",
		[WORSE_LINK] = "Half the bandwidth of the link",
		[WORSE_CPU] = "A CPU of 3/4 the speed",
	};
	struct advise_candidate *run[ADVISE_HURTS_MAX];
	struct config config;
	int status = stage_resolve(advise, advise->best, &config, err);

	if (status)
		return status;
	for (int i = 0; i < ADVISE_HURTS_MAX; i++) {
		struct advise_candidate *candidate = candidate_new(advise, advise->best);

		if (!candidate) {
			status = sim_runtime_error(err, "out of memory");
			break;
		}
		if (!worsen(advise, &config, (enum worse)i, candidate)) {
			candidate_free(candidate);
			continue;
		}
		run[advise->hurt_count] = candidate;
		advise->hurts[advise->hurt_count++] =
			(struct advise_hurt){ words[i], candidate };
	}
	config_destroy(&config);
	if (!status)
		status = stage_run(advise,
				   &(struct stage){ .name = "hurts",
						    .candidates = run,
						    .count = advise->hurt_count },
				   signals, err);
	for (size_t i = 0; !status && i < advise->hurt_count; i++)
		if (run[i]->ran)
			candidate_judge(advise, run[i]);
	return status;
}

/* What is wanted of a container: its promises, and a rate. */
static void describe_container(struct advise *advise, const struct config *config,
			       const struct cfg_container *cfg)
{
	struct advise_container *container = &advise->containers[advise->container_count++];
	const struct app_report *report = sim_app_of(cfg->app_type)->report;
	u64 promised[APP_PROMISES] = { 0 };

	snprintf(container->name, sizeof(container->name), "%s", cfg->name);
	if (report == &report_requests) {
		const struct cfg_llm *llm = cfg->app;

		promised[APP_PROMISE_FIRST] = llm->client.slo_ttft;
		promised[APP_PROMISE_GAPS] = llm->client.slo_itl;
		if (!llm->client.users && !llm->client.trace.rate)
			container->trace_divide = llm->client.trace.divide;
		if (promised[APP_PROMISE_FIRST] || promised[APP_PROMISE_GAPS])
			share_read(container, config, cfg);
	}
	for (size_t i = 0; report && i < report->metric_count; i++) {
		const struct metric *metric = &report->metrics[i];

		if (metric->source == METRIC_KEPT && metric->view == METRIC_OF_ARRIVED &&
		    promised[metric->promise])
			snprintf(container->promises[container->promise_count++],
				 SWEEP_NAME_MAX, "%s.%s", cfg->name, metric->key);
		if (metric->source == METRIC_COMPLETED_RATE && !*container->rate)
			snprintf(container->rate, SWEEP_NAME_MAX, "%s.%s", cfg->name,
				 metric->key);
	}
	advise->promise_count += container->promise_count;
}

/* Report that there is nothing to keep, with a container that could promise something. */
static int no_promise(const struct config *config, struct sim_error *err)
{
	for (size_t i = 0; i < config->container_count; i++) {
		const struct cfg_container *cfg = &config->containers[i];

		if (cfg->enabled && sim_app_of(cfg->app_type)->report == &report_requests)
			return sim_user_error(
				err,
				"%s: no container makes a promise, allowed: app.slo_ttft or "
				"app.slo_itl of an LLM server, such as --set "
				"containers.%s.app.slo_ttft=2s",
				config->file, cfg->name);
	}
	return sim_user_error(err,
			      "%s: no container makes a promise, allowed: a scenario with an "
			      "LLM server, whose app.slo_ttft and app.slo_itl are promises",
			      config->file);
}

/* Take from the scenario what the search needs. */
static int read_scenario(struct advise *advise, const struct config *config,
			 struct sim_error *err)
{
	advise->containers = calloc(config->container_count + 1, sizeof(*advise->containers));
	if (!advise->containers)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i < config->container_count; i++)
		if (config->containers[i].enabled)
			describe_container(advise, config, &config->containers[i]);
	advise->memory = config->gpu.memory;
	advise->gpu_count = 1 + config->gpu_count;
	snprintf(advise->profile, sizeof(advise->profile), "%s", config->gpu.profile);
	if (advise->container_count < 2)
		return sim_user_error(err,
				      "%s: %zu container, allowed: 2 and more, which can share",
				      config->file, advise->container_count);
	return advise->promise_count ? 0 : no_promise(config, err);
}

int advise_make(struct advise *advise, const struct advise_question *question,
		const struct signals *signals, void (*tell)(const char *line),
		struct sim_error *err)
{
	struct cfg_override *overrides = calloc(question->set_count + 1, sizeof(*overrides));
	struct config config;
	char *absolute;
	int status;

	*advise = (struct advise){ .question = question };
	if (!overrides)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i < question->set_count; i++)
		overrides[i].path_and_value = question->sets[i];
	status = config_load(&machine_registry, question->scenario, overrides,
			     question->set_count, &config, err);
	free(overrides);
	if (status)
		return status;
	/* The stages' files lie in another folder. */
	absolute = realpath(question->scenario, NULL);
	snprintf(advise->scenario, sizeof(advise->scenario), "%s",
		 absolute ? absolute : question->scenario);
	free(absolute);
	status = read_scenario(advise, &config, err);
	if (!status)
		status = search(advise, signals, tell, err);
	config_destroy(&config);
	if (!status) {
		tell("the best ones under other seeds");
		status = confirm(advise, signals, err);
	}
	if (!status && advise->best) {
		tell("what would hurt");
		status = hurt(advise, signals, err);
	}
	return status;
}

void advise_destroy(struct advise *advise)
{
	for (size_t i = 0; i < advise->count; i++)
		candidate_free(advise->candidates[i]);
	for (size_t i = 0; i < advise->hurt_count; i++)
		candidate_free(advise->hurts[i].candidate);
	free(advise->candidates);
	free(advise->containers);
	*advise = (struct advise){ 0 };
}
