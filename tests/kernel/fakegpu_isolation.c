// SPDX-License-Identifier: MIT OR GPL-2.0
/* Memory new to a container shows no bytes of another one. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define SECRET	      0x5ec4e7ull
#define SECRET_CHUNKS 12u
#define ROUNDS	      gpu_times(12)

/* A tenant that stores secrets all over the device until it is killed. */
static void keep_secrets(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, SECRET_CHUNKS * CHUNK);

	for (;;) {
		require(fakegpu_fill(context, va, SECRET_CHUNKS * CHUNK, SECRET + index) == 0,
			"fill");
		require(fakegpu_verify(context, va, SECRET_CHUNKS * CHUNK, SECRET + index,
				       NULL) == 0,
			"the secret is kept");
	}
}

/*
 * New memory is zero wherever a kernel looks first. It reads one page, which brings in the
 * whole block, then all of the range. Then it leaves a pattern there for the next reader.
 */
static void find_zeros(uint32_t index)
{
	struct dice dice = fakegpu_dice(200 + index);
	uint64_t first = 0;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		int context = tenant_open(0);
		uint64_t bytes = CHUNK * (1 + roll(&dice, 4)) - PAGE * roll(&dice, 3);
		uint64_t va = tenant_map(context, bytes);
		uint64_t page = roll(&dice, bytes / PAGE);
		int error = fakegpu_verify_zero(context, va + page * PAGE, PAGE, &first);

		if (!error)
			error = fakegpu_verify_zero(context, va, bytes, &first);
		require(error == 0, "not zero at %llx: %s", (unsigned long long)first,
			guest_error_name(error));
		require(fakegpu_fill(context, va, bytes, SECRET + 100) == 0, "fill");
		fakegpu_close(context);
	}
}

void test_isolation(void)
{
	pid_t keepers[2];

	gpu_load("chunks=20");
	for (uint32_t i = 0; i < 2; i++)
		keepers[i] = tenant_start(keep_secrets, i);
	guest_check(tenants_run(find_zeros, 2) == 2,
		    "a reused chunk shows no other container's bytes");
	for (uint32_t i = 0; i < 2; i++)
		guest_check(tenant_kill(keepers[i]),
			    "its neighbour found its own until the end");
	gpu_unload();
}
