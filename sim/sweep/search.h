/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The best point of a sweep: the least or greatest value of a metric or key under bounds. */
#ifndef SIM_SWEEP_SEARCH_H
#define SIM_SWEEP_SEARCH_H

#include "sweep/sweep_numbers.h"

#define SEARCH_BOUNDS_MAX 8

enum search_relation {
	SEARCH_LESS,
	SEARCH_LESS_OR_EQUAL,
	SEARCH_MORE,
	SEARCH_MORE_OR_EQUAL,
};

/* "vllm.ttft_ms.p99<2s" */
struct search_bound {
	char name[SWEEP_NAME_MAX];
	enum search_relation relation;
	char text[CFG_NAME_MAX]; /* the value as it was written */
	double value;		 /* in the unit of its metric: search_check() */
};

struct search {
	const char *objective; /* borrowed; a metric or a key of the points; NULL: none */
	bool more;	       /* the greatest; else the least */
	struct search_bound bounds[SEARCH_BOUNDS_MAX];
	size_t bound_count;
};

/* Parse "METRIC<VALUE", also with <=, > and >=, and add it. 0 or -SIM_EXIT_USER. */
int search_add_bound(struct search *search, const char *text, struct sim_error *err);

/*
 * Does each name stand for numbers in the runs, and has each bound a value in a unit of its
 * metric? To be called before they are made. Returns 0 or -SIM_EXIT_USER.
 */
int search_check(struct search *search, struct sweep_runs *runs, struct sim_error *err);

/* What became of a search. */
struct search_result {
	size_t satisfied; /* points that keep all bounds */
	size_t best;	  /* of these, the point with the best objective; SIZE_MAX: none */
	size_t kept[SEARCH_BOUNDS_MAX];	   /* of each bound: points that keep it */
	size_t nearest[SEARCH_BOUNDS_MAX]; /* the point whose value is nearest to keeping it */
};

/* "<", "<=", ">" or ">=" */
const char *search_relation_text(enum search_relation relation);

/*
 * Search. A point whose value is unknown keeps no bound. A value that the run only bounds from
 * below keeps none from above, and is no candidate for the least. Of equal points the first
 * wins. It has been checked.
 */
void search_run(const struct search *search, const struct sweep_numbers *numbers,
		struct search_result *ret_result);

/* Does the interval of a point reach beyond a bound that its estimate keeps? */
bool search_is_close(const struct search_bound *bound, const struct sweep_numbers *numbers,
		     size_t point);

#endif
