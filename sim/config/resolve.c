// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The resolved configuration: all keys with their values, and one hash of everything that can
 * change a result.
 *
 * The hash covers values, not spellings or places of files, so it is the same on every machine
 * that simulates the same thing. Of a trace it covers the content and the last part of the
 * name. Afterwards the configuration gets a name that finds the trace from any folder.
 */
#include "config/steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "engine/guess.h"
#include "config/hash.h"
#include "config/message.h"
#include "config/paths.h"
#include "config/units.h"

#define POLICY_KEY "policy.file"

#ifndef GVMSIM_VERSION
#define GVMSIM_VERSION "unknown"
#endif

/* The object @name in @parent. Makes it if there is none. */
static json_t *child_object(json_t *parent, const char *name)
{
	json_t *child = json_object_get(parent, name);

	if (!child && !json_object_set_new(parent, name, json_object()))
		child = json_object_get(parent, name);
	return child;
}

/* Put @value at the dotted @path below @object. Takes the reference to @value. */
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

/* Dump all keys of @scope that belong to @set (NULL: to no set), with their values in @base. */
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

/*
 * The value of a control file: a number where it is one, or a text such as "max" or "2000us".
 */
static json_t *control_json(const char *text)
{
	u64 number;

	if (!units_parse_integer(text, &number) && number <= INT64_MAX)
		return json_integer((json_int_t)number);
	return json_string(text);
}

/*
 * Dump a container. Leaves out control files that are not written and a "gpu" that is not set.
 */
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
						     control_json(control->text));
	}
	return status;
}

/* Dump an event with the keys of its kind only. */
static int dump_event(const struct cfg_schema *schema, json_t *events,
		      const struct cfg_event *event)
{
	static const char *const kinds[] = { "file", "value", "touch" };
	json_t *object = json_object();
	int status = dump_scope(schema, object, CFG_SCOPE_EVENT, NULL, event);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!json_string_length(json_object_get(object, kinds[i])))
			json_object_del(object, kinds[i]);
	if (*event->value)
		json_object_set_new(object, "value", control_json(event->value));
	if (!event->exit)
		json_object_del(object, "exit");
	if (!event->load)
		json_object_del(object, "load");
	if (!event->sleep)
		json_object_del(object, "sleep");
	if (!event->wake)
		json_object_del(object, "wake");
	if (!event->stop)
		json_object_del(object, "stop");
	if (!event->restart)
		json_object_del(object, "restart");
	return status | json_array_append_new(events, object);
}

