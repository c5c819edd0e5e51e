// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Single operations of the core's clock on full devices, from 40 to 640 GB and with 2 to 64
 * containers. Neighbours on a ring lie far apart in memory, as on a device that has run for
 * long.
 */
#include "bench_containers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock_world.h"

#define CONTAINERS_MAX	64u
#define OPERATIONS	100000u /* timed together */
#define PICKS		8000u	/* timed one by one */
#define PICK_CONTAINERS 20u
#define PICK_PROTECTED	19u /* they have 95 % of all chunks */

/* A full device that its containers share equally. */
struct sharers {
	struct gvm_container *containers[CONTAINERS_MAX];
	u32 count;
	u32 *shuffled; /* every chunk once */
	u32 next;      /* index in shuffled of the next touch */
};

static void sharers_shuffle(struct sharers *sharers, u32 chunks)
{
	u64 state = 1;

	sharers->shuffled = world_buffer(chunks, sizeof(*sharers->shuffled));
	for (u32 i = 0; i < chunks; i++) {
		u32 other = (u32)(gvm_port_draw(&state) % (i + 1));

		sharers->shuffled[i] = sharers->shuffled[other];
		sharers->shuffled[other] = i;
	}
}

/*
 * Charge all chunks. In the global order, chunks of different containers alternate. With
 * @apart, all chunks of a container come before those of the next.
 */
static void sharers_charge_all(struct sharers *sharers, bool apart)
{
	u32 chunks = world.device.chunk_count;

	for (u32 i = 0; i < chunks; i++) {
		u32 owner = apart ? i / (chunks / sharers->count) : i % sharers->count;

		world_charge(sharers->containers[owner], sharers->shuffled[i]);
	}
}

static void sharers_init(struct sharers *sharers, u32 gb, u32 count)
{
	world_init(gb * WORLD_CHUNKS_PER_GB);
	*sharers = (struct sharers){ .count = count };
	for (u32 i = 0; i < count; i++)
		sharers->containers[i] = world_attach(i + 1);
	sharers_shuffle(sharers, world.device.chunk_count);
}

static void sharers_destroy(struct sharers *sharers)
{
	world_expect(gvm_check(&world.device) == 0, "the books are broken");
	world_reset();
	for (u32 i = 0; i < sharers->count; i++)
		gvm_container_detach(sharers->containers[i]);
	world_destroy();
	free(sharers->shuffled);
}

/* One operation, the @i-th of its kind. */
typedef void (*sharers_operation)(struct sharers *sharers, u32 i);

static void operation_touch(struct sharers *sharers, u32 i)
{
	(void)i;
	gvm_clock_touch(&world.device, sharers->shuffled[sharers->next++]);
	if (sharers->next == world.device.chunk_count)
		sharers->next = 0;
}

/* A container loses its own coldest chunk, and is charged for the same chunk again. */
static void operation_own(struct sharers *sharers, u32 i)
{
	struct gvm_container *container = sharers->containers[i % sharers->count];
	u32 chunk = world_pick_own(container);

	gvm_uncharge(&world.device, chunk);
	world_charge(container, chunk);
}

/* The coldest chunk of all is uncharged, and charged to the next container in turn. */
static void operation_global(struct sharers *sharers, u32 i)
{
	u32 chunk = world_pick_global();

	gvm_uncharge(&world.device, chunk);
	world_charge(sharers->containers[i % sharers->count], chunk);
}

static double operation_ns(struct sharers *sharers, sharers_operation operation)
{
	u64 best_ns = U64_MAX;

	for (u32 round = 0; round < world_rounds; round++) {
		u64 start = world_now_ns();

		for (u32 i = 0; i < OPERATIONS; i++)
			operation(sharers, i);
		best_ns = min(best_ns, world_now_ns() - start);
	}
	return (double)best_ns / OPERATIONS;
}

