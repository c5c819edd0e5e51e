/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The map from the figures of the GVM and Ghost papers to those of plots/figures. It is a file,
 * plots/papers.json: an array "figures" of objects with the members of struct paper_figure.
 */
#ifndef SIM_FIGURES_PAPERS_H
#define SIM_FIGURES_PAPERS_H

#include <jansson.h>
#include <stddef.h>

struct sim_error;

/* One of the papers' figures. Texts are borrowed from the file. */
struct paper_figure {
	const char *gvm,
		*ghost; /* its number in the GVM and in the Ghost paper; NULL: not there */
	const char *shows;
	const char **ours;	  /* "NAME", or "NAME PANEL" for a part of it; NULL ends them */
	const char *differs;	  /* what ours leaves out or assumes; NULL: nothing */
	const char *contradicted; /* by the papers' own data, and how; NULL: no claim is */
	const char *why;	  /* there is none of ours; NULL: there is */
};

/* All of them in the papers' order. Owned by the caller: papers_read(), papers_destroy(). */
struct papers {
	json_t *root;
	struct paper_figure *figures;
	size_t count;
};

/*
 * Read the map. Each name and panel must be in plots/figures. A mistake names the file and the
 * key. Returns 0 or a negative enum sim_exit; on failure *papers is empty.
 */
int papers_read(struct papers *papers, struct sim_error *err);
void papers_destroy(struct papers *papers);

/* The first word of @ours, the name of a figure. Its length is that of the name. */
size_t papers_name_length(const char *ours);

#endif
