// SPDX-License-Identifier: MIT OR GPL-2.0
#include "collect/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "config/units.h"
#include "engine/error.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
#define DAY_NS	     86400000000000ull

int arguments_name(const char *option, const char *text, struct sim_error *err)
{
	size_t length = strlen(text);

	if (length && length < CFG_NAME_MAX && strspn(text, NAME_LETTERS) == length)
		return 0;
	return sim_user_error(err,
			      "option '%s': \"%s\" is no name, allowed: up to %d letters, "
			      "digits, - and _",
			      option, text, CFG_NAME_MAX - 1);
}

int arguments_split(const char *option, char *text, const char **ret_name,
		    const char **ret_value, struct sim_error *err)
{
	char *equals = strchr(text, '=');

	if (!equals || equals == text || !equals[1])
		return sim_user_error(err, "option '%s': \"%s\" is not NAME=VALUE", option,
				      text);
	*equals = '\0';
	*ret_value = equals + 1;
	*ret_name = text;
	return arguments_name(option, text, err);
}

int arguments_duration(const char *option, const char *text, u64 least, u64 *ret_ns,
		       struct sim_error *err)
{
	enum units_status status = units_parse_duration(text, ret_ns);
	char allowed[UNITS_TEXT_MAX];

	units_format_duration(least, allowed, sizeof(allowed));
	if (status != UNITS_OK)
		return sim_user_error(err, "option '%s': \"%s\" %s, allowed: such as 100ms",
				      option, text, units_strstatus(status));
	if (*ret_ns < least || *ret_ns > DAY_NS)
		return sim_user_error(err, "option '%s': %s, allowed: %s to 24h", option, text,
				      allowed);
	return 0;
}

int arguments_bad_option(int kind, const char *word, const char *usage, struct sim_error *err)
{
	return sim_user_error(err, "option '%s' %s, usage: gvmcollect %s", word,
			      kind == ':' ? "needs a value" : "is not valid here", usage);
}

int arguments_print(const char *text, struct sim_error *err)
{
	fputs(text, stdout);
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return sim_runtime_error(err, "standard output: cannot write: %s", strerror(errno));
}
