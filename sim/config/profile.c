// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Profiles: the constants of a GPU with its host, or of an application.
 *
 * Every leaf is {"value": ..., "source": "..."}: a number without a source is refused. The
 * folders gpus/ and apps/ beside the scenario come first, so that users can bring profiles of
 * their own. Then come the profiles of gvmsim.
 */
#include "config/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "config/message.h"
#include "config/paths.h"
#include "config/value.h"

/* The two kinds of profile. */
struct profile_kind {
	const char *folder;
	const char *trees[3]; /* the keys allowed at its top, NULL at the end */
};

static const struct profile_kind gpu_kind = { "gpus", { "gpu", "host", NULL } };
static const struct profile_kind app_kind = { "apps", { "app", NULL } };

/* Find the file of profile @name, which the key @key asks for. */
static int profile_find(struct cfg_load *load, const struct profile_kind *kind, const char *key,
			const char *name, char *ret_file, size_t size)
{
	struct sim_error ignored = { 0 };
	char known[512] = "";
	char folder[PATH_MAX];
	char file[PATH_MAX];
	char base[CFG_NAME_MAX + 16];

	snprintf(base, sizeof(base), "%.*s.json", CFG_NAME_MAX - 1, name);
	if (cfg_path_join(load->folder, kind->folder, folder, sizeof(folder))) {
		if (cfg_path_join(folder, base, ret_file, size) && cfg_path_is_file(ret_file))
			return 0;
		cfg_path_list_json(folder, known, sizeof(known));
	}
	if (!config_find_data("scenarios", kind->folder, file, sizeof(file), &ignored)) {
		if (cfg_path_join(file, base, ret_file, size) && cfg_path_is_file(ret_file))
			return 0;
		if (strcmp(file, folder) != 0)
			cfg_path_list_json(file, known, sizeof(known));
	}
	return cfg_reject(load, key, "no profile \"%s\", allowed: %s", name,
			  *known ? known : "none, no profiles were found");
}

/*
 * Check the keys at the top of a profile. An application's profile has only "app": it sets
 * nothing of a GPU or of the container itself.
 */
static int check_trees(const struct profile_kind *kind, const char *file, json_t *root,
		       struct sim_error *err)
{
	char allowed[64] = "";
	const char *name;
	json_t *child;

	for (size_t i = 0; kind->trees[i]; i++)
		cfg_append(allowed, sizeof(allowed), "%s%s", i ? ", " : "", kind->trees[i]);
	json_object_foreach(root, name, child) {
		size_t i = 0;

		while (kind->trees[i] && (strncmp(name, kind->trees[i], strcspn(name, ".")) ||
					  kind->trees[i][strcspn(name, ".")]))
			i++;
		if (!kind->trees[i])
			return cfg_error(err, file, name, "unknown key, allowed: %s", allowed);
	}
	return 0;
}

/*
 * Read the profile @file, whose keys go below @prefix: "", "containers.<name>" or
 * "gpus.<name>". A further GPU takes only "gpu" from its profile, since the machine has one
 * host.
 */
static int profile_read(struct cfg_load *load, const struct profile_kind *kind,
			const char *file, const char *prefix)
{
	const char *origin = cfg_keep_origin(load, file);
	bool further_gpu = kind == &gpu_kind && *prefix;
	struct cfg_source source = { origin, CFG_LAYER_PROFILE, prefix,
				     further_gpu ? "gpu" : "" };
	const char *name;
	json_t *child;
	json_t *root;
	int status;

	if (!origin)
		return -SIM_EXIT_RUNTIME;
	status = cfg_load_json(file, &root, load->err);
	if (status)
		return status;
	status = check_trees(kind, file, root, load->err);
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
	int status;

	if (!setting)
		return 0;
	status = cfg_load_value(load, cfg_schema_find(&load->schema, path, NULL), setting,
				&name);
	if (status || !*name.text)
		return status;
	status = profile_find(load, kind, path, name.text, file, sizeof(file));
	return status ? status : profile_read(load, kind, file, prefix);
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
