/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The slowdowns of "gvmsim compare --alone". */
#ifndef SIM_CLI_COMPARE_TOGETHER_H
#define SIM_CLI_COMPARE_TOGETHER_H

#include <stddef.h>

struct folder;
struct sim_error;

/*
 * Print the slowdowns of @count runs over run number @alone and what follows from them
 * (results/together.h), and write them as compare-together.csv in @out. @names: of the runs.
 * Returns 0 or a negative enum sim_exit.
 */
int compare_together(const struct folder *folders, const char *const *names, size_t count,
		     size_t alone, const char *out, struct sim_error *err);

#endif
