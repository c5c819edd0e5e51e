/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Advice before and after a run: settings and results that are allowed, and seldom wanted. */
#ifndef SIM_MACHINE_ADVICE_H
#define SIM_MACHINE_ADVICE_H

#include "machine/types.h"

/*
 * Call @say with a line for each such setting of a machine that is built and does not run
 * yet: limits of a GPU's containers that add up to more than its memory, protected memory
 * likewise, a lower limit above the upper one, a limit under one context, an event at the end,
 * and requests that the GPU cannot keep up with.
 */
void machine_advise(const struct machine *machine, void (*say)(const char *line));

/* After the run: call @say with a line for what a user may not expect of the results. */
void machine_advise_after(const struct machine *machine, void (*say)(const char *line));

#endif
