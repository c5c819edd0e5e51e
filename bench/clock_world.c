// SPDX-License-Identifier: MIT OR GPL-2.0
/* A device for benchmarks of the core; see clock_world.h. */
#include "clock_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct clock_world world;
u32 world_rounds = 25;
static bool failed;

void world_expect(bool holds, const char *what)
{
	if (holds)
		return;
	fflush(stdout);
	fprintf(stderr, "bench_clock: %s\n", what);
	failed = true;
}

bool world_failed(void)
{
	return failed;
}

static void *world_alloc(size_t bytes)
{
	world.allocations++;
	world.allocated_bytes += bytes;
	return calloc(1, bytes);
}

static const struct gvm_port_alloc_hook world_alloc_hook = { world_alloc, free };

static const struct gvm_mmu_ops world_mmu = { 0 };

void world_out_of_memory(void)
{
	fputs("bench_clock: out of memory\n", stderr);
	exit(1);
}

void *world_buffer(size_t count, size_t bytes)
{
	void *memory = calloc(count, bytes);

	if (!memory)
		world_out_of_memory();
	return memory;
}

void world_init(u32 chunks)
{
	struct gvm_device_config config = {
		.name = "bench",
		.chunk_count = chunks,
		.memory_ops = &gvm_block_memory_ops,
		.memory = &world.memory,
	};

	gvm_port_alloc_hook = &world_alloc_hook;
	if (gvm_device_init(&world.device, &config) ||
	    gvm_memory_init(&world.memory, &world.device, &world_mmu, NULL))
		world_out_of_memory();
}

void world_destroy(void)
{
	gvm_memory_destroy(&world.memory);
	gvm_device_destroy(&world.device);
}

struct gvm_container *world_attach(u32 tgid)
{
	struct gvm_container *container;

	if (gvm_container_attach(&world.device, tgid, &container))
		world_out_of_memory();
	return container;
}

void world_reset(void)
{
	for (u32 i = 0; i < world.device.chunk_count; i++)
		if (world.device.chunks[i].state != GVM_CHUNK_FREE)
			gvm_uncharge(&world.device, i);
}

u64 world_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000ull + (u64)now.tv_nsec;
}
