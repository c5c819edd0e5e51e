// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What goes with every result: all keys with their values, and one hash of everything that can
 * change the result. The hash covers the values, not their spelling, nor where files lie, so
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

/* All keys of @scope with their values in @base. */
static int dump_scope(json_t *object, enum cfg_scope scope, int app, const void *base)
{
	int rc = 0;

	cfg_schema_for_each(key)
	{
		if (!rc && key->scope == scope && cfg_key_has_app(key, app))
			rc = dump_at(object, cfg_key_leaf(key), cfg_value_dump(key, base));
	}
	return rc;
}

/* A control file that is left alone has no value to tell. */
static int dump_container(json_t *containers, const struct cfg_container *container)
{
	json_t *object = child_object(containers, container->name);
	int rc = dump_scope(object, CFG_SCOPE_CONTAINER, (int)container->app_type, container);

	for (size_t i = 0; !rc && i < container->control_count; i++) {
		const struct cfg_control *control = &container->controls[i];

		if (*control->text)
			rc = json_object_set_new(object, control->file,
						 json_string(control->text));
	}
	return rc;
}

/* An event has the keys of its kind. */
static int dump_event(json_t *events, const struct cfg_event *event)
{
	static const char *const kinds[] = { "file", "value", "touch" };
	json_t *object = json_object();
	int rc = dump_scope(object, CFG_SCOPE_EVENT, CFG_APP_ANY, event);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!json_string_length(json_object_get(object, kinds[i])))
			json_object_del(object, kinds[i]);
	if (!event->exit)
		json_object_del(object, "exit");
	return rc | json_array_append_new(events, object);
}

/* Keys without a member, as they were set: one that was left out has no value to tell. */
static int dump_unused(json_t *root, const struct cfg_settings *settings)
{
	int rc = 0;

	cfg_schema_for_each(key)
	{
		const struct cfg_setting *setting;

		if (key->scope != CFG_SCOPE_UNUSED)
			continue;
		setting = cfg_settings_find(settings, key->path);
		if (setting)
			rc |= dump_at(root, key->path, json_incref(setting->value));
	}
	return rc;
}

static int dump_config(json_t *root, const struct cfg_load *load)
{
	const struct config *config = load->config;
	json_t *containers;
	json_t *events = json_array();
	int rc = dump_scope(root, CFG_SCOPE_CONFIG, CFG_APP_ANY, config) |
		 dump_unused(root, &load->settings);

	containers = child_object(root, "containers");
	for (size_t i = 0; !rc && i < config->container_count; i++)
		rc = dump_container(containers, &config->containers[i]);
	for (size_t i = 0; !rc && i < config->event_count; i++)
		rc = dump_event(events, &config->events[i]);
	return rc | json_object_set_new(root, "events", events);
}

/* Name the trace of @container in what is told of the configuration. */
static int name_trace(const struct config *config, const struct cfg_container *container,
		      const char *name)
{
	json_t *containers = json_object_get(config->resolved, "containers");

	return dump_at(json_object_get(containers, container->name), "app.trace.file",
		       json_string(name));
}

/*
 * Where the trace of @container is, as an absolute path: beside the scenario, or with gvmsim.
 * *ret_name is the name under which any other scenario finds it.
 */
static int find_trace(struct cfg_load *load, const struct cfg_container *container,
		      char *ret_file, size_t size, const char **ret_name)
{
	const char *name = container->llm.client.file;
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
	snprintf(path, sizeof(path), "containers.%s.app.trace.file", container->name);
	cfg_append(folders, sizeof(folders), "%s", load->folder);
	cfg_path_list_data("traces", folders, sizeof(folders));
	return cfg_reject(load, path, "no file \"%s\", allowed: one in %s", name, folders);
}

/* Find and hash the trace of @container. */
static int resolve_trace(struct cfg_load *load, struct cfg_container *container,
			 XXH3_state_t *state)
{
	char file[CFG_TEXT_MAX];
	const char *name;
	int rc = find_trace(load, container, file, sizeof(file), &name);

	if (rc)
		return rc;
	if (name_trace(load->config, container, name))
		return sim_runtime_error(load->err, "out of memory");
	memcpy(container->llm.client.file, file, sizeof(file));
	return cfg_hash_file(state, file, load->err);
}

/* Every container that replays a trace. */
static int resolve_traces(struct cfg_load *load, XXH3_state_t *state)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < load->config->container_count; i++) {
		struct cfg_container *container = &load->config->containers[i];

		if (container->app_type == CFG_APP_LLM_SERVER)
			rc = resolve_trace(load, container, state);
	}
	return rc;
}

/* For the hash, traces have no folder: a config.json that names it has the same hash. */
static int strip_traces(const struct config *config)
{
	int rc = 0;

	for (size_t i = 0; i < config->container_count; i++) {
		const struct cfg_container *container = &config->containers[i];
		const char *slash;

		if (container->app_type != CFG_APP_LLM_SERVER)
			continue;
		slash = strrchr(container->llm.client.file, '/');
		rc |= name_trace(config, container,
				 slash ? slash + 1 : container->llm.client.file);
	}
	return rc;
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
	int rc;

	XXH3_128bits_reset(state);
	rc = hash_resolved(state, config->resolved, load->err);
	if (!rc)
		rc = resolve_traces(load, state);
	if (rc)
		return rc;
	cfg_hash_finish(state, config->hash, sizeof(config->hash));
	if (json_object_set_new(config->resolved, "hash", json_string(config->hash)))
		return sim_runtime_error(load->err, "out of memory");
	return 0;
}

int cfg_resolve(struct cfg_load *load)
{
	XXH3_state_t *state = XXH3_createState();
	int rc;

	load->config->resolved = json_object();
	if (!state || dump_config(load->config->resolved, load) || strip_traces(load->config))
		rc = sim_runtime_error(load->err, "out of memory");
	else
		rc = resolve_hash(load, state);
	XXH3_freeState(state);
	return rc;
}
