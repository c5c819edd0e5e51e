/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Every key that a scenario may hold, in one table.
 *
 * Validation, defaults, binding to struct config, --set, the texts of error messages and the
 * dump of the resolved configuration all walk this table, so a new key is a new row. A path is
 * the names of the nested objects joined by dots. In a row's path "*" stands for a container's
 * name and "#" for the index of an event.
 *
 * The same path may occur once per application type, bound to different members.
 */
#ifndef SIM_CONFIG_SCHEMA_H
#define SIM_CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CFG_PATH_MAX 192

#define CFG_APP_ANY  (-1) /* belongs to every application type */

/* What a value may look like, and how it is stored. */
enum cfg_type {
	CFG_TYPE_BOOL,	    /* bool */
	CFG_TYPE_INTEGER,   /* uint64_t */
	CFG_TYPE_SIZE,	    /* uint64_t, bytes */
	CFG_TYPE_DURATION,  /* uint64_t, ns */
	CFG_TYPE_TIMESLICE, /* uint64_t, us; a bare number is ms, as in compute.timeslice */
	CFG_TYPE_PPM,	    /* uint64_t, parts per million */
	CFG_TYPE_STRING,    /* char[], any text */
	CFG_TYPE_NAME,	    /* char[], safe as a file name */
	CFG_TYPE_WORD,	    /* char[], one of the key's words */
	CFG_TYPE_ENUM,	    /* uint64_t or an enum: index into the key's words */
	CFG_TYPE_WRITE,	    /* char[], what is written to a control file: number or text */
};

/* What a key is bound to. */
enum cfg_scope {
	CFG_SCOPE_CONFIG,    /* struct config */
	CFG_SCOPE_CONTAINER, /* struct cfg_container */
	CFG_SCOPE_CONTROL,   /* struct cfg_control, as text */
	CFG_SCOPE_EVENT,     /* struct cfg_event */
	CFG_SCOPE_UNUSED,    /* nothing: BOOL or WORD, whose JSON has one spelling */
};

/* One row. */
struct cfg_key {
	const char *path;
	enum cfg_type type;
	enum cfg_scope scope;
	int app;		  /* enum cfg_app_type or CFG_APP_ANY */
	size_t offset;		  /* of the member that it is bound to */
	size_t size;		  /* of that member */
	uint64_t min;		  /* for numbers, inclusive */
	uint64_t max;		  /* for numbers, inclusive */
	const char *fallback;	  /* the default as JSON or text; NULL: the key is required */
	const char *const *words; /* NULL-terminated */
	bool unused;	/* checked, but nothing reads it yet; no wildcard in its path */
	bool mechanism; /* for systems that have it only; no wildcard, either */
};

/* What a path is to the schema. */
enum cfg_path_kind {
	CFG_PATH_UNKNOWN,
	CFG_PATH_BRANCH, /* an object (or the list of events) that holds keys */
	CFG_PATH_KEY,
};

/* The systems that this program was built with, NULL-terminated. Defined by sim/systems. */
extern const char *const config_known_systems[];

/* The rows. */
extern const struct cfg_key cfg_schema[];
extern const size_t cfg_schema_count;

#define cfg_schema_for_each(key) \
	for (const struct cfg_key *key = cfg_schema; key < cfg_schema + cfg_schema_count; key++)

/* Classify @path. The empty path is the scenario itself, a branch. */
enum cfg_path_kind cfg_schema_classify(const char *path);

/* The row of @path that belongs to application type @app (or to any), or NULL. */
const struct cfg_key *cfg_schema_find(const char *path, int app);

/* The row of a control file by its name in a container's directory, or NULL. */
const struct cfg_key *cfg_schema_find_control(const char *file);

/* Does @key exist for application type @app? */
bool cfg_key_has_app(const struct cfg_key *key, int app);

/* What follows the wildcard: "app.weights" of "containers.*.app.weights", or the whole path. */
const char *cfg_key_leaf(const struct cfg_key *key);

/* The row's path with its wildcard replaced by @instance. */
void cfg_key_path(const struct cfg_key *key, const char *instance, char *ret_path, size_t size);

/*
 * If @path has the row path @pattern's beginning, the rest of the pattern without its leading
 * dot ("" when they match to the end), else NULL.
 */
const char *cfg_path_match(const char *path, const char *pattern);

/* Container @path belongs to: copies its name, false for paths outside "containers.". */
bool cfg_path_container(const char *path, char *ret_name, size_t size);

/* The index of the event that @path is or belongs to; false for other paths. */
bool cfg_path_event(const char *path, size_t *ret_index);

/*
 * Replace the other name of a control file ("memory.limit") by the one in the schema. Writes
 * @path itself if it has none.
 */
void cfg_path_canonical(const char *path, char *ret_path, size_t size);

#endif
