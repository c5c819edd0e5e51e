/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "Did you mean": the known name that is nearest to a misspelt one. */
#ifndef SIM_CONFIG_GUESS_H
#define SIM_CONFIG_GUESS_H

#include <stddef.h>

#include "config/schema.h"

/* The nearest name so far. */
struct cfg_guess {
	const char *unknown;	 /* borrowed */
	char name[CFG_PATH_MAX]; /* empty: none is near enough */
	size_t distance;
};

/* Look for names near @unknown: about one slip in four letters, or its beginning. */
void cfg_guess_begin(struct cfg_guess *guess, const char *unknown);

/* Compare with a known name. Of equally near ones the first counts. */
void cfg_guess_offer(struct cfg_guess *guess, const char *known);

/* Likewise with each name of a list, "a, b", also where names are in quotes. */
void cfg_guess_offer_list(struct cfg_guess *guess, const char *list);

#endif
