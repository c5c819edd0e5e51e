// SPDX-License-Identifier: MIT OR GPL-2.0
#include "import/measured_parts.h"

#include <stdarg.h>
#include <stdio.h>

#include "config/units.h"

/* Add a line that begins with @kind. */
static void add_line(struct measured *measured, const char *kind, const char *fmt, va_list args)
{
	char text[CFG_TEXT_MAX];
	int length = snprintf(text, sizeof(text), "%s", kind);

	vsnprintf(text + length, sizeof(text) - (size_t)length, fmt, args);
	if (json_array_append_new(measured->notes, json_string(text)))
		measured->failed = true;
}

void measured_note(struct measured *measured, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_line(measured, "", fmt, args);
	va_end(args);
}

void measured_todo(struct measured *measured, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_line(measured, MEASURED_TODO " ", fmt, args);
	va_end(args);
	measured->todos++;
}

void measured_put(struct measured *measured, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		measured->failed = true;
}

json_t *measured_duration(u64 ns)
{
	char text[UNITS_TEXT_MAX];

	units_format_duration(ns, text, sizeof(text));
	return json_string(text);
}

const json_t *measured_container(const struct measured *measured, const char *name)
{
	return json_object_get(json_object_get(measured->config, "containers"), name);
}
