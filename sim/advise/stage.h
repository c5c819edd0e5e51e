/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A stage of advice: candidates that run as one sweep. */
#ifndef SIM_ADVISE_STAGE_H
#define SIM_ADVISE_STAGE_H

#include "advise/types.h"

struct signals;

/* Candidates that run together. Nothing in it is owned. */
struct stage {
	const char *name; /* of its sweep, a file in the folder of the advice */
	struct advise_candidate **candidates;
	size_t count;
	bool seeds;   /* under all seeds of the question, not only the scenario's */
	json_t *plot; /* the picture of the sweep, or NULL */
};

/*
 * Run the candidates of a stage. One that cannot run says why. Returns 0 or a negative enum
 * sim_exit.
 */
int stage_run(struct advise *advise, const struct stage *stage, const struct signals *signals,
	      struct sim_error *err);

/*
 * Resolve the configuration of a candidate; the caller destroys it. 0 or a
 * negative enum sim_exit.
 */
int stage_resolve(const struct advise *advise, const struct advise_candidate *candidate,
		  struct config *ret_config, struct sim_error *err);

/* Does the system of a candidate honour a control file, such as "gmem.limit.high"? */
bool stage_honours(const struct advise *advise, const struct advise_candidate *candidate,
		   const char *file);

/* Draw all candidates that ran as OUT/NAME-1.png. No promise and rate to draw: no picture. */
int stage_draw(struct advise *advise, const char *name, const struct signals *signals,
	       bool *ret_drawn, struct sim_error *err);

#endif
