// SPDX-License-Identifier: MIT OR GPL-2.0
#include "engine/guess.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* No guess is made for names longer than this. */
#define GUESS_MAX 64

/* So many letters are the beginning of a name, as near as one slip. */
#define GUESS_BEGINNING 4

static size_t lesser(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/*
 * How many insertions, deletions, replacements and exchanges of two neighbours turn @a into @b
 * (optimal string alignment). Capital letters count as small ones. now[j] is the distance
 * of the beginning of @a so far to the first j letters of @b; last and before are those of
 * one and two letters less of @a.
 */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][GUESS_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2];
	size_t length = strlen(b);

	if (strlen(a) > GUESS_MAX || length > GUESS_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= length; j++)
		now[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t *oldest = before;

		before = last;
		last = now;
		now = oldest;
		now[0] = i;
		for (size_t j = 1; j <= length; j++) {
			size_t least = lesser(last[j], now[j - 1]) + 1;

			least = lesser(least, last[j - 1] + !same_letter(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
			    same_letter(a[i - 2], b[j - 1]))
				least = lesser(least, before[j - 2] + 1);
			now[j] = least;
		}
	}
	return now[length];
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

	if (length >= GUESS_BEGINNING && !strncasecmp(known, guess->unknown, length))
		distance = lesser(distance, 1);
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

void guess_describe(const char *unknown, const char *known, char *text, size_t size)
{
	struct guess guess;

	guess_begin(&guess, unknown);
	guess_offer_list(&guess, known);
	if (*guess.name)
		snprintf(text, size, "did you mean \"%s\"?", guess.name);
	else
		snprintf(text, size, "allowed: %s", known);
}
