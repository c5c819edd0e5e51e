// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Required keys that are missing: all of a file in one message. A key of a GPU or of the host
 * is missing in the GPU's profile, if there is one, for a profile should be whole. Any other
 * key is missing in the layer that mentions its event or container first.
 */
#include "config/steps.h"

#include <stdio.h>
#include <string.h>

#include "config/message.h"
#include "engine/error.h"

#define TEXT_MAX 512

/* A message has room for so many bytes of further keys. */
#define LIST_MAX 640

/* Missing keys of the file that lacks the first of them. */
struct missing {
	const struct cfg_key *key; /* the first one; NULL: none is missing */
	const char *origin;	   /* that file */
	char path[CFG_PATH_MAX];   /* of the first one, there */
	char others[LIST_MAX];	   /* paths of further ones, "a, b" */
	size_t unlisted;	   /* further ones without room */
	u32 no_profiles; /* bit 0: "gpu.profile" is one of them; 1 + i: that of further GPU i */
	char needed[CFG_PATH_MAX]; /* the first key that such a word stands for */
};

/*
 * The last setting of the profile that should have @path, a key of a GPU or the host, or NULL.
 */
static const struct cfg_setting *find_profile(const struct cfg_settings *settings,
					      const char *path)
{
	const struct cfg_setting *found = NULL;

	for (size_t i = 0; i < settings->count; i++) {
		const struct cfg_setting *setting = &settings->list[i];
		size_t length = strlen(setting->source.prefix);

		if (setting->source.layer != CFG_LAYER_PROFILE)
			continue;
		if (length ? !strncmp(path, setting->source.prefix, length) &&
				     path[length] == '.' &&
				     !strncmp(path, "gpus.", strlen("gpus.")) :
			     !strncmp(path, "gpu.", strlen("gpu.")) ||
				     !strncmp(path, "host.", strlen("host.")))
			found = setting;
	}
	return found;
}

/* The file that lacks @path, and the path there. */
static const char *find_origin(const struct cfg_load *load, const char *path,
			       char ret_path[CFG_PATH_MAX])
{
	const struct cfg_settings *settings = &load->settings;
	const struct cfg_setting *profile = find_profile(settings, path);
	char name[CFG_PATH_MAX];
	size_t index;

	snprintf(ret_path, CFG_PATH_MAX, "%s", path);
	if (profile) {
		cfg_source_path(&profile->source, path, ret_path);
		return profile->source.origin;
	}
	if (cfg_path_event(path, &index))
		return settings->event_origins[index];
	for (size_t i = 0; i < settings->gpu_count && cfg_path_gpu(path, name, sizeof(name));
	     i++) {
		if (!strcmp(settings->gpus[i].name, name))
			return settings->gpus[i].origin;
	}
	for (size_t i = 0;
	     i < settings->container_count && cfg_path_container(path, name, sizeof(name));
	     i++) {
		if (!strcmp(settings->containers[i].name, name))
			return settings->containers[i].origin;
	}
	return load->file;
}

int cfg_reject_missing(struct cfg_load *load, const struct cfg_key *key, const char *path)
{
	char own[CFG_PATH_MAX];
	const char *origin = find_origin(load, path, own);
	char allowed[TEXT_MAX];

	cfg_describe_allowed(key, allowed, sizeof(allowed));
	return cfg_error(load->err, origin, own, "is missing, allowed: %s", allowed);
}

/*
 * Would the profile of a GPU have @path, but the scenario names none? Then take the key that
 * would name it, and the GPU's bit.
 */
