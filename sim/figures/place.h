/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Strict reading of JSON. Each value is read together with its place in the file, so a mistake
 * is one line: "file:key.path: what is wrong, allowed: ...".
 *
 * The reader keeps the first mistake and drops later ones. Callers read a whole object and then
 * check the reader's status once.
 */
#ifndef SIM_FIGURES_PLACE_H
#define SIM_FIGURES_PLACE_H

#include <jansson.h>
#include <stdbool.h>

#include "engine/types.h"

struct sim_error;

#define PLACE_PATH_MAX 192

/* A file while it is read. */
struct place_reader {
	const char *file;
	struct sim_error *err;
	int status; /* 0, or the negative enum sim_exit of the first mistake */
};

/* A value and its place in the file. Borrowed from the file's root. */
struct place {
	struct place_reader *reader;
	json_t *json;		   /* NULL: the file has no such value */
	char path[PLACE_PATH_MAX]; /* "panels[2].value"; empty: the root */
};

/* Report a mistake at a place, unless the reader has one already. */
void place_fail(const struct place *place, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Is the place an object with @allowed keys only (NULL ends them)? Reports a mistake if not. */
bool place_is_object(const struct place *place, const char *const *allowed);
/* Is the place an array that is not empty? Reports a mistake if not. */
bool place_is_array(const struct place *place);

/* A member of an object or an element of an array. Its json is NULL if there is none. */
struct place place_member(const struct place *object, const char *key);
struct place place_element(const struct place *array, size_t index);

/*
 * Read a member of a given type. Returns @standard if there is none, and reports another type
 * as a mistake. Texts are borrowed from the JSON. @standard is PLACE_NEEDED for a text that
 * must be there.
 */
#define PLACE_NEEDED ((const char *)-1)
const char *place_text(const struct place *object, const char *key, const char *standard);
double place_real(const struct place *object, const char *key, double standard);
bool place_bool(const struct place *object, const char *key, bool standard);
/* An integer from @least to @most. */
u64 place_integer(const struct place *object, const char *key, u64 least, u64 most,
		  u64 standard);
/* Index of the member's text in @names, which NULL ends. */
size_t place_choice(const struct place *object, const char *key, const char *const *names,
		    size_t standard);

/* A text for a field of a CSV file and for the table: no commas, quotes or line ends. */
const char *place_field(const struct place *object, const char *key, const char *standard);
/* A whole number from @least to @most. Another number is a mistake. */
int place_whole(const struct place *object, const char *key, int standard, int least, int most);
/* An array of texts, ended by NULL, that the caller frees. NULL: there is no such member. */
const char **place_texts(const struct place *object, const char *key, size_t *ret_count);

/* Report a lack of memory, unless the reader has a mistake already. */
void place_out_of_memory(struct place_reader *reader);
/* Zeroed memory for @count elements and one more. NULL: place_out_of_memory() has been called. */
void *place_allocate(struct place_reader *reader, size_t count, size_t size);

#endif
