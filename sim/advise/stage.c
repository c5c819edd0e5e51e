// SPDX-License-Identifier: MIT OR GPL-2.0
#include "advise/stage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/candidate.h"
#include "config/load.h"
#include "config/message.h"
#include "engine/error.h"
#include "machine/machine.h"
#include "results/results.h"
#include "sweep/sweep_draw.h"

int stage_resolve(const struct advise *advise, const struct advise_candidate *candidate,
		  struct config *ret_config, struct sim_error *err)
{
	const struct advise_question *question = advise->question;
	size_t most = question->set_count + json_object_size(candidate->keys);
	struct cfg_override *overrides = calloc(most + 1, sizeof(*overrides));
	char **own = calloc(most + 1, sizeof(*own));
	const char *key;
	json_t *value;
	size_t count = 0, own_count = 0;
	int status = 0;

	if (!overrides || !own)
		status = sim_runtime_error(err, "out of memory");
	for (size_t i = 0; !status && i < question->set_count; i++)
		overrides[count++].path_and_value = question->sets[i];
	json_object_foreach(candidate->keys, key, value) {
		if (!status &&
		    asprintf(&own[own_count], "%s=%s", key, json_string_value(value)) < 0)
			status = sim_runtime_error(err, "out of memory");
		else if (!status)
			overrides[count++].path_and_value = own[own_count++];
	}
	if (!status)
		status = config_load(&machine_registry, advise->scenario, overrides, count,
				     ret_config, err);
	while (own_count)
		free(own[--own_count]);
	free(own);
	free(overrides);
	return status;
}

