/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The layers of a configuration, before their values are checked.
 *
 * Each layer is flattened into settings: a path that the schema knows, the JSON found there,
 * and its origin for messages. Nested objects and dotted keys become the same path: {"gpu":
 * {"link": {"setup": ..}}} and {"gpu.link.setup": ..} are one setting. A file, or one --set,
 * that holds both is wrong. The look-up of a value decides which layer wins. Every setting is
 * checked, overridden or not.
 */
#ifndef SIM_CONFIG_SETTINGS_H
#define SIM_CONFIG_SETTINGS_H

#include <jansson.h>

#include "config/config.h"
#include "config/schema.h"

struct cfg_override;
struct sim_error;

/* The layers; later ones win. The defaults in the schema are below all of them. */
enum cfg_layer {
	CFG_LAYER_PROFILE,
	CFG_LAYER_DERIVED, /* from a file that a key names: derive.h */
	CFG_LAYER_SCENARIO,
	CFG_LAYER_SET,
};

/* Where a tree of JSON came from. */
struct cfg_source {
	const char *origin; /* file name, or an option; outlives the settings */
	enum cfg_layer layer;
	const char *prefix;   /* path of its root: "", "containers.<name>", ... */
	const char *own_root; /* the root's path in its file: "" or "gpu" */
};

/* One key of one layer. */
struct cfg_setting {
	char path[CFG_PATH_MAX];	  /* canonical */
	char spelling[CFG_PATH_MAX + 32]; /* nesting as written: "gpu > link.setup" */
	struct cfg_source source;
	size_t tree;   /* number of the cfg_settings_add() call that added it */
	json_t *value; /* a reference is held */
	size_t older;  /* 1 + index of the next one with the same hash of its path; 0: none */
};

/* A container or a further GPU that some layer mentions. */
struct cfg_mention {
	char name[CFG_NAME_MAX];
	char path[CFG_NAME_MAX + 16]; /* "containers.<name>", "gpus.<name>" */
	const char *origin;	      /* of the first mention */
};

/* All settings. Set the schema, zero the rest; cfg_settings_destroy() frees it. */
struct cfg_settings {
	const struct cfg_schema *schema; /* borrowed */
	struct cfg_setting *list;
	size_t count;
	size_t capacity;
	size_t *newest; /* by hash of the path, as many as capacity: 1 + index of a setting */
	struct cfg_mention containers[CFG_CONTAINERS_MAX]; /* in order of mention */
	size_t container_count;
	struct cfg_mention gpus[CFG_GPUS_MAX];
	size_t gpu_count;
	/* For each event the origin of its first mention, even if that has no key. */
	const char *event_origins[CFG_EVENTS_MAX];
	size_t event_count; /* one more than the highest index mentioned */
	size_t tree_count;
};

void cfg_settings_destroy(struct cfg_settings *settings);

/*
 * Add the keys in @json, which stands at @path below the source's prefix ("" is the root).
 * Reports unknown keys, keys written twice and bad container names. @json is borrowed. Returns
 * 0 or a negative enum sim_exit.
 */
int cfg_settings_add(struct cfg_settings *settings, const struct cfg_source *source,
		     const char *path, json_t *json, struct sim_error *err);

/* Add one --set PATH=VALUE, or an option of its own for one key. */
int cfg_settings_override(struct cfg_settings *settings, const struct cfg_override *override,
			  struct sim_error *err);

/* Write @path as the source's own file has it. */
void cfg_source_path(const struct cfg_source *source, const char *path,
		     char ret_path[CFG_PATH_MAX]);

/* The winning setting at @path, or NULL. */
const struct cfg_setting *cfg_settings_find(const struct cfg_settings *settings,
					    const char *path);

/*
 * Report a mistake in @setting: names its origin, and its path there. In a profile no path has
 * the name of a container or a GPU. Returns -SIM_EXIT_USER.
 */
int cfg_setting_reject(const struct cfg_setting *setting, struct sim_error *err,
		       const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
