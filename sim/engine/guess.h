/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "Did you mean": the known name that is nearest to a misspelt one. */
#ifndef SIM_ENGINE_GUESS_H
#define SIM_ENGINE_GUESS_H

#include <stddef.h>

/* The longest name, with its zero byte. */
#define GUESS_NAME_MAX 192

/* The nearest name so far. */
struct guess {
	const char *unknown;	   /* borrowed */
	char name[GUESS_NAME_MAX]; /* empty: none is near enough */
	size_t distance;
};

/*
 * Look for names near @unknown: about one slip in four letters, or its beginning. Two letters
 * in the wrong order are one slip, and capitals are none.
 */
void guess_begin(struct guess *guess, const char *unknown);

/* Compare with a known name. Of equally near ones the first counts. */
void guess_offer(struct guess *guess, const char *known);

/* Likewise with each name of a list, "a, b", also where names are in quotes. */
void guess_offer_list(struct guess *guess, const char *list);

/*
 * The end of a message about @unknown: the nearest name of the list @known, "did you mean
 * ...?", or "allowed: " and the list.
 */
void guess_describe(const char *unknown, const char *known, char *text, size_t size);

#endif
