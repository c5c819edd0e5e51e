/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Signals of a command that waits for children or for a date. They are blocked, and fetched while it
 * waits, so no signal can leave a child or a half file behind.
 */
#ifndef SIM_TERMINAL_SIGNALS_H
#define SIM_TERMINAL_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "engine/types.h"

struct signals {
	sigset_t taken;	  /* the signals that end us, and SIGCHLD; blocked meanwhile */
	sigset_t outside; /* what was blocked before */
};

/*
 * Block the signals that end us (SIGINT, SIGTERM, SIGHUP), and SIGCHLD. A shell ignores SIGINT for
 * commands in the background; a SIGINT that is sent to one is meant all the same, so it counts.
 */
void signals_take(struct signals *signals);
void signals_release(const struct signals *signals);

/*
 * Start a program, found in PATH, with the signal mask from before signals_take(). The kernel kills
 * it when we end, also by SIGKILL. @output and @errors are descriptors that it gets as
 * standard output and error; -1: ours. Returns 0 or an errno, also if there is no such program.
 */
int signals_spawn(const struct signals *signals, pid_t *ret_child, const char *program,
		  const char *const *argv, int output, int errors);

/* Blocking, a fifth of a second at most. Returns true if a signal came that ends us. */
bool signals_wait(const struct signals *signals);

/*
 * Blocking, until a date of CLOCK_MONOTONIC: is it there, or has a signal come that ends us?
 * Returns true for the signal, also if both.
 */
bool signals_wait_until(const struct signals *signals, u64 date_ns);

/* Kill a child and wait for it. */
void signals_kill(pid_t child);

#endif
