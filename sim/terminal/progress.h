/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The progress of simulations: one line on a terminal, drawn over and over. */
#ifndef SIM_TERMINAL_PROGRESS_H
#define SIM_TERMINAL_PROGRESS_H

#include <stdbool.h>

/* Draw from now on, if @wanted and stderr is a terminal. */
void progress_start(bool wanted);

/*
 * Show that @done_s of @whole_s simulated seconds are done. Draws at most ten times a second of
 * wall time, however often it is called.
 */
void progress_update(double done_s, double whole_s);

/* Draw any text, at once, if drawing. */
void progress_line(const char *text);

/* Wipe the line. */
void progress_end(void);

#endif
