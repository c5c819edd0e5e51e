// SPDX-License-Identifier: MIT OR GPL-2.0
/* A tenant with a protected working set, for tests of what neighbours can do to it. */
#define _GNU_SOURCE
#include <unistd.h>

#include "fakegpu_guest.h"

#define VICTIM_SEED 77u

static volatile struct {
	uint32_t chunks;
	bool filled;
	bool end;
} * victim;

/* It fills its memory, leaves it alone, and checks it at the end. */
static void victim_main(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t bytes = victim->chunks * CHUNK;
	uint64_t va = tenant_map(context, bytes);

	(void)index;
	require(fakegpu_fill(context, va, bytes, VICTIM_SEED) == 0, "fill");
	victim->filled = true;
	while (!victim->end)
		sleep_ms(5);
	require(fakegpu_verify(context, va, bytes, VICTIM_SEED, NULL) == 0, "verify");
	fakegpu_close(context);
}

pid_t victim_start(uint32_t chunks)
{
	uint64_t all = chunks * CHUNK + gpu_context_bytes();
	pid_t pid;

	if (!victim)
		victim = shared_alloc(sizeof(*victim));
	victim->chunks = chunks;
	victim->filled = victim->end = false;
	pid = tenant_start(victim_main, 0);
	for (uint32_t i = 0; i < STEP_TRIES && !victim->filled; i++)
		sleep_ms(5);
	guest_check(victim->filled && control_set_number(pid, "gmem.limit.low", all) == 0 &&
			    control_get(pid, "gmem.current") == (long long)all,
		    "a neighbour has %u protected chunks", chunks);
	return pid;
}

void victim_end(pid_t pid)
{
	long long current = control_get(pid, "gmem.current");
	long long swapped = control_get(pid, "gmem.swap.current");

	guest_check(current == (long long)(victim->chunks * CHUNK + gpu_context_bytes()) &&
			    swapped == 0,
		    "the neighbour has lost no chunk: it has %lld bytes, %lld are on the host",
		    current, swapped);
	victim->end = true;
	guest_check(tenant_finish(pid), "the neighbour finds its stored data");
}
