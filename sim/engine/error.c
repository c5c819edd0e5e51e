// SPDX-License-Identifier: MIT OR GPL-2.0
#include "engine/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*
 * Quoted text can hold any byte. Control characters become '?', so the error stays one line and
 * does nothing to a terminal.
 */
static void sim_error_format(struct sim_error *err, const char *fmt, va_list args)
{
	char *text = err->text;
	size_t most = sizeof(err->text) - 1;

	/* A text that is cut off says so. Its last character may be one of several bytes. */
	if (vsnprintf(text, sizeof(err->text), fmt, args) > (int)most) {
		most -= sizeof("...");
		while (((unsigned char)text[most] & 0xc0) == 0x80)
			most--;
		memcpy(text + most, "...", sizeof("..."));
	}
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

int sim_user_error(struct sim_error *err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	sim_error_format(err, fmt, args);
	va_end(args);
	return -SIM_EXIT_USER;
}

int sim_runtime_error(struct sim_error *err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	sim_error_format(err, fmt, args);
	va_end(args);
	return -SIM_EXIT_RUNTIME;
}
