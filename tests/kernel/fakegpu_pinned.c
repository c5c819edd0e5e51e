// SPDX-License-Identifier: MIT OR GPL-2.0
/* Contexts and page tables count against the limit of their container. */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define NEIGHBOUR_CHUNKS 10u
#define LIMIT		 4u /* contexts, of a chunk each */
#define CONTEXTS	 31u
#define TURNS		 300u

/*
 * Open more contexts than the limit allows. It opens all that fit, and each further one is
 * refused.
 */
static void open_contexts(uint32_t index)
{
	uint32_t opened = 0, refused = 0;

	(void)index;
	tenant_open(0);
	require(control_set_number(getpid(), "gmem.limit.high", LIMIT * CHUNK) == 0, "limit");
	for (uint32_t i = 1; i < CONTEXTS; i++) {
		int context;
		int error = fakegpu_open(0, 0, 1, &context);

		opened += error == 0;
		refused += error == EDQUOT;
	}
	require(opened == LIMIT - 1 && refused == CONTEXTS - LIMIT,
		"%u contexts opened, %u refused", opened, refused);
	require(control_get(getpid(), "gmem.peak") == (long long)(LIMIT * CHUNK), "peak %lld",
		control_get(getpid(), "gmem.peak"));
}

/* Map and unmap. Page tables come back, also those of a mapping that failed. */
static void map_and_unmap(uint32_t index)
{
	int context = tenant_open(0);
	long long before = control_get(getpid(), "gmem.current");
	uint64_t va;

	(void)index;
	require(control_set_number(getpid(), "gmem.limit.high", LIMIT * CHUNK) == 0, "limit");
	for (uint32_t i = 0; i < TURNS; i++) {
		va = tenant_map(context, 4096 * CHUNK);
		require(fakegpu_unmap(context, va) == 0, "unmap");
	}
	require(control_get(getpid(), "gmem.current") == before, "%lld bytes, were %lld",
		control_get(getpid(), "gmem.current"), before);
	for (uint32_t i = 0; i < TURNS; i++)
		require(fakegpu_map(context, GVM_FAKEGPU_MAP_MAX, &va) == EDQUOT,
			"a mapping above the limit");
	require(control_get(getpid(), "gmem.current") == before, "%lld bytes, were %lld",
		control_get(getpid(), "gmem.current"), before);
	close(context);
}

void test_pinned(void)
{
	pid_t neighbour;

	gpu_load("chunks=16");
	neighbour = victim_start(NEIGHBOUR_CHUNKS);
	guest_check(tenants_run(open_contexts, 1) == 1,
		    "%u contexts are opened within a limit of %u chunks", CONTEXTS, LIMIT);
	guest_check(tenants_run(map_and_unmap, 1) == 1,
		    "%u mappings come and go, and leave no page tables", TURNS);
	victim_end(neighbour);
	gpu_unload();
}
