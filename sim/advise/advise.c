// SPDX-License-Identifier: MIT OR GPL-2.0
#include "advise/advise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/candidate.h"
#include "advise/search.h"
#include "advise/share.h"
#include "advise/stage.h"
#include "apps/app.h"
#include "apps/llm_config.h"
#include "config/load.h"
#include "config/units.h"
#include "engine/error.h"
#include "machine/machine.h"

/* Candidates that go on from the search to the seeds. */
#define FINALISTS 3

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

/* A quarter more requests, or users of a closed loop. False: the container has none. */
static bool worsen_load(struct advise_candidate *candidate,
			const struct advise_container *container)
{
	char text[UNITS_TEXT_MAX];

	if (container->users) {
		snprintf(text, sizeof(text), "%llu", (container->users * 5 + 3) / 4);
		candidate_set(candidate, text, "containers.%s.app.client.users",
			      container->name);
	} else if (container->trace_rate) {
		units_format_ppm(container->trace_rate / 4 * 5, text, sizeof(text));
		candidate_set(candidate, text, "containers.%s.app.trace.rate", container->name);
	} else if (container->trace_divide) {
		units_format_ppm(container->trace_divide / 4 * 5, text, sizeof(text));
		candidate_set(candidate, text, "containers.%s.app.trace.divide",
			      container->name);
	}
	return container->users || container->trace_rate || container->trace_divide;
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

	for (size_t c = 0; worse == WORSE_LOAD && c < advise->container_count; c++)
		any = worsen_load(candidate, &advise->containers[c]) || any;
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
	container->managed = cfg->memory == CFG_MEMORY_MANAGED && !(report && report->no_gpu);
	if (report == &report_requests) {
		const struct cfg_llm *llm = cfg->app;

		promised[APP_PROMISE_FIRST] = llm->client.slo_ttft;
		promised[APP_PROMISE_GAPS] = llm->client.slo_itl;
		container->eager = !llm->graph_tokens;
		container->users = llm->client.users;
		container->trace_rate = llm->client.trace.rate;
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
	advise->duration_ns = config->duration;
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
		status = advise_search(advise, signals, tell, err);
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