static bool is_of_profile(const struct cfg_load *load, const char *path,
			  char ret_key[CFG_PATH_MAX], u32 *ret_bit)
{
	const struct cfg_settings *settings = &load->settings;
	const struct cfg_setting *setting;
	char name[CFG_PATH_MAX];
	const char *text;
	u32 index = 0;

	if (cfg_path_gpu(path, name, sizeof(name))) {
		while (index < settings->gpu_count &&
		       strcmp(settings->gpus[index].name, name) != 0)
			index++;
		snprintf(ret_key, CFG_PATH_MAX, "gpus.%.*s.profile", CFG_NAME_MAX, name);
		index++;
	} else if (!strncmp(path, "gpu.", strlen("gpu.")) ||
		   !strncmp(path, "host.", strlen("host."))) {
		snprintf(ret_key, CFG_PATH_MAX, "gpu.profile");
	} else {
		return false;
	}
	setting = cfg_settings_find(settings, ret_key);
	text = setting ? json_string_value(setting->value) : NULL;
	*ret_bit = 1u << index;
	return !setting || (text && !*text);
}

/* If @key is missing where "*" or "#" in its path stands for @instance, count it. */
static void look_for(const struct cfg_load *load, const struct cfg_key *key,
		     const char *instance, struct missing *missing)
{
	char path[CFG_PATH_MAX];
	char own[CFG_PATH_MAX];
	char profile[CFG_PATH_MAX];
	const char *origin;
	u32 bit;

	cfg_key_path(key, instance, path, sizeof(path));
	if (key->fallback || cfg_settings_find(&load->settings, path))
		return;
	origin = find_origin(load, path, own);
	if (is_of_profile(load, path, profile, &bit)) {
		/* One word for dozens of keys. */
		if (missing->no_profiles & bit)
			return;
		if (!missing->no_profiles)
			memcpy(missing->needed, own, sizeof(own));
		missing->no_profiles |= bit;
		memcpy(own, profile, sizeof(own));
	}
	if (!missing->key) {
		missing->key = key;
		missing->origin = origin;
		memcpy(missing->path, own, sizeof(own));
	} else if (!strcmp(origin, missing->origin)) {
		if (strlen(missing->others) + strlen(own) + 2 < sizeof(missing->others))
			cfg_append(missing->others, sizeof(missing->others), "%s%s",
				   *missing->others ? ", " : "", own);
		else
			missing->unlisted++;
	}
}

int cfg_check_missing(struct cfg_load *load)
{
	const struct config *config = load->config;
	struct missing missing = { 0 };
	char allowed[TEXT_MAX];
	char more[32] = "";

	cfg_schema_for_each(&load->schema, key)
	{
		char index[24];

		if (key->scope == CFG_SCOPE_CONFIG)
			look_for(load, key, "", &missing);
		for (size_t i = 0; key->scope == CFG_SCOPE_GPU && i < config->gpu_count; i++)
			look_for(load, key, config->gpus[i].name, &missing);
		for (size_t i = 0; i < config->container_count; i++) {
			const struct cfg_container *container = &config->containers[i];

			if (key->scope == CFG_SCOPE_CONTAINER ||
			    (key->scope == CFG_SCOPE_APP && key->set == container->app_type))
				look_for(load, key, container->name, &missing);
		}
		for (size_t i = 0; key->scope == CFG_SCOPE_EVENT && i < config->event_count;
		     i++) {
			snprintf(index, sizeof(index), "%zu", i);
			look_for(load, key, index, &missing);
		}
	}
	if (!missing.key)
		return 0;
	if (*missing.others) {
		if (missing.unlisted)
			snprintf(more, sizeof(more), " and %zu more", missing.unlisted);
		return cfg_error(load->err, missing.origin, missing.path,
				 "is missing, and so are %s%s", missing.others, more);
	}
	if (missing.no_profiles)
		return cfg_error(load->err, missing.origin, missing.path,
				 "is missing, allowed: the name of a GPU, such as "
				 "\"a100-40g\"; without one all keys are needed, and %s is "
				 "missing",
				 missing.needed);
	cfg_describe_allowed(missing.key, allowed, sizeof(allowed));
	return cfg_error(load->err, missing.origin, missing.path, "is missing, allowed: %s",
			 allowed);
}
