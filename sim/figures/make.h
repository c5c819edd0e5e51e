/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Making a figure: its runs, table, CSV files and pictures. */
#ifndef SIM_FIGURES_MAKE_H
#define SIM_FIGURES_MAKE_H

#include <stdbool.h>
#include <stddef.h>

struct figure;
struct signals;
struct sim_error;

/* What the user says about a figure. Strings are borrowed. */
struct figure_request {
	const char *out;	 /* folder */
	const char *scenario;	 /* in place of the figure's; NULL: none */
	const char *const *sets; /* PATH=VALUE for all runs, in order */
	size_t set_count;
	const char *const *folders; /* figure->folder_count of them */
	bool fresh;		    /* make all runs again */
};

/*
 * Make a figure: the table and the paths of what was written go to stdout, the PNG's last. Nothing
 * is run before it is sure that the figure can be kept, and numbers are kept also if they cannot be
 * drawn. The caller has taken @signals; one of them ends it. Returns 0 or a negative enum sim_exit;
 * then no file is half written.
 */
int figure_make(const struct figure *figure, const struct figure_request *request,
		const struct signals *signals, struct sim_error *err);

#endif
