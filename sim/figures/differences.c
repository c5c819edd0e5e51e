// SPDX-License-Identifier: MIT OR GPL-2.0
/* See differences.h. Configurations are trees; their leaves are compared by path. */
#include "figures/differences.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/message.h"
#include "config/schema.h"

/* So much of the second line is for differences. */
#define LISTED_MAX 200

struct differences {
	char text[LISTED_MAX];
	size_t unlisted;
};

/* Keys that a picture has in its first line, or that follow from the others. */
static bool is_named(const char *path)
{
	static const char *const named[] = { "hash",	    "name",	   "description",
					     "system.name", "gpu.profile", "source" };

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (!strcmp(path, named[i]))
			return true;
	return false;
}

static void describe(const json_t *leaf, char *text, size_t size)
{
	char *dumped =
		leaf ? json_dumps(leaf, JSON_ENCODE_ANY | JSON_COMPACT | CFG_JSON_PRECISION) :
		       NULL;

	snprintf(text, size, "%s",
		 json_is_string(leaf) ? json_string_value(leaf) :
		 dumped		      ? dumped :
					"none");
	free(dumped);
}

/* Compare the values of one key, and the keys below it. */
static void compare(struct differences *found, const json_t *first, const json_t *second,
		    const char *path)
{
	char below[CFG_PATH_MAX], a[48], b[48], entry[LISTED_MAX];
	const char *key;
	json_t *ignored;

	if (json_equal(first, second) || is_named(path))
		return;
	if (json_is_object(first) && json_is_object(second)) {
		json_object_foreach((json_t *)first, key, ignored) {
			snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "", key);
			compare(found, ignored, json_object_get(second, key), below);
		}
		json_object_foreach((json_t *)second, key, ignored) {
			snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "", key);
			if (!json_object_get(first, key))
				compare(found, NULL, ignored, below);
		}
		return;
	}
	describe(first, a, sizeof(a));
	describe(second, b, sizeof(b));
	if (json_is_object(first) || json_is_object(second))
		snprintf(entry, sizeof(entry), "%s", path);
	else
		snprintf(entry, sizeof(entry), "%s: %s | %s", path, a, b);
	if (strlen(found->text) + strlen(entry) + 2 < sizeof(found->text))
		cfg_append(found->text, sizeof(found->text), "%s%s", *found->text ? ", " : "",
			   entry);
	else
		found->unlisted++;
}

void figure_differences(const struct figure_data *data, char *text, size_t size)
{
	struct differences found = { 0 };

	if (!data->configs[0] || !data->configs[1] || data->runs[0].folder.summary.measured ||
	    data->runs[1].folder.summary.measured ||
	    strcmp(data->runs[0].folder.summary.name, data->runs[1].folder.summary.name) != 0)
		return;
	compare(&found, data->configs[0], data->configs[1], "");
	if (!*found.text && !found.unlisted)
		return;
	cfg_append(text, size, "%sdiffer in %s", *text ? "; " : "", found.text);
	if (found.unlisted)
		cfg_append(text, size, " and %zu keys more", found.unlisted);
}

void figure_overrides(const struct figure *figure, const struct figure_request *request,
		      char *text, size_t size)
{
	if (request->scenario || request->set_count)
		cfg_append(text, size, "CHANGED%s:",
			   !figure->reference.file ? "" :
			   figure->ours_alone	   ? ", without published values" :
						     ", not the published set-up");
	if (request->scenario)
		cfg_append(text, size, " --scenario %s", request->scenario);
	for (size_t i = 0; i < request->set_count; i++)
		cfg_append(text, size, "%s%s", i ? ", " : " ", request->sets[i]);
}
