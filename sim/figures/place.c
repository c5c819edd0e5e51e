// SPDX-License-Identifier: MIT OR GPL-2.0
#include "figures/place.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/message.h"
#include "engine/error.h"
#include "engine/guess.h"

void place_fail(const struct place *place, const char *fmt, ...)
{
	char text[512];
	va_list args;

	if (place->reader->status)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	place->reader->status =
		cfg_error(place->reader->err, place->reader->file, place->path, "%s", text);
}

static void list_names(const char *const *names, char *text, size_t size)
{
	*text = '\0';
	for (size_t i = 0; names[i]; i++)
		cfg_append(text, size, "%s%s", i ? ", " : "", names[i]);
}

bool place_is_object(const struct place *place, const char *const *allowed)
{
	char names[320], right[384];
	const char *key;
	json_t *value;

	list_names(allowed, names, sizeof(names));
	if (!json_is_object(place->json)) {
		place_fail(place, "%s, allowed: an object with %s",
			   place->json ? "is not an object" : "is missing", names);
		return false;
	}
	json_object_foreach(place->json, key, value) {
		struct place member = place_member(place, key);
		size_t i = 0;

		while (allowed[i] && strcmp(allowed[i], key) != 0)
			i++;
		if (allowed[i])
			continue;
		guess_describe(key, names, right, sizeof(right));
		place_fail(&member, "unknown key, %s", right);
		return false;
	}
	return true;
}

bool place_is_array(const struct place *place)
{
	if (json_array_size(place->json))
		return true;
	place_fail(place, "%s, allowed: an array that is not empty",
		   json_is_array(place->json) ? "is empty" :
		   place->json		      ? "is not an array" :
						"is missing");
	return false;
}

/* A path that is too long is cut. */
struct place place_member(const struct place *object, const char *key)
{
	struct place member = *object;

	member.json = json_object_get(object->json, key);
	cfg_append(member.path, sizeof(member.path), "%s%s", *object->path ? "." : "", key);
	return member;
}

struct place place_element(const struct place *array, size_t index)
{
	struct place element = *array;

	element.json = json_array_get(array->json, index);
	cfg_append(element.path, sizeof(element.path), "[%zu]", index);
	return element;
}

const char *place_text(const struct place *object, const char *key, const char *standard)
{
	struct place member = place_member(object, key);

	if (json_is_string(member.json) && json_string_length(member.json))
		return json_string_value(member.json);
	if (member.json || standard == PLACE_NEEDED)
		place_fail(&member, "%s, allowed: a text",
			   !member.json		       ? "is missing" :
			   json_is_string(member.json) ? "is empty" :
							 "is not a text");
	return standard == PLACE_NEEDED ? "" : standard;
}

double place_real(const struct place *object, const char *key, double standard)
{
	struct place member = place_member(object, key);

	if (json_is_number(member.json))
		return json_number_value(member.json);
	if (member.json)
		place_fail(&member, "is not a number, allowed: a number");
	return standard;
}

bool place_bool(const struct place *object, const char *key, bool standard)
{
	struct place member = place_member(object, key);

	if (json_is_boolean(member.json))
		return json_boolean_value(member.json);
	if (member.json)
		place_fail(&member, "is neither true nor false, allowed: true, false");
	return standard;
}

u64 place_integer(const struct place *object, const char *key, u64 least, u64 most,
		  u64 standard)
{
	struct place member = place_member(object, key);
	json_int_t value = json_integer_value(member.json);

	if (!member.json)
		return standard;
	if (json_is_integer(member.json) && value >= (json_int_t)least &&
	    value <= (json_int_t)most)
		return (u64)value;
	place_fail(&member, "is wrong, allowed: an integer from %llu to %llu",
		   (unsigned long long)least, (unsigned long long)most);
	return standard;
}

size_t place_choice(const struct place *object, const char *key, const char *const *names,
		    size_t standard)
{
	struct place member = place_member(object, key);
	const char *text = json_string_value(member.json);
	char allowed[256], right[384];

	if (!member.json)
		return standard;
	for (size_t i = 0; text && names[i]; i++)
		if (!strcmp(names[i], text))
			return i;
	list_names(names, allowed, sizeof(allowed));
	guess_describe(text ? text : "", allowed, right, sizeof(right));
	place_fail(&member, "is not known, %s", right);
	return standard;
}

void place_out_of_memory(struct place_reader *reader)
{
	if (!reader->status)
		reader->status = sim_runtime_error(reader->err, "out of memory");
}

void *place_allocate(struct place_reader *reader, size_t count, size_t size)
{
	void *memory = calloc(count + 1, size);

	if (!memory)
		place_out_of_memory(reader);
	return memory;
}

const char *place_field(const struct place *object, const char *key, const char *standard)
{
	const char *text = place_text(object, key, standard);
	struct place member = place_member(object, key);

	if (text && strpbrk(text, ",\"\r\n"))
		place_fail(&member, "has a comma, a quote or a line end, allowed: a text "
				    "without them");
	return text;
}

int place_whole(const struct place *object, const char *key, int standard, int least, int most)
{
	double number = place_real(object, key, standard);
	struct place member = place_member(object, key);

	if (!(number >= least && number <= most))
		place_fail(&member, "is out of range, allowed: %d to %d", least, most);
	else if (number != (int)number)
		place_fail(&member, "is not a whole number, allowed: %d to %d", least, most);
	else
		return (int)number;
	return standard;
}

const char **place_texts(const struct place *object, const char *key, size_t *ret_count)
{
	struct place array = place_member(object, key);
	const char **texts;

	*ret_count = 0;
	if (!array.json || !place_is_array(&array))
		return NULL;
	texts = place_allocate(object->reader, json_array_size(array.json), sizeof(*texts));
	for (size_t i = 0; texts && i < json_array_size(array.json); i++) {
		struct place element = place_element(&array, i);

		texts[i] = json_string_value(element.json);
		if (!texts[i]) {
			place_fail(&element, "is not a text, allowed: a text");
			break;
		}
		++*ret_count;
	}
	return texts;
}
