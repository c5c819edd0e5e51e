// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Profiles: the constants of a GPU with its host, or of an application.
 *
 * Every leaf is {"value": ..., "source": "..."}: a number without a source is refused. A
 * profile may say only what differs from another: {"extends": "a100-80g", "gpu": ...}. The
 * folders gpus/ and apps/ beside the scenario come first, so that users can bring profiles of
 * their own. Then come the profiles of gvmsim.
 */
#include "config/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "engine/guess.h"
#include "config/message.h"
#include "config/models.h"
#include "config/paths.h"
#include "config/value.h"

/* The two kinds of profile. */
struct profile_kind {
	const char *folder;
	const char *trees[3]; /* the keys allowed at its top, NULL at the end */
};

static const struct profile_kind gpu_kind = { "gpus", { "gpu", "host", NULL } };
static const struct profile_kind app_kind = { "apps", { "app", "guardian", NULL } };

/*
 * Find the file of profile @name: in @folder, beside the scenario, or among those of gvmsim.
 * Otherwise writes what to use instead. False: there is none.
 */
static bool profile_find(const struct cfg_load *load, const struct profile_kind *kind,
			 const char *folder, const char *name, char *ret_file, char *ret_right,
			 size_t size)
{
	struct sim_error ignored = { 0 };
	char folders[3][PATH_MAX] = { "", "", "" };
	char known[1024] = "";
	char base[CFG_NAME_MAX + 16];

	snprintf(base, sizeof(base), "%.*s.json", CFG_NAME_MAX - 1, name);
	snprintf(folders[0], PATH_MAX, "%s", folder);
	cfg_path_join(load->folder, kind->folder, folders[1], PATH_MAX);
	config_find_data("scenarios", kind->folder, folders[2], PATH_MAX, &ignored);
	for (size_t i = 0; i < 3; i++) {
		bool again = !*folders[i];

		if (!again && cfg_path_join(folders[i], base, ret_file, PATH_MAX) &&
		    cfg_path_is_file(ret_file))
			return true;
		for (size_t k = 0; k < i; k++)
			again |= !strcmp(folders[i], folders[k]);
		if (!again)
			cfg_path_list_json(folders[i], known, sizeof(known));
	}
	guess_describe(name, *known ? known : "none, no profiles were found", ret_right, size);
	return false;
}

/*
 * What a fence costs an application is its own, the other keys of "guardian" are a container's.
 * @name is "guardian", or "guardian.l1" with dots.
 */
static int check_fence(const char *file, const char *name, const json_t *child,
		       struct sim_error *err)
{
	static const char *const keys[] = { "l1", "l2", "offsets" };
	const char *own = name[strcspn(name, ".")] ? name + strlen("guardian.") : NULL;
	void *iterator = own ? NULL : json_object_iter((json_t *)child);

	do {
		const char *key = own ? own : iterator ? json_object_iter_key(iterator) : "";
		char path[CFG_PATH_MAX];
		size_t i = 0;

		while (i < sizeof(keys) / sizeof(keys[0]) && strcmp(keys[i], key) != 0)
			i++;
		snprintf(path, sizeof(path), "guardian%s%.64s", *key ? "." : "", key);
		if (i == sizeof(keys) / sizeof(keys[0]))
			return cfg_error(err, file, path, "%s, allowed: l1, l2, offsets",
					 *key ? "is a container's key" : "has no key");
		if (!own)
			iterator = json_object_iter_next((json_t *)child, iterator);
	} while (iterator);
	return 0;
}

/*
 * Check the keys at the top of a profile. An application's profile has "app" and what its fence
 * costs: it sets nothing of a GPU or of the container itself.
 */
static int check_trees(const struct profile_kind *kind, const char *file, json_t *root,
		       struct sim_error *err)
{
	char allowed[64] = "";
	const char *name;
	json_t *child;

	for (size_t i = 0; kind->trees[i]; i++)
		cfg_append(allowed, sizeof(allowed), "%s%s", i ? ", " : "", kind->trees[i]);
	if (!json_is_object(root))
		return cfg_error(err, file, "",
				 "is not an object, allowed: an object with extends, %s",
				 allowed);
	json_object_foreach(root, name, child) {
		size_t i = 0;

		if (!strcmp(name, "extends"))
			continue;
		while (kind->trees[i] && (strncmp(name, kind->trees[i], strcspn(name, ".")) ||
					  kind->trees[i][strcspn(name, ".")]))
			i++;
		if (!kind->trees[i])
			return cfg_error(err, file, name, "unknown key, allowed: extends, %s",
					 allowed);
		if (!strcmp(kind->trees[i], "guardian") && check_fence(file, name, child, err))
			return -SIM_EXIT_USER;
	}
	return 0;
}

/* A profile that is being read, and the one that extends it. */
struct profile_chain {
	const char *file;
	const struct profile_chain *extended_by; /* NULL: the scenario names it */
};

static int profile_read(struct cfg_load *load, const struct profile_kind *kind,
			const char *prefix, const struct profile_chain *chain);

