/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Signals of a command that waits, for children or for a date. They are blocked and fetched while
 * it waits, so there is no moment at which one could leave a child or a half file behind.
 */
#ifndef SIM_TERMINAL_SIGNALS_H
#define SIM_TERMINAL_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct signals {
	sigset_t taken;	  /* what ends us, and SIGCHLD; blocked meanwhile */
	sigset_t outside; /* what was blocked before */
};

/*
 * Block what ends us (SIGINT, SIGTERM, SIGHUP), and what tells of children. SIGINT also where it
 * was ignored, as a shell does for what it starts in the background: who sends it means it.
 */
void signals_take(struct signals *signals);
void signals_release(const struct signals *signals);

/*
 * Start a program, looked for in PATH, with the signals that we had. It is killed when we end,
 * also where we cannot do it, by SIGKILL. @output and @errors are descriptors that it gets as
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
bool signals_wait_until(const struct signals *signals, uint64_t date_ns);

/* Kill a child and wait for it. */
void signals_kill(pid_t child);

#endif
