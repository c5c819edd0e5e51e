// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config/message.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "engine/guess.h"
#include "engine/error.h"
#include "config/units.h"

#define TEXT_MAX 512

/* Keys of earlier versions, and what to write now. */
static const struct {
	const char *path;
	const char *now;
} moved_keys[] = {
	{ "host.kernel_launch", "a launch is the application's now: "
				"containers.<name>.app.kernel_launch, on a host of speed 1" },
	{ "system.l1", "cycles are the GPU's now: gpu.cycles.l1" },
	{ "system.l2", "cycles are the GPU's now: gpu.cycles.l2" },
	{ "system.dram", "cycles are the GPU's now: gpu.cycles.dram" },
	{ "system.alu", "cycles of a fence are the GPU's now: gpu.cycles.<mode>" },
	{ "system.branch", "cycles of a fence are the GPU's now: gpu.cycles.<mode>" },
};

int cfg_error(struct sim_error *err, const char *origin, const char *path, const char *fmt, ...)
{
	char text[sizeof(err->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return sim_user_error(err, "%s%s%s: %s", origin, *path ? ":" : "", path, text);
}

void cfg_append(char *text, size_t size, const char *fmt, ...)
{
	size_t used = strlen(text), cut = size - sizeof("...");
	va_list args;
	int more;

	va_start(args, fmt);
	more = vsnprintf(text + used, size - used, fmt, args);
	va_end(args);
	if (more < (int)(size - used) || size <= sizeof("..."))
		return;
	/* Not in the middle of a character of several bytes. */
	while (cut && ((unsigned char)text[cut] & 0xc0) == 0x80)
		cut--;
	memcpy(text + cut, "...", sizeof("..."));
}

/* Write a bound of a range as a user would type it: "2M", not 2097152. */
static void describe_bound(const struct cfg_key *key, u64 value, char *text, size_t size)
{
	switch (key->type) {
	case CFG_TYPE_DURATION:
		units_format_duration(value, text, size);
		return;
	case CFG_TYPE_TIMESLICE:
		/* It has no unit above ms. */
		snprintf(text, size, value % 1000 ? "%lluus" : "%llums",
			 value % 1000 ? value : value / 1000);
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
	case CFG_TYPE_MODEL:
	case CFG_TYPE_POLICY:
		snprintf(text, size, "a text of 1 to %zu bytes", key->size - 1);
		return;
	case CFG_TYPE_JSON:
		snprintf(text, size, "an object or a list of up to %zu bytes", key->size - 1);
		return;
	case CFG_TYPE_NAME:
		snprintf(text, size,
			 "1 to %zu letters, digits, \"_\", \"-\" and \".\" (not first)",
			 key->size - 1);
		return;
	case CFG_TYPE_WORD:
	case CFG_TYPE_ENUM:
	case CFG_TYPE_SET:
		*text = '\0';
		for (size_t i = 0; cfg_key_word(key, i); i++)
			cfg_append(text, size, "%s\"%s\"", i ? ", " : "", cfg_key_word(key, i));
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
		[CFG_TYPE_MODEL] = "model",
		[CFG_TYPE_POLICY] = "policy",
		[CFG_TYPE_JSON] = "object or list",
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

/* Offer @known and each branch that leads to it. */
static void guess_key(struct guess *guess, const char *known)
{
	for (size_t end = strcspn(known, ".");; end += 1 + strcspn(known + end + 1, ".")) {
		char name[CFG_PATH_MAX];

		snprintf(name, sizeof(name), "%.*s", (int)end, known);
		guess_offer(guess, name);
		if (!known[end])
			return;
	}
}

/*
 * Write the row path @pattern with its wildcard replaced by the name or index that @path has in
 * that place. If @path is another one, write the pattern up to its wildcard.
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

/* Does application type @app have @key? NULL: does any? */
static bool app_has_key(const struct cfg_keys *app, const struct cfg_key *key)
{
	return !app || cfg_key_has_app(key, app);
}

/*
 * Find the deepest object on the way to @path in which application type @app has keys. Returns
 * the length of its path.
 */
static size_t known_length(const struct cfg_schema *schema, const char *path,
			   const struct cfg_keys *app)
{
	char parent[CFG_PATH_MAX];
	bool known = false;

	snprintf(parent, sizeof(parent), "%s", path);
	while (!known) {
		char *dot = strrchr(parent, '.');

		*(dot ? dot : parent) = '\0';
		cfg_schema_for_each(schema, key)
		{
			const char *rest = cfg_path_match(parent, key->path);

			known |= rest && *rest && app_has_key(app, key);
		}
	}
	return strlen(parent);
}

/*
 * Write the next part of @key's path after @parent. The name of a control file, with its dots,
 * is one part. False: the path does not begin with @parent.
 */
static bool child_name(const char *parent, const struct cfg_key *key, char *name, size_t size)
{
	const char *rest = cfg_path_match(parent, key->path);
	bool whole = rest && key->scope == CFG_SCOPE_CONTROL && rest >= cfg_key_leaf(key);

	if (rest)
		snprintf(name, size, "%.*s", (int)(whole ? strlen(rest) : strcspn(rest, ".")),
			 rest);
	return rest;
}

/*
 * List the names in the object @parent, each once. Words explain a wildcard, since no user
 * types one.
 */
static void describe_children(const struct cfg_schema *schema, const char *parent,
			      const struct cfg_keys *app, char *text, size_t size)
{
	const char *between = "";

	cfg_schema_for_each(schema, key)
	{
		char name[CFG_PATH_MAX];
		char earlier_name[CFG_PATH_MAX];
		const char *word = name;
		bool listed = false;

		if (!app_has_key(app, key) || !child_name(parent, key, name, sizeof(name)))
			continue;
		for (const struct cfg_key *earlier = schema->rows; !listed && earlier < key;
		     earlier++)
			listed = app_has_key(app, earlier) &&
				 child_name(parent, earlier, earlier_name,
					    sizeof(earlier_name)) &&
				 !strcmp(name, earlier_name);
		if (listed)
			continue;
		if (!strcmp(name, "#"))
			word = "an index into the list";
		else if (!strcmp(name, "*"))
			word = strcmp(parent, "gpus") ? "a container's name" : "a GPU's name";
		cfg_append(text, size, "%s%s", between, word);
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

/* Is @path inside of a key whose value is JSON? Writes the key's own path. */
static bool find_json_above(const struct cfg_schema *schema, const char *path,
			    const struct cfg_keys *app, char above[CFG_PATH_MAX])
{
	char *dot;

	snprintf(above, CFG_PATH_MAX, "%s", path);
	while ((dot = strrchr(above, '.'))) {
		*dot = '\0';
		cfg_schema_for_each(schema, key)
		{
			const char *rest = cfg_path_match(above, key->path);

			if (key->type == CFG_TYPE_JSON && rest && !*rest &&
			    app_has_key(app, key))
				return true;
		}
	}
	return false;
}

void cfg_describe_unknown(const struct cfg_schema *schema, const char *path,
			  const struct cfg_keys *app, char *text, size_t size)
{
	size_t known = known_length(schema, path, app);
	const char *unknown = path + known + (known ? 1 : 0);
	struct guess guess;
	char parent[CFG_PATH_MAX];
	char known_key[2 * CFG_PATH_MAX];

	for (size_t i = 0; i < sizeof(moved_keys) / sizeof(moved_keys[0]); i++) {
		if (!strcmp(path, moved_keys[i].path)) {
			snprintf(text, size, "%s", moved_keys[i].now);
			return;
		}
	}
	if (find_json_above(schema, path, app, parent)) {
		snprintf(text, size, "allowed: %s as a whole, as JSON", parent);
		return;
	}
	guess_begin(&guess, unknown);
	snprintf(parent, sizeof(parent), "%.*s", (int)known, path);
	cfg_schema_for_each(schema, key)
	{
		const char *rest = cfg_path_match(parent, key->path);

		if (!rest || !app_has_key(app, key))
			continue;
		fill_wildcard(rest, unknown, known_key, sizeof(known_key));
		guess_key(&guess, known_key);
	}
	if (*guess.name) {
		snprintf(text, size, "did you mean \"%s%s%s\"?", parent, known ? "." : "",
			 guess.name);
		return;
	}
	snprintf(text, size, "allowed: ");
	describe_children(schema, parent, app, text, size);
}

void cfg_describe_right(const struct cfg_key *key, const json_t *wrong, char *text, size_t size)
{
	const char *unknown = json_string_value(wrong);
	bool has_words = key->type == CFG_TYPE_WORD || key->type == CFG_TYPE_ENUM ||
			 key->type == CFG_TYPE_SET;
	char allowed[TEXT_MAX];

	cfg_describe_allowed(key, allowed, sizeof(allowed));
	if (has_words && unknown)
		guess_describe(unknown, allowed, text, size);
	else
		snprintf(text, size, "allowed: %s", allowed);
}
