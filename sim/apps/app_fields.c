// SPDX-License-Identifier: MIT OR GPL-2.0
#include "apps/app_fields.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/message.h"
#include "config/value.h"
#include "engine/guess.h"

#define LIST_MAX 512 /* bytes of what is allowed */

bool app_fields_reject(const struct app_fields_wrong *wrong, const char *where, const char *fmt,
		       ...)
{
	char text[LIST_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(wrong->text, wrong->size, "%.160s%s%.300s", where, *where ? ": " : "", text);
	return false;
}

const json_t *app_fields_value(const json_t *json)
{
	const json_t *value = json_object_get(json, "value");

	return value && json_object_get(json, "source") && json_object_size(json) == 2 ? value :
											 json;
}

/* Refuse a field that is neither in @fields nor in @others, which ends with NULL. */
static bool reject_field(const struct app_fields_wrong *wrong, const char *where,
			 const char *name, const struct cfg_key *fields,
			 const char *const *others)
{
	char known[LIST_MAX] = "", right[LIST_MAX];

	for (; *others; others++)
		cfg_append(known, sizeof(known), "%s%s", *known ? ", " : "", *others);
	for (; fields->path; fields++)
		cfg_append(known, sizeof(known), "%s%s", *known ? ", " : "", fields->path);
	guess_describe(name, known, right, sizeof(right));
	return app_fields_reject(wrong, where, "no field \"%.64s\", %s", name, right);
}

static bool is_listed(const char *const *names, const char *name)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

bool app_fields_read(const struct app_fields_wrong *wrong, const char *where,
		     const json_t *json, const struct cfg_key *fields,
		     const char *const *others, void *base)
{
	char bad[CFG_WRONG_MAX], right[LIST_MAX];
	char path[2 * CFG_NAME_MAX];
	const char *name;
	json_t *child;

	if (!json_is_object(json))
		return app_fields_reject(wrong, where,
					 "is not an object, allowed: an object of fields");
	json_object_foreach((json_t *)json, name, child) {
		const json_t *value = app_fields_value(child);
		const struct cfg_key *field = fields;
		struct cfg_value parsed;

		if (is_listed(others, name))
			continue;
		while (field->path && strcmp(field->path, name) != 0)
			field++;
		if (!field->path)
			return reject_field(wrong, where, name, fields, others);
		snprintf(path, sizeof(path), "%s.%s", where, name);
		if (!cfg_value_parse(field, value, &parsed, bad)) {
			cfg_describe_right(field, value, right, sizeof(right));
			return app_fields_reject(wrong, path, "%s, %s", bad, right);
		}
		cfg_value_store(field, &parsed, base);
	}
	return true;
}
