// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Single operations of the core's clock on full devices, from 40 to 640 GB and with 2 to 64
 * containers. Neighbours on a ring lie nowhere near each other in memory, as after a long life.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define TENANTS_MAX    64u
#define OPERATIONS     100000u /* timed together */
#define PICKS	       8000u   /* timed one by one */
#define PICK_TENANTS   20u
#define PICK_PROTECTED 19u /* of these: 95 % of all chunks */

/* A full device with containers that have equally much of it. */
struct tenants {
	struct gvm_container *containers[TENANTS_MAX];
	u32 count;
	u32 *shuffled; /* every chunk once */
	u32 next;      /* place in it of the next touch */
};

static void tenants_shuffle(struct tenants *tenants, u32 chunks)
{
	u64 state = 1;
	u32 i;

	tenants->shuffled = world_buffer(chunks, sizeof(*tenants->shuffled));
	for (i = 0; i < chunks; i++) {
		u32 other = (u32)(gvm_port_draw(&state) % (i + 1));

		tenants->shuffled[i] = tenants->shuffled[other];
		tenants->shuffled[other] = i;
	}
}

/* In the global order the containers take turns, or (@apart) come one behind the other. */
static void tenants_charge_all(struct tenants *tenants, bool apart)
{
	u32 chunks = world.device.chunk_count, i;

	for (i = 0; i < chunks; i++) {
		u32 owner = apart ? i / (chunks / tenants->count) : i % tenants->count;

		world_charge(tenants->containers[owner], tenants->shuffled[i]);
	}
}

static void tenants_init(struct tenants *tenants, u32 gb, u32 count)
{
	u32 i;

	world_init(gb * BENCH_CHUNKS_PER_GB);
	*tenants = (struct tenants){ .count = count };
	for (i = 0; i < count; i++)
		tenants->containers[i] = world_attach(i + 1);
	tenants_shuffle(tenants, world.device.chunk_count);
}

static void tenants_destroy(struct tenants *tenants)
{
	u32 i;

	bench_expect(gvm_check(&world.device) == 0, "the books are broken");
	world_reset();
	for (i = 0; i < tenants->count; i++)
		gvm_container_detach(tenants->containers[i]);
	world_destroy();
	free(tenants->shuffled);
}

/* One operation, the @i-th of its kind. */
typedef void (*tenants_operation)(struct tenants *tenants, u32 i);

static void operation_touch(struct tenants *tenants, u32 i)
{
	(void)i;
	gvm_clock_touch(&world.device, tenants->shuffled[tenants->next++]);
	if (tenants->next == world.device.chunk_count)
		tenants->next = 0;
}

/* Its own coldest chunk leaves a container, and it gets one again. */
static void operation_own(struct tenants *tenants, u32 i)
{
	struct gvm_container *container = tenants->containers[i % tenants->count];
	u32 chunk = world_pick_own(container);

	gvm_uncharge(&world.device, chunk);
	world_charge(container, chunk);
}

/* The coldest chunk of all leaves, and a container gets one. */
static void operation_global(struct tenants *tenants, u32 i)
{
	u32 chunk = world_pick_global();

	gvm_uncharge(&world.device, chunk);
	world_charge(tenants->containers[i % tenants->count], chunk);
}

static double operation_ns(struct tenants *tenants, tenants_operation operation)
{
	u64 best_ns = U64_MAX;
	u32 round, i;

	for (round = 0; round < bench_rounds; round++) {
		u64 start = world_now_ns();

		for (i = 0; i < OPERATIONS; i++)
			operation(tenants, i);
		best_ns = min(best_ns, world_now_ns() - start);
	}
	return (double)best_ns / OPERATIONS;
}

static void growth_measure(u32 gb, u32 count)
{
	struct tenants tenants;
	double touch, own, global;
	u32 allocations;

	tenants_init(&tenants, gb, count);
	allocations = world.allocations;
	tenants_charge_all(&tenants, false);
	touch = operation_ns(&tenants, operation_touch);
	own = operation_ns(&tenants, operation_own);
	global = operation_ns(&tenants, operation_global);
	bench_expect(world.allocations == allocations, "allocated after set-up");
	printf("%4u GB %11u %9.1f %9.1f %9.1f\n", gb, count, touch, own, global);
	tenants_destroy(&tenants);
}

void bench_growth(void)
{
	static const u32 gb[] = { 40, 80, 160, 320, 640 };
	static const u32 counts[] = { 8, 64 };
	u32 i;

	printf("\nOne operation, in ns; own, global: pick, uncharge, reserve and bind\n"
	       " memory  containers     touch       own    global\n");
	for (i = 0; i < ARRAY_SIZE(gb); i++)
		growth_measure(gb[i], 2);
	for (i = 0; i < ARRAY_SIZE(counts); i++)
		growth_measure(80, counts[i]);
}

/*
 * The worst that a global hand can meet: all containers but the last one have just become
 * protected, and all that they have is in its way.
 */
static void pick_prepare(struct tenants *tenants)
{
	u32 i;

	world_reset();
	for (i = 0; i < PICK_PROTECTED; i++)
		gvm_limit_set_low(tenants->containers[i], 0);
	tenants_charge_all(tenants, true);
	for (i = 0; i < PICK_PROTECTED; i++)
		gvm_limit_set_low(tenants->containers[i], GVM_NO_LIMIT);
}

/* One pick, in ns. Its victim is charged anew: the device stays full. It may have found none. */
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
	bench_expect(!owner->is_protected, "a protected container lost a chunk");
	gvm_uncharge(&world.device, victim);
	world_charge(owner, victim);
	return ns;
}

static void pick_print(u32 gb, const u64 *best_ns, u32 none)
{
	u64 total = 0, worst = 0;
	u32 i;

	for (i = 0; i < PICKS; i++) {
		total += best_ns[i];
		worst = max(worst, best_ns[i]);
	}
	printf("%4u GB %9llu %9llu %9.1f %%\n", gb, total / PICKS, worst, 100.0 * none / PICKS);
}

/* The same picks on the same device, several times: what each costs is its best time. */
static void pick_measure(u32 gb)
{
	u64 *best_ns = world_buffer(PICKS, sizeof(*best_ns));
	struct tenants tenants;
	u32 allocations, none = 0, round, i;

	memset(best_ns, 0xff, PICKS * sizeof(*best_ns));
	tenants_init(&tenants, gb, PICK_TENANTS);
	allocations = world.allocations;
	for (round = 0; round < bench_rounds; round++) {
		pick_prepare(&tenants);
		none = 0;
		for (i = 0; i < PICKS; i++)
			best_ns[i] = min(best_ns[i], pick_once(&none));
	}
	bench_expect(world.allocations == allocations, "allocated after set-up");
	pick_print(gb, best_ns, none);
	tenants_destroy(&tenants);
	free(best_ns);
}

void bench_pick(void)
{
	static const u32 gb[] = { 40, 80, 160, 320, 640 };
	u32 i;

	printf("\nThe atomic pick, in ns, with 95 %% of the chunks protected since just now\n"
	       " memory      mean     worst   no victim\n");
	for (i = 0; i < ARRAY_SIZE(gb); i++)
		pick_measure(gb[i]);
}
