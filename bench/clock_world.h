/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The world of the benchmarks of the core's clock: a device with real books and real frames but
 * without a GPU, memory that is counted, a stopwatch, and checks. There is one device at a
 * time.
 */
#ifndef BENCH_CLOCK_WORLD_H
#define BENCH_CLOCK_WORLD_H

#include "gvm/block.h"
#include "gvm/clock.h"

#define WORLD_CHUNKS_PER_GB 512u

struct clock_world {
	struct gvm_device device;
	struct gvm_memory memory; /* its frames say what is evictable, as in production */
	u32 allocations;	  /* made by the core since the program started */
	u64 allocated_bytes;	  /* in these allocations */
};

extern struct clock_world world;

/* The rounds of each measurement. The best time counts. */
extern u32 world_rounds;

/* If @holds is false, print @what at once, and let world_failed() return true. */
void world_expect(bool holds, const char *what);
bool world_failed(void);

/* Set up a device of @chunks and a memory over it. On failure, prints why and exits. */
void world_init(u32 chunks);

/* Destroy the device. It must have no containers. */
void world_destroy(void);

/* A container without limits, in which nothing is charged. */
struct gvm_container *world_attach(u32 tgid);

/* Uncharge all chunks. */
void world_reset(void);

/* Charge a free chunk to a container. */
static inline void world_charge(struct gvm_container *container, u32 chunk)
{
	GVM_ASSERT(gvm_charge_reserve(container) == 0);
	gvm_charge_bind(container, chunk);
}

/* Pick until there is a victim: a pick is bounded and may have to be continued. */
static inline u32 world_pick_own(struct gvm_container *container)
{
	u32 victim;

	do
		victim = gvm_clock_pick_own(container);
	while (victim == GVM_NO_CHUNK);
	return victim;
}

static inline u32 world_pick_global(void)
{
	u32 victim;

	do
		victim = gvm_clock_pick_global(&world.device);
	while (victim == GVM_NO_CHUNK);
	return victim;
}

/* Print "out of memory" and exit. */
__attribute__((noreturn)) void world_out_of_memory(void);

/* Zeroed memory for the benchmark. Exits by world_out_of_memory() if there is none. */
void *world_buffer(size_t count, size_t bytes);

/* A date in ns, for differences. */
u64 world_now_ns(void);

#endif
