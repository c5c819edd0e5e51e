/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* One value of a scenario: read from JSON, checked, stored in a struct, and dumped again. */
#ifndef SIM_CONFIG_VALUE_H
#define SIM_CONFIG_VALUE_H

#include <jansson.h>

#include "config/config.h"
#include "config/schema.h"

#define CFG_WRONG_MAX 128

/* A checked value. The key's type says which member counts. */
struct cfg_value {
	u64 number;
	char text[CFG_TEXT_MAX];
	const json_t *json; /* of CFG_TYPE_JSON; the parsed file owns it; NULL: it is @text */
};

/*
 * Read @json as a value of @key. False: it is none, and @ret_wrong has the problem ("640 has no
 * unit").
 */
bool cfg_value_parse(const struct cfg_key *key, const json_t *json, struct cfg_value *ret_value,
		     char ret_wrong[CFG_WRONG_MAX]);

/*
 * The default of @key, which is written as in a scenario. A required key, or "", has zeros. Returns
 * 0 or -ENOMEM.
 */
int cfg_value_default(const struct cfg_key *key, struct cfg_value *ret_value);

/* Store @value where @key is bound in @base, a struct of the key's scope. */
void cfg_value_store(const struct cfg_key *key, const struct cfg_value *value, void *base);

/* The value that @key has in @base, as JSON that parses to the same value. NULL: no memory. */
json_t *cfg_value_dump(const struct cfg_key *key, const void *base);

/*
 * Write @value as the text for the control file @key: plain bytes, "max", a number, or
 * microseconds. Equal values get equal texts, all of which the driver's parser understands.
 */
void cfg_value_control_text(const struct cfg_key *key, const struct cfg_value *value,
			    char *ret_text, size_t size);

/*
 * Read a value of the command line or a default: JSON, or else a string; then *ret_error has
 * the problem with the JSON. NULL: it is not UTF-8, or there is no memory.
 */
json_t *cfg_value_from_text(const char *text, json_error_t *ret_error);

/*
 * Does @bad say that an object has a key twice? Writes that key, or "" if jansson has not
 * quoted all of it.
 */
bool cfg_value_twice(const json_error_t *bad, char *ret_key, size_t size);

/*
 * A struct of the keys of @set in which each has its default; required ones are zero. The
 * caller frees it. NULL: no memory.
 */
void *cfg_keys_defaults(const struct cfg_keys *set);

#endif
