/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The steps of config_load(), in their order. All of them report through load->err and return 0
 * or a negative enum sim_exit.
 */
#ifndef SIM_CONFIG_STEPS_H
#define SIM_CONFIG_STEPS_H

#include <limits.h>

#include "config/config.h"
#include "config/schema.h"
#include "config/settings.h"
#include "config/value.h"

/* The state of one config_load(). */
struct cfg_load {
	char file[PATH_MAX];   /* the scenario, as messages name it */
	char folder[PATH_MAX]; /* its folder, absolute */
	struct cfg_schema schema;
	struct cfg_settings settings;
	void **systems; /* for each system of the registry, the bound struct of its keys */
	char **origins; /* names of the files below the scenario that settings point to */
	size_t origin_count;
	struct config *config;
	struct sim_error *err;
};

/*
 * Keep a copy of the name of a file for as long as settings point to it. Returns the copy, or
 * NULL and reports it: no memory.
 */
const char *cfg_keep_origin(struct cfg_load *load, const char *file);

/* Read the JSON object in @file. On success the caller owns *ret_root. */
int cfg_load_json(const char *file, json_t **ret_root, struct sim_error *err);

/* Add the profiles that the settings so far name, as the lowest layer. */
int cfg_load_profiles(struct cfg_load *load);

/*
 * Find the trace, the model or the policy @name that @key names: in the current folder, if
 * @setting is one of --set; beside the scenario; or among those of gvmsim. Writes its absolute
 * path, and a name that finds it from any folder: that path, or @name. False: there is none.
 */
bool cfg_find_file(const struct cfg_load *load, const struct cfg_key *key,
		   const struct cfg_setting *setting, const char *name,
		   char ret_file[CFG_TEXT_MAX], const char **ret_name);

/* Check every setting and fill the members of load->config. */
int cfg_bind(struct cfg_load *load);

/* Check the relations between keys. Puts the events in time order. */
int cfg_check(struct cfg_load *load);

/* Fill config->resolved and config->hash, and make the traces' names absolute. */
int cfg_resolve(struct cfg_load *load);

/* Check that no required key is missing. Containers have their application types, and nothing
 * else yet. */
int cfg_check_missing(struct cfg_load *load);

/* Report that the required key @key, at @path, is missing. */
int cfg_reject_missing(struct cfg_load *load, const struct cfg_key *key, const char *path);

/* Read @setting as a value of @key, or report the problem. */
int cfg_load_value(struct cfg_load *load, const struct cfg_key *key,
		   const struct cfg_setting *setting, struct cfg_value *ret_value);

/* Report a mistake in the key at @path, naming the layer that set it. */
int cfg_reject(struct cfg_load *load, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
