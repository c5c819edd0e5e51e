// SPDX-License-Identifier: MIT OR GPL-2.0
#include "collect/arguments.h"

#include <string.h>

#include "config/config.h"
#include "config/units.h"
#include "engine/error.h"
#include "terminal/command.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
#define DAY_NS	     86400000000000ull

int arguments_name(const struct command *command, const char *option, const char *text,
		   struct sim_error *err)
{
	size_t length = strlen(text);

	if (length && length < CFG_NAME_MAX && strspn(text, NAME_LETTERS) == length)
		return 0;
	return command_bad_value(command, option, err,
				 "\"%s\" is not a name, allowed: up to %d letters, digits, - "
				 "and _",
				 text, CFG_NAME_MAX - 1);
}

int arguments_split(const struct command *command, const char *option, const char *text,
		    char **ret_name, const char **ret_value, struct sim_error *err)
{
	const char *equals = strchr(text, '=');

	*ret_name = NULL;
	if (!equals || equals == text || !equals[1])
		return command_bad_value(command, option, err, "\"%s\" is not NAME=VALUE",
					 text);
	*ret_value = equals + 1;
	*ret_name = strndup(text, (size_t)(equals - text));
	if (!*ret_name)
		return sim_runtime_error(err, "out of memory");
	return arguments_name(command, option, *ret_name, err);
}

int arguments_duration(const struct command *command, const char *option, const char *text,
		       u64 least, u64 *ret_ns, struct sim_error *err)
{
	enum units_status status = units_parse_duration(text, ret_ns);
	char allowed[UNITS_TEXT_MAX];

	if (status != UNITS_OK)
		return command_bad_value(command, option, err,
					 "\"%s\" %s, allowed: such as 100ms", text,
					 units_strstatus(status));
	units_format_duration(least, allowed, sizeof(allowed));
	if (*ret_ns < least || *ret_ns > DAY_NS)
		return command_bad_value(command, option, err, "%s, allowed: %s to 24h", text,
					 allowed);
	return 0;
}
