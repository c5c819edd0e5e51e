// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The resolved configuration: all keys with their values, and one hash of everything that can
 * change a result. The hash covers the values, not their spelling, nor where files lie, so
 * two machines that simulate the same thing agree: of a trace it covers the content and the last
 * part of the name, and only then the trace gets a name under which it is found from anywhere.
 */
#include "config/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "config/hash.h"
#include "config/message.h"
#include "config/paths.h"

#ifndef GVMSIM_VERSION
#define GVMSIM_VERSION "unknown"
#endif

/* The object at @name in @parent, made if it is not there yet. */
static json_t *child_object(json_t *parent, const char *name)
{
	json_t *child = json_object_get(parent, name);

	if (!child && !json_object_set_new(parent, name, json_object()))
		child = json_object_get(parent, name);
	return child;
}

/* Put @value (whose reference is taken) at the dotted @path below @object. */
static int dump_at(json_t *object, const char *path, json_t *value)
{
	const char *dot;

	for (; (dot = strchr(path, '.')); path = dot + 1) {
		char name[CFG_PATH_MAX];

		snprintf(name, sizeof(name), "%.*s", (int)(dot - path), path);
		object = child_object(object, name);
	}
	return json_object_set_new(object, path, value);
}

/* All keys of @scope that came with @set (NULL: with none), with their values in @base. */
static int dump_scope(const struct cfg_schema *schema, json_t *object, enum cfg_scope scope,
		      const struct cfg_keys *set, const void *base)
{
	int status = 0;

	cfg_schema_for_each(schema, key)
	{
		if (!status && key->scope == scope && key->set == set)
			status = dump_at(object, cfg_key_leaf(key), cfg_value_dump(key, base));
	}
	return status;
}

/* A control file without a value is not dumped, and no GPU where none is chosen. */
static int dump_container(const struct cfg_schema *schema, json_t *containers,
			  const struct cfg_container *container)
{
	json_t *object = child_object(containers, container->name);
	int status =
		dump_scope(schema, object, CFG_SCOPE_CONTAINER, NULL, container) |
		dump_scope(schema, object, CFG_SCOPE_APP, container->app_type, container->app);

	if (!*container->gpu)
		json_object_del(object, "gpu");
	for (size_t i = 0; !status && i < container->control_count; i++) {
		const struct cfg_control *control = &container->controls[i];

		if (*control->text)
			status = json_object_set_new(object, control->file,
						     json_string(control->text));
	}
	return status;
}

/* An event has the keys of its kind. */
static int dump_event(const struct cfg_schema *schema, json_t *events,
		      const struct cfg_event *event)
{
	static const char *const kinds[] = { "file", "value", "touch" };
	json_t *object = json_object();
	int status = dump_scope(schema, object, CFG_SCOPE_EVENT, NULL, event);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!json_string_length(json_object_get(object, kinds[i])))
			json_object_del(object, kinds[i]);
	if (!event->exit)
		json_object_del(object, "exit");
	return status | json_array_append_new(events, object);
}

/* Keys without a member, as they were set. One that was left out is not dumped. */
static int dump_unused(const struct cfg_schema *schema, json_t *root,
		       const struct cfg_settings *settings)
{
	int status = 0;

	cfg_schema_for_each(schema, key)
	{
		const struct cfg_setting *setting;

		if (key->scope != CFG_SCOPE_UNUSED)
			continue;
		setting = cfg_settings_find(settings, key->path);
		if (setting)
			status |= dump_at(root, key->path, json_incref(setting->value));
	}
	return status;
}

/*
 * Keys of the scenario, of all systems and of the machine in the order of the schema: the rows of
 * systems stand between those of the scenario.
 */
static int dump_root(json_t *root, const struct cfg_load *load)
{
	const struct cfg_keys *const *systems = load->schema.registry->systems;
	int status = 0;

	cfg_schema_for_each(&load->schema, key)
	{
		const void *base = key->scope == CFG_SCOPE_CONFIG ? load->config : NULL;

		for (size_t i = 0; key->scope == CFG_SCOPE_SYSTEM && systems[i]; i++) {
			if (systems[i] == key->set)
				base = load->systems[i];
		}
		if (base)
			status |= dump_at(root, key->path, cfg_value_dump(key, base));
	}
	return status;
}

static int dump_config(json_t *root, const struct cfg_load *load)
{
	const struct cfg_schema *schema = &load->schema;
	const struct config *config = load->config;
	json_t *containers;
	json_t *events = json_array();
	int status = dump_root(root, load) | dump_unused(schema, root, &load->settings);

	for (size_t i = 0; i < config->gpu_count; i++)
		status |= dump_scope(
			schema, child_object(child_object(root, "gpus"), config->gpus[i].name),
			CFG_SCOPE_GPU, NULL, &config->gpus[i]);
	containers = child_object(root, "containers");
	for (size_t i = 0; !status && i < config->container_count; i++)
		status = dump_container(schema, containers, &config->containers[i]);
	for (size_t i = 0; !status && i < config->event_count; i++)
		status = dump_event(schema, events, &config->events[i]);
	return status | json_object_set_new(root, "events", events);
}

