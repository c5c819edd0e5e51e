// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The host's part of a mapping: it shows no byte of the kernel, and each context gets a bounded
 * amount of it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define CHUNKS	    16u
#define DIRTY_BYTES (400ull << 20)
#define SHORT_BYTES 8u
#define MAPPINGS    16u

/*
 * Fill much of the machine's free memory with a pattern. init_on_alloc=0 (vm.sh) leaves it
 * there.
 */
static void leave_secrets(uint32_t index)
{
	char *memory = mmap(NULL, DIRTY_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)index;
	require(memory != MAP_FAILED, "mmap");
	memset(memory, 0x5c, DIRTY_BYTES);
}

/* A kernel on the GPU reads the whole page of a mapping that ends after 8 bytes. */
static void look_behind(uint32_t index)
{
	int context = tenant_open(0);

	(void)index;
	for (uint32_t i = 0; i < MAPPINGS; i++) {
		uint64_t va, first = 0;
		int error = fakegpu_map_on_host(context, SHORT_BYTES, 7, &va);

		require(error == 0, "map: %s", guest_error_name(error));
		error = fakegpu_verify(context, va, SHORT_BYTES, 7, NULL);
		require(error == 0, "its own bytes: %s", guest_error_name(error));
		error = fakegpu_verify_zero(context, va + SHORT_BYTES, PAGE - SHORT_BYTES,
					    &first);
		require(error == 0, "behind its end, at byte %llu: %s",
			(unsigned long long)(first - va), guest_error_name(error));
	}
	close(context);
}

/*
 * A context gets four times the GPU's memory, in one mapping or several, and not a chunk more.
 */
static void ask_for_much(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t most = 4ull * CHUNKS * CHUNK;
	uint64_t va;
	int error;

	(void)index;
	error = fakegpu_map_on_host(context, 64ull << 30, 1, &va);
	require(error == ENOMEM, "64 GiB: %s", guest_error_name(error));
	error = fakegpu_map_on_host(context, most - CHUNK, 1, &va);
	require(error == 0, "all but a chunk: %s", guest_error_name(error));
	error = fakegpu_map_on_host(context, CHUNK + 1, 1, &va);
	require(error == ENOMEM, "more than the rest: %s", guest_error_name(error));
	error = fakegpu_map_on_host(context, CHUNK, 1, &va);
	require(error == 0, "the rest: %s", guest_error_name(error));
	require(fakegpu_unmap(context, va) == 0, "unmap");
	error = fakegpu_map_on_host(context, CHUNK, 1, &va);
	require(error == 0, "the rest again: %s", guest_error_name(error));
	close(context);
}

void test_host_memory(void)
{
	gpu_load("chunks=16");
	guest_check(tenants_run(leave_secrets, 1) == 1, "a process dies and leaves secrets");
	guest_check(tenants_run(look_behind, 1) == 1,
		    "the page behind a short mapping is zero, whatever was there");
	guest_check(tenants_run(ask_for_much, 1) == 1,
		    "memory on the host is bounded for each context");
	gpu_unload();
}
