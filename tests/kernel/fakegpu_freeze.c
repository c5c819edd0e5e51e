// SPDX-License-Identifier: MIT OR GPL-2.0
/* A frozen container runs nothing. A thawed one goes on where it was. */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define TENANTS	      4u
#define TENANT_CHUNKS 5u
#define STORM_WRITES  gpu_times(60)
#define QUIET_MS      60u
#define PAGER_CHUNKS  60u
#define FREEZES	      gpu_times(10)

/*
 * F14: a frozen tenant leaves the GPU and stays off it. A round that ended on the GPU before
 * the freeze may be counted just after.
 */
static void test_one(pid_t pid, uint32_t index)
{
	uint64_t before;

	guest_check(control_set(pid, "compute.freeze", "1") == 0, "tenant %u is frozen", index);
	sleep_ms(QUIET_MS);
	before = rounds_of(index);
	sleep_ms(QUIET_MS);
	guest_check(rounds_of(index) == before && control_get(pid, "compute.freeze") == 1,
		    "frozen, it does not get on");
	guest_check(rounds_go_on((index + 1) % TENANTS), "and its neighbour does");
	guest_check(control_set(pid, "compute.freeze", "0") == 0 && rounds_go_on(index),
		    "thawed, it gets on");
}

/* Frozen memory can be evicted, and comes back with its contents. */
static void test_frozen_memory(pid_t pid, uint32_t index)
{
	guest_check(control_set(pid, "compute.freeze", "1") == 0 &&
			    control_set(pid, "gmem.limit.high", "0") == 0,
		    "frozen, and its memory is taken");
	guest_check(control_get(pid, "gmem.current") <= (long long)CHUNK &&
			    control_get(pid, "gmem.swap.current") > 0,
		    "all but page tables is in host memory");
	guest_check(control_set(pid, "gmem.limit.high", "max") == 0 &&
			    control_set(pid, "compute.freeze", "0") == 0 && rounds_go_on(index),
		    "it gets on when it is thawed");
}

static uint32_t storm_of_writes(const pid_t *pids)
{
	struct dice dice = fakegpu_dice(400);
	uint32_t failed = 0;

	for (uint32_t i = 0; i < STORM_WRITES; i++) {
		pid_t pid = pids[roll(&dice, TENANTS)];

		failed += control_set(pid, "compute.freeze", roll(&dice, 2) ? "1" : "0") != 0;
		failed += control_set_number(pid, "compute.priority", roll(&dice, 17)) != 0;
		failed += !gpu_check();
		sleep_ms((unsigned int)roll(&dice, 8));
	}
	for (uint32_t i = 0; i < TENANTS; i++)
		failed += control_set(pids[i], "compute.freeze", "0") != 0;
	return failed;
}

/* A kill ends a frozen process like any other (D9, D20). */
static void test_killed(pid_t *pids)
{
	guest_check(control_set(pids[0], "compute.freeze", "1") == 0 && tenant_kill(pids[0]),
		    "a frozen tenant can be killed");
	for (uint32_t i = 1; i < TENANTS; i++)
		guest_check(tenant_kill(pids[i]), "every page was as stored until the end");
}

/* One long kernel after the other. Each of them pages. */
static void page(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, PAGER_CHUNKS * CHUNK);

	for (uint64_t seed = index;; seed++)
		require(fakegpu_fill(context, va, PAGER_CHUNKS * CHUNK, seed) == 0, "fill");
}

/*
 * When the write returns, the tenant is off the GPU, in the middle of a kernel and of a long
 * timeslice: it does not even fault (D17).
 */
static void test_at_once(void)
{
	struct dice dice = fakegpu_dice(401);
	pid_t pid = tenant_start(page, 1);
	uint32_t stopped = 0, resumed = 0;

	while (control_get(pid, "gmem.swap.current") <= 0)
		sleep_ms(5);
	guest_check(control_set(pid, "compute.timeslice", "10000") == 0, "a long timeslice");
	for (uint32_t i = 0; i < FREEZES; i++) {
		uint64_t faults;
		int error = control_set(pid, "compute.freeze", "1");

		faults = gpu_info().faults;
		sleep_ms(30);
		stopped += error == 0 && gpu_info().faults == faults;
		error = control_set(pid, "compute.freeze", "0");
		for (uint32_t j = 0; j < 500 && gpu_info().faults == faults; j++)
			sleep_ms(5);
		resumed += error == 0 && gpu_info().faults > faults;
		sleep_ms((unsigned int)roll(&dice, 20));
	}
	guest_check(stopped == FREEZES, "%u of %u freezes hold at once", stopped, FREEZES);
	guest_check(resumed == FREEZES, "%u of %u thaws, too", resumed, FREEZES);
	guest_check(tenant_kill(pid), "it was well until the end");
}

void test_freeze(void)
{
	pid_t pids[TENANTS];
	bool all = true;

	rounds_begin(TENANT_CHUNKS);
	gpu_load("chunks=16 sms=2");
	for (uint32_t i = 0; i < TENANTS; i++)
		pids[i] = tenant_start(rounds_work, i);
	for (uint32_t i = 0; i < TENANTS; i++)
		all &= rounds_go_on(i);
	guest_check(all, "%u tenants share two SMs", TENANTS);
	test_one(pids[0], 0);
	test_frozen_memory(pids[1], 1);
	guest_check(storm_of_writes(pids) == 0, "%u freezes and thaws at random", STORM_WRITES);
	for (uint32_t i = 0; i < TENANTS; i++)
		guest_check(rounds_go_on(i), "tenant %u gets on after the storm", i);
	test_killed(pids);
	guest_check(gpu_info().switches > 10, "%llu switches", gpu_info().switches);
	test_at_once();
	gpu_unload();
}
