// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config/settings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "config/message.h"

#define TEXT_MAX 768

/* One walk through one tree. */
struct walk {
	struct cfg_settings *settings;
	const struct cfg_source *source;
	size_t tree; /* number of the tree, kept in its settings */
	struct sim_error *err;
};

/* A position in the tree. */
struct place {
	char path[CFG_PATH_MAX];
	char spelling[sizeof(((struct cfg_setting *)NULL)->spelling)];
};

static int walk_value(const struct walk *walk, const struct place *place, json_t *json);

void cfg_settings_destroy(struct cfg_settings *settings)
{
	for (size_t i = 0; i < settings->count; i++)
		json_decref(settings->list[i].value);
	free(settings->list);
	free(settings->newest);
	*settings = (struct cfg_settings){ 0 };
}

void cfg_source_path(const struct cfg_source *source, const char *path,
		     char ret_path[CFG_PATH_MAX])
{
	size_t length = strlen(source->prefix);
	const char *rest = path + (strlen(path) < length ? strlen(path) : length);

	rest += length && *rest == '.';
	snprintf(ret_path, CFG_PATH_MAX, "%s%s%s", source->own_root,
		 *source->own_root && *rest ? "." : "", rest);
}

/* Report a mistake at @path, naming the source and the path there. */
static int source_error(const struct cfg_source *source, const char *path,
			struct sim_error *err, const char *fmt, va_list args)
{
	char text[sizeof(err->text)], own[CFG_PATH_MAX];

	cfg_source_path(source, path, own);
	vsnprintf(text, sizeof(text), fmt, args);
	return cfg_error(err, source->origin, own, "%s", text);
}

int cfg_setting_reject(const struct cfg_setting *setting, struct sim_error *err,
		       const char *fmt, ...)
{
	va_list args;
	int status;

	va_start(args, fmt);
	status = source_error(&setting->source, setting->path, err, fmt, args);
	va_end(args);
	return status;
}

