// SPDX-License-Identifier: MIT OR GPL-2.0
/* Many containers; containers of many processes; several GPUs. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define CONTAINERS 64u
#define MEMBERS	   4u
#define GPUS	   2u

static volatile uint32_t *arrived; /* processes that have arrived */
static volatile uint32_t *go;
static volatile pid_t *leader;

static void arrive_and_wait(void)
{
	__sync_fetch_and_add(arrived, 1);
	while (!*go)
		sleep_ms(50); /* 64 processes that look more often fill a slow CPU */
}

static void begin(void)
{
	*arrived = 0;
	*go = 0;
}

static bool all_arrived(uint32_t count)
{
	for (uint32_t i = 0; i < 12000 && *arrived < count; i++)
		sleep_ms(10);
	return *arrived == count;
}

/*
 * Each container has page tables and two chunks. Together the containers want twice the memory
 * that page tables leave.
 */
static void one_of_many(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, 2 * CHUNK);

	require(fakegpu_fill(context, va, 2 * CHUNK, index) == 0, "fill");
	arrive_and_wait();
	require(fakegpu_verify(context, va, 2 * CHUNK, index, NULL) == 0, "verify");
	close(context);
}

static void test_many(void)
{
	pid_t pids[CONTAINERS];
	uint32_t well = 0, seen = 0;

	begin();
	for (uint32_t i = 0; i < CONTAINERS; i++)
		pids[i] = tenant_start(one_of_many, i);
	guest_check(all_arrived(CONTAINERS), "%u containers on one GPU", CONTAINERS);
	for (uint32_t i = 0; i < CONTAINERS; i++)
		seen += control_get(pids[i], "gmem.peak") >= (long long)CHUNK;
	guest_check(seen == CONTAINERS, "%u of them have control files", seen);
	*go = 1;
	for (uint32_t i = 0; i < CONTAINERS; i++)
		well += tenant_finish(pids[i]);
	guest_check(well == CONTAINERS, "%u of them found their pages as they were", well);
}

/* Each later process joins the first one's container, with an address space of its own. */
static void member(uint32_t index)
{
	int context;
	uint64_t va;

	while (index && !*leader)
		sleep_ms(1);
	context = tenant_open(index ? (uint32_t)*leader : 0);
	*leader = index ? *leader : getpid();
	va = tenant_map(context, 6 * CHUNK);
	for (uint32_t i = 0; i < 3; i++) {
		require(fakegpu_fill(context, va, 6 * CHUNK, index + 8 * i) == 0, "fill");
		require(fakegpu_verify(context, va, 6 * CHUNK, index + 8 * i, NULL) == 0,
			"verify");
	}
	arrive_and_wait();
	close(context);
}

/* All members see a setting that one writes, and the limit holds for their sum (F2). */
static void test_members(void)
{
	pid_t pids[MEMBERS];
	uint32_t well = 0, same = 0;

	begin();
	*leader = 0;
	for (uint32_t i = 0; i < MEMBERS; i++)
		pids[i] = tenant_start(member, i);
	guest_check(all_arrived(MEMBERS), "%u processes of one container", MEMBERS);
	guest_check(control_set_number(pids[2], "gmem.limit.high", 9 * CHUNK) == 0,
		    "a limit, by way of one of them");
	for (uint32_t i = 0; i < MEMBERS; i++)
		same += control_get(pids[i], "gmem.limit.high") == (long long)(9 * CHUNK) &&
			control_get(pids[i], "gmem.current") <= (long long)(9 * CHUNK);
	guest_check(same == MEMBERS, "%u of them see it, and that it holds for all", same);
	guest_check(tenant_kill(pids[0]), "the first one dies");
	guest_check(control_get(pids[1], "gmem.limit.high") == (long long)(9 * CHUNK),
		    "the container stays");
	*go = 1;
	for (uint32_t i = 1; i < MEMBERS; i++)
		well += tenant_finish(pids[i]);
	guest_check(well == MEMBERS - 1, "%u of the others did well", well);
}

/* One process on two GPUs at once. */
static void on_both(uint32_t index)
{
	int contexts[GPUS];
	uint64_t vas[GPUS];

	for (uint32_t i = 0; i < GPUS; i++) {
		require(fakegpu_open(i, 0, 2, &contexts[i]) == 0, "open");
		require(fakegpu_map(contexts[i], 4 * CHUNK, &vas[i]) == 0, "map");
		require(fakegpu_fill(contexts[i], vas[i], 4 * CHUNK, index + i) == 0, "fill");
	}
	for (uint32_t i = 0; i < GPUS; i++) {
		require(fakegpu_verify(contexts[i], vas[i], 4 * CHUNK, index + i, NULL) == 0,
			"verify");
		close(contexts[i]);
	}
}

void test_containers(void)
{
	arrived = shared_alloc(sizeof(*arrived));
	go = shared_alloc(sizeof(*go));
	leader = shared_alloc(sizeof(*leader));
	gpu_load("chunks=128");
	test_many();
	gpu_unload();
	gpu_load("chunks=20 gpus=2");
	test_members();
	guest_check(tenants_run(on_both, 4) == 4, "four processes on two GPUs each");
	gpu_unload();
}
