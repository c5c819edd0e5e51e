// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * From settings to struct config. Each row of the schema is looked up once for each place where
 * it applies, and takes the winning setting or its default.
 */
#include "config/steps.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "engine/guess.h"
#include "gvm/control.h"
#include "config/message.h"

#define TEXT_MAX 768

int cfg_reject(struct cfg_load *load, const char *path, const char *fmt, ...)
{
	const struct cfg_setting *setting = cfg_settings_find(&load->settings, path);
	char text[sizeof(load->err->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return setting ? cfg_setting_reject(setting, load->err, "%s", text) :
			 cfg_error(load->err, load->file, path, "%s", text);
}

int cfg_load_value(struct cfg_load *load, const struct cfg_key *key,
		   const struct cfg_setting *setting, struct cfg_value *ret_value)
{
	char wrong[CFG_WRONG_MAX];
	char allowed[TEXT_MAX] = "";

	if (cfg_value_parse(key, setting->value, ret_value, wrong))
		return 0;
	cfg_describe_right(key, setting->value, allowed, sizeof(allowed));
	return cfg_setting_reject(setting, load->err, "%s, %s", wrong, allowed);
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
		return cfg_reject_missing(load, key, path);
	if (!setting && cfg_value_default(key, &value))
		return sim_runtime_error(load->err, "out of memory");
	if (setting && cfg_load_value(load, key, setting, &value))
		return -SIM_EXIT_USER;
	cfg_value_store(key, &value, base);
	return 0;
}

/* Bind all rows of @scope that belong to @set (NULL: to no set). */
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

/*
 * Allocate the struct of a set's keys, also if the set has no keys. Returns NULL and reports it
 * if there is no memory.
 */
static void *alloc_keys(struct cfg_load *load, const struct cfg_keys *set)
{
	void *keys = calloc(1, set->bytes + 1);

	if (!keys)
		sim_runtime_error(load->err, "out of memory");
	return keys;
}

/* Make the containers, GPUs and events that the settings mention, with their names. */
static int alloc_mentioned(struct cfg_load *load)
{
	const struct cfg_settings *settings = &load->settings;
	struct config *config = load->config;

	config->containers = calloc(settings->container_count + 1, sizeof(*config->containers));
	config->gpus = calloc(settings->gpu_count + 1, sizeof(*config->gpus));
	config->events = calloc(settings->event_count + 1, sizeof(*config->events));
	if (!config->containers || !config->gpus || !config->events)
		return sim_runtime_error(load->err, "out of memory");
	config->container_count = settings->container_count;
	for (size_t i = 0; i < config->container_count; i++)
		memcpy(config->containers[i].name, settings->containers[i].name, CFG_NAME_MAX);
	snprintf(config->gpu.name, sizeof(config->gpu.name), "gpu0");
	config->gpu_count = settings->gpu_count;
	for (size_t i = 0; i < config->gpu_count; i++)
		memcpy(config->gpus[i].name, settings->gpus[i].name, CFG_NAME_MAX);
	config->event_count = settings->event_count;
	return 0;
}

/*
 * Bind the application type of container @index. A container that only --set mentions, without
 * a type, is more likely a slip than a wish.
 */
static int bind_container_type(struct cfg_load *load, size_t index)
{
	const struct cfg_settings *settings = &load->settings;
	const struct cfg_mention *mention = &settings->containers[index];
	struct cfg_container *container = &load->config->containers[index];
	char known[TEXT_MAX] = "";
	char right[TEXT_MAX];
	char path[CFG_PATH_MAX];

	snprintf(path, sizeof(path), "%s.app.type", mention->path);
	if (mention->origin == load->file || cfg_settings_find(settings, path))
		return bind_key(load, cfg_schema_find(&load->schema, path, NULL),
				container->name, container);
	for (size_t i = 0; i < settings->container_count; i++) {
		const struct cfg_mention *other = &settings->containers[i];

		if (strcmp(other->origin, mention->origin) != 0)
			cfg_append(known, sizeof(known), "%s%s", *known ? ", " : "",
				   other->name);
	}
	guess_describe(mention->name, *known ? known : "none is in the file", right,
		       sizeof(right));
	return cfg_error(load->err, mention->origin, mention->path,
			 "no such container, %s (A new one has its app.type.)", right);
}

/*
 * Check @setting, even if a later layer overrides it. Application types have been bound before.
 */
static int check_setting(struct cfg_load *load, const struct cfg_setting *setting)
{
	const struct config *config = load->config;
	const struct cfg_keys *app = NULL;
	const struct cfg_key *key;
	struct cfg_value value;
	char name[CFG_PATH_MAX];
	char allowed[TEXT_MAX];

	if (cfg_path_container(setting->path, name, sizeof(name))) {
		for (size_t i = 0; i < config->container_count; i++) {
			if (!strcmp(config->containers[i].name, name))
				app = config->containers[i].app_type;
		}
	}
	key = cfg_schema_find(&load->schema, setting->path, app);
	if (key && key->scope == CFG_SCOPE_CONTROL && json_is_null(setting->value))
		return 0;
	if (key)
		return cfg_load_value(load, key, setting, &value);
	cfg_describe_unknown(&load->schema, setting->path, app, allowed, sizeof(allowed));
	return cfg_setting_reject(setting, load->err, "no key of this app.type, %s", allowed);
}

/*
 * Bind the keys of all systems, not only of the chosen one: config.json has them all, so it
 * runs under another system, too.
 */
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

/* Bind a container: its own keys, those of its application, and its control files. */
static int bind_container(struct cfg_load *load, struct cfg_container *container)
{
	int status;

	container->app = alloc_keys(load, container->app_type);
	if (!container->app)
		return -SIM_EXIT_RUNTIME;
	status = bind_scope(load, CFG_SCOPE_CONTAINER, NULL, container->name, container);
	if (!status)
		status = bind_scope(load, CFG_SCOPE_APP, container->app_type, container->name,
				    container->app);
	if (status)
		return status;
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
		/* null takes back what an earlier layer writes. */
		if (!setting || json_is_null(setting->value))
			continue;
		if (cfg_load_value(load, key, setting, &value))
			return -SIM_EXIT_USER;
		cfg_value_control_text(key, &value, control->text, sizeof(control->text));
	}
	return 0;
}

/* Add a copy of @path to @keys, once: several systems may have the same key. */
static int list_key(struct cfg_load *load, char **keys, size_t *count, const char *path)
{
	for (size_t i = 0; i < *count; i++) {
		if (!strcmp(keys[i], path))
			return 0;
	}
	keys[*count] = strdup(path);
	if (!keys[*count])
		return sim_runtime_error(load->err, "out of memory");
	++*count;
	return 0;
}

/* Is @system one of the words of @systems? */
static bool is_read_by(const char *systems, const char *system)
{
	size_t length = strlen(system);

	for (; *systems; systems += strcspn(systems, " ")) {
		systems += strspn(systems, " ");
		if (strcspn(systems, " ") == length && !strncmp(systems, system, length))
			return true;
	}
	return false;
}

/* The same of keys of containers that other systems read. */
static int list_foreign_of_containers(struct cfg_load *load, const struct cfg_key *key)
{
	struct config *config = load->config;
	int status = 0;

	if (!key->systems || is_read_by(key->systems, config->system->name))
		return 0;
	for (size_t i = 0; !status && i < config->container_count; i++) {
		const struct cfg_container *container = &config->containers[i];
		const struct cfg_setting *setting;
		char path[CFG_PATH_MAX];

		cfg_key_path(key, container->name, path, sizeof(path));
		setting = cfg_settings_find(&load->settings, path);
		if (container->enabled && setting && setting->source.layer != CFG_LAYER_PROFILE)
			status = list_key(load, config->foreign_keys, &config->foreign_count,
					  path);
	}
	return status;
}

/*
 * List the keys that the user set without effect: keys that no code reads, and keys of other
 * systems. Keys of profiles, the lowest layer, do not count.
 */
static int list_keys_without_effect(struct cfg_load *load)
{
	struct config *config = load->config;
	size_t most = load->schema.count * (1 + config->container_count);
	int status = 0;

	config->unused_keys = calloc(load->schema.count, sizeof(*config->unused_keys));
	config->foreign_keys = calloc(most, sizeof(*config->foreign_keys));
	if (!config->unused_keys || !config->foreign_keys)
		return sim_runtime_error(load->err, "out of memory");
	cfg_schema_for_each(&load->schema, key)
	{
		const struct cfg_setting *setting;

		if (!status)
			status = list_foreign_of_containers(load, key);
		if (status || (!key->unused && key->scope != CFG_SCOPE_SYSTEM))
			continue;
		setting = cfg_settings_find(&load->settings, key->path);
		if (!setting || setting->source.layer == CFG_LAYER_PROFILE)
			continue;
		if (key->unused)
			status = list_key(load, config->unused_keys, &config->unused_count,
					  key->path);
		if (!status && key->scope == CFG_SCOPE_SYSTEM &&
		    !cfg_keys_has(config->system, key->path))
			status = list_key(load, config->foreign_keys, &config->foreign_count,
					  key->path);
	}
	return status;
}

/*
 * Application types come first: they decide which keys the other settings may have, and which
 * follow from files.
 */
int cfg_bind(struct cfg_load *load)
{
	struct config *config = load->config;
	int status = alloc_mentioned(load);

	for (size_t i = 0; !status && i < config->container_count; i++)
		status = bind_container_type(load, i);
	for (size_t i = 0; !status && i < config->container_count; i++) {
		const struct cfg_keys *app = config->containers[i].app_type;

		if (app->derive)
			status = app->derive(load, &config->containers[i]);
	}
	for (size_t i = 0; !status && i < load->settings.count; i++)
		status = check_setting(load, &load->settings.list[i]);
	if (!status)
		status = cfg_check_missing(load);
	if (!status)
		status = bind_scope(load, CFG_SCOPE_CONFIG, NULL, "", config);
	if (!status)
		status = bind_systems(load);
	for (size_t i = 0; !status && i < config->gpu_count; i++)
		status = bind_scope(load, CFG_SCOPE_GPU, NULL, config->gpus[i].name,
				    &config->gpus[i]);
	for (size_t i = 0; !status && i < config->container_count; i++)
		status = bind_container(load, &config->containers[i]);
	for (size_t i = 0; !status && i < config->event_count; i++) {
		char index[24];

		snprintf(index, sizeof(index), "%zu", i);
		config->events[i].number = i;
		status = bind_scope(load, CFG_SCOPE_EVENT, NULL, index, &config->events[i]);
	}
	return status ? status : list_keys_without_effect(load);
}
