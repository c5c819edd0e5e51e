// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * --set PATH=VALUE.
 *
 * The longest key that the schema knows is meant: "containers.vllm.gmem.limit.high" is the key
 * "gmem.limit.high" of the container "vllm", though dots also part nested objects. Paths decide
 * that by themselves, for container names have no dots and nesting and dotted keys are one path
 * to the settings. A PATH may also lead to an object, whose keys are then set one by one.
 */
#include "config/settings.h"

#include <stdio.h>
#include <string.h>

#include "engine/error.h"
#include "config/message.h"
#include "config/value.h"

static const char origin[] = "--set";

/* The object at @path is malformed: @bad. */
static int bad_object(const struct cfg_schema *schema, const char *path,
		      const json_error_t *bad, struct sim_error *err)
{
	char key[CFG_PATH_MAX];
	char allowed[512];

	if (cfg_value_twice(bad, key, sizeof(key)))
		return cfg_error(err, origin, path, "%s is given twice, allowed: once",
				 *key ? key : "a key");
	cfg_describe_branch(schema, path, allowed, sizeof(allowed));
	return cfg_error(err, origin, path, "%s, %s", bad->text, allowed);
}

int cfg_settings_override(struct cfg_settings *settings, const char *path_and_value,
			  struct sim_error *err)
{
	static const struct cfg_source source = { origin, CFG_LAYER_SET, "" };
	const char *equals = strchr(path_and_value, '=');
	char path[CFG_PATH_MAX];
	json_error_t bad;
	json_t *json;
	int status;

	if (!equals || equals == path_and_value)
		return cfg_error(err, origin, "", "\"%s\" sets nothing, allowed: PATH=VALUE",
				 path_and_value);
	if ((size_t)(equals - path_and_value) >= sizeof(path))
		return cfg_error(err, origin, "", "the path is far too long, allowed: %d bytes",
				 CFG_PATH_MAX - 1);
	snprintf(path, sizeof(path), "%.*s", (int)(equals - path_and_value), path_and_value);
	json = cfg_value_from_text(equals + 1, &bad);
	if (!json)
		return cfg_error(err, origin, path, "is not in UTF-8, allowed: text that is");
	if (*bad.text && cfg_schema_classify(settings->schema, path) == CFG_PATH_BRANCH)
		status = bad_object(settings->schema, path, &bad, err);
	else
		status = cfg_settings_add(settings, &source, path, json, err);
	json_decref(json);
	return status;
}
