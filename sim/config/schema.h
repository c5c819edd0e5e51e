/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The keys that a scenario may hold, as rows of tables.
 *
 * Validation, defaults, binding to structs, --set, error messages, --help, completion, the
 * reference document and the dump of the resolved configuration all walk these rows. A new key
 * is a new row. Its path may have wildcards (config/key_path.h).
 *
 * The rows of a scenario itself are in schema.c. Each control file that can be written is a
 * key: its row is made from the core's table. An application type and a system bring a set of
 * rows (struct cfg_keys), which is bound to a struct of their own. The sets come to
 * config_load() in a registry, since this folder knows neither applications nor systems.
 *
 * Several application types may have a row of the same path: each is bound to its own member.
 * So may several systems. Their key then has the same meaning in all of them.
 */
#ifndef SIM_CONFIG_SCHEMA_H
#define SIM_CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "config/key_path.h"
#include "engine/types.h"

/* Units in which bounds are written. */
#define CFG_KIB	 1024ull
#define CFG_MIB	 (1024 * CFG_KIB)
#define CFG_GIB	 (1024 * CFG_MIB)
#define CFG_TIB	 (1024 * CFG_GIB)
#define CFG_USEC 1000ull
#define CFG_MSEC (1000 * CFG_USEC)
#define CFG_SEC	 (1000 * CFG_MSEC)
#define CFG_HOUR (3600 * CFG_SEC)

/* The longest run: a month. */
#define CFG_RUN_MAX (31 * 24 * CFG_HOUR)

/* Bounds: a value beyond them is a slip. */
#define CFG_COUNT_MAX	  1000000000ull
#define CFG_BANDWIDTH_MIN 1000000ull
#define CFG_BANDWIDTH_MAX 1000000000000000ull
#define CFG_FLOPS_MAX	  1000000000000000000ull
#define CFG_CLOCK_MAX	  100000000000ull

struct cfg_container;
struct cfg_event;
struct cfg_keys;
struct cfg_load;
struct config;
struct gvm_control_file;

/* The type of a value: how it is written, and how it is stored. */
enum cfg_type {
	CFG_TYPE_BOOL,	    /* bool */
	CFG_TYPE_INTEGER,   /* u64 */
	CFG_TYPE_SIZE,	    /* u64, bytes */
	CFG_TYPE_DURATION,  /* u64, ns */
	CFG_TYPE_TIMESLICE, /* u64, us; a bare number is ms, as in compute.timeslice */
	CFG_TYPE_PPM,	    /* u64, parts per million */
	CFG_TYPE_STRING,    /* char[], any text */
	CFG_TYPE_NAME,	    /* char[], safe as a file name */
	CFG_TYPE_WORD,	    /* char[], one of the key's words */
	CFG_TYPE_ENUM,	    /* u64 or an enum: index into the key's words */
	CFG_TYPE_SET,	    /* const struct cfg_keys *, one of the key's sets by name */
	CFG_TYPE_TRACE,	    /* char[], a trace's file; after config_load() its absolute path */
	CFG_TYPE_MODEL,	    /* char[], a config.json of Hugging Face, or its folder */
	CFG_TYPE_POLICY, /* char[], a policy of gvmd; after config_load() its absolute path */
	CFG_TYPE_JSON,	 /* char[], an object or a list, as JSON; its set checks it */
	CFG_TYPE_WRITE,	 /* char[], the text of a write to a control file: number or text */
};

/* The struct that a key is bound to. */
enum cfg_scope {
	CFG_SCOPE_CONFIG,    /* struct config */
	CFG_SCOPE_SYSTEM,    /* the struct of a system's set */
	CFG_SCOPE_CONTAINER, /* struct cfg_container */
	CFG_SCOPE_APP,	     /* the struct of an application's set, cfg_container.app */
	CFG_SCOPE_CONTROL,   /* struct cfg_control, as text */
	CFG_SCOPE_GPU,	     /* struct cfg_gpu of a further GPU, "gpus.<name>" */
	CFG_SCOPE_EVENT,     /* struct cfg_event */
	CFG_SCOPE_UNUSED,    /* nothing: BOOL or WORD, whose JSON has one spelling */
};

/* One row. */
struct cfg_key {
	const char *path;
	enum cfg_type type;
	enum cfg_scope scope;
	size_t offset;		  /* of the member that it is bound to */
	size_t size;		  /* of that member */
	u64 min;		  /* for numbers, inclusive */
	u64 max;		  /* for numbers, inclusive */
	const char *fallback;	  /* the default as JSON or text; NULL: the key is required */
	const char *const *words; /* of WORD and ENUM, NULL-terminated */
	const char *help;	  /* one line of help */
	bool unused; /* checked, but no code reads it yet; its path has no wildcard */
	/* Of scope CONTAINER: the systems that read it, as "vgpu gvtg"; NULL: all. */
	const char *systems;
	/* Filled in by cfg_schema_init(). */
	const struct gvm_control_file *control; /* of scope CONTROL: the file */
	const struct cfg_keys *set;		/* its set; NULL: every scenario has it */
	const struct cfg_keys *const *sets;	/* of SET: the choices, NULL at the end */
};

