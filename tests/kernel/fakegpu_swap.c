// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * hmem.limit bounds the host memory that the GPU's driver really uses, and not only the count
 * of it.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "fakegpu_guest.h"

#define BLOCKS	    24u
#define HIGH_CHUNKS 3u /* one for page tables */
#define HMEM_CHUNKS 2u

static uint32_t max_host_chunks(uint32_t most)
{
	uint32_t now = gpu_info().host_chunks;

	return now > most ? now : most;
}

/* Swap out block after block, and read it back or discard it. */
static void swap_everything(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, BLOCKS * CHUNK);
	uint32_t most = 0;

	(void)index;
	require(control_set_number(getpid(), "gmem.limit.high", HIGH_CHUNKS * CHUNK) == 0 &&
			control_set_number(getpid(), "hmem.limit", HMEM_CHUNKS * CHUNK) == 0,
		"limits");
	for (uint32_t i = 0; i + 3 <= BLOCKS; i++) {
		uint64_t first = va + i * CHUNK;

		require(fakegpu_fill(context, first, 3 * CHUNK, i) == 0, "fill");
		require(fakegpu_verify(context, first, 3 * CHUNK, i, NULL) == 0, "verify");
		/*
		 * Two of the three blocks fit on the GPU: which one is out depends on the
		 * evictor.
		 */
		most = max_host_chunks(most);
		require(fakegpu_discard(context, first, CHUNK) == 0, "discard");
		most = max_host_chunks(most);
	}
	/* One more for a copy that is not finished. */
	require(most > 0 && most <= HMEM_CHUNKS + 1, "%u chunks on the host", most);
	close(context);
}

void test_swap(void)
{
	gpu_load("chunks=16");
	guest_check(tenants_run(swap_everything, 1) == 1,
		    "%u blocks were swapped through %u chunks of host memory", BLOCKS,
		    HMEM_CHUNKS);
	guest_check(gpu_info().host_chunks == 0, "none of it is left: %u",
		    gpu_info().host_chunks);
	gpu_unload();
}
