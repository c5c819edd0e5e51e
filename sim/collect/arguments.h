/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the commands of gvmcollect have in common in their options: NAME=VALUE, and mistakes. */
#ifndef SIM_COLLECT_ARGUMENTS_H
#define SIM_COLLECT_ARGUMENTS_H

#include <stddef.h>
#include <stdint.h>

struct sim_error;

/*
 * Check a name, as it stands in CSV files and paths of keys: letters, digits, "-" and "_". Returns
 * 0 or -SIM_EXIT_USER.
 */
int arguments_name(const char *option, const char *text, struct sim_error *err);

/* Split "NAME=VALUE" of @option in place. Returns 0 or -SIM_EXIT_USER. */
int arguments_split(const char *option, char *text, const char **ret_name,
		    const char **ret_value, struct sim_error *err);

/* A duration of @least ns to a day. Returns 0 or -SIM_EXIT_USER. */
int arguments_duration(const char *option, const char *text, uint64_t least, uint64_t *ret_ns,
		       struct sim_error *err);

/* getopt found an option that is unknown ('?') or lacks its value (':'); @word is where it is. */
int arguments_bad_option(int kind, const char *word, const char *usage, struct sim_error *err);

/* Print a help text. Returns 0 or -SIM_EXIT_RUNTIME. */
int arguments_print(const char *text, struct sim_error *err);

#endif
