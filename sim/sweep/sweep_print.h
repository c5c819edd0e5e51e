/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The table of a sweep on the terminal. */
#ifndef SIM_SWEEP_SWEEP_PRINT_H
#define SIM_SWEEP_SWEEP_PRINT_H

#include "sweep/search.h"
#include "sweep/sweep_numbers.h"

/*
 * Does each name of the file, its plots and the search stand for something in the runs, and has
 * each bound a value in a unit of its metric? To be called before the runs are made. Returns 0 or
 * -SIM_EXIT_USER.
 */
int sweep_check_columns(struct sweep_runs *runs, struct search *search, struct sim_error *err);

/*
 * Print a row for each point: its keys, and the metrics that the file, its plots and the search
 * name, which have been checked. Returns 0 or -SIM_EXIT_RUNTIME.
 */
int sweep_print_points(const struct sweep_numbers *numbers, const struct search *search,
		       struct sim_error *err);

/*
 * Print a line on standard error for each point of @part with a run that cannot be made. @tried:
 * of those that were tried; else of those whose configuration is a mistake.
 */
void sweep_print_mistakes(const struct sweep_runs *runs, const struct sweep_part *part,
			  bool tried);

/*
 * Print the best point of a search. Returns 0, or -SIM_EXIT_RUNTIME if no point keeps the
 * bounds.
 */
int sweep_print_best(const struct sweep_numbers *numbers, const struct search *search,
		     const struct search_result *result, struct sim_error *err);

/* A key without "containers." before it, for people. */
const char *sweep_short_key(const char *key);

/* A value for people: an application or another object is its words, "phases my-trainer". */
void sweep_short_value(const char *value, char *text, size_t size);

/*
 * The @value of the key @key for people: "9.86 GiB" for a limit in plain bytes, other
 * values as they were written.
 */
void sweep_print_value(const char *key, const char *value, char *text, size_t size);

#endif
