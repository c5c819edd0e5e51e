// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * An object of a scenario ("gpu.link", "containers.*") is a definition, to which its parents
 * refer. Its properties are its keys, nested and with dots.
 */
#include "config/json_schema.h"

#include <stdio.h>
#include <string.h>

#include "config/message.h"
#include "config/units.h"
#include "config/value.h"
#include "gvm/control.h"

#define NUMBER "[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]+)?"
#define SIZES  "(B|[KMGT](B|iB)?)?"
#define NAMES  "[A-Za-z0-9_-][A-Za-z0-9._-]*"

struct maker {
	const struct cfg_schema *schema;
	json_t *definitions;
	bool failed; /* no memory */
};

static void define(struct maker *maker, const char *path);

/* Set @name of @object. Takes the reference to @value. */
static void set(struct maker *maker, json_t *object, const char *name, json_t *value)
{
	if (json_object_set_new(object, name, value))
		maker->failed = true;
}

/* The object @name in @object. Makes it if there is none. */
static json_t *member(struct maker *maker, json_t *object, const char *name)
{
	if (!json_object_get(object, name))
		set(maker, object, name, json_object());
	return json_object_get(object, name);
}

/* What a text of @type looks like; NULL: like any. */
static const char *pattern_of(const struct cfg_key *key)
{
	switch (key->type) {
	case CFG_TYPE_INTEGER:
	case CFG_TYPE_PPM:
		return "^" NUMBER "$";
	case CFG_TYPE_SIZE:
		return key->max == U64_MAX ? "^(max|" NUMBER SIZES ")$" : "^" NUMBER SIZES "$";
	case CFG_TYPE_DURATION:
		return "^" NUMBER "(ns|us|ms|s|min|h)$";
	case CFG_TYPE_TIMESLICE:
		return "^" NUMBER "(us|ms)?$";
	case CFG_TYPE_NAME:
		return key->fallback ? "^(" NAMES ")?$" : "^" NAMES "$";
	default:
		return NULL;
	}
}

/* Set a bound of a number, unless it is beyond what JSON's integers hold. */
static void set_bound(struct maker *maker, json_t *object, const char *name,
		      const struct cfg_key *key, u64 value)
{
	char text[UNITS_TEXT_MAX];

	if (key->type == CFG_TYPE_PPM) {
		units_format_ppm(value, text, sizeof(text));
		set(maker, object, name, json_loads(text, JSON_DECODE_ANY, NULL));
	} else if (value <= INT64_MAX) {
		set(maker, object, name, json_integer((json_int_t)value));
	}
}

/* The values of @key. Bounds hold for numbers, patterns and lengths for texts. */
static json_t *value_schema(struct maker *maker, const struct cfg_key *key)
{
	json_t *object = json_object();
	const char *pattern = pattern_of(key);
	json_error_t bad;
	json_t *words;

	set(maker, object, "description", json_string(key->help));
	switch (key->type) {
	case CFG_TYPE_BOOL:
		set(maker, object, "type", json_string("boolean"));
		break;
	case CFG_TYPE_WORD:
	case CFG_TYPE_ENUM:
	case CFG_TYPE_SET:
		words = json_array();
		for (size_t i = 0; cfg_key_word(key, i); i++)
			maker->failed |=
				json_array_append_new(words, json_string(cfg_key_word(key, i)));
		set(maker, object, "enum", words);
		break;
	case CFG_TYPE_DURATION:
		set(maker, object, "type", json_string("string"));
		break;
	case CFG_TYPE_JSON:
		set(maker, object, "type", json_pack("[ss]", "object", "array"));
		break;
	case CFG_TYPE_STRING:
	case CFG_TYPE_NAME:
	case CFG_TYPE_TRACE:
	case CFG_TYPE_MODEL:
	case CFG_TYPE_POLICY:
		set(maker, object, "type", json_string("string"));
		set(maker, object, "minLength", json_integer(key->fallback ? 0 : 1));
		set(maker, object, "maxLength", json_integer((json_int_t)key->size - 1));
		break;
	case CFG_TYPE_INTEGER:
	case CFG_TYPE_SIZE:
	case CFG_TYPE_PPM:
		set_bound(maker, object, "minimum", key, key->min);
		set_bound(maker, object, "maximum", key, key->max);
		/* fall through */
	case CFG_TYPE_TIMESLICE:
	case CFG_TYPE_WRITE:
		set(maker, object, "type", json_pack("[ss]", "number", "string"));
		break;
	}
	if (pattern)
		set(maker, object, "pattern", json_string(pattern));
	if (key->fallback && *key->fallback)
		set(maker, object, "default", cfg_value_from_text(key->fallback, &bad));
	return object;
}

/* Add the property @name for the values of @key. Applications may have different keys of a
 * name. */
