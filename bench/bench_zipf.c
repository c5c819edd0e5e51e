// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Requests drawn as those of the outside oracle in tests/core/test_policy_oracle.c, over the
 * chunks of 80 GB. They go through the core and through CLOCK on a plain array, in turns. Both
 * must have the same number of misses.
 */
#include "bench_zipf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array_clock.h"
#include "clock_world.h"

#define ZIPF_OBJECTS (80u * WORLD_CHUNKS_PER_GB)

static u32 *requests;
static u32 request_count;

/* The smallest object whose cumulated share is at least @u. */
static u32 zipf_object(const double *cdf, double u)
{
	u32 low = 0, high = ZIPF_OBJECTS - 1;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (cdf[middle] >= u)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void zipf_draw(void)
{
	double *cdf = world_buffer(ZIPF_OBJECTS, sizeof(*cdf)), total = 0;
	u64 state = 0x9E3779B97F4A7C15ull;

	for (u32 i = 0; i < ZIPF_OBJECTS; i++)
		cdf[i] = total += pow((double)(i + 1), -0.8);
	for (u32 i = 0; i < ZIPF_OBJECTS; i++)
		cdf[i] /= total;
	for (u32 i = 0; i < request_count; i++)
		requests[i] = zipf_object(cdf, (double)(gvm_port_draw(&state) >> 11) * 0x1p-53);
	free(cdf);
}

/* The places of objects in the core's replay. */
struct zipf_cache {
	struct gvm_container *container;
	u32 *chunk_of;	/* per object */
	u32 *object_in; /* per chunk */
	u32 chunks;
	u32 used; /* chunks that were ever charged: the first ones */
};

/* The own order fills the container up to its limit, the global order fills the device. */
static void zipf_reset(struct zipf_cache *cache, enum gvm_order order)
{
	u64 limit = cache->chunks * GVM_CHUNK_BYTES;

	world_reset();
	gvm_limit_set_high(cache->container, order == GVM_ORDER_OWN ? limit : GVM_NO_LIMIT);
	memset(cache->chunk_of, 0xff, ZIPF_OBJECTS * sizeof(*cache->chunk_of));
	cache->used = 0;
}

/*
 * Charge a chunk. At its limit the container is refused: it loses its coldest chunk and tries
 * again.
 */
static u32 zipf_charge_own(struct zipf_cache *cache)
{
	u32 chunk;

	if (!gvm_charge_reserve(cache->container)) {
		gvm_charge_bind(cache->container, cache->used);
		return cache->used++;
	}
	chunk = world_pick_own(cache->container);
	gvm_uncharge(&world.device, chunk);
	cache->chunk_of[cache->object_in[chunk]] = GVM_NO_CHUNK;
	world_charge(cache->container, chunk);
	return chunk;
}

/*
 * Charge a chunk. The reservation always succeeds. On a full device the coldest chunk of all is
 * freed for it.
 */
static u32 zipf_charge_global(struct zipf_cache *cache)
{
	u32 chunk = cache->used;

	GVM_ASSERT(!gvm_charge_reserve(cache->container));
	if (chunk == cache->chunks) {
		chunk = world_pick_global();
		gvm_uncharge(&world.device, chunk);
		cache->chunk_of[cache->object_in[chunk]] = GVM_NO_CHUNK;
	} else {
		cache->used++;
	}
	gvm_charge_bind(cache->container, chunk);
	return chunk;
}

static u32 zipf_replay(struct zipf_cache *cache, enum gvm_order order, const u32 *objects,
		       u32 count)
{
	u32 misses = 0;

	for (u32 i = 0; i < count; i++) {
		u32 object = objects[i], chunk = cache->chunk_of[object];

		if (chunk != GVM_NO_CHUNK) {
			gvm_clock_touch(&world.device, chunk);
			continue;
		}
		misses++;
		chunk = order == GVM_ORDER_OWN ? zipf_charge_own(cache) :
						 zipf_charge_global(cache);
		cache->chunk_of[object] = chunk;
		cache->object_in[chunk] = object;
	}
	return misses;
}

/* Best time and misses of one way to replay the requests. */
struct zipf_result {
	u64 best_ns;
	u32 misses;
};

static void zipf_keep(struct zipf_result *result, u64 start_ns, u32 misses)
{
	u64 ns = world_now_ns() - start_ns;

	result->best_ns = result->best_ns ? min(result->best_ns, ns) : ns;
	result->misses = misses;
}

static double zipf_mega(const struct zipf_result *result)
{
	return (double)request_count * 1e3 / (double)result->best_ns;
}

/* With @warm, the requests are replayed once before the replay that is timed. */
static void zipf_round(struct zipf_cache *cache, struct array_clock *array, bool warm,
		       struct zipf_result *plain, struct zipf_result *core)
{
	u64 start;

	array_clock_reset(array);
	if (warm)
		array_clock_replay(array, requests, request_count);
	start = world_now_ns();
	zipf_keep(plain, start, array_clock_replay(array, requests, request_count));
	for (u32 order = 0; order < GVM_ORDERS; order++) {
		zipf_reset(cache, order);
		if (warm)
			zipf_replay(cache, order, requests, request_count);
		start = world_now_ns();
		zipf_keep(&core[order], start,
			  zipf_replay(cache, order, requests, request_count));
	}
}

static void zipf_print(u32 percent, const struct zipf_result *plain,
		       const struct zipf_result *core)
{
	double base = zipf_mega(plain), own = zipf_mega(&core[GVM_ORDER_OWN]),
	       global = zipf_mega(&core[GVM_ORDER_GLOBAL]);

	printf("%6u %%  %7.1f %%  %9.1f  %9.1f  %5.2f  %9.1f  %5.2f\n", percent,
	       100.0 * plain->misses / request_count, base, own, own / base, global,
	       global / base);
	world_expect(core[GVM_ORDER_OWN].misses == plain->misses &&
			     core[GVM_ORDER_GLOBAL].misses == plain->misses,
		     "the core does not miss as often as CLOCK on an array");
}

/*
 * Measure with memory for @percent of the objects. At 100 %, a first replay brings all objects
 * in.
 */
static void zipf_measure(u32 percent)
{
	struct zipf_result plain = { 0 }, core[GVM_ORDERS] = { 0 };
	struct zipf_cache cache = { .chunks = ZIPF_OBJECTS / 100 * percent };
	struct array_clock array;
	u32 allocations;

	world_init(cache.chunks);
	cache.container = world_attach(1);
	cache.chunk_of = world_buffer(ZIPF_OBJECTS, sizeof(*cache.chunk_of));
	cache.object_in = world_buffer(cache.chunks, sizeof(*cache.object_in));
	if (array_clock_init(&array, ZIPF_OBJECTS, cache.chunks))
		world_out_of_memory();
	allocations = world.allocations;
	for (u32 round = 0; round < world_rounds; round++)
		zipf_round(&cache, &array, percent == 100, &plain, core);
	world_expect(world.allocations == allocations, "allocated after set-up");
	world_expect(gvm_check(&world.device) == 0, "the books are broken");
	zipf_print(percent, &plain, core);
	array_clock_destroy(&array);
	world_reset();
	gvm_container_detach(cache.container);
	world_destroy();
	free(cache.chunk_of);
	free(cache.object_in);
}

void bench_zipf(u32 count)
{
	static const u32 percents[] = { 10, 25, 50, 75, 100 };

	request_count = count;
	requests = world_buffer(count, sizeof(*requests));
	zipf_draw();
	printf("Zipf 0.8 over %u chunks, in M requests/s; ratio: to the plain array\n"
	       "  memory     misses      array        own  ratio     global  ratio\n",
	       ZIPF_OBJECTS);
	for (u32 i = 0; i < ARRAY_SIZE(percents); i++)
		zipf_measure(percents[i]);
	free(requests);
}
