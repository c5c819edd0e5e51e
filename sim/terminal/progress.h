/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* How far simulations are: one line on a terminal that is drawn over and over. */
#ifndef SIM_TERMINAL_PROGRESS_H
#define SIM_TERMINAL_PROGRESS_H

#include <stdbool.h>

/* Draw from now on, if @wanted and stderr is a terminal. */
void progress_start(bool wanted);

/*
 * Show that @done_s of @whole_s simulated seconds are done. May be called as often as one likes:
 * it draws ten times a second of wall time at most.
 */
void progress_update(double done_s, double whole_s);

/* Draw any text, at once, if drawing. */
void progress_line(const char *text);

/* Wipe the line. */
void progress_end(void);

#endif
