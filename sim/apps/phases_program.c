// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The declaration of an application by tensors and phases
 * =======================================================
 *
 *     "tensors": {"weights": {"bytes": "6.1e9", "on_host": true},
 *                 "activations": {"bytes": "20G", "life": "recomputed"}},
 *     "phases": [
 *       {"name": "micro-batch", "repeat": 8, "samples": 4, "phases": [
 *         {"name": "forward", "kernels": 700, "flops_per_token": "6.4e9", "tokens": "padded",
 *          "reads": ["weights"],
 *          "writes": [{"tensor": "activations", "bytes_per_token": 2500000}]},
 *         ...]},
 *       {"name": "optimizer", ...}]
 *
 * A phase is a burst of kernels that touches tensors, a group is a list of phases. "small" in a
 * phase or group has the fields that differ in an iteration after a pressure event. Fields are
 * read as app_fields.h says.
 */
#include "apps/phases.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/app.h"
#include "apps/app_cost.h"
#include "apps/app_fields.h"
#include "config/message.h"
#include "config/value.h"
#include "engine/guess.h"

static const char *const lives[] = {
	[PHASES_LIFE_RUN] = "run",
	[PHASES_LIFE_ITERATION] = "iteration",
	[PHASES_LIFE_RECOMPUTED] = "recomputed",
	NULL,
};

static const char *const tokens[] = {
	[PHASES_TOKENS_ALL] = "all",
	[PHASES_TOKENS_PROMPT] = "prompt",
	[PHASES_TOKENS_RESPONSE] = "response",
	[PHASES_TOKENS_PADDED] = "padded",
	NULL,
};

static const struct cfg_key tensor_fields[] = {
	APP_FIELD(phases_tensor, "bytes", SIZE, bytes, CFG_RANGE(1, 16 * CFG_TIB)),
	APP_FIELD(phases_tensor, "on_host", BOOL, on_host, ),
	APP_FIELD(phases_tensor, "life", ENUM, life, .words = lives),
	{ 0 },
};

static const struct cfg_key access_fields[] = {
	APP_FIELD(phases_access, "bytes", SIZE, bytes, CFG_RANGE(1, 16 * CFG_TIB)),
	APP_FIELD(phases_access, "bytes_per_token", SIZE, bytes_per_token,
		  CFG_RANGE(1, CFG_TIB)),
	APP_FIELD(phases_access, "matrices", INTEGER, matrices, CFG_RANGE(1, CFG_COUNT_MAX)),
	APP_FIELD(phases_access, "every_layer", BOOL, every_layer, ),
	{ 0 },
};

static const struct cfg_key repeat_fields[] = {
	APP_FIELD(phases_work, "repeat", INTEGER, repeat, CFG_RANGE(0, CFG_COUNT_MAX)),
	{ 0 },
};

static const struct cfg_key group_fields[] = {
	APP_FIELD(phases_work, "samples", INTEGER, samples, CFG_RANGE(1, 65536)),
	{ 0 },
};

static const struct cfg_key phase_fields[] = {
	APP_FIELD(phases_work, "samples", INTEGER, samples, CFG_RANGE(1, 65536)),
	APP_FIELD(phases_work, "tokens", ENUM, tokens, .words = tokens),
	APP_FIELD(phases_work, "host", DURATION, host_ns, CFG_RANGE(0, CFG_HOUR)),
	APP_FIELD(phases_work, "kernels", INTEGER, kernels, CFG_RANGE(1, APP_KERNELS_MAX)),
	APP_FIELD(phases_work, "graph", BOOL, graph, ),
	APP_FIELD(phases_work, "launch", DURATION, launch_ns, CFG_RANGE(0, CFG_SEC)),
	APP_FIELD(phases_work, "kernel_overhead", DURATION, overhead_ns, CFG_RANGE(1, CFG_SEC)),
	APP_FIELD(phases_work, "blocks", INTEGER, blocks, CFG_RANGE(1, CFG_COUNT_MAX)),
	APP_FIELD(phases_work, "turns", PPM, turns, CFG_RANGE(1, CFG_PPM)),
	APP_FIELD(phases_work, "layers", INTEGER, layers, CFG_RANGE(1, PHASES_LAYERS_MAX)),
	APP_FIELD(phases_work, "flops", INTEGER, flops, CFG_RANGE(0, CFG_FLOPS_MAX)),
	APP_FIELD(phases_work, "flops_per_token", INTEGER, flops_per_token,
		  CFG_RANGE(0, CFG_FLOPS_MAX)),
	APP_FIELD(phases_work, "traffic", SIZE, traffic, CFG_RANGE(0, CFG_BANDWIDTH_MAX)),
	APP_FIELD(phases_work, "traffic_per_token", SIZE, traffic_per_token,
		  CFG_RANGE(0, CFG_BANDWIDTH_MAX)),
	APP_FIELD(phases_work, "cycles", INTEGER, cycles, CFG_RANGE(0, CFG_FLOPS_MAX)),
	APP_FIELD(phases_work, "traffic_beside", SIZE, traffic_beside,
		  CFG_RANGE(0, CFG_BANDWIDTH_MAX)),
	{ 0 },
};