static void growth_measure(u32 gb, u32 count)
{
	struct sharers sharers;
	double touch, own, global;
	u32 allocations;

	sharers_init(&sharers, gb, count);
	allocations = world.allocations;
	sharers_charge_all(&sharers, false);
	touch = operation_ns(&sharers, operation_touch);
	own = operation_ns(&sharers, operation_own);
	global = operation_ns(&sharers, operation_global);
	world_expect(world.allocations == allocations, "allocated after set-up");
	printf("%4u GB %11u %9.1f %9.1f %9.1f\n", gb, count, touch, own, global);
	sharers_destroy(&sharers);
}

void bench_growth(void)
{
	static const u32 gb[] = { 40, 80, 160, 320, 640 };
	static const u32 counts[] = { 8, 64 };

	printf("\nOne operation, in ns; own, global: pick, uncharge, reserve and bind\n"
	       " memory  containers     touch       own    global\n");
	for (u32 i = 0; i < ARRAY_SIZE(gb); i++)
		growth_measure(gb[i], 2);
	for (u32 i = 0; i < ARRAY_SIZE(counts); i++)
		growth_measure(80, counts[i]);
}

/*
 * The worst case of the global hand: all containers but the last one have just become
 * protected, and all their chunks are in the hand's way.
 */
static void pick_prepare(struct sharers *sharers)
{
	world_reset();
	for (u32 i = 0; i < PICK_PROTECTED; i++)
		gvm_limit_set_low(sharers->containers[i], 0);
	sharers_charge_all(sharers, true);
	for (u32 i = 0; i < PICK_PROTECTED; i++)
		gvm_limit_set_low(sharers->containers[i], GVM_NO_LIMIT);
}

/*
 * Time one pick, in ns. The victim is charged to its owner again, so the device stays full.
 * *none counts the picks that find no victim.
 */
static u64 pick_once(u32 *none)
{
	u64 start = world_now_ns();
	u32 victim = gvm_clock_pick_global(&world.device);
	u64 ns = world_now_ns() - start;
	struct gvm_container *owner;

	if (victim == GVM_NO_CHUNK) {
		(*none)++;
		return ns;
	}
	owner = world.device.chunks[victim].owner;
	world_expect(!owner->is_protected, "a protected container lost a chunk");
	gvm_uncharge(&world.device, victim);
	world_charge(owner, victim);
	return ns;
}

static void pick_print(u32 gb, const u64 *best_ns, u32 none)
{
	u64 total = 0, worst = 0;

	for (u32 i = 0; i < PICKS; i++) {
		total += best_ns[i];
		worst = max(worst, best_ns[i]);
	}
	printf("%4u GB %9llu %9llu %9.1f %%\n", gb, total / PICKS, worst, 100.0 * none / PICKS);
}

/* Time the same picks on the same device several times. The best time of each pick counts. */
static void pick_measure(u32 gb)
{
	u64 *best_ns = world_buffer(PICKS, sizeof(*best_ns));
	struct sharers sharers;
	u32 allocations, none = 0;

	memset(best_ns, 0xff, PICKS * sizeof(*best_ns));
	sharers_init(&sharers, gb, PICK_CONTAINERS);
	allocations = world.allocations;
	for (u32 round = 0; round < world_rounds; round++) {
		pick_prepare(&sharers);
		none = 0;
		for (u32 i = 0; i < PICKS; i++)
			best_ns[i] = min(best_ns[i], pick_once(&none));
	}
	world_expect(world.allocations == allocations, "allocated after set-up");
	world_expect(!none, "a pick found no victim beside protected containers");
	pick_print(gb, best_ns, none);
	sharers_destroy(&sharers);
	free(best_ns);
}

void bench_pick(void)
{
	static const u32 gb[] = { 40, 80, 160, 320, 640 };

	printf("\nThe atomic pick, in ns, with 95 %% of the chunks protected since just now\n"
	       " memory      mean     worst   no victim\n");
	for (u32 i = 0; i < ARRAY_SIZE(gb); i++)
		pick_measure(gb[i]);
}
