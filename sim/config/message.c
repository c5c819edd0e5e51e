// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config/message.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "engine/error.h"
#include "config/units.h"

/* Names longer than this are not worth a guess. */
#define GUESS_MAX 64

/* The nearest known key to one that is not known. */
struct guess {
	char name[CFG_PATH_MAX];
	size_t distance;
};

int cfg_error(struct sim_error *err, const char *origin, const char *path, const char *fmt, ...)
{
	char text[sizeof(err->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	sim_user_error(err, "%s%s%s: %s", origin, *path ? ":" : "", path, text);
	for (char *at = err->text; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == '\177')
			*at = '?';
	}
	return -SIM_EXIT_USER;
}

void cfg_append(char *text, size_t size, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + used, size - used, fmt, args);
	va_end(args);
}

/* A bound of a range as one would type it: "2M" rather than 2097152. */
static void describe_bound(const struct cfg_key *key, u64 value, char *text, size_t size)
{
	switch (key->type) {
	case CFG_TYPE_DURATION:
		units_format_duration(value, text, size);
		return;
	case CFG_TYPE_TIMESLICE:
		units_format_duration(value * 1000, text, size);
		return;
	case CFG_TYPE_PPM:
		units_format_ppm(value, text, size);
		return;
	case CFG_TYPE_SIZE:
		if (value && value % (1u << 30) == 0)
			snprintf(text, size, "%lluG", value >> 30);
		else if (value && value % (1u << 20) == 0)
			snprintf(text, size, "%lluM", value >> 20);
		else
			units_format_size(value, text, size);
		return;
	default:
		units_format_integer(value, text, size);
	}
}

static void describe_range(const struct cfg_key *key, const char *what, const char *examples,
			   char *text, size_t size)
{
	char min[UNITS_TEXT_MAX];
	char max[UNITS_TEXT_MAX];

	describe_bound(key, key->min, min, sizeof(min));
	describe_bound(key, key->max, max, sizeof(max));
	snprintf(text, size, "%s from %s to %s%s", what, min, max, examples);
}

static void describe_words(const struct cfg_key *key, char *text, size_t size)
{
	*text = '\0';
	for (size_t i = 0; cfg_key_word(key, i); i++)
		cfg_append(text, size, "%s\"%s\"", i ? ", " : "", cfg_key_word(key, i));
}

void cfg_describe_allowed(const struct cfg_key *key, char *text, size_t size)
{
	switch (key->type) {
	case CFG_TYPE_BOOL:
		snprintf(text, size, "true or false");
		return;
	case CFG_TYPE_INTEGER:
		describe_range(key, "an integer", "", text, size);
		return;
	case CFG_TYPE_SIZE:
		describe_range(key, "a size", " such as 6000000000, \"6e9\" or \"1.5G\"", text,
			       size);
		return;
	case CFG_TYPE_DURATION:
		describe_range(key, "a duration", " such as \"640s\", \"24.6ms\" or \"5us\"",
			       text, size);
		return;
	case CFG_TYPE_TIMESLICE:
		describe_range(key, "a time slice", " such as 2 (ms), \"2ms\" or \"512us\"",
			       text, size);
		return;
	case CFG_TYPE_PPM:
		describe_range(key, "a number", " of at most 6 decimals", text, size);
		return;
	case CFG_TYPE_STRING:
	case CFG_TYPE_TRACE:
		snprintf(text, size, "a text of 1 to %zu bytes", key->size - 1);
		return;
	case CFG_TYPE_NAME:
		snprintf(text, size,
			 "1 to %zu letters, digits, \"_\", \"-\" and \".\" (not first)",
			 key->size - 1);
		return;
	case CFG_TYPE_WORD:
	case CFG_TYPE_ENUM:
	case CFG_TYPE_SET:
		describe_words(key, text, size);
		return;
	case CFG_TYPE_WRITE:
		snprintf(text, size, "a number or a text of 1 to %zu bytes", key->size - 1);
		return;
	}
}

