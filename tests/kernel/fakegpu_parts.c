// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Small mappings share chunks: they cost their bytes, the processes that share a chunk never
 * see each other's bytes, and a forced take of a shared chunk loses none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define MANY	   100u
#define SHARERS	   2u
#define MAPPINGS   6u
#define PART_PAGES 5u
#define ROUNDS	   10u
#define TAKES	   300u

/* Shared by the processes of a test. */
static volatile struct {
	pid_t leader; /* the process whose container all join; 0: not there yet */
	uint32_t ready;
	bool stop;
} * scene;

/* A hundred mappings of 64 KB: 6.4 MB in four chunks. */
static void cost_their_bytes(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va[MANY];
	long long fixed;
	uint32_t chunks;

	(void)index;
	for (uint32_t i = 0; i < MANY; i++)
		va[i] = tenant_map(context, PAGE);
	fixed = control_get(getpid(), "gmem.current");
	chunks = gpu_info().free_chunks;
	for (uint32_t i = 0; i < MANY; i++)
		require(fakegpu_fill(context, va[i], PAGE, i + 1) == 0, "fill %u", i);
	require(control_get(getpid(), "gmem.current") - fixed == (long long)(MANY * PAGE),
		"%lld bytes are charged", control_get(getpid(), "gmem.current") - fixed);
	require(chunks - gpu_info().free_chunks == 4, "%u chunks are taken",
		chunks - gpu_info().free_chunks);
	require(control_set(getpid(), "gmem.limit.high", "0") == 0, "limit");
	require(control_get(getpid(), "gmem.current") == fixed, "all of them leave");
	require(control_get(getpid(), "gmem.swap.current") == (long long)(MANY * PAGE),
		"all of them are in host memory");
	require(control_set(getpid(), "gmem.limit.high", "max") == 0, "limit");
	for (uint32_t i = 0; i < MANY; i++)
		require(fakegpu_verify(context, va[i], PAGE, i + 1, NULL) == 0, "verify %u", i);
	close(context);
}

/* Open a context in the container that all processes of the test share. */
static int join_scene(uint32_t index)
{
	int context;

	if (index) {
		for (uint32_t i = 0; i < STEP_TRIES && !scene->leader; i++)
			sleep_ms(5);
		return tenant_open((uint32_t)scene->leader);
	}
	context = tenant_open(0);
	scene->leader = getpid();
	return context;
}

static void meet(void)
{
	__atomic_fetch_add(&scene->ready, 1, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < STEP_TRIES && scene->ready < SHARERS; i++)
		sleep_ms(5);
}

/*
 * Each process stores its own pattern in small mappings, looks at all of them, and makes some
 * of them anew. New memory is zero, whichever process had its place.
 */
static void share_chunks(uint32_t index)
{
	int context = join_scene(index);
	uint64_t bytes = PART_PAGES * PAGE, seed = 100 * (index + 1), va[MAPPINGS];

	for (uint32_t i = 0; i < MAPPINGS; i++)
		va[i] = tenant_map(context, bytes);
	meet();
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < MAPPINGS; i++) {
			require(fakegpu_verify_zero(context, va[i], bytes, NULL) == 0,
				"zeros, round %u", round);
			require(fakegpu_fill(context, va[i], bytes, seed + i) == 0, "fill");
		}
		for (uint32_t i = 0; i < MAPPINGS; i++) {
			require(fakegpu_verify(context, va[i], bytes, seed + i, NULL) == 0,
				"verify, round %u", round);
			require(fakegpu_unmap(context, va[i]) == 0, "unmap");
			va[i] = tenant_map(context, bytes);
		}
	}
	close(context);
}

/* The halves of a chunk: one process looks at its half again and again, the other writes. */
static void keep_in_service(uint32_t index)
{
	int context = join_scene(index);
	uint64_t va = tenant_map(context, CHUNK / 2);
	uint64_t seed = 7;

	require(fakegpu_fill(context, va, CHUNK / 2, seed) == 0, "fill");
	meet();
	while (!scene->stop) {
		if (index) {
			require(fakegpu_discard(context, va, CHUNK / 2) == 0, "discard");
			require(fakegpu_fill(context, va, CHUNK / 2, ++seed) == 0, "fill");
		}
		require(fakegpu_verify(context, va, CHUNK / 2, seed, NULL) == 0, "verify");
	}
	close(context);
}

/*
 * RM takes all chunks by force, again and again. A part that is in service may stay each time.
 */
static void take_often(int context)
{
	for (uint32_t i = 0; i < TAKES; i++) {
		struct gvm_fakegpu_take take = { .count = gpu_info().chunks };

		if (ioctl(context, GVM_FAKEGPU_TAKE, &take))
			break;
	}
}

static void take_from_sharers(void)
{
	pid_t sharers[SHARERS];
	uint32_t fine = 0;
	int context;

	for (uint32_t i = 0; i < SHARERS; i++)
		sharers[i] = tenant_start(keep_in_service, i);
	for (uint32_t i = 0; i < STEP_TRIES && scene->ready < SHARERS; i++)
		sleep_ms(5);
	context = tenant_open(0);
	take_often(context);
	scene->stop = true;
	close(context);
	for (uint32_t i = 0; i < SHARERS; i++)
		fine += tenant_finish(sharers[i]);
	guest_check(
		fine == SHARERS && gpu_check(),
		"RM takes shared chunks by force: no byte is lost, and the books are in order");
}

void test_parts(void)
{
	scene = shared_alloc(sizeof(*scene));
	gpu_load("chunks=24 sub_chunks=1");
	guest_check(tenants_run(cost_their_bytes, 1) == 1,
		    "a hundred mappings of 64 KB cost 6.4 MB, and four chunks");
	guest_check(tenants_run(share_chunks, SHARERS) == SHARERS && gpu_check(),
		    "processes that share chunks never see each other's bytes");
	scene->leader = 0;
	scene->ready = 0;
	take_from_sharers();
	gpu_unload();
}
