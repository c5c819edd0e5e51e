// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A write that lowers a limit finishes its reclaim, whatever signals arrive meanwhile. A write
 * of compute.freeze has taken the tenant off the GPU when it returns 0, and says so when it has
 * not; no freeze is left half-made.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define CHUNKS	     48u /* more than a copy engine's queue holds, so the reclaim waits */
#define LIMIT_CHUNKS 2u
#define ROUNDS	     8u
#define PAGER_CHUNKS 100u
#define FREEZES	     20u

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

/* It always has a fault outstanding, so that a freeze has to wait. */
static void page_all_the_time(uint32_t index)
{
	int context = tenant_open(0), other;
	uint64_t va = tenant_map(context, PAGER_CHUNKS * CHUNK);

	require(fakegpu_open(0, 0, GVM_FAKEGPU_TSGS_MAX, &other) == 0, "open");
	for (uint64_t seed = index;; seed++)
		require(fakegpu_fill(context, va, PAGER_CHUNKS * CHUNK, seed) == 0, "fill");
}

/* Does compute.freeze say @frozen now, or soon if the write did not wait for it? */
static bool freeze_settles(pid_t pid, int frozen, bool at_once)
{
	for (uint32_t i = 0; i < (at_once ? 1 : 1000); i++) {
		if (control_get(pid, "compute.freeze") == frozen)
			return true;
		sleep_ms(5);
	}
	return false;
}

static pid_t pager;

static void freeze_under_signals(uint32_t index)
{
	struct dice dice = fakegpu_dice(500);
	uint32_t finished = 0;

	(void)index;
	for (uint32_t i = 0; i < FREEZES; i++) {
		uint64_t faults;
		int error;

		alarms_each_us(1000);
		error = control_set(pager, "compute.freeze", "1");
		alarms_each_us(0);
		require(error == 0 || error == ETIMEDOUT, "freeze: %s",
			guest_error_name(error));
		require(freeze_settles(pager, 1, error == 0), "freeze %u was half made", i);
		faults = gpu_info().faults;
		sleep_ms(20);
		require(gpu_info().faults == faults, "frozen, it faults");
		finished += error == 0;

		alarms_each_us(1000);
		error = control_set(pager, "compute.freeze", "0");
		if (!error)
			error = control_set(pager, "gmem.limit.high", i % 2 ? "10M" : "20M");
		alarms_each_us(0);
		require(error == 0, "thaw and limit: %s", guest_error_name(error));
		require(control_get(pager, "gmem.current") <= (i % 2 ? 10 : 20) << 20,
			"the limit did not hold");
		require(freeze_settles(pager, 0, true), "thaw %u was half made", i);
		for (uint32_t j = 0; j < 500 && gpu_info().faults == faults; j++)
			sleep_ms(5);
		require(gpu_info().faults > faults, "thawed, it does not get on");
		sleep_ms((unsigned int)roll(&dice, 10));
	}
	require(alarms > 0, "no alarm came");
	require(finished > 0, "no freeze finished");
}

void test_signals(void)
{
	gpu_load("chunks=64");
	guest_check(tenants_run(write_under_signals, 1) == 1,
		    "%u writes of a limit finish under a storm of signals", ROUNDS);
	pager = tenant_start(page_all_the_time, 0);
	while (control_get(pager, "gmem.swap.current") <= 0)
		sleep_ms(5);
	guest_check(tenants_run(freeze_under_signals, 1) == 1,
		    "%u freezes and thaws finish under signals, or say that they did not",
		    FREEZES);
	guest_check(tenant_kill(pager), "the frozen tenant was well until the end");
	gpu_unload();
}