const char *cfg_type_name(enum cfg_type type)
{
	static const char *const names[] = {
		[CFG_TYPE_BOOL] = "truth value",
		[CFG_TYPE_INTEGER] = "integer",
		[CFG_TYPE_SIZE] = "size",
		[CFG_TYPE_DURATION] = "duration",
		[CFG_TYPE_TIMESLICE] = "timeslice",
		[CFG_TYPE_PPM] = "number",
		[CFG_TYPE_STRING] = "text",
		[CFG_TYPE_NAME] = "name",
		[CFG_TYPE_WORD] = "word",
		[CFG_TYPE_ENUM] = "word",
		[CFG_TYPE_SET] = "word",
		[CFG_TYPE_TRACE] = "trace file",
		[CFG_TYPE_WRITE] = "number or text",
	};

	return names[type];
}

const char *cfg_type_unit(enum cfg_type type)
{
	switch (type) {
	case CFG_TYPE_SIZE:
		return "bytes";
	case CFG_TYPE_DURATION:
		return "ns, us, ms, s, min or h";
	case CFG_TYPE_TIMESLICE:
		return "us or ms";
	default:
		return "";
	}
}

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* Levenshtein: insertions, deletions and replacements that turn @a into @b. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[GUESS_MAX + 1];
	size_t length = strlen(b);

	if (strlen(a) > GUESS_MAX || length > GUESS_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= length; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 1; j <= length; j++) {
			size_t replaced = diagonal + (a[i] != b[j - 1]);

			diagonal = row[j];
			row[j] = min3(row[j] + 1, row[j - 1] + 1, replaced);
		}
	}
	return row[length];
}

/* Compare @unknown with @known and with each branch on the way to it. */
static void guess_key(struct guess *guess, const char *unknown, const char *known)
{
	for (size_t end = strcspn(known, ".");; end += 1 + strcspn(known + end + 1, ".")) {
		char name[CFG_PATH_MAX];
		size_t distance;

		snprintf(name, sizeof(name), "%.*s", (int)end, known);
		distance = edit_distance(unknown, name);
		if (distance < guess->distance) {
			guess->distance = distance;
			snprintf(guess->name, sizeof(guess->name), "%s", name);
		}
		if (!known[end])
			return;
	}
}

/* A guess has to be nearer than this: about one slip in four letters. */
static size_t guess_limit(const char *unknown)
{
	size_t length = strlen(unknown);

	return length < 3 ? length : 2 + length / 4;
}

/*
 * The row path @pattern as @path would have it: its wildcard is the container or the index that
 * stands there in @path. If none does, it ends before the wildcard.
 */
static void fill_wildcard(const char *pattern, const char *path, char *text, size_t size)
{
	size_t before = strcspn(pattern, "*#");
	const char *rest = pattern + before + (pattern[before] != '\0');
	const char *dot = strchr(path, '.');
	const char *name = !before ? path : dot ? dot + 1 : "";
	int length = pattern[before] ? (int)strcspn(name, ".") : 0;

	snprintf(text, size, "%.*s%.*s%s", (int)before, pattern, length, name, rest);
	if (!cfg_path_match(text, pattern))
		snprintf(text, size, "%.*s", before ? (int)before - 1 : 0, pattern);
}

/* Does application type @app have @key? NULL: any of them will do. */
static bool app_has_key(const struct cfg_keys *app, const struct cfg_key *key)
{
	return !app || cfg_key_has_app(key, app);
}

/* Is @path an object in which application type @app has keys? */
static bool is_branch(const struct cfg_schema *schema, const char *path,
		      const struct cfg_keys *app)
{
	cfg_schema_for_each(schema, key)
	{
		const char *rest = cfg_path_match(path, key->path);

		if (rest && *rest && app_has_key(app, key))
			return true;
	}
	return false;
}

