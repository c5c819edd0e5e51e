/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Signals of a command that waits for children. They are blocked and fetched between children, so
 * there is no moment at which one could leave a child or a half file behind.
 */
#ifndef SIM_CLI_SIGNALS_H
#define SIM_CLI_SIGNALS_H

#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
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

/* Start a program by posix_spawnp(), with the signals that we had. Returns 0 or an errno. */
int signals_spawn(const struct signals *signals, pid_t *ret_child, const char *program,
		  const posix_spawn_file_actions_t *actions, const char *const *argv);

/* Blocking, a fifth of a second at most. Returns true if a signal came that ends us. */
bool signals_wait(const struct signals *signals);

/* Kill a child and wait for it. */
void signals_kill(pid_t child);

#endif