/*
 * Dump the keys of the scenario, of all systems and of the machine, in the order of the schema.
 * Then dump the keys that no code reads, as far as they were set.
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
	cfg_schema_for_each(&load->schema, key)
	{
		const struct cfg_setting *setting = NULL;

		if (key->scope == CFG_SCOPE_UNUSED)
			setting = cfg_settings_find(&load->settings, key->path);
		if (setting)
			status |= dump_at(root, key->path, json_incref(setting->value));
	}
	return status;
}

/* Dump everything into @root. Returns 0, or another number: no memory. */
static int dump_config(json_t *root, const struct cfg_load *load)
{
	const struct cfg_schema *schema = &load->schema;
	const struct config *config = load->config;
	json_t *containers;
	json_t *events = json_array();
	int status = dump_root(root, load);

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

/* The member of @container's application that holds the file name of @key. */
static char *file_name(const struct cfg_container *container, const struct cfg_key *key)
{
	return (char *)container->app + key->offset;
}

/* Call @act for each key of a container that names a file. Stop at the first failure. */
static int for_each_file(struct cfg_load *load,
			 int (*act)(struct cfg_load *load, struct cfg_container *container,
				    const struct cfg_key *key, XXH3_state_t *state),
			 XXH3_state_t *state)
{
	int status = 0;

	for (size_t i = 0; i < load->config->container_count; i++) {
		struct cfg_container *container = &load->config->containers[i];
		const struct cfg_keys *type = container->app_type;

		for (size_t k = 0; !status && k < type->key_count; k++) {
			const struct cfg_key *key = &type->keys[k];

			if ((key->type == CFG_TYPE_TRACE || key->type == CFG_TYPE_MODEL) &&
			    *file_name(container, key))
				status = act(load, container, key, state);
		}
	}
	return status;
}

/* Set the name of a file of @container in the resolved configuration. */
static int name_file(struct cfg_load *load, const struct cfg_container *container,
		     const struct cfg_key *key, const char *name)
{
	json_t *containers = json_object_get(load->config->resolved, "containers");

	if (!dump_at(json_object_get(containers, container->name), cfg_key_leaf(key),
		     json_string(name)))
		return 0;
	return sim_runtime_error(load->err, "out of memory");
}

/*
 * The folder @index in which relative names of @setting begin: of --set the current one, then
 * of all the scenario's. @setting may be NULL. False: there are no more.
 */
static bool base_folder(const struct cfg_load *load, const struct cfg_setting *setting,
			size_t index, char ret_folder[PATH_MAX])
{
	if (setting && setting->source.layer == CFG_LAYER_SET && index-- == 0)
		return cfg_path_folder("./", ret_folder, PATH_MAX);
	snprintf(ret_folder, PATH_MAX, "%s", load->folder);
	return index == 0;
}

bool cfg_find_file(const struct cfg_load *load, const struct cfg_key *key,
		   const struct cfg_setting *setting, const char *name,
		   char ret_file[CFG_TEXT_MAX], const char **ret_name)
{
	bool model = key->type == CFG_TYPE_MODEL, policy = key->type == CFG_TYPE_POLICY;
	const char *ending = model ? "/config.json" : policy ? ".json" : "";
	const char *data = model  ? "scenarios/models" :
			   policy ? "scenarios/policies" :
				    "traces";
	char folder[PATH_MAX];

	*ret_name = ret_file;
	for (size_t at = 0; base_folder(load, setting, at, folder); at++) {
		if (cfg_path_find(folder, name, ending, ret_file, CFG_TEXT_MAX))
			return true;
	}
	*ret_name = name;
	return cfg_path_find_data(data, name, ending, ret_file, CFG_TEXT_MAX);
}

/* Report that there is no trace @name, which the setting at @path names. */
static int reject_trace(struct cfg_load *load, const struct cfg_setting *setting,
			const char *path, const char *name)
{
	char folders[2 * PATH_MAX] = "";
	char folder[PATH_MAX];
	char named[PATH_MAX];

	for (size_t at = 0; base_folder(load, setting, at, folder); at++) {
		if (cfg_path_join(folder, name, named, sizeof(named)) &&
		    cfg_path_is_folder(named))
			return cfg_reject(load, path, "\"%s\" is a folder, allowed: a file",
					  name);
		/* The scenario may be in the current folder. */
		if (strcmp(folder, folders) != 0)
			cfg_append(folders, sizeof(folders), "%s%s", *folders ? ", " : "",
				   folder);
	}
	cfg_path_list_data("traces", folders, sizeof(folders));
	return cfg_reject(load, path, "no file \"%s\", allowed: one in %s", name, folders);
}

/*
 * Find the trace or the model that @key of @container names, and add the content of a trace to
 * the hash. The numbers of a model are in the hash already. The container gets the absolute
 * path. The resolved configuration gets a name that works from any folder.
 */
static int resolve_file(struct cfg_load *load, struct cfg_container *container,
			const struct cfg_key *key, XXH3_state_t *state)
{
	const char *name = file_name(container, key);
	const struct cfg_setting *setting;
	const char *found_name;
	char file[CFG_TEXT_MAX];
	char path[CFG_PATH_MAX];

	cfg_key_path(key, container->name, path, sizeof(path));
	setting = cfg_settings_find(&load->settings, path);
	if (!cfg_find_file(load, key, setting, name, file, &found_name))
		return reject_trace(load, setting, path, name);
	if (name_file(load, container, key, found_name))
		return -SIM_EXIT_RUNTIME;
	snprintf(file_name(container, key), key->size, "%s", file);
	return key->type == CFG_TYPE_TRACE ? cfg_hash_file(state, file, load->err) : 0;
}

/*
 * Remove the folder from a trace's name, and the name of a model: the hash of a config.json
 * must not depend on them.
 */
static int strip_file(struct cfg_load *load, struct cfg_container *container,
		      const struct cfg_key *key, XXH3_state_t *state)
{
	const char *file = file_name(container, key);
	const char *slash = strrchr(file, '/');

	(void)state;
	if (key->type == CFG_TYPE_MODEL)
		return name_file(load, container, key, "");
	return name_file(load, container, key, slash ? slash + 1 : file);
}

/* Set the name of the policy in the resolved configuration. */
static int name_policy(struct cfg_load *load, const char *name)
{
	if (!dump_at(load->config->resolved, POLICY_KEY, json_string(name)))
		return 0;
	return sim_runtime_error(load->err, "out of memory");
}

/* The hash covers the plug-in that the policy @file names, too. */
static int hash_plugin(struct cfg_load *load, const char *file, XXH3_state_t *state)
{
	char folder[PATH_MAX], plugin[PATH_MAX];
	const char *name;
	json_t *root;
	int status = cfg_load_json(file, &root, load->err);

	if (status)
		return status;
	name = json_string_value(json_object_get(root, "plugin"));
	/* A plug-in that is not there is a mistake that gvmd reports. */
	if (name && cfg_path_folder(file, folder, sizeof(folder)) &&
	    cfg_path_join(folder, name, plugin, sizeof(plugin)) && cfg_path_is_file(plugin))
		status = cfg_hash_file(state, plugin, load->err);
	json_decref(root);
	return status;
}

/* Of the policy that the scenario names the hash covers the content, as of a trace. */
static int resolve_policy(struct cfg_load *load, XXH3_state_t *state)
{
	struct config *config = load->config;
	const struct cfg_key *key = cfg_schema_find(&load->schema, POLICY_KEY, NULL);
	char known[512] = "", right[600], folder[PATH_MAX], file[CFG_TEXT_MAX];
	struct sim_error ignored = { 0 };
	const char *name;
	int status;

	if (!*config->policy)
		return 0;
	if (!cfg_find_file(load, key, cfg_settings_find(&load->settings, POLICY_KEY),
			   config->policy, file, &name)) {
		if (!config_find_data("scenarios", "policies", folder, sizeof(folder),
				      &ignored))
			cfg_path_list_json(folder, known, sizeof(known));
		guess_describe(config->policy, *known ? known : "none was found", right,
			       sizeof(right));
		return cfg_reject(
			load, POLICY_KEY,
			"no file \"%s\" beside the scenario, and no policy of gvmsim, "
			"%s",
			config->policy, right);
	}
	status = name_policy(load, name);
	snprintf(config->policy, sizeof(config->policy), "%s", file);
	if (!status)
		status = cfg_hash_file(state, file, load->err);
	return status ? status : hash_plugin(load, file, state);
}

int cfg_resolve(struct cfg_load *load)
{
	struct config *config = load->config;
	XXH3_state_t *state = XXH3_createState();
	char *text = NULL;
	int status = 0;

	config->resolved = json_object();
	if (!state || dump_config(config->resolved, load))
		status = sim_runtime_error(load->err, "out of memory");
	if (!status)
		status = for_each_file(load, strip_file, state);
	if (!status && *config->policy)
		status = name_policy(load, "");
	if (!status) {
		/* Sorted, so that the order of keys in the files does not change the hash. */
		text = json_dumps(config->resolved,
				  JSON_COMPACT | JSON_SORT_KEYS | CFG_JSON_PRECISION);
		if (!text)
			status = sim_runtime_error(load->err, "out of memory");
	}
	if (!status) {
		XXH3_128bits_reset(state);
		XXH3_128bits_update(state, text, strlen(text) + 1);
		XXH3_128bits_update(state, GVMSIM_VERSION, sizeof(GVMSIM_VERSION));
		status = for_each_file(load, resolve_file, state);
	}
	if (!status)
		status = resolve_policy(load, state);
	if (!status) {
		cfg_hash_finish(state, config->hash, sizeof(config->hash));
		if (json_object_set_new(config->resolved, "hash", json_string(config->hash)))
			status = sim_runtime_error(load->err, "out of memory");
	}
	free(text);
	XXH3_freeState(state);
	return status;
}