bool stage_honours(const struct advise *advise, const struct advise_candidate *candidate,
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

/* Can the configuration of a candidate be resolved? If not, the candidate says why. */
static bool resolves(const struct advise *advise, struct advise_candidate *candidate)
{
	struct sim_error err = { 0 };
	struct config config;

	if (stage_resolve(advise, candidate, &config, &err)) {
		snprintf(candidate->cannot, sizeof(candidate->cannot), "%.250s", err.text);
		return false;
	}
	config_destroy(&config);
	return true;
}

/*
 * Keys that make seeds differ, unless the user has set them: arrivals are drawn anew, and
 * closed loops begin at other times.
 */
static void add_jitter(json_t *sets)
{
	if (!json_object_get(sets, "jitter.arrivals"))
		json_object_set_new(sets, "jitter.arrivals", json_string("requests"));
	if (!json_object_get(sets, "jitter.start"))
		json_object_set_new(sets, "jitter.start", json_string("2s"));
}

/* What the user has set for all runs, as a sweep's "set". */
static json_t *sets_of(const struct advise_question *question)
{
	json_t *sets = json_object();

	for (size_t i = 0; i < question->set_count; i++) {
		const char *text = question->sets[i], *value = strchr(text, '=');

		if (value)
			json_object_setn_new_nocheck(sets, text, (size_t)(value - text),
						     json_string(value + 1));
	}
	return sets;
}

/* What the promises and rates of the containers are about, as a sweep's "metrics". */
static json_t *metrics_of(const struct advise *advise)
{
	json_t *metrics = json_array();

	for (size_t c = 0; c < advise->container_count; c++) {
		const struct advise_container *container = &advise->containers[c];

		for (size_t i = 0; i < container->promise_count; i++)
			if (json_array_size(metrics) < SWEEP_METRICS_MAX)
				json_array_append_new(metrics,
						      json_string(container->promises[i]));
		if (*container->rate && json_array_size(metrics) < SWEEP_METRICS_MAX)
			json_array_append_new(metrics, json_string(container->rate));
	}
	return metrics;
}

/* A sweep sets a key for all runs or in its points: what a point sets is set in each of them. */
static void sets_to_points(json_t *sets, json_t *list)
{
	const char *key;
	json_t *value, *point;
	size_t i;
	void *next;

	json_object_foreach_safe(sets, next, key, value)
	{
		bool in_points = false;

		json_array_foreach(list, i, point)
			in_points |= json_object_get(point, key) != NULL;
		if (!in_points)
			continue;
		json_array_foreach(list, i, point)
			if (!json_object_get(point, key))
				json_object_set(point, key, value);
		json_object_del(sets, key);
	}
}

/* A stage as a sweep. */
static json_t *sweep_of(const struct advise *advise, const struct stage *stage)
{
	json_t *root = json_object(), *list = json_array(), *sets = sets_of(advise->question);

	json_object_set_new(
		root, "description",
		json_string("A stage of gvmsim advise: gvmsim sweep runs it again."));
	json_object_set_new(root, "scenario", json_string(advise->scenario));
	json_object_set_new(root, "set", sets);
	if (stage->seeds) {
		json_object_del(sets, "seed"); /* "seeds" takes its place */
		add_jitter(sets);
		json_object_set_new(root, "seeds",
				    json_integer((json_int_t)advise->question->seeds));
	}
	for (size_t i = 0; i < stage->count; i++)
		json_array_append_new(list, json_copy(stage->candidates[i]->keys));
	sets_to_points(sets, list);
	json_object_set_new(root, "list", list);
	json_object_set_new(root, "metrics", metrics_of(advise));
	if (stage->plot)
		json_object_set_new(root, "plots", json_pack("[O]", stage->plot));
	return root;
}

/* Write the sweep file of a stage. @path of PATH_MAX gets its path. */
static int write_stage(const struct advise *advise, const struct stage *stage, char *path,
		       struct sim_error *err)
{
	json_t *root = sweep_of(advise, stage);
	char file[WRITER_NAME_MAX];
	struct writer writer;
	int status;

	snprintf(file, sizeof(file), "%s.json", stage->name);
	snprintf(path, PATH_MAX, "%s/%s", advise->question->out, file);
	status = writer_open(&writer, advise->question->out, err);
	if (!status)
		status = results_write_json(&writer, file, root, err);
	if (!status)
		status = writer_commit(&writer, err);
	if (status)
		writer_abort(&writer);
	json_decref(root);
	return status;
}

/* Take the numbers of a candidate, which is a point of a sweep. */
static void take(const struct advise *advise, struct advise_candidate *candidate,
		 const struct sweep_numbers *numbers, size_t point)
{
	size_t per_point = numbers->runs->per_point;

	candidate->ran = true;
	*candidate->failed = '\0';
	for (size_t i = 0; i < per_point; i++) {
		const struct sweep_row *row = &numbers->rows[point * per_point + i];

		if (!*row->failed)
			continue;
		snprintf(candidate->failed, sizeof(candidate->failed), "%.250s", row->failed);
		snprintf(candidate->why, sizeof(candidate->why), "%s", row->why);
	}
	for (size_t c = 0; c < advise->container_count; c++) {
		const struct advise_container *container = &advise->containers[c];
		struct advise_outcome *outcome = &candidate->outcomes[c];

		for (size_t i = 0; i < container->promise_count; i++)
			outcome->promises[i] =
				sweep_estimate_named(numbers, point, container->promises[i]);
		if (*container->rate)
			outcome->rate = sweep_estimate_named(numbers, point, container->rate);
	}
}

/*
 * A candidate whose run a signal has ended is no bad candidate. Advice without it could be wrong,
 * so there is none; the runs that are made stay. Returns 0 or -SIM_EXIT_RUNTIME.
 */
static int check_killed(const struct sweep_runs *runs, struct sim_error *err)
{
	char text[1024];

	for (size_t i = 0; i < runs->count; i++) {
		if (!runs->runs[i].run.killed)
			continue;
		sweep_describe_mistake(runs, i, text, sizeof(text));
		return sim_runtime_error(
			err, "%s: %.700s; run the command again to make the missing runs",
			runs->sweep->file, text);
	}
	return 0;
}

/*
 * Read the sweep of a stage and make its runs. @ret_sweep and @ret_runs are
 * the caller's to destroy.
 */
static int make_runs(const struct advise *advise, const char *path, struct sweep *ret_sweep,
		     struct sweep_runs *ret_runs, const struct signals *signals,
		     struct sim_error *err)
{
	double seconds;
	int status = sweep_read(ret_sweep, path, err);

	if (!status)
		status = sweep_runs_prepare(ret_runs, ret_sweep, advise->question->out, NULL, 0,
					    err);
	if (!status)
		status = sweep_runs_make(ret_runs, &sweep_whole, false, signals, &seconds, err);
	return status ? status : check_killed(ret_runs, err);
}

/* Leave out the candidates of @stage with a run that cannot be made. They say why. */
static void leave_out_failed(struct stage *stage, const struct sweep_runs *runs)
{
	size_t kept = 0;

	for (size_t i = 0; i < stage->count; i++) {
		struct advise_candidate *candidate = stage->candidates[i];
		size_t mistake = sweep_point_mistake(runs, i, &sweep_whole);

		*candidate->cannot = '\0';
		if (mistake == SIZE_MAX)
			stage->candidates[kept++] = candidate;
		else
			snprintf(candidate->cannot, sizeof(candidate->cannot), "%.250s",
				 runs->runs[mistake].run.why);
	}
	stage->count = kept;
}

/*
 * Make the runs of a stage, and give each candidate its numbers. Candidates with a run that
 * cannot be made are left out of the stage and of its file. *@ret_again: some were. Then the
 * runs of the others are made, but are still to be read.
 */
static int run_able(struct advise *advise, struct stage *stage, const struct signals *signals,
		    bool *ret_again, struct sim_error *err)
{
	struct sweep sweep = { 0 };
	struct sweep_runs runs = { 0 };
	struct sweep_numbers numbers = { 0 };
	size_t before = stage->count;
	char path[PATH_MAX];
	int status = write_stage(advise, stage, path, err);

	if (!status)
		status = make_runs(advise, path, &sweep, &runs, signals, err);
	if (!status)
		leave_out_failed(stage, &runs);
	*ret_again = stage->count < before;
	if (!status && !*ret_again)
		status = sweep_numbers_take(&numbers, &runs, err);
	for (size_t i = 0; !status && !*ret_again && i < stage->count; i++)
		take(advise, stage->candidates[i], &numbers, i);
	sweep_numbers_destroy(&numbers);
	sweep_runs_destroy(&runs);
	sweep_destroy(&sweep);
	return status;
}

int stage_run(struct advise *advise, const struct stage *stage, const struct signals *signals,
	      struct sim_error *err)
{
	struct stage able = *stage;
	bool again = true;
	int status = 0;

	able.count = 0;
	able.candidates = calloc(stage->count + 1, sizeof(*able.candidates));
	if (!able.candidates)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i < stage->count; i++)
		if (resolves(advise, stage->candidates[i]))
			able.candidates[able.count++] = stage->candidates[i];
	advise->runs += able.count * (stage->seeds ? advise->question->seeds : 1);
	while (!status && again && able.count)
		status = run_able(advise, &able, signals, &again, err);
	free(able.candidates);
	return status;
}