static const char *const no_others[] = { NULL };

/* One declaration while it is read. */
struct reader {
	struct phases_program *program;
	u64 launch_ns; /* of phases that do not say it */
	struct app_fields_wrong wrong;
};

static bool read_tensors(struct reader *reader, const json_t *json)
{
	struct phases_program *program = reader->program;
	const char *name;
	json_t *child;

	if (!json_is_object(json))
		return app_fields_reject(&reader->wrong, "",
					 "is a list, allowed: an object of tensors");
	json_object_foreach((json_t *)json, name, child) {
		struct phases_tensor *tensor = &program->tensors[program->tensor_count];

		if (program->tensor_count == PHASES_TENSORS_MAX)
			return app_fields_reject(&reader->wrong, "",
						 "are too many, allowed: up to %u",
						 PHASES_TENSORS_MAX);
		if (!*name || strlen(name) >= sizeof(tensor->name))
			return app_fields_reject(&reader->wrong, "",
						 "\"%.64s\" is no name, allowed: 1 to %d bytes",
						 name, CFG_NAME_MAX - 1);
		program->tensor_count++;
		snprintf(tensor->name, sizeof(tensor->name), "%s", name);
		if (!app_fields_read(&reader->wrong, name, child, tensor_fields, no_others,
				     tensor))
			return false;
		if (!tensor->bytes)
			return app_fields_reject(&reader->wrong, name,
						 "has no bytes, allowed: a tensor with a size");
	}
	return true;
}

/* Read an access of "reads" or "writes": the name of a tensor, or an object with it. */
static bool read_access(struct reader *reader, const char *where, const json_t *json,
			struct phases_access *access)
{
	static const char *const others[] = { "tensor", NULL };
	const struct phases_program *program = reader->program;
	const char *name = json_string_value(json);
	char known[PHASES_WRONG_MAX] = "", right[PHASES_WRONG_MAX];

	if (json_is_object(json)) {
		name = json_string_value(json_object_get(json, "tensor"));
		if (!app_fields_read(&reader->wrong, where, json, access_fields, others,
				     access))
			return false;
	}
	if (!name)
		return app_fields_reject(
			&reader->wrong, where,
			"names no tensor, allowed: a name, or an object with \"tensor\"");
	while (access->tensor < program->tensor_count &&
	       strcmp(program->tensors[access->tensor].name, name) != 0)
		access->tensor++;
	if (access->tensor < program->tensor_count)
		return true;
	if (!program->tensor_count)
		return app_fields_reject(&reader->wrong, where,
					 "no tensor \"%.64s\", app.tensors has none", name);
	for (u32 i = 0; i < program->tensor_count; i++)
		cfg_append(known, sizeof(known), "%s%s", i ? ", " : "",
			   program->tensors[i].name);
	guess_describe(name, known, right, sizeof(right));
	return app_fields_reject(&reader->wrong, where, "no tensor \"%.64s\", %s", name, right);
}

/* Read "reads" and "writes" of a phase, if they are there: they replace those of @work. */
static bool read_accesses(struct reader *reader, const char *where, const json_t *json,
			  struct phases_work *work)
{
	static const char *const lists[] = { "reads", "writes" };
	struct phases_access kept[PHASES_ACCESSES_MAX];
	u32 kept_count = work->access_count;
	char path[2 * CFG_NAME_MAX];

