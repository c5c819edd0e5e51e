// SPDX-License-Identifier: MIT OR GPL-2.0
/* Processes die at any time. Their memory goes with them, and only theirs. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define KILLS	       gpu_times(30)
#define VICTIM_CHUNKS  24u
#define BYSTAND_CHUNKS 6u

/* It swaps all the time: its memory is larger than the device. */
static void swap(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, VICTIM_CHUNKS * CHUNK);

	for (uint64_t seed = index;; seed++)
		require(fakegpu_fill(context, va, VICTIM_CHUNKS * CHUNK, seed) == 0, "fill");
}

static void bystand(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, BYSTAND_CHUNKS * CHUNK);

	require(fakegpu_fill(context, va, BYSTAND_CHUNKS * CHUNK, index) == 0, "fill");
	for (;;)
		require(fakegpu_verify(context, va, BYSTAND_CHUNKS * CHUNK, index, NULL) == 0,
			"verify");
}

/*
 * Write a control file over and over; each write reclaims all but page tables and two chunks.
 */
static void cut(uint32_t tgid)
{
	for (;;) {
		control_set((pid_t)tgid, "gmem.limit.high", "6M");
		control_set((pid_t)tgid, "gmem.limit.high", "max");
	}
}

static volatile uint32_t *orphan_did_well;

static bool directory_has_gone(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), GUEST_DEBUGFS "/gvm/%d", pid);
	return access(path, F_OK) != 0;
}

/* A minute: on a kernel with KASAN and lockdep, beside other work, 5 s were too short. */
static bool wait_for_swap(pid_t pid)
{
	for (uint32_t i = 0; i < 6000; i++) {
		if (control_get(pid, "gmem.swap.current") > 0)
			return true;
		sleep_ms(10);
	}
	return false;
}

/* A context stays in its maker's container, and lives as long as any process has it open. */
static void orphan(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, 2 * CHUNK);
	pid_t parent = getpid();

	require(fakegpu_fill(context, va, 2 * CHUNK, index) == 0, "fill");
	if (fork())
		_exit(0);
	while (getppid() == parent)
		sleep_ms(1);
	require(fakegpu_verify(context, va, 2 * CHUNK, index, NULL) == 0, "verify");
	require(control_get(parent, "gmem.current") >= (long long)(2 * CHUNK),
		"its files stay");
	fakegpu_close(context);
	require(directory_has_gone(parent), "and go with the last one");
	*orphan_did_well = 1;
}

static void test_orphan(void)
{
	orphan_did_well = shared_alloc(sizeof(*orphan_did_well));
	guest_check(tenants_run(orphan, 1) == 1, "the maker of a context exits");
	for (uint32_t i = 0; i < 500 && !*orphan_did_well; i++)
		sleep_ms(10);
	guest_check(*orphan_did_well, "a child that has it open goes on with it");
}

/* F10: a process is killed while its memory moves. */
static void test_processes(void)
{
	struct dice dice = fakegpu_dice(500);
	pid_t bystander = tenant_start(bystand, 7);
	uint32_t swapping = 0, died = 0, gone = 0, broken = 0;

	for (uint32_t i = 0; i < KILLS; i++) {
		pid_t victim = tenant_start(swap, i);

		swapping += wait_for_swap(victim);
		sleep_ms((unsigned int)roll(&dice, 60));
		died += tenant_kill(victim);
		broken += !gpu_check();
		gone += directory_has_gone(victim);
	}
	guest_check(swapping == KILLS, "%u of %u were swapping", swapping, KILLS);
	guest_check(died == KILLS, "%u of %u were killed in the middle of that", died, KILLS);
	guest_check(broken == 0, "the books were in order after each");
	guest_check(gone == KILLS, "%u of %u directories have gone with them", gone, KILLS);
	guest_check(tenant_kill(bystander), "a bystander's memory was untouched until the end");
}

/*
 * F10, F11: a writer is killed during its reclaim, and its container goes on. Then the
 * container's process is killed under a writer's reclaim.
 */
static void test_writers(void)
{
	struct dice dice = fakegpu_dice(501);
	pid_t victim = tenant_start(swap, 1);
	uint32_t died = 0;
	pid_t writer;

	for (uint32_t i = 0; i < KILLS; i++) {
		writer = tenant_start(cut, (uint32_t)victim);
		sleep_ms((unsigned int)roll(&dice, 40));
		died += tenant_kill(writer);
	}
	guest_check(died == KILLS, "%u of %u were killed in the middle of a limit's cut", died,
		    KILLS);
	writer = tenant_start(cut, (uint32_t)victim);
	sleep_ms(50);
	guest_check(tenant_kill(victim), "one that is being reclaimed can be killed");
	guest_check(directory_has_gone(victim), "and its directory goes");
	guest_check(tenant_kill(writer), "its writer too");
}

/* A TSG that touches unmapped memory dies alone. */
static void stray(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, CHUNK - PAGE);

	(void)index;
	require(fakegpu_fill(context, va, CHUNK - PAGE, 1) == 0, "fill");
	require(fakegpu_fill(context, va, CHUNK, 1) == EFAULT, "behind the end");
	require(fakegpu_fill(context, va, PAGE, 1) == EIO, "dead");
	fakegpu_close(context);
	context = tenant_open(0);
	require(control_set(getpid(), "gmem.limit.high", "0") == 0, "limit");
	va = tenant_map(context, CHUNK);
	require(fakegpu_fill(context, va, PAGE, 1) == EDQUOT, "nothing is allowed");
	fakegpu_close(context);
}

void test_kill(void)
{
	gpu_load("chunks=16");
	test_processes();
	test_writers();
	if (gpu_can(GPU_OUTLIVES_MAKERS))
		test_orphan();
	guest_check(tenants_run(stray, 1) == 1,
		    "a fault that cannot be serviced is its own end");
	gpu_unload();
}
