/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Values of gvmcollect's options: names, NAME=VALUE and durations. */
#ifndef SIM_COLLECT_ARGUMENTS_H
#define SIM_COLLECT_ARGUMENTS_H

#include "engine/types.h"

struct command;
struct sim_error;

/*
 * Check a name: letters, digits, "-" and "_". It goes into CSV files and paths of keys. Here
 * and below @text is the value of @option of @command, and the return is 0 or a negative enum
 * sim_exit.
 */
int arguments_name(const struct command *command, const char *option, const char *text,
		   struct sim_error *err);

/*
 * Split "NAME=VALUE". *ret_name is a copy that the caller frees, also after an error;
 * *ret_value points into @text.
 */
int arguments_split(const struct command *command, const char *option, const char *text,
		    char **ret_name, const char **ret_value, struct sim_error *err);

/* Read a duration of @least ns to a day. */
int arguments_duration(const struct command *command, const char *option, const char *text,
		       u64 least, u64 *ret_ns, struct sim_error *err);

#endif
