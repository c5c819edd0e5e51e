/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Candidates of advice, one by one: made, judged, compared. advise.h says what a candidate is.
 */
#ifndef SIM_ADVISE_CANDIDATE_H
#define SIM_ADVISE_CANDIDATE_H

#include "advise/types.h"

/* A new candidate with the keys of @from, which may be NULL. NULL: out of memory. */
struct advise_candidate *candidate_new(struct advise *advise,
				       const struct advise_candidate *from);
void candidate_free(struct advise_candidate *candidate);

/* Set the key that @fmt makes to @text. */
void candidate_set(struct advise_candidate *candidate, const char *text, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Add a candidate to the search if it differs from all others. Takes it over in any case; NULL
 * is a lack of memory. Returns 0 or -ENOMEM.
 */
int candidate_add(struct advise *advise, struct advise_candidate *candidate);

/* Judge a candidate that ran. A share below the target counts as what it lacks, below 0. */
void candidate_judge(struct advise *advise, struct advise_candidate *candidate);

/* Sort candidates of the search, the best one first; equal ones in the order of the search. */
void candidate_sort(struct advise_candidate **candidates, size_t count);

/* Is a candidate as good as one of its system in @others, none of which is worse? */
bool candidate_is_one_more(struct advise_candidate *const *others, size_t count,
			   const struct advise_candidate *candidate);

/* Is @a better than @b? A candidate that did not run is worse than all that did. */
bool advise_is_better(const struct advise_candidate *a, const struct advise_candidate *b);

/* Does a candidate keep all promises, and does no container that counts lose progress? */
bool candidate_has_all(const struct advise *advise, const struct advise_candidate *candidate);

/*
 * The system of a candidate, and its other keys in short: "diffusion.gmem.limit.high 6.00 GiB".
 */
const char *advise_system(const struct advise_candidate *candidate);
void advise_describe(const struct advise_candidate *candidate, char *text, size_t size);

#endif
