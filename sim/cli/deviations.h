/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Tables of predictions in a document, kept up to date: what stands between two comments,
 *
 *	<!-- gvmsim validate published: FIGURE -->
 *	<!-- end -->
 *
 * is replaced by a table of predicted over published values. "FIGURE spread" is a table of
 * spreads, "FIGURE order" one of the pairs of bars that are not always in the published
 * order, and "score" the scores of all figures.
 */
#ifndef SIM_CLI_DEVIATIONS_H
#define SIM_CLI_DEVIATIONS_H

#include <stdbool.h>

struct published;
struct sim_error;

/* Can the file @path be read, and has it a table? To be called before minutes of runs. */
int deviations_check(const char *path, struct sim_error *err);

/*
 * Rewrite the tables of the file @path. A table of a figure that was not asked for
 * stays, and so do spreads and orders without seeds and scores of a part of the figures (@all is
 * false). The file is replaced as a whole, or not at all. A mistake names file and
 * line. Returns 0 or a negative enum sim_exit.
 */
int deviations_update(const struct published *published, const char *path, bool all,
		      struct sim_error *err);

#endif
