/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the user asks of a figure. */
#ifndef SIM_FIGURES_REQUEST_H
#define SIM_FIGURES_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "figures/run_cache.h"

/* The user's options for a figure. Strings are borrowed. */
struct figure_request {
	const char *out;	 /* folder */
	const char *scenario;	 /* replaces the figure's; NULL: keep the figure's */
	const char *const *sets; /* PATH=VALUE for all runs, in order */
	size_t set_count;
	size_t seeds; /* each run is made with the seeds 1 to this one; 0: as the figure says */
	const char *const *folders; /* figure->folder_count of them */
	struct run_cache_use use;   /* how to get the runs; its signals also end the drawing */
	bool quiet;		    /* print no table and no paths */
};

#endif
