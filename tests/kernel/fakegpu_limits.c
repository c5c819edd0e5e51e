// SPDX-License-Identifier: MIT OR GPL-2.0
/* Limits hold to the byte while all tenants fault, and while limits are cut. */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define STORMS	     6u
#define STORM_CHUNKS 8u
#define STORM_ROUNDS gpu_times(4)
#define STORM_LIMIT  4u /* one is for page tables */
#define CUTS	     gpu_times(40)

/*
 * It wants twice its limit, forwards and backwards. In the end the peak shows whether the limit
 * held (F6, D1).
 */
static void storm(uint32_t index)
{
	struct dice dice = fakegpu_dice(300 + index);
	int context = tenant_open(0);
	uint64_t va;

	require(control_set_number(getpid(), "gmem.limit.high", STORM_LIMIT * CHUNK) == 0,
		"limit");
	va = tenant_map(context, STORM_CHUNKS * CHUNK);
	for (uint32_t i = 0; i < STORM_ROUNDS; i++) {
		struct gvm_fakegpu_launch launch = {
			.va = va,
			.bytes = STORM_CHUNKS * CHUNK,
			.seed = roll(&dice, UINT64_MAX),
			.op = GVM_FAKEGPU_FILL,
			.order = (uint32_t)roll(&dice, 2),
		};
		int error = fakegpu_launch(context, &launch);

		require(error == 0, "fill: %s", guest_error_name(error));
		error = fakegpu_verify(context, va, launch.bytes, launch.seed, NULL);
		require(error == 0, "verify: %s", guest_error_name(error));
	}
	require(control_get(getpid(), "gmem.peak") <= (long long)(STORM_LIMIT * CHUNK),
		"peak %lld of a limit of %llu", control_get(getpid(), "gmem.peak"),
		STORM_LIMIT * CHUNK);
	fakegpu_close(context);
}

/* It works until it is killed. It opens a listener and never reads it. */
static void churn(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, STORM_CHUNKS * CHUNK);

	tenant_listen();
	for (uint64_t seed = index;; seed += STORMS) {
		int error = fakegpu_fill(context, va, STORM_CHUNKS * CHUNK, seed);

		require(error == 0, "fill: %s", guest_error_name(error));
		error = fakegpu_verify(context, va, STORM_CHUNKS * CHUNK, seed, NULL);
		require(error == 0, "verify: %s", guest_error_name(error));
	}
}

static bool wait_for_usage(pid_t pid, long long at_least, long long at_most)
{
	for (uint32_t i = 0; i < 3000; i++) {
		long long usage = control_get(pid, "gmem.current");

		if (usage >= at_least && usage <= at_most)
			return true;
		sleep_ms(10);
	}
	return false;
}

/*
 * A cut holds for charges at once. A chunk that the write found in service leaves after its
 * batch. From then on usage stays within the limit.
 */
static uint32_t cut_limits(const pid_t *pids, uint32_t count)
{
	struct dice dice = fakegpu_dice(399);
	uint32_t broken = 0;

	for (uint32_t i = 0; i < CUTS; i++) {
		pid_t pid = pids[roll(&dice, count)];
		uint64_t limit = (2 + roll(&dice, STORM_CHUNKS)) * CHUNK;

		if (control_set_number(pid, "gmem.limit.high", limit) ||
		    !wait_for_usage(pid, 0, (long long)limit)) {
			guest_log("# limit %llu, usage %lld", (unsigned long long)limit,
				  control_get(pid, "gmem.current"));
			broken++;
		}
		sleep_ms((unsigned int)roll(&dice, 10));
		if (control_get(pid, "gmem.current") > (long long)limit)
			broken++;
		broken += !gpu_check();
	}
	return broken;
}

/*
 * Limits are cut while their containers fault, and every byte is checked all the while (F5,
 * D25).
 */
static void test_cuts(void)
{
	pid_t pids[3];
	uint32_t broken;

	for (uint32_t i = 0; i < 3; i++)
		pids[i] = tenant_start(churn, i);
	for (uint32_t i = 0; i < 3; i++)
		guest_check(wait_for_usage(pids[i], 2 * CHUNK, 100 * CHUNK),
			    "tenant %u is at work", i);
	broken = cut_limits(pids, 3);
	guest_check(broken == 0, "%u of %u cuts of limits under faults did not hold", broken,
		    CUTS);
	for (uint32_t i = 0; i < 3; i++)
		guest_check(tenant_kill(pids[i]), "every page was as stored until the end");
}

/* It fills its memory, and never has to give any. */
static void stay(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, STORM_CHUNKS * CHUNK);

	(void)index;
	require(fakegpu_fill(context, va, STORM_CHUNKS * CHUNK, 1) == 0, "fill");
	for (;;)
		pause();
}

/* F7: on a GPU with room, a container at its limit evicts its own chunks. */
static void test_neighbour(void)
{
	pid_t neighbour = tenant_start(stay, 0);

	guest_check(wait_for_usage(neighbour, STORM_CHUNKS * CHUNK, 100 * CHUNK),
		    "a neighbour has its memory");
	guest_check(tenants_run(storm, 4) == 4, "four others page within their limits");
	guest_check(control_get(neighbour, "gmem.swap.current") == 0 && tenant_kill(neighbour),
		    "and it has lost nothing");
}

void test_limits(void)
{
	gpu_load("chunks=20");
	guest_check(tenants_run(storm, STORMS) == STORMS,
		    "no peak is above its limit after storms of faults by %u", STORMS);
	test_cuts();
	gpu_unload();
	gpu_load("chunks=40");
	test_neighbour();
	gpu_unload();
}