/* Rows that belong together, bound to a struct of their own: an application type, a system. */
struct cfg_keys {
	const char *name;    /* "llm-server", "ghost": the value of app.type or system.name */
	const char *summary; /* one line for --help and the reference */
	const struct cfg_key *keys;
	size_t key_count;
	size_t bytes; /* size of that struct; 0: there is none */
	/*
	 * Of an application: add the settings of @container that follow from a file (derive.h).
	 * Its type is known, its keys are not bound yet. Returns 0 or a negative enum sim_exit.
	 * NULL: none do.
	 */
	int (*derive)(struct cfg_load *load, const struct cfg_container *container);
	/*
	 * Of an application: check how the keys of @container relate. Each by itself is right.
	 * Reports through cfg_reject_app(). Returns 0 or a negative enum sim_exit. NULL: no
	 * rules.
	 */
	int (*check)(struct cfg_load *load, const struct cfg_container *container);
	/* Of a system: containers without an mps.server are clients of a common one. */
	bool common_server;
	/*
	 * Of a system: check how the containers relate under it. Each by itself is right.
	 * Reports through config/check.h. Returns 0 or a negative enum sim_exit. NULL: no
	 * rules.
	 */
	int (*check_containers)(struct cfg_load *load, const struct config *config);
	/*
	 * Of an application: check event @index (@event), a "touch", "exit" or "load", for
	 * @container. Reports through cfg_reject_event(). NULL: this type listens to no events.
	 */
	int (*check_event)(struct cfg_load *load, const struct cfg_container *container,
			   const struct cfg_event *event, size_t index);
	/* For messages: the containers of this type that listen. Goes with check_event. */
	const char *listeners;
};

/* The application types and systems that a scenario can name. */
struct cfg_registry {
	const struct cfg_keys *const *apps;    /* application types, NULL at the end */
	const struct cfg_keys *const *systems; /* NULL at the end */
};

/* A member of @type_, for a row. */
#define CFG_MEMBER(type_, member_) \
	.offset = offsetof(type_, member_), .size = sizeof(((type_ *)NULL)->member_)
#define CFG_RANGE(min_, max_) .min = (min_), .max = (max_)
#define CFG_DEFAULT(text_)    .fallback = (text_)

/* A row "app.LEAF" of an application's set. */
#define CFG_APP_KEY(leaf_, type_, struct_, member_, help_, ...)                      \
	{                                                                            \
		.path = "containers.*.app." leaf_, .type = CFG_TYPE_##type_,         \
		.scope = CFG_SCOPE_APP, CFG_MEMBER(struct_, member_), .help = help_, \
		__VA_ARGS__                                                          \
	}

/* A row "system.LEAF" of a system's set. Never required. */
#define CFG_SYSTEM_KEY(leaf_, type_, struct_, member_, default_, help_, ...)                  \
	{                                                                                     \
		.path = "system." leaf_, .type = CFG_TYPE_##type_, .scope = CFG_SCOPE_SYSTEM, \
		CFG_MEMBER(struct_, member_), CFG_DEFAULT(default_), .help = help_,           \
		__VA_ARGS__                                                                   \
	}

/* The rows of a set from an array. */
#define CFG_KEYS(rows_) .keys = (rows_), .key_count = sizeof(rows_) / sizeof((rows_)[0])

/* The kind of a path. */
enum cfg_path_kind {
	CFG_PATH_UNKNOWN,
	CFG_PATH_BRANCH, /* an object (or the list of events) that holds keys */
	CFG_PATH_KEY,
};

/* All rows, of every scenario and of the registry, in the order of config.json. */
struct cfg_schema {
	const struct cfg_registry *registry; /* borrowed */
	struct cfg_key *rows;
	size_t count;
	char (*made_paths)[CFG_PATH_MAX]; /* of rows of control files and of further GPUs */
	size_t made_count;
};

/* Make the schema of @registry, which outlives it. Returns 0 or -ENOMEM. */
int cfg_schema_init(struct cfg_schema *schema, const struct cfg_registry *registry);
void cfg_schema_destroy(struct cfg_schema *schema);

#define cfg_schema_for_each(schema_, key)                 \
	for (const struct cfg_key *key = (schema_)->rows; \
	     key < (schema_)->rows + (schema_)->count; key++)

/* Classify @path. The empty path is the scenario itself, a branch. */
enum cfg_path_kind cfg_schema_classify(const struct cfg_schema *schema, const char *path);

/* The row of @path for application type @app, or NULL. @app NULL: a row of every container. */
const struct cfg_key *cfg_schema_find(const struct cfg_schema *schema, const char *path,
				      const struct cfg_keys *app);

/* The row of a control file by its name in a container's directory, or NULL. */
const struct cfg_key *cfg_schema_find_control(const struct cfg_schema *schema,
					      const char *file);

/* Does a container of application type @app have @key? @app NULL: the type is not known yet. */
bool cfg_key_has_app(const struct cfg_key *key, const struct cfg_keys *app);

/* Is a row of @path in the set @keys? */
bool cfg_keys_has(const struct cfg_keys *keys, const char *path);

/*
 * Word number @index of a WORD, ENUM or SET, in the order of messages; NULL: there are no more.
 */
const char *cfg_key_word(const struct cfg_key *key, size_t index);

/*
 * The part after the wildcard, "app.weights" of "containers.*.app.weights", or the whole path.
 */
const char *cfg_key_leaf(const struct cfg_key *key);

/* The row's path with its wildcard replaced by @instance. */
void cfg_key_path(const struct cfg_key *key, const char *instance, char *ret_path, size_t size);

#endif
