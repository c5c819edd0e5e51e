// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config/key_path.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "gvm/control.h"

/* Read an index of the event list: digits without leading zeros. False: it is no index. */
static bool component_is_index(const char *text, size_t length, size_t *ret_index)
{
	size_t value = 0;

	if (!length || length > 4 || (length > 1 && text[0] == '0'))
		return false;
	for (size_t i = 0; i < length; i++) {
		if (!isdigit((unsigned char)text[i]))
			return false;
		value = value * 10 + (size_t)(text[i] - '0');
	}
	*ret_index = value;
	return value < CFG_EVENTS_MAX;
}

const char *cfg_path_match(const char *path, const char *pattern)
{
	while (*path) {
		size_t length = strcspn(path, ".");
		size_t pattern_length = strcspn(pattern, ".");
		size_t index;
		bool match;

		if (pattern_length == 1 && *pattern == '*')
			match = length > 0;
		else if (pattern_length == 1 && *pattern == '#')
			match = component_is_index(path, length, &index);
		else
			match = length == pattern_length && !memcmp(path, pattern, length);
		if (!match)
			return NULL;
		path += length;
		pattern += pattern_length;
		pattern += *pattern == '.';
		if (*path == '.' && !path[1])
			return NULL;
		path += *path == '.';
	}
	return pattern;
}

/*
 * Copy the name that follows @prefix in @path. Returns the rest of the path, or NULL: no such
 * prefix.
 */
static const char *path_name(const char *path, const char *prefix, char *ret_name, size_t size)
{
	size_t length = strlen(prefix);

	if (strncmp(path, prefix, length) != 0)
		return NULL;
	path += length;
	length = strcspn(path, ".");
	snprintf(ret_name, size, "%.*s", (int)length, path);
	return path + length;
}

bool cfg_path_container(const char *path, char *ret_name, size_t size)
{
	return path_name(path, "containers.", ret_name, size);
}

bool cfg_path_gpu(const char *path, char *ret_name, size_t size)
{
	return path_name(path, "gpus.", ret_name, size);
}

bool cfg_path_event(const char *path, size_t *ret_index)
{
	static const char prefix[] = "events.";

	if (strncmp(path, prefix, sizeof(prefix) - 1) != 0)
		return false;
	path += sizeof(prefix) - 1;
	return component_is_index(path, strcspn(path, "."), ret_index);
}

void cfg_path_canonical(const char *path, char *ret_path, size_t size)
{
	char name[CFG_PATH_MAX];
	const char *leaf = path_name(path, "containers.", name, sizeof(name));
	const struct gvm_control_file *file =
		leaf && *leaf == '.' ? gvm_control_find(leaf + 1) : NULL;

	if (file)
		snprintf(ret_path, size, "%.*s%s", (int)(leaf + 1 - path), path, file->name);
	else
		snprintf(ret_path, size, "%s", path);
}
