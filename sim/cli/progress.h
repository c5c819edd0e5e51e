/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* How far simulations are: one line on a terminal that is drawn over and over. */
#ifndef SIM_CLI_PROGRESS_H
#define SIM_CLI_PROGRESS_H

#include "machine/machine.h"

/* Draw from now on, if @wanted and stderr is a terminal. */
void progress_start(bool wanted);

/*
 * Called from inside the simulation as often as one likes; draws ten times a second of wall time
 * at most.
 */
void progress_update(const struct machine *machine);

/* Draw any text, if drawing: of one who knows by itself when something has changed. */
void progress_line(const char *text);

/* Wipe the line. */
void progress_end(void);

#endif
