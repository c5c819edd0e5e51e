// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * From settings to struct config: every row of the schema is looked up once for each place
 * where it applies, and takes the winning setting or its default.
 */
#include "config/load.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "gvm/control.h"
#include "config/message.h"

#define TEXT_MAX 512

int cfg_reject(struct cfg_load *load, const char *path, const char *fmt, ...)
{
	const struct cfg_setting *setting = cfg_settings_find(&load->settings, path);
	char text[sizeof(load->err->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return cfg_error(load->err, setting ? setting->source.origin : load->file,
			 setting ? cfg_setting_path(setting) : path, "%s", text);
}

int cfg_load_value(struct cfg_load *load, const struct cfg_key *key,
		   const struct cfg_setting *setting, struct cfg_value *ret_value)
{
	char wrong[CFG_WRONG_MAX];
	char allowed[TEXT_MAX];

	if (cfg_value_parse(key, setting->value, ret_value, wrong))
		return 0;
	cfg_describe_allowed(key, allowed, sizeof(allowed));
	return cfg_error(load->err, setting->source.origin, cfg_setting_path(setting),
			 "%s, allowed: %s", wrong, allowed);
}

/* A container that only --set mentions is more likely a slip than a wish. */
static int missing_container(struct cfg_load *load, const struct cfg_mention *mention)
{
	char known[TEXT_MAX] = "";

	for (size_t i = 0; i < load->settings.container_count; i++) {
		const struct cfg_mention *other = &load->settings.containers[i];

		if (strcmp(other->origin, mention->origin) != 0)
			cfg_append(known, sizeof(known), "%s%s", *known ? ", " : "",
				   other->name);
	}
	return cfg_error(load->err, mention->origin, mention->path,
			 "no such container, allowed: %s, or a new one with its app.type",
			 *known ? known : "none is in the file");
}

/* The layer that mentions the event, GPU or container at @path first: a missing key is its mistake. */
static const char *origin_of_parent(const struct cfg_load *load, const char *path)
{
	const struct cfg_settings *settings = &load->settings;
	char name[CFG_PATH_MAX];
	size_t index;

	if (cfg_path_event(path, &index))
		return settings->event_origins[index];
	if (cfg_path_gpu(path, name, sizeof(name))) {
		for (index = 0; strcmp(settings->gpus[index].name, name) != 0; index++)
			;
		return settings->gpus[index].origin;
	}
	if (!cfg_path_container(path, name, sizeof(name)))
		return load->file;
	for (index = 0; strcmp(settings->containers[index].name, name) != 0; index++)
		;
	return settings->containers[index].origin;
}

static int missing_key(struct cfg_load *load, const struct cfg_key *key, const char *path)
{
	char allowed[TEXT_MAX];

	cfg_describe_allowed(key, allowed, sizeof(allowed));
	return cfg_error(load->err, origin_of_parent(load, path), path,
			 "is missing, allowed: %s", allowed);
}

/* Defaults are written as in a scenario. */
static void default_value(const struct cfg_key *key, struct cfg_value *ret_value)
{
	char wrong[CFG_WRONG_MAX];
	json_error_t error;
	json_t *json;
	bool right;

	*ret_value = (struct cfg_value){ 0 };
	if (!*key->fallback)
		return;
	json = cfg_value_from_text(key->fallback, &error);
	right = cfg_value_parse(key, json, ret_value, wrong);
	assert(right);
	(void)right;
	json_decref(json);
}

void *cfg_keys_defaults(const struct cfg_keys *set)
{
	void *base = calloc(1, set->bytes + 1);

	for (size_t i = 0; base && i < set->key_count; i++) {
		struct cfg_value value;

		if (!set->keys[i].fallback)
			continue;
		default_value(&set->keys[i], &value);
		cfg_value_store(&set->keys[i], &value, base);
	}
	return base;
}

/* Bind one row in @base; "*" and "#" in its path stand for @instance. */
static int bind_key(struct cfg_load *load, const struct cfg_key *key, const char *instance,
		    void *base)
{
	const struct cfg_setting *setting;
	struct cfg_value value;
	char path[CFG_PATH_MAX];

	cfg_key_path(key, instance, path, sizeof(path));
	setting = cfg_settings_find(&load->settings, path);
	if (!setting && !key->fallback)
		return missing_key(load, key, path);
	if (!setting)
		default_value(key, &value);
	else if (cfg_load_value(load, key, setting, &value))
		return -SIM_EXIT_USER;
	cfg_value_store(key, &value, base);
	return 0;
}

/* Bind all rows of @scope that came with @set (NULL: with none). */
static int bind_scope(struct cfg_load *load, enum cfg_scope scope, const struct cfg_keys *set,
		      const char *instance, void *base)
{
	int status = 0;

	cfg_schema_for_each(&load->schema, key)
	{
		if (!status && key->scope == scope && key->set == set)
			status = bind_key(load, key, instance, base);
	}
	return status;
}

/* The control files of a container, those that are left alone included. */
static int bind_controls(struct cfg_load *load, struct cfg_container *container)
{
	container->controls = calloc(load->schema.count, sizeof(*container->controls));
	if (!container->controls)
		return sim_runtime_error(load->err, "out of memory");
	cfg_schema_for_each(&load->schema, key)
	{
		const struct cfg_setting *setting;
		struct cfg_control *control;
		struct cfg_value value;
		char path[CFG_PATH_MAX];

		if (key->scope != CFG_SCOPE_CONTROL)
			continue;
		control = &container->controls[container->control_count++];
		control->file = key->control->name;
		cfg_key_path(key, container->name, path, sizeof(path));
		setting = cfg_settings_find(&load->settings, path);
		if (!setting)
			continue;
		if (cfg_load_value(load, key, setting, &value))
			return -SIM_EXIT_USER;
		cfg_value_control_text(key, &value, control->text, sizeof(control->text));
	}
	return 0;
}

/* Names and types of the containers come first: they decide which keys exist. */
static int bind_container_types(struct cfg_load *load)
{
	const struct cfg_settings *settings = &load->settings;
	struct config *config = load->config;
	int status = 0;

	config->containers = calloc(settings->container_count + 1, sizeof(*config->containers));
	if (!config->containers)
		return sim_runtime_error(load->err, "out of memory");
	config->container_count = settings->container_count;
	for (size_t i = 0; !status && i < config->container_count; i++) {
		const struct cfg_mention *mention = &settings->containers[i];
		struct cfg_container *container = &config->containers[i];
		char path[CFG_PATH_MAX];

		memcpy(container->name, mention->name, sizeof(container->name));
		snprintf(path, sizeof(path), "%s.app.type", mention->path);
		if (mention->origin != load->file && !cfg_settings_find(settings, path))
			return missing_container(load, mention);
		status = bind_key(load, cfg_schema_find(&load->schema, path, NULL),
				  container->name, container);
	}
	return status;
}

/* The struct of a set's keys, or NULL: no memory. A set without a struct gets some, too. */
static void *alloc_keys(struct cfg_load *load, const struct cfg_keys *set)
{
	void *keys = calloc(1, set->bytes + 1);

	if (!keys)
		sim_runtime_error(load->err, "out of memory");
	return keys;
}

/* Keys of all systems: config.json has them, so that it can be run under another system. */
static int bind_systems(struct cfg_load *load)
{
	const struct cfg_keys *const *systems = load->schema.registry->systems;
	size_t count = 0;
	int status = 0;

	while (systems[count])
		count++;
	load->systems = calloc(count + 1, sizeof(*load->systems));
	if (!load->systems)
		return sim_runtime_error(load->err, "out of memory");
	for (size_t i = 0; !status && i < count; i++) {
		load->systems[i] = alloc_keys(load, systems[i]);
		if (!load->systems[i])
			return -SIM_EXIT_RUNTIME;
		status = bind_scope(load, CFG_SCOPE_SYSTEM, systems[i], "", load->systems[i]);
	}
	return status;
}

static int bind_containers(struct cfg_load *load)
{
	int status = 0;

	for (size_t i = 0; !status && i < load->config->container_count; i++) {
		struct cfg_container *container = &load->config->containers[i];

		container->app = alloc_keys(load, container->app_type);
		if (!container->app)
			return -SIM_EXIT_RUNTIME;
		status =
			bind_scope(load, CFG_SCOPE_CONTAINER, NULL, container->name, container);
		if (!status)
			status = bind_scope(load, CFG_SCOPE_APP, container->app_type,
					    container->name, container->app);
		if (!status)
			status = bind_controls(load, container);
	}
	return status;
}

/* The GPU of "gpu.", and those of "gpus.". */
static int bind_gpus(struct cfg_load *load)
{
	const struct cfg_settings *settings = &load->settings;
	struct config *config = load->config;
	int status = 0;

	snprintf(config->gpu.name, sizeof(config->gpu.name), "gpu0");
	config->gpus = calloc(settings->gpu_count + 1, sizeof(*config->gpus));
	if (!config->gpus)
		return sim_runtime_error(load->err, "out of memory");
	config->gpu_count = settings->gpu_count;
	for (size_t i = 0; !status && i < config->gpu_count; i++) {
		memcpy(config->gpus[i].name, settings->gpus[i].name, CFG_NAME_MAX);
		status = bind_scope(load, CFG_SCOPE_GPU, NULL, config->gpus[i].name,
				    &config->gpus[i]);
	}
	return status;
}

static int bind_events(struct cfg_load *load)
{
	struct config *config = load->config;
	int status = 0;

	config->event_count = load->settings.event_count;
	config->events = calloc(config->event_count + 1, sizeof(*config->events));
	if (!config->events)
		return sim_runtime_error(load->err, "out of memory");
	for (size_t i = 0; !status && i < config->event_count; i++) {
		char index[24];

		snprintf(index, sizeof(index), "%zu", i);
		status = bind_scope(load, CFG_SCOPE_EVENT, NULL, index, &config->events[i]);
	}
	return status;
}

/* The application type of the container that @path is in, or NULL. */
static const struct cfg_keys *app_of_path(const struct config *config, const char *path)
{
	char name[CFG_PATH_MAX];

	if (!cfg_path_container(path, name, sizeof(name)))
		return NULL;
	for (size_t i = 0; i < config->container_count; i++) {
		if (!strcmp(config->containers[i].name, name))
			return config->containers[i].app_type;
	}
	return NULL;
}

/* A setting must be right even where a later layer overrides it. */
static int check_setting(struct cfg_load *load, const struct cfg_setting *setting)
{
	const struct cfg_keys *app = app_of_path(load->config, setting->path);
	const struct cfg_key *key = cfg_schema_find(&load->schema, setting->path, app);
	struct cfg_value value;
	char allowed[TEXT_MAX];

	if (key)
		return cfg_load_value(load, key, setting, &value);
	cfg_describe_unknown(&load->schema, setting->path, app, allowed, sizeof(allowed));
	return cfg_error(load->err, setting->source.origin, cfg_setting_path(setting),
			 "no key of this app.type, %s", allowed);
}

/* Does a layer that the user wrote set @path? Profiles are the lowest layer. */
static bool is_asked_for(const struct cfg_load *load, const char *path)
{
	const struct cfg_setting *setting = cfg_settings_find(&load->settings, path);

	return setting && setting->source.layer != CFG_LAYER_PROFILE;
}

static bool is_unused(const struct config *config, const struct cfg_key *key)
{
	(void)config;
	return key->unused;
}

/* A key of systems that the scenario's system does not have. */
static bool is_foreign(const struct config *config, const struct cfg_key *key)
{
	return key->scope == CFG_SCOPE_SYSTEM && !cfg_keys_has(config->system, key->path);
}

/* Several systems may have the same key. */
static bool is_listed(char **keys, size_t count, const char *path)
{
	while (count--) {
		if (!strcmp(keys[count], path))
			return true;
	}
	return false;
}

/* List the keys that the user set, of the rows for which @is is true. */
static int bind_asked(struct cfg_load *load,
		      bool (*is)(const struct config *config, const struct cfg_key *key),
		      char ***ret_keys, size_t *ret_count)
{
	char **keys = calloc(load->schema.count, sizeof(*keys));

	*ret_keys = keys;
	if (!keys)
		return sim_runtime_error(load->err, "out of memory");
	cfg_schema_for_each(&load->schema, key)
	{
		if (!is(load->config, key) || !is_asked_for(load, key->path) ||
		    is_listed(keys, *ret_count, key->path))
			continue;
		keys[*ret_count] = strdup(key->path);
		if (!keys[*ret_count])
			return sim_runtime_error(load->err, "out of memory");
		++*ret_count;
	}
	return 0;
}

int cfg_bind(struct cfg_load *load)
{
	int status = bind_container_types(load);

	for (size_t i = 0; !status && i < load->settings.count; i++)
		status = check_setting(load, &load->settings.list[i]);
	if (!status)
		status = bind_scope(load, CFG_SCOPE_CONFIG, NULL, "", load->config);
	if (!status)
		status = bind_systems(load);
	if (!status)
		status = bind_gpus(load);
	if (!status)
		status = bind_containers(load);
	if (!status)
		status = bind_events(load);
	if (!status)
		status = bind_asked(load, is_unused, &load->config->unused_keys,
				    &load->config->unused_count);
	if (!status)
		status = bind_asked(load, is_foreign, &load->config->foreign_keys,
				    &load->config->foreign_count);
	return status;
}
