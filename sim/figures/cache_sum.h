/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The sums of an entry's files, in a file "sum" beside them: a line for each, its hash and its
 * name. An entry that the disk has changed is made again, and not shown.
 */
#ifndef SIM_FIGURES_CACHE_SUM_H
#define SIM_FIGURES_CACHE_SUM_H

#include <stdbool.h>

struct sim_error;

/* Write the sums of all files of an entry. Returns 0 or -SIM_EXIT_RUNTIME. */
int cache_sum_write(const char *entry, struct sim_error *err);

/*
 * Are the files of an entry those that were summed? A file that is missing is the reader's to
 * judge: the user may have compressed it. Without sums it is false.
 */
bool cache_sum_holds(const char *entry);

#endif