/* The least rate of a container over the greatest, of all candidates that ran; 1 if unknown. */
static double rate_spread(const struct advise *advise, size_t container)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < advise->count; i++) {
		const struct run_estimate *rate;

		if (!advise->candidates[i]->ran)
			continue;
		rate = &advise->candidates[i]->outcomes[container].rate;
		if (!rate->value.known || rate->value.bound)
			continue;
		least = fmin(least, rate->value.number);
		most = fmax(most, rate->value.number);
	}
	return most > 0 ? least / most : 1;
}

/*
 * The rate that the picture shows: of the containers without a promise, or else of all but the
 * one that @drawn is of, the one that differs most between candidates. A container that has a
 * GPU to itself says nothing. NULL: none has a rate.
 */
static const char *rate_to_draw(const struct advise *advise, size_t drawn)
{
	const struct advise_container *best = NULL;
	double least = 0;

	for (size_t c = 0; c < advise->container_count; c++) {
		const struct advise_container *container = &advise->containers[c];
		double spread = rate_spread(advise, c);
		bool free = !container->promise_count;

		if (c == drawn || !*container->rate)
			continue;
		if (best && !best->promise_count && !free)
			continue;
		if (!best || (best->promise_count && free) || spread < least) {
			best = container;
			least = spread;
		}
	}
	return best ? best->rate : NULL;
}