	memcpy(kept, work->accesses, sizeof(kept));
	work->access_count = 0;
	for (size_t list = 0; list < ARRAY_SIZE(lists); list++) {
		const json_t *accesses = json_object_get(json, lists[list]);

		for (u32 i = 0; i < kept_count && !accesses; i++)
			if (kept[i].writes == list)
				work->accesses[work->access_count++] = kept[i];
		snprintf(path, sizeof(path), "%s.%s", where, lists[list]);
		if (accesses && !json_is_array(accesses))
			return app_fields_reject(&reader->wrong, path,
						 "is not a list, allowed: a list of tensors");
		for (size_t i = 0; i < json_array_size(accesses); i++) {
			struct phases_access *access = &work->accesses[work->access_count];

			if (work->access_count == PHASES_ACCESSES_MAX)
				return app_fields_reject(
					&reader->wrong, where,
					"touches too many tensors, allowed: up to %u",
					PHASES_ACCESSES_MAX);
			*access = (struct phases_access){ .writes = list };
			if (!read_access(reader, path, json_array_get(accesses, i), access))
				return false;
			work->access_count++;
		}
	}
	if (work->layers * work->access_count > PHASES_TOUCHES_MAX)
		return app_fields_reject(
			&reader->wrong, where,
			"touches %u tensors in each of %llu layers, allowed: up to %u in all",
			work->access_count, (unsigned long long)work->layers,
			PHASES_TOUCHES_MAX);
	return true;
}

/* Does it depend on the tokens of samples? */
static bool counts_tokens(const struct phases_work *work)
{
	bool counts = work->repeat_response || work->flops_per_token || work->traffic_per_token;

	for (u32 i = 0; i < work->access_count; i++)
		counts |= work->accesses[i].bytes_per_token != 0;
	return counts;
}

/* Read "repeat", if it is there: a number of times, or "response", for each token of it. */
static bool read_repeat(struct reader *reader, const char *where, const json_t *json,
			struct phases_work *work)
{
	const json_t *repeat = app_fields_value(json_object_get(json, "repeat"));
	const char *word = json_string_value(repeat);
	json_t *alone;
	bool right;

	if (!repeat)
		return true;
	work->repeat_response = word && !strcmp(word, "response");
	if (work->repeat_response) {
		work->repeat = 0;
		return true;
	}
	/* An object of its own: a number is read and refused as any field is. */
	alone = json_pack("{sO}", "repeat", repeat);
	right = app_fields_read(&reader->wrong, where, alone, repeat_fields, no_others, work);
	json_decref(alone);
	return right;
}

/* Read what a phase or a group does, as far as @json, itself or its "small", says it. */
static bool read_work(struct reader *reader, const char *where, const json_t *json,
		      const struct phases_node *node, struct phases_work *work)
{
	/* Fields that are read elsewhere. */
	static const char *const of_phase[] = { "name",	 "once",   "small", "repeat",
						"reads", "writes", NULL };
	static const char *const of_group[] = { "name",	  "once",   "small",
						"phases", "repeat", NULL };
	static const char *const of_small_phase[] = { "repeat", "reads", "writes", NULL };
	static const char *const of_small_group[] = { "repeat", NULL };
	const struct cfg_key *fields = node->group ? group_fields : phase_fields;
	const char *const *others = node->group ? of_group : of_phase;

	if (work == &node->small)
		others = node->group ? of_small_group : of_small_phase;
	if (!read_repeat(reader, where, json, work) ||
	    !app_fields_read(&reader->wrong, where, json, fields, others, work))
		return false;
	if (!node->group && !read_accesses(reader, where, json, work))
		return false;
	reader->program->counts_tokens |= counts_tokens(work);
	reader->program->counts_cycles |= work->cycles != 0;
	return true;
}

static bool read_nodes(struct reader *reader, const char *where, const json_t *list, u32 depth);

/* Read the name of a phase or group, and whether it is gone through once. */
static bool read_head(struct reader *reader, const char *where, const json_t *json,
		      struct phases_node *node)
{
	const char *name = json_string_value(json_object_get(json, "name"));
	const json_t *once = json_object_get(json, "once");

	if (!name || !*name || strlen(name) >= sizeof(node->name))
		return app_fields_reject(&reader->wrong, where,
					 "has no name, allowed: \"name\", 1 to %d bytes",
					 CFG_NAME_MAX - 1);
	snprintf(node->name, sizeof(node->name), "%s", name);
	if (once && !json_is_boolean(once))
		return app_fields_reject(&reader->wrong, name,
					 "\"once\" is no truth value, allowed: true or false");
	node->once = json_is_true(once);
	return true;
}

static bool does_nothing(const struct phases_work *work)
{
	return !work->kernels && !work->host_ns;
}

