/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Errors that reach a user: one line of text, and whether the user or the machine is at fault.
 *
 * Three kinds of failure are kept apart in this program. A user's mistake (a bad scenario, a
 * bad trace row) and a failure of the machine we run on (disk full, unwritable folder) travel
 * upwards in a struct sim_error. A modelled failure (the simulated GPU ran out of memory) is a
 * result. A broken invariant is an assertion and stops the program.
 */
#ifndef SIM_ENGINE_ERROR_H
#define SIM_ENGINE_ERROR_H

/* Exit codes of gvmsim. The functions below return them negated. */
enum sim_exit {
	SIM_EXIT_OK = 0,
	SIM_EXIT_RUNTIME = 1, /* disk, memory, deadlock */
	SIM_EXIT_USER = 2,    /* the user's mistake */
	SIM_EXIT_INTERRUPTED = 130,
};

/* One error on its way to the user. The caller owns it and zeroes it first. */
struct sim_error {
	char text[1024]; /* one line, no control characters, no newline at the end */
};

/*
 * Format a user's mistake into *@err. Returns -SIM_EXIT_USER, so that callers can write
 * "return sim_user_error(err, ...)".
 */
int sim_user_error(struct sim_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Format a failure of the machine that gvmsim runs on. Returns -SIM_EXIT_RUNTIME. */
int sim_runtime_error(struct sim_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