static void add_key(struct maker *maker, json_t *properties, const char *name,
		    const struct cfg_key *key)
{
	json_t *earlier = json_object_get(properties, name);
	json_t *value = value_schema(maker, key);

	if (!earlier || key->scope != CFG_SCOPE_APP || json_equal(earlier, value)) {
		if (!earlier)
			set(maker, properties, name, value);
		else
			json_decref(value);
		return;
	}
	if (!json_object_get(earlier, "anyOf"))
		set(maker, properties, name, json_pack("{s:[O]}", "anyOf", earlier));
	earlier = json_object_get(properties, name);
	if (json_array_append_new(json_object_get(earlier, "anyOf"), value))
		maker->failed = true;
}

/* The name of the definition of the object at @path: "containers.NAME.app". */
static void definition_name(const char *path, char *ret_name, size_t size)
{
	*ret_name = '\0';
	for (; *path; path++) {
		const char letter[2] = { *path, '\0' };

		cfg_append(ret_name, size, "%s",
			   *path == '*' ? "NAME" :
			   *path == '#' ? "INDEX" :
					  letter);
	}
}

/* A reference to the object at @path, which is defined. */
static json_t *refer(struct maker *maker, const char *path)
{
	char name[2 * CFG_PATH_MAX];
	char reference[2 * CFG_PATH_MAX + 32];

	define(maker, path);
	definition_name(path, name, sizeof(name));
	snprintf(reference, sizeof(reference), "#/definitions/%s", name);
	return json_pack("{s:s}", "$ref", reference);
}

/* Add what leads from the object at @path to @key, which is @rest below it. */
static void add_way(struct maker *maker, json_t *object, const char *path, const char *rest,
		    const struct cfg_key *key)
{
	json_t *properties = member(maker, object, "properties");
	char child[2 * CFG_PATH_MAX];

	if (*rest == '*') {
		json_t *patterns = member(maker, object, "patternProperties");

		snprintf(child, sizeof(child), "%s.*", path);
		set(maker, patterns, "^[a-z0-9_-]{1,63}$", refer(maker, child));
		return;
	}
	for (const char *dot = strchr(rest, '.'); dot; dot = strchr(dot + 1, '.')) {
		char name[CFG_PATH_MAX];

		snprintf(name, sizeof(name), "%.*s", (int)(dot - rest), rest);
		if (strpbrk(name, "*#"))
			return;
		snprintf(child, sizeof(child), "%s%s%s", path, *path ? "." : "", name);
		if (json_object_get(properties, name))
			continue;
		if (!strcmp(child, "events"))
			set(maker, properties, name,
			    json_pack("{s:s, s:o}", "type", "array", "items",
				      refer(maker, "events.#")));
		else
			set(maker, properties, name, refer(maker, child));
	}
	if (strpbrk(rest, "*#"))
		return;
	add_key(maker, properties, rest, key);
	if (key->control && key->control->alias && rest == cfg_key_leaf(key))
		add_key(maker, properties, key->control->alias, key);
	/* A profile has the required keys of other objects. */
	if (!key->fallback && !strchr(rest, '.') && (!*path || key->scope == CFG_SCOPE_EVENT) &&
	    json_array_append_new(json_object_get(object, "required"), json_string(rest)))
		maker->failed = true;
}

/* The object at @path, in which names of containers and indices are "*" and "#". */
static json_t *make_object(struct maker *maker, const char *path)
{
	json_t *object = json_pack("{s:s, s:b, s:{}, s:[]}", "type", "object",
				   "additionalProperties", 0, "properties", "required");
	size_t length = strlen(path);

	cfg_schema_for_each(maker->schema, key)
	{
		if (!length)
			add_way(maker, object, path, key->path, key);
		else if (!strncmp(key->path, path, length) && key->path[length] == '.')
			add_way(maker, object, path, key->path + length + 1, key);
	}
	if (!json_array_size(json_object_get(object, "required")))
		json_object_del(object, "required");
	return object;
}

/* Define the object at @path, once. */
static void define(struct maker *maker, const char *path)
{
	char name[2 * CFG_PATH_MAX];

	definition_name(path, name, sizeof(name));
	/* What cannot be kept would be made again for each reference. */
	if (maker->failed || json_object_get(maker->definitions, name))
		return;
	set(maker, maker->definitions, name, json_true()); /* its place */
	set(maker, maker->definitions, name, make_object(maker, path));
}

json_t *cfg_json_schema(const struct cfg_schema *schema)
{
	struct maker maker = { .schema = schema, .definitions = json_object() };
	json_t *root = make_object(&maker, "");
	json_t *properties = json_object_get(root, "properties");

	/* The results' config.json is a scenario, and an editor finds this schema by the other.
	 */
	set(&maker, properties, "hash", json_pack("{s:s}", "type", "string"));
	set(&maker, properties, "$schema", json_pack("{s:s}", "type", "string"));
	set(&maker, root, "$schema", json_string("http://json-schema.org/draft-07/schema#"));
	set(&maker, root, "title", json_string("A scenario of gvmsim"));
	set(&maker, root, "definitions", maker.definitions);
	if (!maker.failed)
		return root;
	json_decref(root);
	return NULL;
}
