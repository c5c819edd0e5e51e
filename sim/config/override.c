// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * --set PATH=VALUE, and options that stand for one key, as --system does.
 *
 * PATH is the longest key of the schema that matches: "containers.vllm.gmem.limit.high" is the
 * key "gmem.limit.high" of the container "vllm", although dots also separate nested objects.
 * Nothing has to be decided here: container names have no dots, and nested and dotted keys are
 * one path in the settings. A PATH may also lead to an object. Its keys are then set one by
 * one.
 */
#include "config/settings.h"

#include <stdio.h>
#include <string.h>

#include "engine/error.h"
#include "config/load.h"
#include "config/message.h"
#include "config/value.h"

static const char origin[] = "--set";

/* Set the key of an option of its own. Messages name the option, and no path. */
static int override_key(struct cfg_settings *settings, const struct cfg_override *override,
			struct sim_error *err)
{
	const struct cfg_source source = { override->option, CFG_LAYER_SET, override->key, "" };
	json_error_t bad;
	json_t *json = cfg_value_from_text(override->path_and_value, &bad);
	int status;

	if (!json)
		return cfg_error(err, override->option, "",
				 "is not UTF-8, allowed: UTF-8 text");
	status = cfg_settings_add(settings, &source, "", json, err);
	json_decref(json);
	return status;
}

int cfg_settings_override(struct cfg_settings *settings, const struct cfg_override *override,
			  struct sim_error *err)
{
	static const struct cfg_source source = { origin, CFG_LAYER_SET, "", "" };
	const char *path_and_value = override->path_and_value;
	const char *equals = strchr(path_and_value, '=');
	char path[CFG_PATH_MAX];
	char key[CFG_PATH_MAX];
	char allowed[512];
	json_error_t bad;
	json_t *json;
	int status;

	if (override->key)
		return override_key(settings, override, err);
	if (!equals || equals == path_and_value)
		return cfg_error(err, origin, "", "\"%s\" sets nothing, allowed: PATH=VALUE",
				 path_and_value);
	if ((size_t)(equals - path_and_value) >= sizeof(path))
		return cfg_error(err, origin, "", "the path is far too long, allowed: %d bytes",
				 CFG_PATH_MAX - 1);
	snprintf(path, sizeof(path), "%.*s", (int)(equals - path_and_value), path_and_value);
	json = cfg_value_from_text(equals + 1, &bad);
	if (!json)
		return cfg_error(err, origin, path, "is not UTF-8, allowed: UTF-8 text");
	if (!*bad.text || cfg_schema_classify(settings->schema, path) != CFG_PATH_BRANCH) {
		status = cfg_settings_add(settings, &source, path, json, err);
	} else if (cfg_value_twice(&bad, key, sizeof(key))) {
		status = cfg_error(err, origin, path, "%s is given twice, allowed: once",
				   *key ? key : "a key");
	} else {
		cfg_describe_branch(settings->schema, path, allowed, sizeof(allowed));
		status = cfg_error(err, origin, path, "%s, %s", bad.text, allowed);
	}
	json_decref(json);
	return status;
}
