/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Messages about a wrong scenario: one line each, "file:key.path: what is wrong, what is
 * allowed". Also the words about keys that messages, help and documents share.
 */
#ifndef SIM_CONFIG_MESSAGE_H
#define SIM_CONFIG_MESSAGE_H

#include <jansson.h>
#include <stddef.h>

#include "config/schema.h"

struct sim_error;

/*
 * Report a mistake at @path of @origin (a file, or "--set"). Returns -SIM_EXIT_USER. Replaces
 * control characters of the input, so that the message stays one line.
 */
int cfg_error(struct sim_error *err, const char *origin, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Describe an unknown @path: the nearest known key if one is close, otherwise the keys of its
 * parent. Only keys of application type @app count; NULL: those of all types.
 */
void cfg_describe_unknown(const struct cfg_schema *schema, const char *path,
			  const struct cfg_keys *app, char *text, size_t size);

/* Describe the branch @path: "allowed: an object with bandwidth, setup". */
void cfg_describe_branch(const struct cfg_schema *schema, const char *path, char *text,
			 size_t size);

/*
 * For help and documents: the name of a type ("size"), the unit of its numbers in a dump
 * ("bytes", "" for a bare number or a text), and the values that @key accepts, with bounds and
 * examples.
 */
const char *cfg_type_name(enum cfg_type type);
const char *cfg_type_unit(enum cfg_type type);
void cfg_describe_allowed(const struct cfg_key *key, char *text, size_t size);

/*
 * Describe what @key accepts in place of the value @wrong: "allowed: ...", or of words the
 * nearest, "did you mean ...?".
 */
void cfg_describe_right(const struct cfg_key *key, const json_t *wrong, char *text,
			size_t size);

/* Append to the text in @text. Text that does not fit is cut off, and ends with "...". */
void cfg_append(char *text, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
