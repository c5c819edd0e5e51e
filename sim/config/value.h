/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* One value of a scenario: from JSON, checked against its key, into a struct, and back. */
#ifndef SIM_CONFIG_VALUE_H
#define SIM_CONFIG_VALUE_H

#include <jansson.h>

#include "config/config.h"
#include "config/schema.h"

#define CFG_WRONG_MAX 128

/* A checked value: a number or a text, as the key's type has it. */
struct cfg_value {
	u64 number;
	char text[CFG_TEXT_MAX];
};

/*
 * Read @json as a value of @key. If it is none, says why in @ret_wrong ("640 has no unit") and
 * returns false.
 */
bool cfg_value_parse(const struct cfg_key *key, const json_t *json, struct cfg_value *ret_value,
		     char ret_wrong[CFG_WRONG_MAX]);

/* Store @value where @key is bound in @base, a struct of the key's scope. */
void cfg_value_store(const struct cfg_key *key, const struct cfg_value *value, void *base);

/* The value that @key has in @base, as JSON that parses to the same value. NULL: no memory. */
json_t *cfg_value_dump(const struct cfg_key *key, const void *base);

/*
 * The text that is written to the control file @key for @value: a plain number of bytes, "max", a
 * number, or microseconds. One spelling for all that mean the same, and every one of them is
 * understood by the driver's parser.
 */
void cfg_value_control_text(const struct cfg_key *key, const struct cfg_value *value,
			    char *ret_text, size_t size);

/*
 * The JSON value that a command line or a default spells: JSON if it parses as such, else a
 * string, with *ret_error saying why it is no JSON. NULL: it is no text in UTF-8 (or there is no
 * memory for so little).
 */
json_t *cfg_value_from_text(const char *text, json_error_t *ret_error);

/*
 * Is @bad about a key that an object has twice? Writes that key, or nothing where it is longer
 * than jansson quotes.
 */
bool cfg_value_twice(const json_error_t *bad, char *ret_key, size_t size);

#endif