/* Length of the longest beginning of @path that is such a branch. */
static size_t known_length(const struct cfg_schema *schema, const char *path,
			   const struct cfg_keys *app)
{
	char parent[CFG_PATH_MAX];

	snprintf(parent, sizeof(parent), "%s", path);
	do {
		char *dot = strrchr(parent, '.');

		*(dot ? dot : parent) = '\0';
	} while (!is_branch(schema, parent, app));
	return strlen(parent);
}

/* The name of @key's ancestor directly under @parent. Control files are one name, dots and all. */
static bool child_name(const char *parent, const struct cfg_key *key, char *name, size_t size)
{
	const char *rest = cfg_path_match(parent, key->path);
	bool whole = rest && key->scope == CFG_SCOPE_CONTROL && rest >= cfg_key_leaf(key);

	if (rest)
		snprintf(name, size, "%.*s", (int)(whole ? strlen(rest) : strcspn(rest, ".")),
			 rest);
	return rest;
}

/* Has a row of @app before @key the same @name under @parent? */
static bool is_listed(const struct cfg_schema *schema, const char *parent,
		      const struct cfg_keys *app, const struct cfg_key *key, const char *name)
{
	char other[CFG_PATH_MAX];

	while (key-- > schema->rows) {
		if (app_has_key(app, key) && child_name(parent, key, other, sizeof(other)) &&
		    !strcmp(name, other))
			return true;
	}
	return false;
}

/* A wildcard is nothing that a user could type. */
static const char *child_word(const char *parent, const char *name)
{
	if (!strcmp(name, "#"))
		return "an index into the list";
	if (strcmp(name, "*") != 0)
		return name;
	return strcmp(parent, "gpus") ? "a container's name" : "a GPU's name";
}

/* List what @parent holds, each name once. */
static void describe_children(const struct cfg_schema *schema, const char *parent,
			      const struct cfg_keys *app, char *text, size_t size)
{
	const char *between = "";

	cfg_schema_for_each(schema, key)
	{
		char name[CFG_PATH_MAX];

		if (!app_has_key(app, key) || !child_name(parent, key, name, sizeof(name)) ||
		    is_listed(schema, parent, app, key, name))
			continue;
		cfg_append(text, size, "%s%s", between, child_word(parent, name));
		between = ", ";
	}
}

void cfg_describe_branch(const struct cfg_schema *schema, const char *path, char *text,
			 size_t size)
{
	if (!strcmp(path, "events")) {
		snprintf(text, size, "allowed: a list of objects with ");
		path = "events.0";
	} else if (!strcmp(path, "containers")) {
		snprintf(text, size, "allowed: an object of containers by name");
		return;
	} else if (!strcmp(path, "gpus")) {
		snprintf(text, size, "allowed: an object of GPUs by name");
		return;
	} else {
		snprintf(text, size, "allowed: an object with ");
	}
	describe_children(schema, path, NULL, text, size);
}

void cfg_describe_unknown(const struct cfg_schema *schema, const char *path,
			  const struct cfg_keys *app, char *text, size_t size)
{
	size_t known = known_length(schema, path, app);
	const char *unknown = path + known + (known ? 1 : 0);
	struct guess guess = { .distance = guess_limit(unknown) };
	char parent[CFG_PATH_MAX];
	char known_key[2 * CFG_PATH_MAX];

	snprintf(parent, sizeof(parent), "%.*s", (int)known, path);
	cfg_schema_for_each(schema, key)
	{
		const char *rest = cfg_path_match(parent, key->path);

		if (!rest || !app_has_key(app, key))
			continue;
		fill_wildcard(rest, unknown, known_key, sizeof(known_key));
		guess_key(&guess, unknown, known_key);
	}
	if (*guess.name) {
		snprintf(text, size, "did you mean \"%s%s%s\"?", parent, known ? "." : "",
			 guess.name);
		return;
	}
	snprintf(text, size, "allowed: ");
	describe_children(schema, parent, app, text, size);
}
