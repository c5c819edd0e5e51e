// SPDX-License-Identifier: MIT OR GPL-2.0
/* What was stored in managed memory is there, wherever it has been since. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define RANDOM_CHUNKS 36u /* half as much again as the device has */
#define RANDOM_PAGES  (RANDOM_CHUNKS * 32u)
#define RANDOM_STEPS  200u

/* The smallest story: touched, evicted by its limit, touched again. */
static void one_block(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, 4 * CHUNK);
	uint64_t words[32];
	long long fixed = control_get(getpid(), "gmem.current");

	require(fakegpu_fill(context, va, 4 * CHUNK, index + 1) == 0, "fill");
	require(control_get(getpid(), "gmem.current") == fixed + (long long)(4 * CHUNK),
		"four chunks are charged");
	require(control_set(getpid(), "gmem.limit.high", "0") == 0, "limit");
	require(control_get(getpid(), "gmem.current") == fixed, "nothing is left on the GPU");
	require(control_get(getpid(), "gmem.swap.current") == (long long)(4 * CHUNK),
		"all of it is in host memory");
	require(control_set(getpid(), "gmem.limit.high", "max") == 0, "limit");
	require(fakegpu_load(context, va + CHUNK, words, sizeof(words)) == 0, "load");
	for (uint32_t i = 0; i < 32; i++)
		require(words[i] == gvm_fakegpu_word(index + 1, va + CHUNK + 8 * i), "word");
	require(fakegpu_verify(context, va, 4 * CHUNK, index + 1, NULL) == 0, "verify");
	require(fakegpu_verify(context, va, 4 * CHUNK, index + 2, NULL) == EBADMSG,
		"another pattern is told apart");
	require(control_get(getpid(), "gmem.swap.current") == 0, "all of it is back");
	close(context);
}

void test_integrity(void)
{
	gpu_load("chunks=24");
	guest_check(tenants_run(one_block, 1) == 1, "what a limit evicts comes back");
	gpu_unload();
}
