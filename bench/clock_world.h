/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the benchmarks of the core's clock share: a device with real books and real frames and no
 * GPU behind them, memory that is counted, a stopwatch, and the verdict. There is one device at a
 * time.
 */
#ifndef BENCH_CLOCK_WORLD_H
#define BENCH_CLOCK_WORLD_H

#include "gvm/block.h"
#include "gvm/clock.h"

#define WORLD_CHUNKS_PER_GB 512u

struct clock_world {
	struct gvm_device device;
	struct gvm_memory memory; /* its frames answer evictable, as in production */
	u32 allocations;	  /* made by the core since the program started */
	u64 allocated_bytes;	  /* in them */
};

extern struct clock_world world;

/* How many times everything is measured. The best time counts. */
extern u32 world_rounds;

/* Print @what at once unless it holds, and remember it for world_failed(). */
void world_expect(bool holds, const char *what);
bool world_failed(void);

/* Set up a device of @chunks and a memory over it. Says why and exits if that fails. */
void world_init(u32 chunks);

/* No container may be left. */
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

/* Say so and exit. */
__attribute__((noreturn)) void world_out_of_memory(void);

/* Zeroed memory of the benchmark's own; says so and exits if there is none. */
void *world_buffer(size_t count, size_t bytes);

/* A date in ns, for differences. */
u64 world_now_ns(void);

#endif
