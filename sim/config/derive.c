// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config/derive.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config/models.h"
#include "config/steps.h"
#include "engine/error.h"

/* The row of "app.LEAF" of @container, its path, and the setting that wins so far, or NULL. */
static const struct cfg_setting *derive_find(struct cfg_load *load,
					     const struct cfg_container *container,
					     const char *leaf, char ret_path[CFG_PATH_MAX],
					     const struct cfg_key **ret_key)
{
	snprintf(ret_path, CFG_PATH_MAX, "containers.%s.app.%s", container->name, leaf);
	*ret_key = cfg_schema_find(&load->schema, ret_path, container->app_type);
	return cfg_settings_find(&load->settings, ret_path);
}

int cfg_derive_read(struct cfg_load *load, const struct cfg_container *container,
		    const char *leaf, json_t **ret_root, const char **ret_file)
{
	const struct cfg_key *key;
	char path[CFG_PATH_MAX];
	const struct cfg_setting *setting = derive_find(load, container, leaf, path, &key);
	struct cfg_value value;
	char file[CFG_TEXT_MAX];
	char right[CFG_MODELS_MAX];
	const char *name;
	int status;

	*ret_root = NULL;
	*ret_file = NULL;
	if (!setting)
		return 0;
	status = cfg_load_value(load, key, setting, &value);
	if (status || !*value.text)
		return status;
	if (!cfg_find_file(load, key, setting, value.text, file, &name)) {
		cfg_describe_models(value.text, right, sizeof(right));
		return cfg_reject(load, path,
				  "no config.json in \"%s\" and no model of gvmsim, %s",
				  value.text, right);
	}
	*ret_file = cfg_keep_origin(load, file);
	if (!*ret_file)
		return -SIM_EXIT_RUNTIME;
	return cfg_load_model(file, ret_root, load->err);
}

/* The number that @setting gives to @key. Returns 0 or -SIM_EXIT_USER. */
static int derive_value(struct cfg_load *load, const struct cfg_key *key,
			const struct cfg_setting *setting, u64 *ret_number)
{
	struct cfg_value value;
	int status = cfg_load_value(load, key, setting, &value);

	if (!status)
		*ret_number = value.number;
	return status;
}

int cfg_derive_word(struct cfg_load *load, const struct cfg_container *container,
		    const char *leaf, int *ret_index)
{
	const struct cfg_key *key;
	char path[CFG_PATH_MAX];
	const struct cfg_setting *setting = derive_find(load, container, leaf, path, &key);
	u64 number;
	int status;

	*ret_index = -1;
	if (!setting || setting->source.layer <= CFG_LAYER_DERIVED)
		return 0;
	status = derive_value(load, key, setting, &number);
	if (!status)
		*ret_index = (int)number;
	return status;
}

int cfg_derive_number(struct cfg_load *load, const struct cfg_container *container,
		      const char *leaf, u64 *ret_number)
{
	const struct cfg_key *key;
	char path[CFG_PATH_MAX];
	const struct cfg_setting *setting = derive_find(load, container, leaf, path, &key);

	*ret_number = 0;
	return setting ? derive_value(load, key, setting, ret_number) : 0;
}

int cfg_derive_set(struct cfg_load *load, const struct cfg_container *container,
		   const char *file, const char *leaf, u64 number, const char *word)
{
	const struct cfg_settings *settings = &load->settings;
	struct cfg_source source = { file, CFG_LAYER_DERIVED, NULL, "" };
	char path[CFG_PATH_MAX];
	json_t *value;
	int status;

	for (size_t i = 0; i < settings->container_count; i++) {
		if (!strcmp(settings->containers[i].name, container->name))
			source.prefix = settings->containers[i].path;
	}
	snprintf(path, sizeof(path), "app.%s", leaf);
	value = word ? json_string(word) :
		       json_integer(number < INT64_MAX ? (json_int_t)number : INT64_MAX);
	if (!value)
		return sim_runtime_error(load->err, "out of memory");
	status = cfg_settings_add(&load->settings, &source, path, value, load->err);
	json_decref(value);
	return status;
}

struct sim_error *cfg_derive_error(struct cfg_load *load)
{
	return load->err;
}