/*
 * Read the profile that @root, the profile at @chain, extends, if it does. Its settings come
 * first, so those of @root win.
 */
static int profile_extend(struct cfg_load *load, const struct profile_kind *kind,
			  const char *prefix, const struct profile_chain *chain,
			  const json_t *root)
{
	const json_t *extends = json_object_get(root, "extends");
	const char *name = json_string_value(extends);
	char folder[PATH_MAX];
	char file[PATH_MAX];
	char right[600];
	struct profile_chain base = { file, chain };

	if (!extends)
		return 0;
	if (!name || !*name || strlen(name) >= CFG_NAME_MAX)
		return cfg_error(load->err, chain->file, "extends",
				 "is no name, allowed: the name of a profile");
	if (!cfg_path_folder(chain->file, folder, sizeof(folder)))
		*folder = '\0';
	if (!profile_find(load, kind, folder, name, file, right, sizeof(right)))
		return cfg_error(load->err, chain->file, "extends", "no profile \"%s\", %s",
				 name, right);
	for (const struct profile_chain *above = chain; above; above = above->extended_by) {
		if (!strcmp(above->file, file))
			return cfg_error(load->err, chain->file, "extends",
					 "\"%s\" extends this profile, allowed: one that does "
					 "not",
					 name);
	}
	return profile_read(load, kind, prefix, &base);
}

/*
 * Read a profile, whose keys go below @prefix: "", "containers.<name>" or "gpus.<name>". A
 * further GPU takes only "gpu" from its profile, since the machine has one host.
 */
static int profile_read(struct cfg_load *load, const struct profile_kind *kind,
			const char *prefix, const struct profile_chain *chain)
{
	const char *origin = cfg_keep_origin(load, chain->file);
	bool further_gpu = kind == &gpu_kind && *prefix;
	struct cfg_source source = { origin, CFG_LAYER_PROFILE, prefix,
				     further_gpu ? "gpu" : "" };
	const char *name;
	json_t *child;
	json_t *root;
	int status;

	if (!origin)
		return -SIM_EXIT_RUNTIME;
	status = cfg_load_json(chain->file, &root, load->err);
	if (status)
		return status;
	status = check_trees(kind, chain->file, root, load->err);
	if (!status)
		status = profile_extend(load, kind, prefix, chain, root);
	json_object_del(root, "extends");
	if (further_gpu) {
		json_object_foreach(root, name, child) {
			const char *rest = name + strcspn(name, ".");

			if (!status && !strncmp(name, "gpu", strlen("gpu")))
				status = cfg_settings_add(&load->settings, &source,
							  *rest ? rest + 1 : "", child,
							  load->err);
		}
	} else if (!status) {
		status = cfg_settings_add(&load->settings, &source, "", root, load->err);
	}
	json_decref(root);
	return status;
}

/* Say that @name is no application. It may be a model, for another key of the container. */
static int reject_app(struct cfg_load *load, const char *path, const char *name,
		      const char *right)
{
	int length = (int)(strlen(path) - strlen("profile"));
	bool listed = !strchr(right, '?');
	char model[GUESS_NAME_MAX];

	if (!listed || !cfg_guess_model(name, model))
		return cfg_reject(load, path, "no profile \"%s\", %s%s", name, right,
				  listed ? "; a language model's name goes to app.model" : "");
	return cfg_reject(load, path, "no profile \"%s\", but a model \"%s\": set %.*smodel",
			  name, model, length, path);
}

/*
 * Add the profile that the key at @path names. Without a setting, or with an empty name, there
 * is none.
 */
static int profile_add(struct cfg_load *load, const struct profile_kind *kind, const char *path,
		       const char *prefix)
{
	const struct cfg_setting *setting = cfg_settings_find(&load->settings, path);
	struct cfg_value name;
	char file[PATH_MAX];
	char right[600];
	int status;

	if (!setting)
		return 0;
	status = cfg_load_value(load, cfg_schema_find(&load->schema, path, NULL), setting,
				&name);
	if (status || !*name.text)
		return status;
	if (!profile_find(load, kind, "", name.text, file, right, sizeof(right)))
		return kind == &app_kind ? reject_app(load, path, name.text, right) :
					   cfg_reject(load, path, "no profile \"%s\", %s",
						      name.text, right);
	return profile_read(load, kind, prefix, &(struct profile_chain){ file, NULL });
}

int cfg_load_profiles(struct cfg_load *load)
{
	int status = profile_add(load, &gpu_kind, "gpu.profile", "");

	for (size_t i = 0; !status && i < load->settings.gpu_count; i++) {
		const char *prefix = load->settings.gpus[i].path;
		char path[CFG_PATH_MAX];

		snprintf(path, sizeof(path), "%s.profile", prefix);
		status = profile_add(load, &gpu_kind, path, prefix);
	}
	for (size_t i = 0; !status && i < load->settings.container_count; i++) {
		const char *prefix = load->settings.containers[i].path;
		char path[CFG_PATH_MAX];

		snprintf(path, sizeof(path), "%s.app.profile", prefix);
		status = profile_add(load, &app_kind, path, prefix);
	}
	return status;
}