/* The file that the key @key, a trace's, of @container names. */
static char *trace_file(const struct cfg_container *container, const struct cfg_key *key)
{
	return (char *)container->app + key->offset;
}

/* Call @act for each key of a container that names a trace, until one fails. */
static int for_each_trace(struct cfg_load *load,
			  int (*act)(struct cfg_load *load, struct cfg_container *container,
				     const struct cfg_key *key, XXH3_state_t *state),
			  XXH3_state_t *state)
{
	int status = 0;

	for (size_t i = 0; i < load->config->container_count; i++) {
		struct cfg_container *container = &load->config->containers[i];
		const struct cfg_keys *type = container->app_type;

		for (size_t k = 0; !status && k < type->key_count; k++) {
			if (type->keys[k].type == CFG_TYPE_TRACE)
				status = act(load, container, &type->keys[k], state);
		}
	}
	return status;
}

/* Put the name of a trace of @container into the resolved configuration. */
static int name_trace(struct cfg_load *load, const struct cfg_container *container,
		      const struct cfg_key *key, const char *name)
{
	json_t *containers = json_object_get(load->config->resolved, "containers");

	if (!dump_at(json_object_get(containers, container->name), cfg_key_leaf(key),
		     json_string(name)))
		return 0;
	return sim_runtime_error(load->err, "out of memory");
}

/*
 * Where a trace of @container is, as an absolute path: beside the scenario, or with gvmsim.
 * *ret_name is the name under which any other scenario finds it.
 */
static int find_trace(struct cfg_load *load, const struct cfg_container *container,
		      const struct cfg_key *key, char *ret_file, size_t size,
		      const char **ret_name)
{
	const char *name = trace_file(container, key);
	struct sim_error ignored = { 0 };
	char path[CFG_PATH_MAX];
	char beside[PATH_MAX];
	char folders[512] = "";

	*ret_name = ret_file;
	if (cfg_path_join(load->folder, name, beside, sizeof(beside)) &&
	    cfg_path_is_file(beside) && cfg_path_join("/", beside, ret_file, size))
		return 0;
	*ret_name = name;
	if (!config_find_data("traces", name, ret_file, size, &ignored) &&
	    cfg_path_is_file(ret_file))
		return 0;
	cfg_key_path(key, container->name, path, sizeof(path));
	cfg_append(folders, sizeof(folders), "%s", load->folder);
	cfg_path_list_data("traces", folders, sizeof(folders));
	return cfg_reject(load, path, "no file \"%s\", allowed: one in %s", name, folders);
}

/* Find and hash a trace. */
static int resolve_trace(struct cfg_load *load, struct cfg_container *container,
			 const struct cfg_key *key, XXH3_state_t *state)
{
	char file[CFG_TEXT_MAX];
	const char *name;
	int status = find_trace(load, container, key, file, sizeof(file), &name);

	if (!status)
		status = name_trace(load, container, key, name);
	if (status)
		return status;
	snprintf(trace_file(container, key), key->size, "%s", file);
	return cfg_hash_file(state, file, load->err);
}

/* For the hash, a trace has no folder: a config.json that names it has the same hash. */
static int strip_trace(struct cfg_load *load, struct cfg_container *container,
		       const struct cfg_key *key, XXH3_state_t *state)
{
	const char *file = trace_file(container, key);
	const char *slash = strrchr(file, '/');

	(void)state;
	return name_trace(load, container, key, slash ? slash + 1 : file);
}

/* Sorted, so that the order of keys in the files does not matter. */
static int hash_resolved(XXH3_state_t *state, const json_t *resolved, struct sim_error *err)
{
	char *text = json_dumps(resolved, JSON_COMPACT | JSON_SORT_KEYS);

	if (!text)
		return sim_runtime_error(err, "out of memory");
	XXH3_128bits_update(state, text, strlen(text) + 1);
	XXH3_128bits_update(state, GVMSIM_VERSION, sizeof(GVMSIM_VERSION));
	free(text);
	return 0;
}

static int resolve_hash(struct cfg_load *load, XXH3_state_t *state)
{
	struct config *config = load->config;
	int status;

	XXH3_128bits_reset(state);
	status = hash_resolved(state, config->resolved, load->err);
	if (!status)
		status = for_each_trace(load, resolve_trace, state);
	if (status)
		return status;
	cfg_hash_finish(state, config->hash, sizeof(config->hash));
	if (json_object_set_new(config->resolved, "hash", json_string(config->hash)))
		return sim_runtime_error(load->err, "out of memory");
	return 0;
}

int cfg_resolve(struct cfg_load *load)
{
	XXH3_state_t *state = XXH3_createState();
	int status;

	load->config->resolved = json_object();
	if (!state || dump_config(load->config->resolved, load))
		status = sim_runtime_error(load->err, "out of memory");
	else
		status = for_each_trace(load, strip_trace, state);
	if (!status)
		status = resolve_hash(load, state);
	XXH3_freeState(state);
	return status;
}
