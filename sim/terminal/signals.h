/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Signals of a command that waits for children or for a date. They are blocked, and fetched
 * while the command waits, so no signal can leave a child or a half file behind.
 */
#ifndef SIM_TERMINAL_SIGNALS_H
#define SIM_TERMINAL_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "engine/types.h"

struct signals {
	sigset_t taken;	  /* the signals that end us, and SIGCHLD; blocked meanwhile */
	sigset_t outside; /* the mask from before */
};

/*
 * Block the signals that end the program (SIGINT, SIGTERM, SIGHUP), and SIGCHLD. A shell makes
 * commands in the background ignore SIGINT. Here a SIGINT ends the program even then, because
 * it was sent on purpose.
 */
void signals_take(struct signals *signals);
void signals_release(const struct signals *signals);

/*
 * Start a program, found in PATH, with the signal mask from before signals_take(). The kernel
 * kills it when we end, also by SIGKILL. @output and @errors are descriptors that it gets as
 * standard output and error; -1: ours. Returns 0 or an errno, also if there is no such program.
 */
int signals_spawn(const struct signals *signals, pid_t *ret_child, const char *program,
		  const char *const *argv, int output, int errors);

/*
 * Wait for a signal, at most a fifth of a second. Returns true if a signal came that ends the
 * program.
 */
bool signals_wait(const struct signals *signals);

/*
 * Wait until a date of CLOCK_MONOTONIC or for a signal that ends the program. Returns true if
 * the signal came, even if the date has passed, too.
 */
bool signals_wait_until(const struct signals *signals, u64 date_ns);

/* Kill a child and wait for it. */
void signals_kill(pid_t child);

#endif