static int walk_error(const struct walk *walk, const struct place *place, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int walk_error(const struct walk *walk, const struct place *place, const char *fmt, ...)
{
	va_list args;
	int status;

	va_start(args, fmt);
	status = source_error(walk->source, place->path, walk->err, fmt, args);
	va_end(args);
	return status;
}

static bool join(char *text, size_t size, const char *parent, const char *between,
		 const char *name)
{
	int length = snprintf(text, size, "%s%s%s", parent, *parent ? between : "", name);

	return length >= 0 && (size_t)length < size;
}

/* Step from @parent into its key @name. An empty name is no key. */
static int walk_into(const struct walk *walk, const struct place *parent, const char *name,
		     json_t *json)
{
	struct place child;

	if (!*name || !join(child.path, sizeof(child.path), parent->path, ".", name) ||
	    !join(child.spelling, sizeof(child.spelling), parent->spelling, " > ", name))
		return walk_error(walk, parent,
				  "holds a key that is empty or far too long, allowed: the "
				  "keys of the schema");
	return walk_value(walk, &child, json);
}

/* The containers or the GPUs that a scenario names. */
struct named {
	const char *branch; /* "containers" */
	const char *word;   /* "container" */
	struct cfg_mention *list;
	size_t *count;
	size_t max;
};

/* Remember @name as one of @named. */
static int note_name(const struct walk *walk, const struct named *named, const char *name)
{
	struct cfg_mention *mention;
	size_t length = strlen(name);
	size_t i = 0;

	if (!length || length >= CFG_NAME_MAX ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != length)
		return cfg_error(walk->err, walk->source->origin, named->branch,
				 "\"%s\" is not a valid %s name, allowed: 1 to %d lower-case "
				 "letters, digits, \"_\" and \"-\"",
				 name, named->word, CFG_NAME_MAX - 1);
	while (i < *named->count && strcmp(named->list[i].name, name) != 0)
		i++;
	if (i < *named->count)
		return 0;
	if (i == named->max)
		return cfg_error(walk->err, walk->source->origin, named->branch,
				 "are too many, allowed: at most %zu", named->max);
	mention = &named->list[i];
	memcpy(mention->name, name, length + 1);
	snprintf(mention->path, sizeof(mention->path), "%s.%.*s", named->branch,
		 CFG_NAME_MAX - 1, name);
	mention->origin = walk->source->origin;
	++*named->count;
	return 0;
}

/*
 * Remember the container, GPU or event that @path leads into. An event counts the events of
 * lower index, too.
 */
static int note_mention(const struct walk *walk, const char *path)
{
	struct cfg_settings *settings = walk->settings;
	const struct named containers = { "containers", "container", settings->containers,
					  &settings->container_count, CFG_CONTAINERS_MAX };
	const struct named gpus = { "gpus", "GPU", settings->gpus, &settings->gpu_count,
				    CFG_GPUS_MAX };
	char name[CFG_PATH_MAX];
	size_t index;

	if (cfg_path_container(path, name, sizeof(name)))
		return note_name(walk, &containers, name);
	if (cfg_path_gpu(path, name, sizeof(name)))
		return note_name(walk, &gpus, name);
	if (!cfg_path_event(path, &index))
		return 0;
	while (settings->event_count <= index)
		settings->event_origins[settings->event_count++] = walk->source->origin;
	return 0;
}

/* FNV-1a of a path, as an index of cfg_settings.newest. */
static size_t settings_hash(const struct cfg_settings *settings, const char *path)
{
	u64 hash = 0xcbf29ce484222325;

	for (; *path; path++)
		hash = (hash ^ (u8)*path) * 0x100000001b3;
	return (size_t)(hash % settings->capacity);
}

/* Add setting number @index, which has its path, to those with its hash. */
static void settings_link(struct cfg_settings *settings, size_t index)
{
	struct cfg_setting *setting = &settings->list[index];
	size_t *newest = &settings->newest[settings_hash(settings, setting->path)];

	setting->older = *newest;
	*newest = index + 1;
}

static void settings_link_all(struct cfg_settings *settings)
{
	memset(settings->newest, 0, settings->capacity * sizeof(*settings->newest));
	for (size_t i = 0; i < settings->count; i++)
		settings_link(settings, i);
}

/* Make room for one more setting. Returns 0 or -ENOMEM. */
static int settings_grow(struct cfg_settings *settings)
{
	size_t capacity = settings->capacity ? 2 * settings->capacity : 64;
	struct cfg_setting *list;
	size_t *newest;

	if (settings->count < settings->capacity)
		return 0;
	list = realloc(settings->list, capacity * sizeof(*list));
	if (!list)
		return -ENOMEM;
	settings->list = list;
	newest = realloc(settings->newest, capacity * sizeof(*newest));
	if (!newest)
		return -ENOMEM;
	settings->newest = newest;
	settings->capacity = capacity;
	settings_link_all(settings);
	return 0;
}

/* The newest setting with the hash of @path; NULL: none. */
static const struct cfg_setting *settings_newest(const struct cfg_settings *settings,
						 const char *path)
{
	size_t newest = settings->count ? settings->newest[settings_hash(settings, path)] : 0;

	return newest ? &settings->list[newest - 1] : NULL;
}

static const struct cfg_setting *settings_older(const struct cfg_settings *settings,
						const struct cfg_setting *setting)
{
	return setting->older ? &settings->list[setting->older - 1] : NULL;
}

/*
 * Add the setting at @place. A profile's leaf has its value beside its source. A tree may hold
 * a key only once. Two --set options are two trees, of which the later one wins.
 */
static int walk_key(const struct walk *walk, const struct place *place, json_t *json)
{
	struct cfg_settings *settings = walk->settings;
	struct cfg_setting *setting;

	if (walk->source->layer == CFG_LAYER_PROFILE) {
		json_t *value = json_object_get(json, "value");
		const char *source = json_string_value(json_object_get(json, "source"));

		if (!strcmp(strrchr(place->path, '.'), ".profile"))
			return walk_error(walk, place,
					  "unknown key, allowed: constants, a profile names no "
					  "other profile");
		if (!value || !source || !*source)
			return walk_error(
				walk, place,
				"has no source, allowed: {\"value\": ..., \"source\": "
				"\"...\"}");
		if (json_object_size(json) != 2)
			return walk_error(walk, place,
					  "has more than a value and its source, allowed: "
					  "{\"value\": ..., \"source\": \"...\"}");
		json = value;
	}
	for (const struct cfg_setting *twin = settings_newest(settings, place->path); twin;
	     twin = settings_older(settings, twin)) {
		if (twin->tree == walk->tree && !strcmp(twin->path, place->path))
			return walk_error(walk, place,
					  "is given as \"%s\" and as \"%s\", allowed: one of "
					  "them",
					  twin->spelling, place->spelling);
	}
	if (settings_grow(settings))
		return sim_runtime_error(walk->err, "out of memory");
	setting = &settings->list[settings->count];
	memcpy(setting->path, place->path, sizeof(setting->path));
	memcpy(setting->spelling, place->spelling, sizeof(setting->spelling));
	setting->source = *walk->source;
	setting->tree = walk->tree;
	setting->value = json_incref(json);
	settings_link(settings, settings->count++);
	return 0;
}

/* Drop the events of the layers below: a list of events replaces them. */
static void drop_events(struct cfg_settings *settings)
{
	size_t kept = 0;

	for (size_t i = 0; i < settings->count; i++) {
		if (strncmp(settings->list[i].path, "events.", strlen("events.")) != 0)
			settings->list[kept++] = settings->list[i];
		else
			json_decref(settings->list[i].value);
	}
	settings->count = kept;
	settings->event_count = 0;
	if (settings->capacity)
		settings_link_all(settings);
}

static int walk_events(const struct walk *walk, const struct place *place, json_t *list)
{
	int status = 0;

	if (json_array_size(list) > CFG_EVENTS_MAX)
		return cfg_error(walk->err, walk->source->origin, place->path,
				 "are too many, allowed: at most %d", CFG_EVENTS_MAX);
	if (walk->source->layer == CFG_LAYER_SET)
		drop_events(walk->settings);
	for (size_t i = 0; !status && i < json_array_size(list); i++) {
		char index[24];

		snprintf(index, sizeof(index), "%zu", i);
		status = walk_into(walk, place, index, json_array_get(list, i));
	}
	return status;
}

static int walk_branch(const struct walk *walk, const struct place *place, json_t *json)
{
	bool is_list = !strcmp(place->path, "events");
	char allowed[TEXT_MAX];
	const char *name;
	json_t *child;

	if (is_list && json_is_array(json))
		return walk_events(walk, place, json);
	if (is_list || !json_is_object(json)) {
		cfg_describe_branch(walk->settings->schema, place->path, allowed,
				    sizeof(allowed));
		return walk_error(walk, place, "%s, %s",
				  is_list ? "is not a list" : "is not an object", allowed);
	}
	json_object_foreach(json, name, child) {
		int status = walk_into(walk, place, name, child);

		if (status)
			return status;
	}
	return 0;
}

/*
 * Walk into the value at @place. The "hash" of a scenario is no setting and is skipped. So the
 * config.json of a results folder is a scenario, even after changes by hand. "$schema" is for
 * editors.
 */
static int walk_value(const struct walk *walk, const struct place *place, json_t *json)
{
	struct place canonical = *place;
	char allowed[TEXT_MAX], own[CFG_PATH_MAX];
	int status = note_mention(walk, place->path);

	if (status || (walk->source->layer == CFG_LAYER_SCENARIO &&
		       (!strcmp(place->path, "hash") || !strcmp(place->path, "$schema"))))
		return status;
	cfg_path_canonical(place->path, canonical.path, sizeof(canonical.path));
	switch (cfg_schema_classify(walk->settings->schema, canonical.path)) {
	case CFG_PATH_KEY:
		return walk_key(walk, &canonical, json);
	case CFG_PATH_BRANCH:
		return walk_branch(walk, place, json);
	default:
		/* A profile's own path is in the schema for GPUs only: "gpu.link". */
		cfg_source_path(walk->source, place->path, own);
		cfg_describe_unknown(walk->settings->schema,
				     *walk->source->own_root ? own : place->path, NULL, allowed,
				     sizeof(allowed));
		return walk_error(walk, place, "unknown key, %s", allowed);
	}
}

int cfg_settings_add(struct cfg_settings *settings, const struct cfg_source *source,
		     const char *path, json_t *json, struct sim_error *err)
{
	struct walk walk = { settings, source, settings->tree_count++, err };
	struct place root = { 0 };

	snprintf(root.path, sizeof(root.path), "%s", source->prefix);
	return *path ? walk_into(&walk, &root, path, json) : walk_value(&walk, &root, json);
}

const struct cfg_setting *cfg_settings_find(const struct cfg_settings *settings,
					    const char *path)
{
	const struct cfg_setting *winner = NULL;

	/* Of several in one layer the newest one wins. */
	for (const struct cfg_setting *setting = settings_newest(settings, path); setting;
	     setting = settings_older(settings, setting))
		if ((!winner || setting->source.layer > winner->source.layer) &&
		    !strcmp(setting->path, path))
			winner = setting;
	return winner;
}
