// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The dual CLOCK against an outside oracle: each of the two orders, used alone, misses exactly
 * as often as two independent programs.
 */
#include "core_world.h"
#include "draw.h"

#include <math.h>

static struct gvm_device *const device = &world.device;

/*
 * The outside oracle: 1,000,000 requests over 4096 objects, Zipf with alpha 0.8, drawn by
 * splitmix64. libCacheSim 0.3's CLOCK and a CLOCK on a plain array agree on these misses.
 */
#define ORACLE_OBJECTS	4096u
#define ORACLE_REQUESTS 1000000u

static const struct {
	u32 chunks;
	u32 misses;
} oracle[] = {
	{ 128, 740576 }, { 512, 527827 }, { 1024, 384787 }, { 2048, 209621 }, { 3072, 90928 },
};

static double oracle_cdf[ORACLE_OBJECTS];

static void oracle_init(void)
{
	double total = 0;
	u32 i;

	for (i = 0; i < ORACLE_OBJECTS; i++) {
		total += pow((double)(i + 1), -0.8);
		oracle_cdf[i] = total;
	}
	for (i = 0; i < ORACLE_OBJECTS; i++)
		oracle_cdf[i] /= total;
}

static u32 oracle_request(u64 *state)
{
	double u = (double)(draw_bits(state) >> 11) * 0x1p-53;
	u32 low = 0, high = ORACLE_OBJECTS - 1;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (oracle_cdf[middle] >= u)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Replay the oracle's trace on a device of @chunks; returns the misses. */
static u32 oracle_replay(struct gvm_container *container, u32 chunks, enum gvm_order order)
{
	static u32 chunk_of[ORACLE_OBJECTS], object_in[WORLD_CHUNKS_MAX];
	u64 state = 0x9E3779B97F4A7C15ull;
	u32 misses = 0, i;

	memset(chunk_of, 0xff, sizeof(chunk_of));
	for (i = 0; i < ORACLE_REQUESTS; i++) {
		u32 object = oracle_request(&state), chunk = chunk_of[object];

		if (chunk != GVM_NO_CHUNK) {
			gvm_clock_touch(device, chunk);
			continue;
		}
		if (misses++ < chunks) {
			chunk = world_charge(container);
		} else {
			chunk = order == GVM_ORDER_OWN ? world_pick_own(container, 1000) :
							 world_pick_global(1000);
			chunk_of[object_in[chunk]] = GVM_NO_CHUNK;
			gvm_uncharge(device, chunk);
			world_charge_chunk(container, chunk);
		}
		chunk_of[object] = chunk;
		object_in[chunk] = object;
	}
	return misses;
}

static void oracle_check(u32 i, enum gvm_order order)
{
	struct gvm_container *container;

	world_init(oracle[i].chunks);
	oracle_init();
	container = world_attach(1);
	ck_assert_uint_eq(oracle_replay(container, oracle[i].chunks, order), oracle[i].misses);
	world_check();
	world_detach(container);
	world_destroy();
}

START_TEST(own_order_matches_the_oracle_to_the_last_miss)
{
	oracle_check((u32)_i, GVM_ORDER_OWN);
}
END_TEST

START_TEST(global_order_matches_the_oracle_to_the_last_miss)
{
	oracle_check((u32)_i, GVM_ORDER_GLOBAL);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_loop_test(tests, own_order_matches_the_oracle_to_the_last_miss, 0,
			    ARRAY_SIZE(oracle));
	tcase_add_loop_test(tests, global_order_matches_the_oracle_to_the_last_miss, 0,
			    ARRAY_SIZE(oracle));
}

int main(void)
{
	Suite *suite = suite_create("policy oracle");

	world_add_case(suite, "oracle", NULL, NULL, add_tests);
	return world_run(suite);
}
