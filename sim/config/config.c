// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config/config.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/error.h"
#include "config/load.h"
#include "config/message.h"
#include "config/paths.h"

/* "file:LINE:COLUMN: what", as compilers have it. */
static int json_mistake(struct sim_error *err, const char *file, const json_error_t *bad)
{
	char where[32];

	snprintf(where, sizeof(where), "%d:%d", bad->line, bad->column);
	return cfg_error(err, file, where, "%s", bad->text);
}

int cfg_load_json(const char *file, json_t **ret_root, struct sim_error *err)
{
	FILE *stream = fopen(file, "rb");
	json_error_t bad;

	if (!stream)
		return cfg_error(err, file, "", "cannot be read: %s", strerror(errno));
	*ret_root = json_loadf(stream, JSON_REJECT_DUPLICATES, &bad);
	fclose(stream);
	if (*ret_root)
		return 0;
	return json_mistake(err, file, &bad);
}

/* A scenario that is no file here may be one of ours, with or without ".json". */
static int find_scenario(struct cfg_load *load, const char *name)
{
	const char *const endings[] = { "", ".json" };
	struct sim_error ignored = { 0 };
	char folders[512] = "the current folder";

	snprintf(load->file, sizeof(load->file), "%s", name);
	if (cfg_path_is_file(name))
		return 0;
	for (size_t i = 0; !strchr(name, '/') && i < 2; i++) {
		char file[CFG_TEXT_MAX];

		snprintf(file, sizeof(file), "%s%s", name, endings[i]);
		if (!config_find_data("scenarios", file, load->file, sizeof(load->file),
				      &ignored) &&
		    cfg_path_is_file(load->file))
			return 0;
	}
	cfg_path_list_data("scenarios", folders, sizeof(folders));
	return cfg_error(load->err, name, "", "no such scenario, allowed: a file in %s",
			 folders);
}

static int load_scenario(struct cfg_load *load, const char *name)
{
	struct cfg_source source = { load->file, CFG_LAYER_SCENARIO, "" };
	int rc = find_scenario(load, name);
	json_t *root;

	if (!rc && !cfg_path_folder(load->file, load->folder, sizeof(load->folder)))
		rc = cfg_error(load->err, load->file, "", "%s", strerror(errno));
	if (!rc)
		rc = cfg_load_json(load->file, &root, load->err);
	if (rc)
		return rc;
	rc = cfg_settings_add(&load->settings, &source, "", root, load->err);
	json_decref(root);
	return rc;
}

static int load_layers(struct cfg_load *load, const char *path,
		       const struct cfg_override *overrides, size_t count)
{
	int rc = load_scenario(load, path);

	for (size_t i = 0; !rc && i < count; i++)
		rc = cfg_settings_override(&load->settings, overrides[i].path_and_value,
					   load->err);
	return rc ? rc : cfg_load_profiles(load);
}

static void load_destroy(struct cfg_load *load)
{
	cfg_settings_destroy(&load->settings);
	for (size_t i = 0; i < load->origin_count; i++)
		free(load->origins[i]);
}

int config_load(const char *path, const struct cfg_override *overrides, size_t count,
		struct config *config, struct sim_error *err)
{
	struct cfg_load load = { .config = config, .err = err };
	int rc;

	*config = (struct config){ 0 };
	rc = load_layers(&load, path, overrides, count);
	if (!rc)
		rc = cfg_bind(&load);
	if (!rc)
		rc = cfg_check(&load);
	if (!rc)
		rc = cfg_resolve(&load);
	snprintf(config->file, sizeof(config->file), "%.*s", CFG_TEXT_MAX - 1, load.file);
	load_destroy(&load);
	if (rc)
		config_destroy(config);
	return rc;
}

void config_destroy(struct config *config)
{
	for (size_t i = 0; i < config->container_count; i++)
		free(config->containers[i].controls);
	free(config->containers);
	free(config->events);
	json_decref(config->resolved);
	*config = (struct config){ 0 };
}
