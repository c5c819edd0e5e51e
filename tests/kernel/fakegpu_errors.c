// SPDX-License-Identifier: MIT OR GPL-2.0
/* Copies and RPCs that fail: a TSG may die, but no byte is wrong and no memory is lost. */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define TENANTS	      4u
#define TENANT_CHUNKS 6u
#define LIVES	      8u
#define ROUNDS	      4u
#define WRITES	      100u

static volatile uint32_t *deaths, *rounds;

/* One life: it ends with a fault that cannot be serviced, or after all rounds. */
static void live(uint32_t index, uint64_t seed)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, TENANT_CHUNKS * CHUNK);
	int error = 0;

	for (uint32_t i = 0; i < ROUNDS && !error; i++) {
		error = fakegpu_fill(context, va, TENANT_CHUNKS * CHUNK, seed + i);
		if (!error)
			error = fakegpu_verify(context, va, TENANT_CHUNKS * CHUNK, seed + i,
					       NULL);
		require(error == 0 || error == EIO, "tenant %u: %s", index,
			guest_error_name(error));
		__sync_fetch_and_add(error ? deaths : rounds, 1);
	}
	close(context);
}

/* D3, D8: a fault that cannot be serviced leaves no charge and no chunk behind. */
static void lives(uint32_t index)
{
	struct dice dice = fakegpu_dice(700 + index);

	for (uint32_t i = 0; i < LIVES; i++)
		live(index, roll(&dice, UINT64_MAX));
}

/* A failed write can be repeated until it succeeds. */
static bool write_until_done(pid_t pid, const char *file, const char *text, uint32_t *failures)
{
	int error = EIO;

	for (uint32_t i = 0; i < 20 && error == EIO; i++) {
		error = control_set(pid, file, text);
		*failures += error == EIO;
	}
	return error == 0;
}

/* D17: freeze and thaw while RPCs fail, each until it succeeds. */
static void test_rpcs(void)
{
	struct dice dice = fakegpu_dice(799);
	uint32_t failures = 0, done = 0;
	int context = -1;

	guest_check(fakegpu_open(0, 0, 4, &context) == 0, "a context of four TSGs");
	for (uint32_t i = 0; i < WRITES; i++) {
		bool freeze = roll(&dice, 2);

		done += write_until_done(getpid(), "compute.freeze", freeze ? "1" : "0",
					 &failures) &&
			control_get(getpid(), "compute.freeze") == freeze;
	}
	guest_check(done == WRITES, "%u of %u freezes and thaws were done in the end", done,
		    WRITES);
	guest_check(failures > 0, "%u of their RPCs had failed", failures);
	close(context);
}

void test_errors(void)
{
	deaths = shared_alloc(sizeof(*deaths));
	rounds = shared_alloc(sizeof(*rounds));
	gpu_load("chunks=16 fail_copies=91 fail_rpcs=7");
	guest_check(tenants_run(lives, TENANTS) == TENANTS, "no byte was wrong");
	guest_check(*deaths > 0 && *rounds > 0, "%u rounds went well, %u ended in a death",
		    *rounds, *deaths);
	guest_check(gpu_check(), "the books are in order");
	test_rpcs();
	gpu_unload();
}
