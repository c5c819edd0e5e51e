// SPDX-License-Identifier: MIT OR GPL-2.0
/* A write that lowers a limit finishes its reclaim, whatever signals arrive meanwhile. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define CHUNKS	     48u /* more than a copy engine's queue holds, so the reclaim waits */
#define LIMIT_CHUNKS 2u
#define ROUNDS	     8u

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

static void alarms_each_us(suseconds_t us)
{
	struct itimerval timer = { .it_interval = { .tv_usec = us },
				   .it_value = { .tv_usec = us } };
	struct sigaction action = { .sa_handler = on_alarm };

	require(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
	require(setitimer(ITIMER_REAL, &timer, NULL) == 0, "setitimer");
}

static void write_under_signals(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, CHUNKS * CHUNK);

	(void)index;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		int error;

		require(fakegpu_fill(context, va, CHUNKS * CHUNK, i) == 0, "fill");
		alarms_each_us(200);
		error = control_set_number(getpid(), "gmem.limit.high", LIMIT_CHUNKS * CHUNK);
		alarms_each_us(0);
		require(error == 0, "write: %s", guest_error_name(error));
		require(control_get(getpid(), "gmem.current") <=
				(long long)(LIMIT_CHUNKS * CHUNK),
			"after the write there are %lld bytes",
			control_get(getpid(), "gmem.current"));
		require(control_set(getpid(), "gmem.limit.high", "max") == 0, "max");
	}
	require(alarms > 0, "no alarm came");
	require(fakegpu_verify(context, va, CHUNKS * CHUNK, ROUNDS - 1, NULL) == 0, "verify");
	close(context);
}

void test_signals(void)
{
	gpu_load("chunks=64");
	guest_check(tenants_run(write_under_signals, 1) == 1,
		    "%u writes of a limit finish under a storm of signals", ROUNDS);
	gpu_unload();
}
