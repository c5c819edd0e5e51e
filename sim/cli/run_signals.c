// SPDX-License-Identifier: MIT OR GPL-2.0
/* See run_signals.h. */
#include "cli/run_signals.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "gvm/port.h"

volatile int run_interrupted;

static const int run_signals[] = { SIGINT, SIGTERM, SIGHUP };

/*
 * timeout(1) signals a process and its group, so a second signal within a second is the same
 * one.
 */
static void on_signal(int number)
{
	static struct timespec first;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!run_interrupted)
		first = now;
	else if (now.tv_sec - first.tv_sec > 1)
		_exit(128 + number);
	run_interrupted = 1;
}

/*
 * A shell makes commands in the background ignore SIGINT. Here a SIGINT counts even then, since
 * the terminal does not send it there: kill(1) did. The other signals stay ignored if
 * they are, as nohup(1) needs.
 */
void run_signals_catch(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct sigaction before;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(run_signals); i++) {
		sigaction(run_signals[i], NULL, &before);
		if (run_signals[i] == SIGINT || before.sa_handler != SIG_IGN)
			sigaction(run_signals[i], &action, NULL);
	}
}

static void mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(run_signals); i++)
		sigaddset(&set, run_signals[i]);
	sigprocmask(how, &set, NULL);
}

void run_signals_block(void)
{
	mask(SIG_BLOCK);
}

void run_signals_unblock(void)
{
	mask(SIG_UNBLOCK);
}

void run_signals_let_in(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	run_signals_catch();
	run_signals_unblock();
}
