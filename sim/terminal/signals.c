// SPDX-License-Identifier: MIT OR GPL-2.0
#include "terminal/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gvm/port.h"

#define WAIT_NS	 200000000
#define NS_PER_S 1000000000ull

void signals_take(struct signals *signals)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action;

	signal(SIGCHLD, SIG_DFL); /* if it were ignored, waitpid() would find no child */
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

/* Make the descriptor @to a copy of @from. Returns 0 or -1 and errno. */
static int give_stream(int from, int to)
{
	if (from < 0)
		return 0;
	if (from == to)
		return fcntl(to, F_SETFD, 0);
	return dup2(from, to) < 0 ? -1 : 0;
}

/* In the child: become the program. Returns only if that fails, with errno. */
static void become(const struct signals *signals, const char *program, const char *const *argv,
		   int output, int errors, int report)
{
	int error;

	if (!give_stream(output, STDOUT_FILENO) && !give_stream(errors, STDERR_FILENO)) {
		sigprocmask(SIG_SETMASK, &signals->outside, NULL);
		execvp(program, (char **)(uintptr_t)argv);
	}
	error = errno;
	if (write(report, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/*
 * vfork(), since posix_spawn() cannot make a child die with its parent, and fork() copies the
 * page tables of a process that has read hundreds of runs: a sixth of the time of "figure all".
 * The parent stands still until the child is another program. Until then the child writes only
 * *ret_child, which the parent then overwrites, and errno.
 */
int signals_spawn(const struct signals *signals, pid_t *ret_child, const char *program,
		  const char *const *argv, int output, int errors)
{
	pid_t parent = getpid();
	int report[2];
	int error = 0;

	if (pipe2(report, O_CLOEXEC))
		return errno;
	*ret_child = vfork();
	if (!*ret_child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(127); /* the parent has ended already */
		become(signals, program, argv, output, errors, report[1]);
	}
	if (*ret_child < 0)
		error = errno;
	close(report[1]);
	if (!error && read(report[0], &error, sizeof(error)) > 0)
		signals_kill(*ret_child);
	close(report[0]);
	return error;
}

bool signals_wait(const struct signals *signals)
{
	const struct timespec most = { .tv_nsec = WAIT_NS };
	int number = sigtimedwait(&signals->taken, NULL, &most);

	return number > 0 && number != SIGCHLD;
}

/* Nanoseconds from now to a date; 0: it has passed. */
static u64 until(u64 date_ns)
{
	struct timespec now;
	u64 now_ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (u64)now.tv_sec * NS_PER_S + (u64)now.tv_nsec;
	return date_ns > now_ns ? date_ns - now_ns : 0;
}

bool signals_wait_until(const struct signals *signals, u64 date_ns)
{
	u64 left_ns;

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
