// SPDX-License-Identifier: MIT OR GPL-2.0
#include "engine/guess.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* No guess is made for names longer than this. */
#define GUESS_MAX 64

/* So many letters are the beginning of a name, as near as one slip. */
#define GUESS_BEGINNING 4

/*
 * Levenshtein distance: how many insertions, deletions and replacements turn @a into @b. @row
 * holds the distances of the beginning of @a so far to each beginning of @b.
 */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[GUESS_MAX + 1];
	size_t length = strlen(b);

	if (strlen(a) > GUESS_MAX || length > GUESS_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= length; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 1; j <= length; j++) {
			size_t least = diagonal + (a[i] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < least)
				least = row[j] + 1;
			if (row[j - 1] + 1 < least)
				least = row[j - 1] + 1;
			row[j] = least;
		}
	}
	return row[length];
}

void guess_begin(struct guess *guess, const char *unknown)
{
	size_t length = strlen(unknown);

	/* A guess must be nearer than this. */
	*guess = (struct guess){
		.unknown = unknown,
		.distance = length < 3 ? length : 2 + length / 4,
	};
}

void guess_offer(struct guess *guess, const char *known)
{
	size_t distance = edit_distance(guess->unknown, known);
	size_t length = strlen(guess->unknown);

	if (length >= GUESS_BEGINNING && !strncmp(known, guess->unknown, length))
		distance = 1;
	if (distance >= guess->distance)
		return;
	guess->distance = distance;
	snprintf(guess->name, sizeof(guess->name), "%s", known);
}

void guess_offer_list(struct guess *guess, const char *list)
{
	char name[GUESS_NAME_MAX];
	size_t length;

	for (; *list; list += length) {
		list += strspn(list, "\", ");
		length = strcspn(list, "\", ");
		snprintf(name, sizeof(name), "%.*s", (int)length, list);
		if (length)
			guess_offer(guess, name);
	}
}
