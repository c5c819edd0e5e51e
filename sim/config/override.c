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

/* A key or an object of keys, and its value. */
struct setting {
	char path[CFG_PATH_MAX]; /* in its canonical spelling */
	json_t *json;		 /* borrowed; NULL: none */
};

static struct setting setting_at(const char *parent, const char *name, json_t *json)
{
	struct setting setting = { .json = json };
	char path[CFG_PATH_MAX] = "";

	cfg_append(path, sizeof(path), "%s%s%s", parent, *parent ? "." : "", name);
	cfg_path_canonical(path, setting.path, sizeof(setting.path));
	return setting;
}

/* Does @setting set the key @path, by an object on the way to it or itself? */
static bool setting_has(const struct setting *setting, const char *path)
{
	const char *name;
	json_t *value;

	if (!strcmp(setting->path, path))
		return true;
	json_object_foreach(setting->json, name, value) {
		struct setting member = setting_at(setting->path, name, value);

		if (setting_has(&member, path))
			return true;
	}
	return false;
}

/* Does @other set one of the keys of @setting? */
static bool settings_meet(const struct setting *setting, const struct setting *other)
{
	const char *name;
	json_t *value;

	if (!json_is_object(setting->json))
		return setting_has(other, setting->path);
	json_object_foreach(setting->json, name, value) {
		struct setting member = setting_at(setting->path, name, value);

		if (settings_meet(&member, other))
			return true;
	}
	return !strcmp(setting->path, other->path);
}

/* Split "PATH=VALUE". The caller drops the value. */
static struct setting setting_of(const char *set)
{
	const char *equals = strchr(set, '=');
	char path[CFG_PATH_MAX] = "";
	json_error_t bad;

	if (!equals || (size_t)(equals - set) >= sizeof(path))
		return (struct setting){ 0 };
	memcpy(path, set, (size_t)(equals - set));
	return setting_at("", path, cfg_value_from_text(equals + 1, &bad));
}

bool cfg_sets_meet(const char *set, const char *other)
{
	struct setting one = setting_of(set), two = setting_of(other);
	bool meet = *one.path && *two.path && settings_meet(&one, &two);

	json_decref(one.json);
	json_decref(two.json);
	return meet;
}
