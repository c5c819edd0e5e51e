/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Strict reading of JSON: each value is read together with its place in the file, so that a
 * mistake is one line "file:key.path: what is wrong, allowed: ...".
 *
 * The first mistake is kept and later ones are dropped, so callers read a whole object and look at
 * the reader's status once.
 */
#ifndef SIM_FIGURES_PLACE_H
#define SIM_FIGURES_PLACE_H

#include <jansson.h>
#include <stdbool.h>

struct sim_error;

#define PLACE_PATH_MAX 192

/* One file on its way in. */
struct place_reader {
	const char *file;
	struct sim_error *err;
	int status; /* 0, or the negative enum sim_exit of the first mistake */
};

/* A value and where it stands. Borrowed from the file's root. */
struct place {
	struct place_reader *reader;
	json_t *json;		   /* NULL: there is none */
	char path[PLACE_PATH_MAX]; /* "panels[2].value"; empty: the root */
};

/* Report a mistake at a place, unless there was one before. */
void place_fail(const struct place *place, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Is the place an object with no other keys than @allowed, which NULL ends? Reports if not. */
bool place_is_object(const struct place *place, const char *const *allowed);
/* Is it an array of one element at least? Reports if not. */
bool place_is_array(const struct place *place);

/* A member of an object; without one its json is NULL. */
struct place place_member(const struct place *object, const char *key);
struct place place_element(const struct place *array, size_t index);

/*
 * A member of a wanted type, or the default where there is none. Texts are borrowed from the JSON.
 * A text that has to be there has the default PLACE_NEEDED.
 */
#define PLACE_NEEDED ((const char *)-1)
const char *place_text(const struct place *object, const char *key, const char *standard);
double place_real(const struct place *object, const char *key, double standard);
bool place_bool(const struct place *object, const char *key, bool standard);
/* Index of the member's text in @names, which NULL ends. */
size_t place_choice(const struct place *object, const char *key, const char *const *names,
		    size_t standard);

#endif
