// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/signals.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>

#include "gvm/port.h"

#define WAIT_NS	 200000000
#define NS_PER_S 1000000000ull

extern char **environ;

void signals_take(struct signals *signals)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action;

	signal(SIGCHLD, SIG_DFL); /* ignored, there would be nobody to wait for */
	sigemptyset(&signals->taken);
	sigaddset(&signals->taken, SIGCHLD);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		sigaction(ends[i], NULL, &action);
		if (ends[i] == SIGINT || action.sa_handler != SIG_IGN)
			sigaddset(&signals->taken, ends[i]);
	}
	sigprocmask(SIG_BLOCK, &signals->taken, &signals->outside);
}

void signals_release(const struct signals *signals)
{
	sigprocmask(SIG_SETMASK, &signals->outside, NULL);
}

int signals_spawn(const struct signals *signals, pid_t *ret_child, const char *program,
		  const posix_spawn_file_actions_t *actions, const char *const *argv)
{
	posix_spawnattr_t attributes;
	int error;

	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &signals->outside);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	error = posix_spawnp(ret_child, program, actions, &attributes, (char **)(uintptr_t)argv,
			     environ);
	posix_spawnattr_destroy(&attributes);
	return error;
}

bool signals_wait(const struct signals *signals)
{
	const struct timespec most = { .tv_nsec = WAIT_NS };
	int number = sigtimedwait(&signals->taken, NULL, &most);

	return number > 0 && number != SIGCHLD;
}

/* Nanoseconds from now to a date; 0: it has passed. */
static uint64_t until(uint64_t date_ns)
{
	struct timespec now;
	uint64_t now_ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	return date_ns > now_ns ? date_ns - now_ns : 0;
}

bool signals_wait_until(const struct signals *signals, uint64_t date_ns)
{
	uint64_t left_ns;

	do {
		struct timespec most;
		int number;

		left_ns = until(date_ns);
		most.tv_sec = (time_t)(left_ns / NS_PER_S);
		most.tv_nsec = (long)(left_ns % NS_PER_S);
		number = sigtimedwait(&signals->taken, NULL, &most);
		if (number > 0 && number != SIGCHLD)
			return true;
	} while (left_ns);
	return false;
}

void signals_kill(pid_t child)
{
	kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}