/* The picture: the time that the first promise is about, over the rate of another container. */
static json_t *plot_of(const struct advise *advise)
{
	const char *x, *promise = NULL;
	size_t drawn = 0;
	char y[SWEEP_NAME_MAX] = "", title[ADVISE_TEXT_MAX] = "What each way of sharing gives";

	/*
	 * Beside the front, which a cheaper way may be behind, the picture
	 * says what is advised.
	 */
	if (advise->best)
		cfg_append(title, sizeof(title), "; the advice: %s on %zu GPU%s",
			   advise_system(advise->best), advise->best->gpus,
			   advise->best->gpus > 1 ? "s" : "");
	for (size_t c = 0; c < advise->container_count; c++) {
		const struct advise_container *container = &advise->containers[c];

		if (!container->promise_count || *y)
			continue;
		drawn = c;
		promise = container->promises[0];
		snprintf(y, sizeof(y), "%s.%s", container->name,
			 strstr(promise, ".itl_slo") ? "itl_ms.p99" : "ttft_ms.p99");
	}
	x = rate_to_draw(advise, drawn);
	if (!x || !*y)
		return NULL;
	return json_pack("{s:s, s:s, s:s, s:s, s:[s], s:b}", "type", "pareto", "title", title,
			 "x", x, "y", y, "more", x, "log", 1);
}

/* Draw the sweep in the file @path. */
static int draw_sweep(const struct advise *advise, const char *path,
		      const struct signals *signals, size_t *ret_drawn, struct sim_error *err)
{
	struct sweep sweep = { 0 };
	struct sweep_runs runs = { 0 };
	struct sweep_numbers numbers = { 0 };
	struct writer writer;
	int status = make_runs(advise, path, &sweep, &runs, signals, err);

	if (!status)
		status = sweep_numbers_take(&numbers, &runs, err);
	if (!status)
		status = writer_open(&writer, advise->question->out, err);
	if (!status) {
		status = sweep_draw(&numbers, 0, signals, &writer, ret_drawn, err);
		if (status)
			writer_abort(&writer);
	}
	sweep_numbers_destroy(&numbers);
	sweep_runs_destroy(&runs);
	sweep_destroy(&sweep);
	return status;
}

int stage_draw(struct advise *advise, const char *name, const struct signals *signals,
	       bool *ret_drawn, struct sim_error *err)
{
	struct stage stage = { .name = name };
	char path[PATH_MAX];
	size_t drawn = 0;
	int status = 0;

	*ret_drawn = false;
	stage.candidates = calloc(advise->count + 1, sizeof(*stage.candidates));
	if (!stage.candidates)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i < advise->count; i++)
		if (advise->candidates[i]->ran)
			stage.candidates[stage.count++] = advise->candidates[i];
	stage.plot = plot_of(advise);
	if (stage.plot && stage.count) {
		status = write_stage(advise, &stage, path, err);
		if (!status)
			status = draw_sweep(advise, path, signals, &drawn, err);
	}
	*ret_drawn = !status && drawn;
	json_decref(stage.plot);
	free(stage.candidates);
	return status;
}
