// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config/value.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/units.h"

/* The length to which a message shows a wrong value. */
#define SHOWN_MAX 48

/* A decimal number of 15 digits survives in a double. A double needs at most 17. */
#define REAL_DIGITS_MIN 15
#define REAL_DIGITS_MAX 17

/* Write @json as a user would recognise it, on one line. */
static void value_show(const json_t *json, char *text, size_t size)
{
	char *all;

	if (json_is_object(json) || json_is_array(json)) {
		snprintf(text, size, "%s", json_is_object(json) ? "an object" : "a list");
		return;
	}
	all = json_dumps(json, JSON_ENCODE_ANY | JSON_ENSURE_ASCII |
				       JSON_REAL_PRECISION(REAL_DIGITS_MIN));
	snprintf(text, size, "%s", all ? all : "this");
	if (all && strlen(all) >= size)
		memcpy(text + size - 4, "...", 4);
	free(all);
}

/*
 * Write a real number as the decimal that the user wrote: the fewest digits that give the same
 * double again. 0.7 stays 0.7, and no arithmetic is done on the double. jansson prints it,
 * because printf() obeys the locale.
 */
static void real_text(const json_t *json, char *text, size_t size)
{
	for (size_t digits = REAL_DIGITS_MIN; digits <= REAL_DIGITS_MAX; digits++) {
		size_t length = json_dumpb(json, text, size - 1,
					   JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
		json_t *again = json_loadb(text, length, JSON_DECODE_ANY, NULL);
		bool same = json_equal(json, again);

		json_decref(again);
		text[length] = '\0';
		if (same)
			return;
	}
}

/* Write the text of a number or a string. False: @json is neither, or longer than @size. */
static bool scalar_text(const json_t *json, char *text, size_t size)
{
	if (json_is_real(json)) {
		real_text(json, text, size);
		return true;
	}
	if (json_is_integer(json))
		return snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(json)) >
		       0;
	if (!json_is_string(json) || json_string_length(json) >= size)
		return false;
	memcpy(text, json_string_value(json), json_string_length(json) + 1);
	return true;
}

/* Read a number. Returns NULL, or the problem with it. */
static const char *value_number(const struct cfg_key *key, const json_t *json,
				struct cfg_value *value)
{
	const char *text = value->text;
	enum units_status status;

	if (!scalar_text(json, value->text, sizeof(value->text)))
		return "is not a number";
	switch (key->type) {
	case CFG_TYPE_SIZE:
		status = units_parse_size(text, &value->number);
		break;
	case CFG_TYPE_DURATION:
		status = units_parse_duration(text, &value->number);
		break;
	case CFG_TYPE_TIMESLICE:
		status = units_parse_timeslice(text, &value->number);
		break;
	case CFG_TYPE_PPM:
		status = units_parse_ppm(text, &value->number);
		break;
	default:
		status = units_parse_integer(text, &value->number);
	}
	if (status == UNITS_BAD_SUFFIX && key->type == CFG_TYPE_SIZE)
		return "has an unknown suffix (there are " UNITS_SIZES ")";
	if (status == UNITS_BAD_SUFFIX && key->type == CFG_TYPE_DURATION)
		return "has an unknown suffix (there are " UNITS_DURATIONS ")";
	if (status == UNITS_BAD_SUFFIX && key->type == CFG_TYPE_TIMESLICE)
		return "has an unknown suffix (there are " UNITS_TIMESLICES ")";
	if (status)
		return units_strstatus(status);
	return value->number < key->min || value->number > key->max ? "is out of range" : NULL;
}

/* Read a text. Returns NULL, or the problem with it. Optional keys may be empty. */
static const char *value_text(const struct cfg_key *key, const json_t *json,
			      struct cfg_value *value)
{
	size_t length = json_string_length(json);

	if (!json_is_string(json))
		return "is not a text";
	if (!length)
		return key->fallback ? NULL : "is empty";
	if (length >= key->size)
		return "is too long";
	memcpy(value->text, json_string_value(json), length + 1);
	if (key->type != CFG_TYPE_NAME)
		return NULL;
	if (*value->text == '.')
		return "is not a name";
	for (const char *at = value->text; *at; at++) {
		if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
			return "is not a name";
	}
	return NULL;
}

/* Read one of the key's words. Returns NULL, or the problem with it. */
static const char *value_word(const struct cfg_key *key, const json_t *json,
			      struct cfg_value *value)
{
	const char *word;

	if (!json_is_string(json))
		return "is not a text";
	for (size_t i = 0; (word = cfg_key_word(key, i)); i++) {
		if (strcmp(json_string_value(json), word) != 0)
			continue;
		value->number = i;
		snprintf(value->text, sizeof(value->text), "%s", word);
		return NULL;
	}
	return "is not known";
}

/* Read a value of any type. Returns NULL, or the problem with it. */
static const char *value_parse(const struct cfg_key *key, const json_t *json,
			       struct cfg_value *value)
{
	switch (key->type) {
	case CFG_TYPE_BOOL:
		value->number = json_is_true(json);
		return json_is_boolean(json) ? NULL : "is not a truth value";
	case CFG_TYPE_STRING:
	case CFG_TYPE_NAME:
	case CFG_TYPE_TRACE:
	case CFG_TYPE_MODEL:
	case CFG_TYPE_POLICY:
		return value_text(key, json, value);
	case CFG_TYPE_WORD:
	case CFG_TYPE_ENUM:
	case CFG_TYPE_SET:
		return value_word(key, json, value);
	case CFG_TYPE_JSON:
		value->json = json;
		if (!json_is_object(json) && !json_is_array(json))
			return "is neither an object nor a list";
		return json_dumpb(json, NULL, 0, JSON_COMPACT) < key->size ? NULL :
									     "is too long";
	case CFG_TYPE_WRITE:
		if (!scalar_text(json, value->text, key->size))
			return json_is_string(json) ? "is too long" :
						      "is neither number nor text";
		return *value->text ? NULL : "is empty";
	default:
		return value_number(key, json, value);
	}
}

