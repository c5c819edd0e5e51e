// SPDX-License-Identifier: MIT OR GPL-2.0
/* gmem.limit.low keeps memory on the GPU, and hmem.limit bounds the memory that leaves it. */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define QUIET_CHUNKS   5u
#define STORM_CHUNKS   9u /* of each of two tenants */
#define STORM_ROUNDS   gpu_times(3)

#define HIGH_BYTES     (4 * CHUNK + 2 * gpu_context_bytes()) /* of two processes */
#define HMEM_CHUNKS    2u
#define FITTING	       (4 + HMEM_CHUNKS - 1) /* beside the other process */
#define NEIGHBOUR_HIGH 4u

static volatile uint32_t *step; /* the step that the test's processes have reached */
static volatile pid_t *leader;

/* It fills its memory once, leaves it alone, and checks it at the end. */
static void keep_quiet(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, QUIET_CHUNKS * CHUNK);

	(void)index;
	require(fakegpu_fill(context, va, QUIET_CHUNKS * CHUNK, 3) == 0, "fill");
	*step = 1;
	wait_for_step(step, 2);
	require(fakegpu_verify(context, va, QUIET_CHUNKS * CHUNK, 3, NULL) == 0, "verify");
	fakegpu_close(context);
}

/* Two of these want more than the GPU has. */
static void storm(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, STORM_CHUNKS * CHUNK);

	for (uint32_t i = 0; i < STORM_ROUNDS; i++) {
		uint64_t seed = 10 * index + i;

		require(fakegpu_fill(context, va, STORM_CHUNKS * CHUNK, seed) == 0, "fill");
		require(fakegpu_verify(context, va, STORM_CHUNKS * CHUNK, seed, NULL) == 0,
			"verify");
	}
	fakegpu_close(context);
}

/*
 * D24: a protected container loses nothing. Without protection the same storm takes some of it.
 */
static void test_low(uint64_t low, bool keeps)
{
	long long before, after, swapped;
	pid_t pid;

	*step = 0;
	pid = tenant_start(keep_quiet, 0);
	wait_for_step(step, 1);
	guest_check(control_set_number(pid, "gmem.limit.low", low) == 0, "gmem.limit.low: %llu",
		    (unsigned long long)low);
	before = control_get(pid, "gmem.current");
	guest_check(before == (long long)(QUIET_CHUNKS * CHUNK + gpu_context_bytes()),
		    "it has %lld bytes", before);
	guest_check(tenants_run(storm, 2) == 2, "two others storm");
	after = control_get(pid, "gmem.current");
	swapped = control_get(pid, "gmem.swap.current");
	guest_check(keeps ? after == before && swapped == 0 : after < before && swapped > 0,
		    "it has %lld, and %lld are on the host: %s", after, swapped,
		    keeps ? "it kept all" : "it had to give");
	*step = 2;
	guest_check(tenant_finish(pid), "its stored data is there");
}

/* The container's other process: it has one chunk, and stores nothing more. */
static void stay_within(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, CHUNK);

	(void)index;
	require(fakegpu_fill(context, va, CHUNK, 8) == 0, "fill");
	*leader = getpid();
	*step = 1;
	wait_for_step(step, 4);
	require(fakegpu_verify(context, va, CHUNK, 8, NULL) == 0, "verify");
	fakegpu_close(context);
}

/* It stores all chunks that the limits hold, then one more. */
static void exceed(uint32_t index)
{
	int context = tenant_open((uint32_t)*leader);
	uint64_t va = tenant_map(context, (FITTING + 1) * CHUNK);
	int error;

	(void)index;
	for (uint32_t i = 0; i < FITTING; i++) {
		error = fakegpu_fill(context, va + i * CHUNK, CHUNK, 5);
		require(error == 0, "chunk %u: %s", i, guest_error_name(error));
	}
	error = fakegpu_fill(context, va + FITTING * CHUNK, CHUNK, 5);
	require(error == EDQUOT, "one too many: %s", guest_error_name(error));
	error = fakegpu_verify(context, va, CHUNK, 5, NULL);
	require(error == EIO, "and after that: %s", guest_error_name(error));
	*step = 2;
	wait_for_step(step, 3);
	fakegpu_close(context);
}

/* It pages all the time, within a limit of its own. */
static void neighbour(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, STORM_CHUNKS * CHUNK);

	require(control_set_number(getpid(), "gmem.limit.high", NEIGHBOUR_HIGH * CHUNK) == 0,
		"limit");
	for (uint64_t seed = index;; seed += 2) {
		require(fakegpu_fill(context, va, STORM_CHUNKS * CHUNK, seed) == 0, "fill");
		require(fakegpu_verify(context, va, STORM_CHUNKS * CHUNK, seed, NULL) == 0,
			"verify");
	}
}

static void expect_exceeded(pid_t pid)
{
	long long current = control_get(pid, "gmem.current");
	long long swapped = control_get(pid, "gmem.swap.current");

	guest_check(event_count(pid, "hmem ") >= 1 && event_count(pid, "oom ") >= 1 &&
			    (!gpu_can(GPU_REFUSES_ONCE) || event_count(pid, "oom ") == 1),
		    "gmem.events: hmem %lu, oom %lu", event_count(pid, "hmem "),
		    event_count(pid, "oom "));
	guest_check(current == (long long)HIGH_BYTES &&
			    swapped == (long long)(HMEM_CHUNKS * CHUNK),
		    "both limits are used up, and no more: %lld and %lld", current, swapped);
}

/*
 * One context dies at the limits. The other context of its container lives on, and so do
 * neighbours.
 */
static void test_hmem(void)
{
	pid_t neighbours[2], pids[2];

	*step = 0;
	for (uint32_t i = 0; i < 2; i++)
		neighbours[i] = tenant_start(neighbour, i);
	pids[0] = tenant_start(stay_within, 0);
	wait_for_step(step, 1);
	guest_check(control_set_number(pids[0], "gmem.limit.high", HIGH_BYTES) == 0 &&
			    control_set_number(pids[0], "hmem.limit", HMEM_CHUNKS * CHUNK) == 0,
		    "a container with limits on the GPU and on the host");
	pids[1] = tenant_start(exceed, 1);
	wait_for_step(step, 2);
	expect_exceeded(pids[0]);
	*step = 3;
	guest_check(tenant_finish(pids[1]), "one process found that it had exceeded them");
	*step = 4;
	guest_check(tenant_finish(pids[0]), "the other one found its memory as it was");
	for (uint32_t i = 0; i < 2; i++)
		guest_check(control_get(neighbours[i], "gmem.swap.current") > 0 &&
				    event_count(neighbours[i], "oom ") == 0 &&
				    tenant_kill(neighbours[i]),
			    "neighbour %u paged and was well until the end", i);
}

void test_protection(void)
{
	step = shared_alloc(sizeof(*step));
	leader = shared_alloc(sizeof(*leader));
	gpu_load("chunks=16");
	test_low(QUIET_CHUNKS * CHUNK + gpu_context_bytes(), true);
	test_low(0, false);
	gpu_unload();
	gpu_load("chunks=24");
	test_hmem();
	gpu_unload();
}
