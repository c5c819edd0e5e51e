/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The search for advice: stages "systems" to "nearer" of advise.h. */
#ifndef SIM_ADVISE_SEARCH_H
#define SIM_ADVISE_SEARCH_H

#include "advise/types.h"

struct signals;

/*
 * Fill the list of candidates, run them and judge them, as long as the question has runs.
 * @tell gets a line for each stage. Returns 0 or a negative enum sim_exit.
 */
int advise_search(struct advise *advise, const struct signals *signals,
		  void (*tell)(const char *line), struct sim_error *err);

#endif
