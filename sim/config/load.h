/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * From a scenario file, the profiles that it names and --set options to a struct config.
 *
 * Layers, later ones win:  schema defaults < profile files < a model's config.json < scenario
 * file < --set. A profile
 * ("gpu.profile", "containers.<name>.app.profile") is a JSON file under scenarios/gpus or
 * scenarios/apps. Its leaves are {"value": ..., "source": "..."}: every constant names its
 * source. Folders gpus and apps beside the scenario come before those of gvmsim. A scenario can
 * override the same keys.
 */
#ifndef SIM_CONFIG_LOAD_H
#define SIM_CONFIG_LOAD_H

#include <stdbool.h>
#include <stddef.h>

struct cfg_registry;
struct config;
struct sim_error;

/* One --set PATH=VALUE of the command line, or an option of its own for one key. */
struct cfg_override {
	const char *path_and_value; /* borrowed; with @key the value alone */
	const char *key;	    /* "system.name" of --system, static; NULL: of --set */
	const char *option;	    /* "--system", static, for messages; NULL: of --set */
};

/*
 * Load @path: a scenario file, a pipe, or the name of a scenario that comes with gvmsim. Apply
 * @count overrides in order and check everything against the keys of @registry, which outlives
 * the config. A mistake is reported as "file:key.path: what is wrong, what is allowed", or with
 * the option in place of the file. On failure *config is empty. Returns 0 or a negative enum
 * sim_exit.
 */
int config_load(const struct cfg_registry *registry, const char *path,
		const struct cfg_override *overrides, size_t count, struct config *config,
		struct sim_error *err);

/*
 * Do two texts "PATH=VALUE", as --set takes them, set the same key? A PATH may be spelt with an
 * alias of a control file, and a VALUE may be an object of keys. Equal paths always meet. False
 * also without memory, and for a text that sets nothing.
 */
bool cfg_sets_meet(const char *set, const char *other);

#endif
