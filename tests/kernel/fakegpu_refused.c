// SPDX-License-Identifier: MIT OR GPL-2.0
/* A container that may give no chunk gets none of a protected one. */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define NEIGHBOUR_CHUNKS 9u
#define ROOM		 5u /* free chunks, after one for page tables */
#define NEWCOMERS	 6u

/*
 * hmem.limit is 0, so its memory may not leave the GPU. It fills the rest of the GPU, then asks
 * for more.
 */
static void ask_and_give_nothing(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, 2 * ROOM * CHUNK);
	int error;

	(void)index;
	require(control_set(getpid(), "hmem.limit", "0") == 0, "hmem.limit");
	require(fakegpu_fill(context, va, ROOM * CHUNK, 1) == 0, "fill");
	error = fakegpu_fill(context, va + ROOM * CHUNK, CHUNK, 1);
	require(error == ENOMEM, "one chunk more: %s", guest_error_name(error));
	require(event_count(getpid(), "oom ") == 1, "oom %lu", event_count(getpid(), "oom "));
	/* New contexts have nothing to give either. */
	for (uint32_t i = 0; i < NEWCOMERS; i++) {
		int another;

		error = fakegpu_open(0, 0, 1, &another);
		require(error == ENOMEM, "a context on a full GPU: %s",
			guest_error_name(error));
	}
	close(context);
}

void test_refused(void)
{
	pid_t neighbour;

	gpu_load("chunks=16");
	neighbour = victim_start(NEIGHBOUR_CHUNKS);
	guest_check(tenants_run(ask_and_give_nothing, 1) == 1,
		    "a container that may give nothing is refused");
	victim_end(neighbour);
	gpu_unload();
}
