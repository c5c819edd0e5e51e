// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Profiles: the constants of a GPU with its host, or of an application.
 *
 * Every leaf is {"value": ..., "source": "..."}; a number that cannot say where it comes from is
 * refused. A profile is looked for beside the scenario first (gpus/ or apps/ there), so that a
 * user's scenarios can carry their own, then among those that came with gvmsim.
 */
#include "config/load.h"

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
	const char *trees[3]; /* keys at its top, NULL-terminated */
};

static const struct profile_kind gpu_kind = { "gpus", { "gpu", "host", NULL } };
static const struct profile_kind app_kind = { "apps", { "app", NULL } };

/* The file of profile @name of @kind. */
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

/* Remember @file as long as settings may point to it. NULL: no memory. */
static const char *keep_origin(struct cfg_load *load, const char *file)
{
	char *copy = strdup(file);

	if (copy)
		load->origins[load->origin_count++] = copy;
	return copy;
}

/* An application's profile does not speak of GPUs, nor of the container's own keys. */
static int check_trees(const struct profile_kind *kind, const char *file, const json_t *root,
		       struct sim_error *err)
{
	char allowed[64] = "";
	const char *name;
	json_t *child;

	for (size_t i = 0; kind->trees[i]; i++)
		cfg_append(allowed, sizeof(allowed), "%s%s", i ? ", " : "", kind->trees[i]);
	json_object_foreach((json_t *)root, name, child) {
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
 * Of a profile for a further GPU only "gpu" counts: the machine has one host. Its keys lie below
 * "gpus.<name>" in place of "gpu".
 */
static int add_further_gpu(struct cfg_load *load, const struct cfg_source *source, json_t *root)
{
	const char *name;
	json_t *child;
	int status = 0;

	json_object_foreach(root, name, child) {
		const char *rest = name + strcspn(name, ".");

		if (!status && !strncmp(name, "gpu", strlen("gpu")))
			status = cfg_settings_add(&load->settings, source,
						  *rest ? rest + 1 : "", child, load->err);
	}
	return status;
}

static int profile_read(struct cfg_load *load, const struct profile_kind *kind,
			const char *file, const char *prefix)
{
	struct cfg_source source = { keep_origin(load, file), CFG_LAYER_PROFILE, prefix };
	json_t *root;
	int status;

	if (!source.origin)
		return sim_runtime_error(load->err, "out of memory");
	status = cfg_load_json(file, &root, load->err);
	if (status)
		return status;
	status = check_trees(kind, file, root, load->err);
	if (!status && kind == &gpu_kind && *prefix)
		status = add_further_gpu(load, &source, root);
	else if (!status)
		status = cfg_settings_add(&load->settings, &source, "", root, load->err);
	json_decref(root);
	return status;
}

/* Add the profile that the key at @path names, if any layer sets it and it is not none, "". */
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