bool cfg_value_parse(const struct cfg_key *key, const json_t *json, struct cfg_value *ret_value,
		     char ret_wrong[CFG_WRONG_MAX])
{
	const char *wrong;
	char shown[SHOWN_MAX];

	*ret_value = (struct cfg_value){ 0 };
	wrong = value_parse(key, json, ret_value);
	if (!wrong)
		return true;
	value_show(json, shown, sizeof(shown));
	snprintf(ret_wrong, CFG_WRONG_MAX, "%s %s", shown, wrong);
	return false;
}

static bool is_text_member(const struct cfg_key *key)
{
	return key->type == CFG_TYPE_STRING || key->type == CFG_TYPE_NAME ||
	       key->type == CFG_TYPE_TRACE || key->type == CFG_TYPE_MODEL ||
	       key->type == CFG_TYPE_POLICY || key->type == CFG_TYPE_WORD ||
	       key->type == CFG_TYPE_WRITE;
}

void cfg_value_store(const struct cfg_key *key, const struct cfg_value *value, void *base)
{
	void *member = (char *)base + key->offset;

	if (key->type == CFG_TYPE_JSON && value->json)
		((char *)member)[json_dumpb(value->json, member, key->size - 1, JSON_COMPACT)] =
			0;
	else if (is_text_member(key) || key->type == CFG_TYPE_JSON)
		snprintf(member, key->size, "%s", value->text);
	else if (key->type == CFG_TYPE_SET)
		*(const struct cfg_keys **)member = key->sets[value->number];
	else if (key->type == CFG_TYPE_BOOL)
		*(bool *)member = value->number;
	else if (key->size == sizeof(u32))
		*(u32 *)member = (u32)value->number;
	else
		*(u64 *)member = value->number;
}

json_t *cfg_value_dump(const struct cfg_key *key, const void *base)
{
	const void *member = (const char *)base + key->offset;
	char text[UNITS_TEXT_MAX];
	u64 number;

	if (key->type == CFG_TYPE_JSON)
		return json_loads(member, 0, NULL);
	if (is_text_member(key))
		return json_string(member);
	if (key->type == CFG_TYPE_SET)
		return json_string((*(const struct cfg_keys *const *)member)->name);
	if (key->type == CFG_TYPE_BOOL)
		number = *(const bool *)member;
	else if (key->size == sizeof(u32))
		number = *(const u32 *)member;
	else
		number = *(const u64 *)member;
	switch (key->type) {
	case CFG_TYPE_BOOL:
		return json_boolean(number);
	case CFG_TYPE_ENUM:
		return json_string(key->words[number]);
	case CFG_TYPE_DURATION:
		units_format_duration(number, text, sizeof(text));
		return json_string(text);
	case CFG_TYPE_PPM:
		if (number % CFG_PPM == 0)
			return json_integer((json_int_t)(number / CFG_PPM));
		return json_real((double)number / CFG_PPM);
	case CFG_TYPE_SIZE:
		/* No limit is "max", which does not fit into an integer of JSON. */
		if (number == U64_MAX)
			return json_string("max");
		return json_integer((json_int_t)number);
	default:
		return json_integer((json_int_t)number);
	}
}

void cfg_value_control_text(const struct cfg_key *key, const struct cfg_value *value,
			    char *ret_text, size_t size)
{
	switch (key->type) {
	case CFG_TYPE_SIZE:
		units_format_size(value->number, ret_text, size);
		return;
	case CFG_TYPE_TIMESLICE:
		snprintf(ret_text, size, "%lluus", value->number);
		return;
	default:
		units_format_integer(value->number, ret_text, size);
	}
}

json_t *cfg_value_from_text(const char *text, json_error_t *ret_error)
{
	json_t *json = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, ret_error);

	return json ? json : json_string(text);
}

int cfg_value_default(const struct cfg_key *key, struct cfg_value *ret_value)
{
	char wrong[CFG_WRONG_MAX];
	json_error_t error;
	json_t *json;
	bool right;

	*ret_value = (struct cfg_value){ 0 };
	if (!key->fallback || !*key->fallback)
		return 0;
	if (key->type == CFG_TYPE_JSON) {
		snprintf(ret_value->text, sizeof(ret_value->text), "%s", key->fallback);
		return 0;
	}
	json = cfg_value_from_text(key->fallback, &error);
	right = json && cfg_value_parse(key, json, ret_value, wrong);
	json_decref(json);
	/* Defaults are right. Without memory a number is read as a text. */
	return right ? 0 : -ENOMEM;
}

void *cfg_keys_defaults(const struct cfg_keys *set)
{
	void *base = calloc(1, set->bytes + 1);

	for (size_t i = 0; base && i < set->key_count; i++) {
		struct cfg_value value;

		if (cfg_value_default(&set->keys[i], &value)) {
			free(base);
			return NULL;
		}
		cfg_value_store(&set->keys[i], &value, base);
	}
	return base;
}

bool cfg_value_twice(const json_error_t *bad, char *ret_key, size_t size)
{
	const char *start = strchr(bad->text, '"');
	const char *end = strrchr(bad->text, '"');

	if (json_error_code(bad) != json_error_duplicate_key)
		return false;
	*ret_key = '\0';
	if (start != end)
		snprintf(ret_key, size, "%.*s", (int)(end - start - 1), start + 1);
	return true;
}
