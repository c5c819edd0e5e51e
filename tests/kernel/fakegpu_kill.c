// SPDX-License-Identifier: MIT OR GPL-2.0
/* Processes die at any time, and take what is theirs along, and nothing else. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define KILLS	       30u
#define VICTIM_CHUNKS  24u
#define BYSTAND_CHUNKS 6u

/* Swaps all the time: its own memory is larger than the device. */
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

/* A write to a control file that reclaims all but page tables and two chunks, over and over. */
static void cut(uint32_t tgid)
{
	for (;;) {
		control_set((pid_t)tgid, "gmem.limit.high", "6M");
		control_set((pid_t)tgid, "gmem.limit.high", "max");
	}
}

static bool directory_has_gone(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), GUEST_DEBUGFS "/gvm/%d", pid);
	return access(path, F_OK) != 0;
}

static void test_processes(void)
{
	struct dice dice = fakegpu_dice(500);
	pid_t bystander = tenant_start(bystand, 7);
	uint32_t died = 0, gone = 0;

	for (uint32_t i = 0; i < KILLS; i++) {
		pid_t victim = tenant_start(swap, i);

		sleep_ms((unsigned int)roll(&dice, 200));
		died += tenant_kill(victim);
		gone += directory_has_gone(victim);
	}
	guest_check(died == KILLS, "%u of %u were killed in the middle of swapping", died,
		    KILLS);
	guest_check(gone == KILLS, "%u of %u directories have gone with them", gone, KILLS);
	guest_check(tenant_kill(bystander), "a bystander's memory was untouched until the end");
}

/* Who reclaims is killed; who is reclaimed goes on, and later dies under somebody who reclaims. */
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

/* A TSG that touches what is not mapped dies alone. */
static void stray(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, CHUNK - PAGE);

	(void)index;
	require(fakegpu_fill(context, va, CHUNK - PAGE, 1) == 0, "fill");
	require(fakegpu_fill(context, va, CHUNK, 1) == EFAULT, "behind the end");
	require(fakegpu_fill(context, va, PAGE, 1) == EIO, "dead");
	close(context);
	context = tenant_open(0);
	require(control_set(getpid(), "gmem.limit.high", "0") == 0, "limit");
	va = tenant_map(context, CHUNK);
	require(fakegpu_fill(context, va, PAGE, 1) == EDQUOT, "nothing is allowed");
	close(context);
}

void test_kill(void)
{
	gpu_load("chunks=16");
	test_processes();
	test_writers();
	guest_check(tenants_run(stray, 1) == 1,
		    "a fault that cannot be serviced is its own end");
	gpu_unload();
}
