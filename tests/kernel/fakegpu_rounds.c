// SPDX-License-Identifier: MIT OR GPL-2.0
/* Tenants that work for ever and count their rounds: do they get on? */
#include "fakegpu_guest.h"

#define TENANTS_MAX  16u
#define WAIT_STEPS   6000u
#define WAIT_STEP_MS 10u

static volatile uint64_t *rounds; /* of each tenant */
static uint32_t round_chunks;

void rounds_begin(uint32_t chunks)
{
	rounds = shared_alloc(TENANTS_MAX * sizeof(*rounds));
	round_chunks = chunks;
}

void rounds_work(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, round_chunks * CHUNK);

	for (uint64_t seed = index;; seed += TENANTS_MAX) {
		int error = fakegpu_fill(context, va, round_chunks * CHUNK, seed);

		require(error == 0, "fill: %s", guest_error_name(error));
		error = fakegpu_verify(context, va, round_chunks * CHUNK, seed, NULL);
		require(error == 0, "verify: %s", guest_error_name(error));
		rounds[index]++;
	}
}

uint64_t rounds_of(uint32_t index)
{
	return rounds[index];
}

bool rounds_go_on(uint32_t index)
{
	uint64_t before = rounds[index];

	for (uint32_t i = 0; i < WAIT_STEPS && rounds[index] == before; i++)
		sleep_ms(WAIT_STEP_MS);
	return rounds[index] != before;
}