/* Read what a phase or group does, and what it does under pressure: "small". */
static bool read_works(struct reader *reader, const json_t *json, struct phases_node *node)
{
	const json_t *small = json_object_get(json, "small");

	node->work.repeat = 1;
	node->work.layers = 1;
	node->work.launch_ns = reader->launch_ns;
	if (!read_work(reader, node->name, json, node, &node->work))
		return false;
	node->small = node->work;
	if (small && !read_work(reader, node->name, small, node, &node->small))
		return false;
	if (!node->group && does_nothing(&node->work) && does_nothing(&node->small))
		return app_fields_reject(&reader->wrong, node->name,
					 "does nothing, allowed: a phase with kernels or host");
	reader->program->uses_samples |= node->work.samples || node->small.samples;
	return true;
}

/* Read a phase, or a group and all below it. @where is its place in the declaration. */
static bool read_node(struct reader *reader, const char *where, const json_t *json, u32 depth)
{
	struct phases_program *program = reader->program;
	struct phases_node *node = &program->nodes[program->node_count];
	const json_t *phases = json_object_get(json, "phases");

	if (program->node_count == PHASES_NODES_MAX)
		return app_fields_reject(&reader->wrong, where,
					 "is one phase too many, allowed: up to %u",
					 PHASES_NODES_MAX);
	if (!read_head(reader, where, json, node))
		return false;
	program->node_count++;
	node->group = phases != NULL;
	if (!read_works(reader, json, node))
		return false;
	if (phases && !read_nodes(reader, node->name, phases, depth + 1))
		return false;
	node->end = program->node_count;
	return true;
}

static bool read_nodes(struct reader *reader, const char *where, const json_t *list, u32 depth)
{
	char path[2 * CFG_NAME_MAX];
	bool right = true;

	if (!json_is_array(list) || !json_array_size(list))
		return app_fields_reject(&reader->wrong, where,
					 "is no list of phases, allowed: at least one");
	if (depth > PHASES_DEPTH_MAX)
		return app_fields_reject(&reader->wrong, where,
					 "is nested too deeply, allowed: %u groups",
					 PHASES_DEPTH_MAX);
	for (size_t i = 0; i < json_array_size(list) && right; i++) {
		snprintf(path, sizeof(path), "%s%s%zu", where, *where ? "." : "", i);
		right = read_node(reader, path, json_array_get(list, i), depth);
	}
	return right;
}

/* Factors of the host's time: each iteration draws one. */
static bool read_host_times(struct reader *reader, const json_t *list)
{
	static const struct cfg_key field = { .type = CFG_TYPE_PPM,
					      CFG_RANGE(1, PHASES_HOST_TIME_MAX) };
	struct phases_program *program = reader->program;
	char wrong[CFG_WRONG_MAX], right[PHASES_WRONG_MAX], where[CFG_NAME_MAX];
	struct cfg_value parsed;

	if (!json_is_array(list))
		return app_fields_reject(&reader->wrong, "",
					 "is no list, allowed: a list of numbers");
	if (json_array_size(list) > PHASES_HOST_TIMES_MAX)
		return app_fields_reject(&reader->wrong, "",
					 "has %zu numbers, allowed: up to %u",
					 json_array_size(list), PHASES_HOST_TIMES_MAX);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *value = json_array_get(list, i);

		if (!cfg_value_parse(&field, value, &parsed, wrong)) {
			cfg_describe_right(&field, value, right, sizeof(right));
			snprintf(where, sizeof(where), "number %zu", i + 1);
			return app_fields_reject(&reader->wrong, where, "%s, %s", wrong, right);
		}
		program->host_times[program->host_time_count++] = (u32)parsed.number;
	}
	return true;
}

struct phases_program *phases_program_read(const struct cfg_phases *cfg, const char **ret_key,
					   char wrong[PHASES_WRONG_MAX])
{
	struct phases_program *program = calloc(1, sizeof(*program));
	json_t *tensors = json_loads(cfg->tensors, 0, NULL);
	json_t *phases = json_loads(cfg->phases, 0, NULL);
	json_t *host_times = json_loads(*cfg->host_times ? cfg->host_times : "[]", 0, NULL);
	struct reader reader = { program, cfg->kernel_launch, { wrong, PHASES_WRONG_MAX } };
	bool right = false;

	*ret_key = NULL;
	if (program && tensors && phases && host_times) {
		*ret_key = "tensors";
		right = read_tensors(&reader, tensors);
	}
	if (right) {
		*ret_key = "phases";
		right = read_nodes(&reader, "", phases, 0);
	}
	if (right) {
		*ret_key = "host_times";
		right = read_host_times(&reader, host_times);
	}
	json_decref(tensors);
	json_decref(phases);
	json_decref(host_times);
	if (right)
		return program;
	free(program);
	return NULL;
}
