// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config/load.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/guess.h"
#include "config/message.h"
#include "config/paths.h"
#include "config/steps.h"
#include "engine/error.h"

/*
 * Find the scenario @name: a file or a pipe, or else a scenario that comes with gvmsim, with or
 * without ".json". A folder of that name does not hide a scenario of gvmsim.
 */
static int find_scenario(struct cfg_load *load, const char *name)
{
	const char *const endings[] = { "", ".json" };
	struct sim_error ignored = { 0 };
	char folders[512] = "the current folder";
	struct guess guess;
	char known[512];

	snprintf(load->file, sizeof(load->file), "%s", name);
	if (!access(name, F_OK) && !cfg_path_is_folder(name))
		return 0;
	/* Without the permission to search the folder it is not known whether the file exists. */
	if (strchr(name, '/') && access(name, F_OK) && errno == EACCES)
		return cfg_error(load->err, name, "", "cannot be read: %s", strerror(errno));
	for (size_t i = 0; !strchr(name, '/') && i < 2; i++) {
		char file[CFG_TEXT_MAX];

		snprintf(file, sizeof(file), "%s%s", name, endings[i]);
		if (!config_find_data("scenarios", file, load->file, sizeof(load->file),
				      &ignored) &&
		    cfg_path_is_file(load->file))
			return 0;
	}
	if (cfg_path_is_folder(name))
		return cfg_error(load->err, name, "", "is a folder, allowed: a scenario file");
	cfg_path_list_data("scenarios", folders, sizeof(folders));
	config_list_scenarios(known, sizeof(known));
	guess_begin(&guess, name);
	guess_offer_list(&guess, known);
	if (*guess.name)
		return cfg_error(load->err, name, "", "no such scenario, did you mean \"%s\"?",
				 guess.name);
	return cfg_error(load->err, name, "", "no such scenario, allowed: a file in %s%s%s",
			 folders, *known ? ", which has " : "", known);
}

/*
 * Find and read the scenario. Relative names in it begin in its folder. An open file
 * ("/dev/stdin", the shell's "<(...)") has no folder: its relative names begin in the current
 * folder.
 */
static int load_scenario(struct cfg_load *load, const char *name)
{
	static const char *const open_files[] = { "/dev/stdin", "/dev/fd/", "/proc/" };
	struct cfg_source source = { load->file, CFG_LAYER_SCENARIO, "", "" };
	const char *file = load->file;
	json_t *root;
	int status = find_scenario(load, name);

	if (status)
		return status;
	for (size_t i = 0; i < sizeof(open_files) / sizeof(open_files[0]); i++) {
		if (!strncmp(load->file, open_files[i], strlen(open_files[i])))
			file = ".";
	}
	if (!cfg_path_folder(file, load->folder, sizeof(load->folder)))
		return cfg_error(load->err, load->file, "", "%s", strerror(errno));
	status = cfg_load_json(load->file, &root, load->err);
	if (status)
		return status;
	status = cfg_settings_add(&load->settings, &source, "", root, load->err);
	json_decref(root);
	return status;
}

static void load_destroy(struct cfg_load *load)
{
	for (size_t i = 0; load->systems && load->schema.registry->systems[i]; i++)
		free(load->systems[i]);
	free(load->systems);
	cfg_schema_destroy(&load->schema);
	cfg_settings_destroy(&load->settings);
	for (size_t i = 0; i < load->origin_count; i++)
		free(load->origins[i]);
	free(load->origins);
}

int config_load(const struct cfg_registry *registry, const char *path,
		const struct cfg_override *overrides, size_t count, struct config *config,
		struct sim_error *err)
{
	struct cfg_load load = { .config = config, .err = err };
	size_t own = 0;
	int status;

	*config = (struct config){ 0 };
	if (cfg_schema_init(&load.schema, registry))
		return sim_runtime_error(err, "out of memory");
	load.settings.schema = &load.schema;
	status = load_scenario(&load, path);
	for (size_t i = 0; !status && i < count; i++)
		status = cfg_settings_override(&load.settings, &overrides[i], err);
	if (!status)
		status = cfg_load_profiles(&load);
	if (!status)
		status = cfg_bind(&load);
	/* The config borrows the keys of its own system, and takes them if all is right. */
	while (!status && registry->systems[own] != config->system)
		own++;
	if (!status)
		config->system_keys = load.systems[own];
	if (!status)
		status = cfg_check(&load);
	if (!status)
		status = cfg_resolve(&load);
	if (status)
		config->system_keys = NULL;
	else
		load.systems[own] = NULL;
	snprintf(config->file, sizeof(config->file), "%.*s", CFG_TEXT_MAX - 1, load.file);
	load_destroy(&load);
	if (status)
		config_destroy(config);
	return status;
}
