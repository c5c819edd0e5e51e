/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Options of gvmcollect's commands: NAME=VALUE, durations, and messages about mistakes. */
#ifndef SIM_COLLECT_ARGUMENTS_H
#define SIM_COLLECT_ARGUMENTS_H

#include <stddef.h>

#include "engine/types.h"

#include <stdint.h>

struct sim_error;

/*
 * Check a name: letters, digits, "-" and "_". It goes into CSV files and paths of keys. Returns 0 or
 * -SIM_EXIT_USER.
 */
int arguments_name(const char *option, const char *text, struct sim_error *err);

/* Split "NAME=VALUE" of @option in place. Returns 0 or -SIM_EXIT_USER. */
int arguments_split(const char *option, char *text, const char **ret_name,
		    const char **ret_value, struct sim_error *err);

/* A duration of @least ns to a day. Returns 0 or -SIM_EXIT_USER. */
int arguments_duration(const char *option, const char *text, u64 least, u64 *ret_ns,
		       struct sim_error *err);

/* Report an option of @word that is unknown (kind '?') or lacks its value (':'). -SIM_EXIT_USER. */
int arguments_bad_option(int kind, const char *word, const char *usage, struct sim_error *err);

/* Print a help text. Returns 0 or -SIM_EXIT_RUNTIME. */
int arguments_print(const char *text, struct sim_error *err);

#endif
